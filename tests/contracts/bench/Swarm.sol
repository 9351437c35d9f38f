// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Call, IMandateVault} from "../../../contracts/interfaces/IMandateVault.sol";

/// @title Swarm
/// @notice The agent of many vaults that also pays many wallets, all in one transaction: the work of a benchmark.
contract Swarm {
    IERC20 private immutable USDC;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function work(address[] calldata vaults, Call calldata call, address[] calldata wallets, uint256 amount) external {
        for (uint256 i; i < vaults.length; ++i) {
            IMandateVault(vaults[i]).execute(call);
        }
        for (uint256 i; i < wallets.length; ++i) {
            require(USDC.transfer(wallets[i], amount), "transfer");
        }
    }
}
