// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title TestToken
/// @notice A token of 18 decimals for test chains alone: anyone mints.
contract TestToken is ERC20 {
    constructor() ERC20("Test WETH", "tWETH") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
