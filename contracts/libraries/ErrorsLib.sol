// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @title ErrorsLib
/// @notice Every error of the project's contracts. Each carries both sides of the comparison that failed.
/// @dev Amounts are USDC base units, times are unix seconds.
library ErrorsLib {
    // ------------------------------------------------------------------ limits of the agent

    /// @notice Thrown when no rule names this function of this target.
    error TargetNotAllowed(address target, bytes4 selector);

    /// @notice Thrown when the arguments end before the pinned recipient word does.
    error CalldataTooShort(address target, bytes4 selector, uint256 length, uint256 required);

    /// @notice Thrown when the pinned word is not the vault.
    error RecipientNotVault(address target, bytes4 selector, uint8 recipientWord, bytes32 found);

    /// @notice Thrown when the sum of maxSpend is above the cap of one action.
    error OverPerTxCap(uint256 requested, uint256 cap);

    /// @notice Thrown when the sum of maxSpend is above what the rolling day leaves.
    error OverDailyCap(uint256 requested, uint256 left);

    /// @notice Thrown when more is asked for than the mandate's own cash, or more deposited than the budget lacks.
    error OverBudget(uint256 requested, uint256 left);

    /// @notice Thrown when the balance fell by more than the call spent of its allowance of maxSpend.
    error OverMaxSpend(uint256 drop, uint256 spent);

    /// @notice Thrown when a call of an exit has a maxSpend.
    error ExitNotFree(uint256 maxSpend);

    /// @notice Thrown when an allowance stays although it was set to zero.
    error ApprovalLeft(address target, uint256 allowance);

    /// @notice Thrown when a batch has no call.
    error EmptyBatch();

    // ------------------------------------------------------------------ life of the mandate

    /// @notice Thrown when deposits have not reached the budget yet.
    error MandateNotFunded(uint256 deposited, uint256 budget);

    /// @notice Thrown when the whole budget is already in.
    error MandateFunded(uint256 budget);

    /// @notice Thrown after a stop.
    error MandateStopped(uint64 stoppedAt);

    /// @notice Thrown from endsAt on, and after a settlement that needed no stop.
    error MandateEnded(uint64 endsAt);

    /// @notice Thrown while the factory is paused.
    error MandatePaused();

    /// @notice Thrown when the owner or the agent stops in [endsAt, until), the keeper's time to settle.
    error SettleGrace(uint64 until);

    /// @notice Thrown when a stop gives the word that the contract keeps for the stop line.
    error ReservedReason(bytes32 reason);

    /// @notice Thrown when the caller may settle only from a later time on.
    error SettleTooEarly(uint64 from);

    /// @notice Thrown when a settled mandate owes nothing more.
    error NothingToSettle();

    /// @notice Thrown when a call of an unwind is allowed but is no exit.
    error NotAnExit(address target, bytes4 selector);

    /// @notice Thrown when the owner withdraws while the lock holds.
    error WithdrawLocked(bytes32 reason, uint64 until);

    /// @notice Thrown when a withdrawal would touch the agent's fee or more than there is.
    error OverWithdrawable(uint256 requested, uint256 withdrawable);

    // ------------------------------------------------------------------ worth

    /// @notice Thrown when worth is above the floor, so that nothing is to be enforced.
    error AboveStopLine(uint256 worth, uint256 stopFloor);

    // ------------------------------------------------------------------ callers

    /// @notice Thrown when the caller, or the payer of an authorization, is not the owner.
    error NotOwner(address caller);

    /// @notice Thrown when the caller is not the agent.
    error NotAgent(address caller);

    /// @notice Thrown when there is no agent: removed, or not set yet.
    error NoAgent();

    /// @notice Thrown when the caller is not the keeper.
    error NotKeeper(address caller);

    /// @notice Thrown when the caller is not the payee.
    error NotPayee(address caller);

    /// @notice Thrown when the caller is not the factory.
    error NotFactory(address caller);

    /// @notice Thrown when the caller is not an adapter of the mandate or on the list.
    error NotAdapter(address caller);

    /// @notice Thrown when the caller is neither the owner nor the factory's pauser.
    error NotOwnerOrPauser(address caller);

    /// @notice Thrown when the caller is neither the owner, the keeper nor the agent.
    error NotParty(address caller);

    /// @notice Thrown when the caller is neither the admin nor a pauser.
    error NotAdminOrPauser(address caller);

    /// @notice Thrown when the caller is not the operator.
    error NotOperator(address caller);

    // ------------------------------------------------------------------ terms and vaults

    /// @notice Thrown by the implementation, which has no terms, and where a caller has to be a vault.
    error NotAVault(address account);

    /// @notice Thrown when the owner's consent is missing or does not hold.
    error BadSignature(address signer);

    /// @notice Thrown when the owner cancelled these terms.
    error TermsWereCancelled(bytes32 termsDigest);

    /// @notice Thrown when terms are to be cancelled that are a vault already.
    error VaultExists(address vault);

    /// @notice Thrown when a field of the terms is out of bounds: value and bound.
    error BadTerms(bytes32 field, uint256 value, uint256 bound);

    /// @notice Thrown when the rules are not the ones that were signed.
    error RulesHashMismatch(bytes32 given, bytes32 signed);

    /// @notice Thrown when there are no rules or more than 32.
    error BadRuleCount(uint256 count, uint256 max);

    /// @notice Thrown when a rule is not above the one before by (target, selector).
    error RulesNotSorted(uint256 index);

    /// @notice Thrown when a rule's target may never be one.
    error ForbiddenTarget(uint256 index, address target);

    /// @notice Thrown when a rule's kind is none of 0 to 3.
    error UnknownKind(uint256 index, uint8 kind);

    /// @notice Thrown when a rule of kind 2 or 3 names a contract that is not listed.
    error AdapterNotListed(address adapter);

    /// @notice Thrown when a listed adapter is listed again.
    error AdapterAlreadyListed(address adapter);

    // ------------------------------------------------------------------ handover of keeper and guard

    /// @notice Thrown while another proposal is pending. It must be cancelled first.
    error ProposalPending(address proposed, uint64 eta);

    /// @notice Thrown when there is no proposal, or the caller is not the proposed account.
    error NotProposed(address caller);

    /// @notice Thrown before eta.
    error ProposalTooEarly(uint64 eta);

    /// @notice Thrown after the last second in which a proposal could be accepted.
    error ProposalExpired(uint64 lastSecond);

    // ------------------------------------------------------------------ adapters

    /// @notice Thrown when a signature's last second has passed.
    error DeadlinePassed(uint64 deadline);

    /// @notice Thrown when the guard's signature for this nonce was used by this vault.
    error NonceUsed(address vault, bytes32 nonce);

    /// @notice Thrown when a vault would pay itself, or the adapter that pays.
    error SelfPayment(address payTo);

    /// @notice Thrown when a position is smaller than what is to be sold.
    error OverPosition(uint256 requested, uint256 held);

    /// @notice Thrown when shares are to be released while the mandate works.
    error MandateWorking();

    /// @notice Thrown when the venue's adapter is set a second time.
    error AdapterAlreadySet(address adapter);

    // ------------------------------------------------------------------ arguments

    /// @notice Thrown when an amount is zero that must not be.
    error ZeroAmount();

    /// @notice Thrown when an address is zero, or the vault itself, that must not be.
    error BadAddress(address account);

    /// @notice Thrown when someone else than the relay delivers proceeds.
    error NotRelay(address caller);

    // ------------------------------------------------------------------ reserve token

    /// @notice Thrown when the caller would get less than it accepts.
    error UnderMinOut(uint256 out, uint256 minOut);

    /// @notice Thrown when a conversion names no account.
    error NoAccount();

    /// @notice Thrown when no conversion owes the treasury anything.
    error NothingOwed();
}
