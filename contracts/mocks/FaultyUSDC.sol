// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {MockUSDC} from "./MockUSDC.sol";

/// @title FaultyUSDC
/// @notice A token that breaks what the vault expects of USDC, to show that the vault looks.
contract FaultyUSDC is MockUSDC {
    /// @notice Taken from the payer on top of every transferFrom.
    uint256 public skim;

    /// @notice True: an allowance can be given but never taken back.
    bool public isStubborn;

    /// @notice Turns the faults on.
    function setFaults(uint256 skim_, bool isStubborn_) external {
        skim = skim_;
        isStubborn = isStubborn_;
    }

    function transferFrom(address from, address to, uint256 value) public override returns (bool) {
        if (skim != 0) _burn(from, skim);
        return super.transferFrom(from, to, value);
    }

    function approve(address spender, uint256 value) public override returns (bool) {
        if (isStubborn && value == 0) return true;
        return super.approve(spender, value);
    }
}
