// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {FreezableUSDC} from "../../../contracts/mocks/FreezableUSDC.sol";

/// @title LedgerUSDC
/// @notice USDC that keeps its own books of who paid whom and who still has a right to whose money, so that a test
/// need not believe the vault.
contract LedgerUSDC is FreezableUSDC {
    /// @notice The sum of all allowances that stand open on an account's money.
    mapping(address account => uint256) public openAllowances;

    /// @notice Everything that one account ever paid another.
    mapping(address from => mapping(address to => uint256)) public paid;

    /// @notice Everything that ever left an account.
    mapping(address account => uint256) public outflow;

    /// @notice Everything that ever came to an account.
    mapping(address account => uint256) public inflow;

    function _update(address from, address to, uint256 value) internal override {
        paid[from][to] += value;
        outflow[from] += value;
        inflow[to] += value;
        super._update(from, to, value);
    }

    function _approve(address account, address spender, uint256 value, bool emitEvent) internal override {
        unchecked {
            // Owners give endless allowances, so the sum may wrap; a vault's never comes near.
            openAllowances[account] = openAllowances[account] - allowance(account, spender) + value;
        }
        super._approve(account, spender, value, emitEvent);
    }
}
