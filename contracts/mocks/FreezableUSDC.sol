// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {MockUSDC} from "./MockUSDC.sol";

/// @title FreezableUSDC
/// @notice USDC that freezes accounts, as Circle does: a frozen account neither pays, receives nor moves what others
/// allowed it. The words are Circle's.
contract FreezableUSDC is MockUSDC {
    /// @notice True while the account is frozen.
    mapping(address account => bool) public isFrozen;

    /// @notice Freezes or thaws an account. Anyone may.
    function setFrozen(address account, bool frozen) external {
        isFrozen[account] = frozen;
    }

    function _update(address from, address to, uint256 value) internal virtual override {
        require(!isFrozen[msg.sender] && !isFrozen[from] && !isFrozen[to], "Blacklistable: account is blacklisted");
        super._update(from, to, value);
    }
}
