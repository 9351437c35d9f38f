// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @title IMandateVaultEvents
/// @notice Every event of a vault, in the past tense. The state of a vault can be rebuilt from them.
/// @dev Amounts are USDC base units unless a token is named. `balance` is the vault's balance of that token after
/// the event. The vault inherits them, so that its ABI has them: it writes its logs in one place, without `emit`
/// (MandateVault._log), and chains them there to its logHead.
interface IMandateVaultEvents {
    /// @notice Money of the owner came in. When `deposited` is the budget, the mandate works.
    event Deposited(address indexed from, uint256 amount, uint256 deposited, uint256 balance);

    /// @notice One call of the agent. All calls of a batch share the nonce. `spent` is what the target took of the
    /// allowance, `received` what came in during the call: gross, so both can be other than 0.
    event Executed(
        uint256 indexed nonce,
        address indexed target,
        bytes4 indexed selector,
        uint256 spent,
        uint256 received,
        uint256 balance
    );

    /// @notice The agent may act.
    event AgentSet(address indexed agent);

    /// @notice The agent may not act until it is set again. A stop does not emit this.
    event AgentRemoved(address indexed agent, address indexed by);

    /// @notice The vault measured the mandate's worth, `unvaluedOut` of it at cost.
    event Marked(uint256 worth, uint256 unvaluedOut);

    /// @notice The mandate ended. `worth` and `unvaluedOut` mean something only when `worthKnown`: at a stop by the stop
    /// line.
    event Stopped(address indexed by, bytes32 indexed reason, uint256 worth, uint256 unvaluedOut, bool worthKnown);

    /// @notice One call of an unwind.
    event Unwound(
        address indexed by, address indexed target, bytes4 indexed selector, uint256 received, uint256 balance
    );

    /// @notice An adapter brought money in.
    event ProceedsReceived(address indexed adapter, uint256 amount, uint256 balance);

    /// @notice The fee on the realised gain was paid as far as it was owed. `gain` is the whole gain so far.
    event Settled(address indexed payee, uint256 gain, uint256 fee, uint256 balance);

    /// @notice The owner took `amount` of `token`; `balance` is of that token, 2^256 - 1 when the token does not say it.
    event Withdrawn(address indexed token, address indexed to, uint256 amount, uint256 balance);

    /// @notice The right to the fee moved; from nobody to the agent that first spends on the open board.
    event PayeeChanged(address indexed previousPayee, address indexed newPayee);
}
