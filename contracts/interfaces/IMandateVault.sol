// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Funding, Rule} from "../libraries/TermsLib.sol";

/// @notice The life of a mandate. It only ever moves forward.
enum Status {
    /// Deposits have not yet reached the budget. No stop line, and the agent can do nothing but stop.
    Funding,
    /// The whole budget came in. The agent acts until endsAt.
    Working,
    /// The owner, the agent or the stop line ended it. Final for the agent.
    Stopped,
    /// The agent's fee was settled at least once. Later unwinds may be settled again.
    Settled
}

/// @notice One call of the agent, or of an unwind.
struct Call {
    /// The contract to call.
    address target;
    /// USDC base units that the target may pull, inclusive. Approved before the call, zero after it.
    uint256 maxSpend;
    /// Selector and arguments.
    bytes data;
}

/// @notice Running totals of a vault. Every figure can also be rebuilt from its logs.
struct Totals {
    /// Deposits less what was withdrawn while Funding. USDC base units, as the next five.
    uint256 deposited;
    /// What the agent's calls took of their allowances, call by call.
    uint256 spent;
    /// What came in during calls and unwinds, and by adapters.
    uint256 received;
    /// What the owner withdrew after Funding.
    uint256 withdrawn;
    /// What was paid to the payee.
    uint256 feePaid;
    /// What is out at targets that no adapter values: spent less received there and by adapters that value nothing of this
    /// mandate, such as the relay's. Never below 0.
    uint256 unvaluedOut;
    /// Number of execute and executeBatch calls so far, which is the next one's nonce.
    uint256 nonce;
}

/// @title IMandateVault
/// @notice One owner's money under one signed mandate. The contract opens with the specification.
/// @dev Events stand in IMandateVaultEvents, errors in ErrorsLib. Amounts are USDC base units.
interface IMandateVault {
    // ------------------------------------------------------------------ the factory

    /// @notice First call on a new vault: sets the agent of the terms and takes the funding, if any.
    function initialize(Funding calldata funding) external;

    /// @notice Funding that comes after creation, when someone else created the vault first.
    function fund(Funding calldata funding) external;

    // ------------------------------------------------------------------ the owner: money

    /// @notice Takes `amount` from the owner's allowance. Only while Funding, never above the budget.
    function deposit(uint256 amount) external;

    /// @notice The same by the owner's EIP-3009 authorization, whose nonce is `depositNonce(from, amount, salt)`.
    /// @dev Anyone may submit it. `from` must be the owner.
    function depositWithAuthorization(
        address from,
        uint256 amount,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 salt,
        bytes calldata signature
    ) external;

    /// @notice Sends `amount` of any token to `to`. Of USDC everything but `feeOwed()` may go.
    /// @dev Only in Funding, Stopped or Settled, or from endsAt + 1 day. Cannot be paused.
    function withdraw(address token, address to, uint256 amount) external;

    // ------------------------------------------------------------------ the owner: the agent

    /// @notice Sets the agent, first or again. Resumes a paused mandate. Never after a stop nor from endsAt on; the day's
    /// window stays.
    function setAgent(address newAgent) external;

    /// @notice Takes the agent's power away until setAgent. The owner, or the factory's pauser.
    function removeAgent() external;

    // ------------------------------------------------------------------ the agent

    /// @notice One call under the mandate's rules. Only the agent, Working, before endsAt, factory not paused. maxSpend of
    /// an exit must be 0.
    /// @return result What the target returned.
    function execute(Call calldata call_) external returns (bytes memory result);

    /// @notice Several calls in order, all or none. Caps apply to the sum; one nonce for all.
    /// @return results What the targets returned.
    function executeBatch(Call[] calldata calls) external returns (bytes[] memory results);

    // ------------------------------------------------------------------ the payee

    /// @notice Moves the right to the fee. Only the payee.
    function setPayee(address newPayee) external;

    // ------------------------------------------------------------------ the keeper

    /// @notice Measures `worth()` and logs it. At or below the floor a working mandate stops in the same transaction.
    /// @dev Only the keeper, so that nobody else fills a record. Working and before endsAt + 1 day; after a stop it
    /// measures and logs only. Reverts when an adapter does.
    function mark() external;

    // ------------------------------------------------------------------ owner or agent

    /// @notice Ends the mandate for good. One way.
    /// @dev Measures nothing. Refused in [endsAt, endsAt + 1 day), so that the agent's fee can be settled first.
    /// @param reason Any word but `stop_line`, which is the contract's own.
    function stop(bytes32 reason) external;

    /// @notice Calls exit rules to bring money home. Only the owner, from Working on.
    /// @dev maxSpend must be 0, nothing is approved, and no call may lower the balance.
    function unwind(Call[] calldata calls) external returns (bytes[] memory results);

    // ------------------------------------------------------------------ adapters

    /// @notice Takes `amount` from the calling adapter and counts it as received.
    function receiveProceeds(uint256 amount) external;

    // ------------------------------------------------------------------ anyone

    /// @notice Stops a working mandate whose `worth()` is at or below the floor, before endsAt; above the floor it reverts,
    /// and so it does when an adapter reverts.
    function enforceStopLine() external;

    /// @notice Pays the agent's fee on the realised gain.
    /// @dev The keeper after the end or a stop, the owner after a stop, anyone from endsAt + 1 day.
    /// @return fee What was paid now. USDC base units, rounded down.
    function settle() external returns (uint256 fee);

    // ------------------------------------------------------------------ views

    /// @notice Whose money it is.
    function owner() external view returns (address);

    /// @notice Who may act now; zero when removed, stopped, or not yet set.
    function agent() external view returns (address);

    /// @notice Who gets the fee; zero on the open board until an agent spends.
    function payee() external view returns (address);

    /// @notice Where in its life the mandate is.
    function status() external view returns (Status);

    /// @notice True while the agent is removed and can be set again, before endsAt. The factory's own pause is not meant.
    function paused() external view returns (bool);

    /// @notice Unix second of the stop, 0 when there was none.
    function stoppedAt() external view returns (uint64);

    /// @notice Unix second, exclusive, until which the agent may act.
    function endsAt() external view returns (uint64);

    /// @notice What deposits must reach.
    function budget() external view returns (uint256);

    /// @notice The most one call or batch may take out.
    function perTxCap() external view returns (uint256);

    /// @notice The most that may leave in a rolling 24 hours.
    function dailyCap() external view returns (uint256);

    /// @notice The worth at which the mandate stops.
    function stopFloor() external view returns (uint256);

    /// @notice The agent's share of a realised gain, in basis points.
    function agentFeeBps() external view returns (uint256);

    /// @notice All logs of this vault so far in one word, chained from the terms' digest:
    /// keccak256(logHead, block.number, block.timestamp, keccak256(topics, data)) at each log.
    function logHead() external view returns (bytes32);

    /// @notice The EIP-712 digest of the terms this vault came from.
    function termsDigest() external view returns (bytes32);

    /// @notice All rules, in the order signed.
    function rules() external view returns (Rule[] memory);

    /// @notice True when a rule names this function of this target.
    function isAllowed(address target, bytes4 selector) external view returns (bool);

    /// @notice What the mandate is worth: own cash, what the adapters say its positions are worth, and at cost what is out
    /// where no adapter values it.
    /// @dev Reverts when an adapter does. With a part at cost it bounds the worth on neither side.
    /// @return worth_ The sum.
    /// @return unvaluedOut Its part at cost: what was spent at such targets less what came back at them or by the relay.
    function worth() external view returns (uint256 worth_, uint256 unvaluedOut);

    /// @notice The fee that would be paid if it were settled now; withdrawals leave it behind.
    function feeOwed() external view returns (uint256);

    /// @notice What the limits leave. They say nothing about status, end or pause; `check` does.
    /// @return perAction The cap of one call or batch.
    /// @return today What may still leave in the rolling 24 hours that end now.
    /// @return total The mandate's own cash.
    /// @return windowFreesAt Unix second at which the oldest counted entry leaves the window; 0 when none is.
    function remaining() external view returns (uint256 perAction, uint256 today, uint256 total, uint256 windowFreesAt);

    /// @notice Whether the owner can withdraw USDC now.
    /// @return withdrawable True when withdraw would pay something out.
    /// @return reason ASCII `working`, `settle_grace`, `nothing_left`, or zero.
    /// @return until Unix second from which the lock opens by itself (endsAt + 1 day); 0 without a lock by time.
    function lock() external view returns (bool withdrawable, bytes32 reason, uint64 until);

    /// @notice What execute or executeBatch by the agent would be refused with: the exact error data, or empty.
    /// @dev A target's own failure and a drop beyond what was spent are known only by running the call.
    function check(Call[] calldata calls) external view returns (bytes memory reason);

    /// @notice Reverts with what `check` answers, or passes.
    function requireExecutable(Call[] calldata calls) external view;

    /// @notice The EIP-3009 nonce of a deposit by authorization. Chain and vault are inside.
    function depositNonce(address from, uint256 amount, bytes32 salt) external view returns (bytes32);

    /// @notice Running totals.
    function totals() external view returns (Totals memory);
}
