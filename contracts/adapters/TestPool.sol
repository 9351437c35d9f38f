// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title TestPool
/// @notice OpenZeppelin's ERC-4626 vault for USDC, for test chains alone. It earns nothing by itself: USDC that anyone sends
/// to it raises the rate of all shares.
contract TestPool is ERC4626 {
    constructor(address usdc) ERC20("Test pool", "tpUSDC") ERC4626(IERC20(usdc)) {}

    /// @dev A million shares to a base unit of USDC: whoever donates to an empty pool takes nothing from who comes after.
    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }
}
