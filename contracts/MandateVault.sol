// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IAdapter} from "./interfaces/IAdapter.sol";
import {Call, IMandateVault, Status, Totals} from "./interfaces/IMandateVault.sol";
import {IMandateVaultEvents} from "./interfaces/IMandateVaultEvents.sol";
import {IMandateVaultFactory} from "./interfaces/IMandateVaultFactory.sol";
import {IUSDC} from "./interfaces/IUSDC.sol";
import {
    BPS,
    KIND_EXIT,
    KIND_VALUED_SPEND,
    LOCK_NOTHING_LEFT,
    LOCK_SETTLE_GRACE,
    LOCK_WORKING,
    REASON_STOP_LINE,
    SETTLE_GRACE
} from "./libraries/ConstantsLib.sol";
import {ErrorsLib} from "./libraries/ErrorsLib.sol";
import {RuleLib} from "./libraries/RuleLib.sol";
import {Flow, SpendWindow, SpendWindowLib} from "./libraries/SpendWindowLib.sol";
import {Funding, Rule} from "./libraries/TermsLib.sol";
import {VaultCodeLib, VaultTerms} from "./libraries/VaultCodeLib.sol";

/// @title MandateVault
/// @notice One owner's USDC, worked by one agent under one signed mandate.
///
/// WHO MAY DO WHAT
/// - The owner deposits, sets and removes the agent, stops, unwinds positions, and alone withdraws.
/// - The agent calls the listed functions of the listed contracts inside the caps, and may stop.
/// - The keeper has the worth measured and settles. It says no figure, moves no position and chooses no receiver.
/// - The payee gets the fee and may pass that right on.
/// - The factory's pauser holds up execute and removes the agent. Nobody holds up a way home for money.
/// - The factory's admin appoints pausers and, through the keeper admin, keepers; an adapter that it lists may bring
///   proceeds to this vault. It moves no money of a vault.
/// - Nobody changes the terms, the rules or this code. The zero address is nobody: it holds no office here.
///
/// LIFE
/// - Funding: deposits come in, up to the budget and not above. Nothing else is possible but stop, withdraw, and the
///   choice of agent and payee. No stop line applies: an empty vault is not a loss.
/// - Working: from the deposit that completes the budget. The agent acts while block.timestamp < endsAt.
/// - Stopped: final. The agent is gone, the rest is unwinding, settling and withdrawing.
/// - Settled: the fee was paid. Money that comes home later may be settled again.
///
/// ```
///   Funding --budget reached--> Working --stop, stop line--> Stopped --settle--> Settled
///      |                           |                           ^                    ^
///      |                           '--- settle after endsAt ---|--------------------'
///      '------------- stop ------------------------------------'
/// ```
///
/// CAPS
/// - A call spends what its target takes of the allowance: the vault approves maxSpend before the call, reads what is
///   left after it and takes that back. Calldata is never trusted for amounts, and the balance must account for it.
/// - Spending counts gross: what comes in during the call, later or in the same batch gives nothing back. Change that a
///   venue returns has used the day.
/// - perTxCap binds a call, and the sum over a batch. dailyCap binds what is spent in any 24 hours, to the second.
/// - The mandate's own cash binds in total: deposited + received - spent. What is sent outside a call is not the
///   agent's to spend.
/// - Limits are judged before the first call, on the sum of maxSpend, so that `check` knows the answer too.
/// - Caps bound USDC that is spent. They do not bound what an exit loses: an exit spends nothing, and sells a position
///   of any size at whatever price its venue gives.
///
/// RULES
/// - A call is allowed when a rule names its target and selector, and the rule's pinned word of the arguments is
///   the vault. Without a pin, an allowed venue could be told to pay somebody else, which no balance shows.
/// - The vault makes no delegatecall, sends no value, has no fallback, and signs nothing: it implements no ERC-1271,
///   because a token that accepts contract signatures could be emptied by one.
///
/// WORTH AND THE STOP LINE
/// - The vault measures it, and takes nobody's word for it: own cash, what the mandate's adapters say its positions are
///   worth, and at cost what is out at targets that no adapter values. At or below stopFloor the keeper's mark stops the
///   mandate, and before the end anyone may. While an adapter does not answer there is neither a mark nor a stop by worth.
/// - One counter serves all targets without an adapter and what the relay brings home: income at one lowers what is out at
///   another, and worth is too low by that. Money that went out at such a target and came back anywhere else still counts
///   as out, and worth is too high by that.
/// - A party's stop measures nothing: who stops chooses the gas, and so what fails. The keeper's mark after it does.
///
/// FEE
/// - agentFeeBps of max(0, received - spent), less what was paid. Deposits are no gain, nor is USDC that is sent to the
///   vault outside a call.
/// - Withdrawals leave the fee owed behind, whoever is late to settle.
///
/// LOGS
/// - logHead begins as the digest of the terms, and each log of the vault replaces it with
///   keccak256(logHead, block.number, block.timestamp, keccak256(topics, data)), each a word. So one word of storage, proven
///   against a block's state root, tells whether a list of the vault's logs is complete, in order and unaltered.
/// - Not in it: what adapters, venues, the token and the factory log.
///
/// UNITS
/// - Amounts are USDC base units (1e-6), times unix seconds, shares basis points.
///
/// NOT GUARANTEED
/// - That a listed venue is honest, solvent or fairly priced. The caps bound what an action spends, own cash what all of
///   them spend; an exit at a bad price can lose a whole position in one action.
/// - That the stop line stops in time: a price may jump across it, and what no adapter values counts at cost.
/// - That unrealised gain is charged: an owner who takes positions out as tokens pays no fee on them. Nor that a gain
///   lasts until it is settled: an owner who is also the agent can lose it again.
/// - That proceeds are known for what they are when a venue pays them by a plain transfer outside a call: they are a gift
///   then, neither own cash nor gain. Adapters of such venues are not to be listed (IAdapter).
/// - That only the agent's work is charged: USDC that somebody sends in during a call, and the proceeds of a position that
///   somebody else opened for the vault, are received and count as gain.
/// - That USDC moves: Circle can pause it or freeze an account.
contract MandateVault is IMandateVault, IMandateVaultEvents, ReentrancyGuardTransient {
    using Address for address;
    using RuleLib for bytes;
    using SafeCast for uint256;
    using SafeERC20 for IERC20;
    using SpendWindowLib for SpendWindow;

    /// @dev One slot: what every entry reads first.
    struct Control {
        address agent;
        Status status;
        uint40 stoppedAt;
        bool hadAgent;
        bool payeeFixed;
    }

    /// @dev One slot: what changes seldom.
    struct Book {
        uint80 deposited;
        uint80 unvaluedOut;
        uint80 feePaid;
    }

    /// @dev One slot: written after a stop or the end, or when the payee is not the agent of the terms.
    struct Payout {
        address payee;
        uint96 withdrawn;
    }

    /// @dev A batch that passed every limit, and the flow it was judged by. `flow` is read before the foreign calls and
    /// written after them, so whatever the storage counted meanwhile would be lost: only the guard on every entry that
    /// counts makes that right.
    struct Plan {
        bytes4[] selectors;
        uint8[] kinds;
        Flow flow;
    }

    IUSDC private immutable USDC;
    IMandateVaultFactory private immutable FACTORY;

    Control private _control;
    Flow private _flow;
    Book private _book;
    Payout private _payout;
    SpendWindow private _window;

    /// @inheritdoc IMandateVault
    /// @dev Storage slot 5, which verifiers ask eth_getProof for: what is added to the storage comes after it.
    bytes32 public logHead;

    /// @dev Deployed once, by the factory. The implementation itself is born settled, has no terms and takes no money.
    constructor(address usdc) {
        USDC = IUSDC(usdc);
        FACTORY = IMandateVaultFactory(msg.sender);
        _control.status = Status.Settled;
    }

    modifier onlyFactory() {
        if (msg.sender != address(FACTORY)) revert ErrorsLib.NotFactory(msg.sender);
        _;
    }

    // ------------------------------------------------------------------ the factory

    /// @inheritdoc IMandateVault
    function initialize(Funding calldata funding) external nonReentrant onlyFactory {
        VaultTerms memory terms = VaultCodeLib.decode();
        _control.agent = terms.agent;
        _control.hadAgent = terms.agent != address(0);
        logHead = terms.digest;
        if (funding.amount != 0) _takeFunding(terms, funding);
    }

    /// @inheritdoc IMandateVault
    function fund(Funding calldata funding) external nonReentrant onlyFactory {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireFunding(terms);
        _takeFunding(terms, funding);
    }

    /// @dev The factory has checked that the owner is the sender when there is no authorization.
    function _takeFunding(VaultTerms memory terms, Funding calldata funding) private {
        _bookDeposit(terms, funding.amount);
        if (funding.signature.length == 0) {
            IERC20(USDC).safeTransferFrom(terms.owner, address(this), funding.amount);
        } else {
            USDC.receiveWithAuthorization(
                terms.owner,
                address(this),
                funding.amount,
                funding.validAfter,
                funding.validBefore,
                terms.digest,
                funding.signature
            );
        }
    }

    // ------------------------------------------------------------------ the owner: money

    /// @inheritdoc IMandateVault
    function deposit(uint256 amount) external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireFunding(terms);
        if (msg.sender != terms.owner) revert ErrorsLib.NotOwner(msg.sender);

        _bookDeposit(terms, amount);
        IERC20(USDC).safeTransferFrom(terms.owner, address(this), amount);
    }

    /// @inheritdoc IMandateVault
    function depositWithAuthorization(
        address from,
        uint256 amount,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 salt,
        bytes calldata signature
    ) external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireFunding(terms);
        if (from != terms.owner) revert ErrorsLib.NotOwner(from);

        _bookDeposit(terms, amount);
        USDC.receiveWithAuthorization(
            from, address(this), amount, validAfter, validBefore, depositNonce(from, amount, salt), signature
        );
    }

    /// @dev Effects and event of a deposit; the money follows in the same call, or the transaction reverts.
    function _bookDeposit(VaultTerms memory terms, uint256 amount) private {
        if (amount == 0) revert ErrorsLib.ZeroAmount();
        uint256 before = _book.deposited;
        if (amount > terms.budget - before) revert ErrorsLib.OverBudget(amount, terms.budget - before);

        uint256 deposited = before + amount;
        _book.deposited = deposited.toUint80();
        if (deposited == terms.budget) _control.status = Status.Working;
        _log(2, abi.encode(Deposited.selector, terms.owner, amount, deposited, _balance() + amount));
    }

    /// @inheritdoc IMandateVault
    function withdraw(address token, address to, uint256 amount) external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        if (msg.sender != terms.owner) revert ErrorsLib.NotOwner(msg.sender);
        if (to == address(0) || to == address(this)) revert ErrorsLib.BadAddress(to);
        if (amount == 0) revert ErrorsLib.ZeroAmount();
        (bytes32 reason, uint64 until) = _timeLock(terms);
        if (reason != 0) revert ErrorsLib.WithdrawLocked(reason, until);

        if (token == address(USDC)) _bookWithdrawal(terms, amount);
        IERC20(token).safeTransfer(to, amount);
        _log(3, abi.encode(Withdrawn.selector, token, to, amount, _balanceLeft(token)));
    }

    /// @dev The log is no reason to hold a token back: one that does not say its balance, or says it in fewer than 32
    /// bytes, is logged with the largest number, which no balance is.
    function _balanceLeft(address token) private view returns (uint256 balance) {
        (bool answered, bytes memory answer) = token.staticcall(abi.encodeCall(IERC20.balanceOf, (address(this))));
        if (!answered || answer.length < 32) return type(uint256).max;
        return abi.decode(answer, (uint256));
    }

    /// @dev While Funding a withdrawal takes deposits back, so that Working always means that the whole budget is
    /// in the vault. Donated USDC leaves first.
    function _bookWithdrawal(VaultTerms memory terms, uint256 amount) private {
        uint256 balance = _balance();
        uint256 withdrawable = Math.saturatingSub(balance, _feeOwed(terms));
        if (amount > withdrawable) revert ErrorsLib.OverWithdrawable(amount, withdrawable);

        if (_control.status == Status.Funding) {
            _book.deposited = Math.min(_book.deposited, balance - amount).toUint80();
        } else {
            _payout.withdrawn = (_payout.withdrawn + amount).toUint96();
        }
    }

    // ------------------------------------------------------------------ the owner: the agent

    /// @inheritdoc IMandateVault
    function setAgent(address newAgent) external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireNotOver(terms);
        _requireBeforeEnd(terms);
        if (msg.sender != terms.owner) revert ErrorsLib.NotOwner(msg.sender);
        if (newAgent == address(0) || newAgent == address(this)) revert ErrorsLib.BadAddress(newAgent);

        _control.agent = newAgent;
        _control.hadAgent = true;
        _log(2, abi.encode(AgentSet.selector, newAgent));
    }

    /// @inheritdoc IMandateVault
    function removeAgent() external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireNotOver(terms);
        if (msg.sender != terms.owner && !FACTORY.isPauser(msg.sender)) revert ErrorsLib.NotOwnerOrPauser(msg.sender);
        address removed = _control.agent;
        if (removed == address(0)) revert ErrorsLib.NoAgent();

        _control.agent = address(0);
        _log(3, abi.encode(AgentRemoved.selector, removed, msg.sender));
    }

    // ------------------------------------------------------------------ the agent

    /// @inheritdoc IMandateVault
    function execute(Call calldata) external nonReentrant returns (bytes memory result) {
        // A call's arguments begin with the offset of the struct, counted from the arguments' start. That is also
        // the head of an array of one struct, so the same calldata is read as one.
        Call[] calldata calls;
        assembly {
            calls.offset := 4
            calls.length := 1
        }
        result = _execute(calls)[0];
    }

    /// @inheritdoc IMandateVault
    function executeBatch(Call[] calldata calls) external nonReentrant returns (bytes[] memory results) {
        results = _execute(calls);
    }

    function _execute(Call[] calldata calls) private returns (bytes[] memory results) {
        VaultTerms memory terms = VaultCodeLib.decode();
        Plan memory plan = _requireExecutable(terms, calls, msg.sender);

        results = new bytes[](calls.length);
        uint256 spentSum;
        uint256 receivedSum;
        uint256 balance = _balance();
        for (uint256 i; i < calls.length; ++i) {
            Call calldata call_ = calls[i];
            uint256 spent;
            uint256 received;
            (results[i], spent, received, balance) = _callApproved(call_, balance);
            spentSum += spent;
            receivedSum += received;
            _countUnvalued(terms, call_.target, plan.kinds[i], spent, received);
            _log(
                4,
                abi.encode(
                    Executed.selector, plan.flow.nonce, call_.target, plan.selectors[i], spent, received, balance
                )
            );
        }

        _window.count(plan.flow, spentSum);
        if (spentSum != 0 && terms.agent == address(0) && !_control.payeeFixed) _fixPayee();
        plan.flow.received = (plan.flow.received + receivedSum).toUint80();
        plan.flow.nonce += 1;
        _flow = plan.flow;
    }

    /// @dev Reverts with the first limit that the calls break, in the order: status, end, pause, caller, rules, caps.
    function _requireExecutable(VaultTerms memory terms, Call[] calldata calls, address caller)
        private
        view
        returns (Plan memory plan)
    {
        address agent_ = _control.agent;
        _requireWorking(terms);
        _requireBeforeEnd(terms);
        if (FACTORY.paused()) revert ErrorsLib.MandatePaused();
        if (agent_ == address(0)) revert ErrorsLib.NoAgent();
        if (caller != agent_) revert ErrorsLib.NotAgent(caller);
        if (calls.length == 0) revert ErrorsLib.EmptyBatch();

        plan = Plan({selectors: new bytes4[](calls.length), kinds: new uint8[](calls.length), flow: _flow});
        uint256 requested;
        for (uint256 i; i < calls.length; ++i) {
            Call calldata call_ = calls[i];
            (bytes4 selector, uint8 kind) = terms.rules.requireAllowed(call_.target, call_.data);
            if (kind == KIND_EXIT) _requireFree(call_);
            (plan.selectors[i], plan.kinds[i]) = (selector, kind);
            requested = Math.saturatingAdd(requested, call_.maxSpend);
        }
        _requireWithinCaps(terms, plan.flow, requested);
    }

    /// @dev Nothing can be withdrawn or paid out while the agent acts, so own cash is the budget and the flow.
    function _requireWithinCaps(VaultTerms memory terms, Flow memory flow, uint256 requested) private view {
        if (requested > terms.perTxCap) revert ErrorsLib.OverPerTxCap(requested, terms.perTxCap);
        _window.advance(flow);
        uint256 leftToday = _window.left(flow, terms.dailyCap);
        if (requested > leftToday) revert ErrorsLib.OverDailyCap(requested, leftToday);
        uint256 cash = terms.budget + flow.received - flow.spent;
        if (requested > cash) revert ErrorsLib.OverBudget(requested, cash);
    }

    function _requireFree(Call calldata call_) private pure {
        if (call_.maxSpend != 0) revert ErrorsLib.ExitNotFree(call_.maxSpend);
    }

    /// @dev Approves, calls, and counts gross: spent is what the target took of the allowance, whose rest is taken back;
    /// received is what the balance holds beyond that. A balance that fell by more than was spent is no spending that
    /// the vault knows, and reverts.
    function _callApproved(Call calldata call_, uint256 balanceBefore)
        private
        returns (bytes memory result, uint256 spent, uint256 received, uint256 balance)
    {
        address target = call_.target;
        uint256 maxSpend = call_.maxSpend;
        if (maxSpend != 0) IERC20(USDC).forceApprove(target, maxSpend);
        result = target.functionCall(call_.data);
        if (maxSpend != 0) spent = maxSpend - _takeApprovalBack(target);
        balance = _balance();
        uint256 gross = balance + spent;
        if (gross < balanceBefore) revert ErrorsLib.OverMaxSpend(balanceBefore - balance, spent);
        received = gross - balanceBefore;
    }

    function _takeApprovalBack(address target) private returns (uint256 unused) {
        unused = USDC.allowance(address(this), target);
        if (unused == 0) return 0;
        IERC20(USDC).forceApprove(target, 0);
        uint256 leftover = USDC.allowance(address(this), target);
        if (leftover != 0) revert ErrorsLib.ApprovalLeft(target, leftover);
    }

    /// @dev Money at a target that an adapter values is no unknown; everywhere else what went out is, until as much
    /// came back.
    function _countUnvalued(VaultTerms memory terms, address target, uint8 kind, uint256 spent, uint256 received)
        private
    {
        if (spent + received == 0 || !RuleLib.isPositionKind(kind) || terms.rules.isValued(target)) return;
        _book.unvaluedOut = Math.saturatingSub(_book.unvaluedOut + spent, received).toUint80();
    }

    // ------------------------------------------------------------------ the payee

    /// @dev On the open board whoever first puts money to work earns the fee, as the agent of the terms otherwise does.
    function _fixPayee() private {
        _control.payeeFixed = true;
        _payout.payee = msg.sender;
        _log(3, abi.encode(PayeeChanged.selector, address(0), msg.sender));
    }

    /// @inheritdoc IMandateVault
    function setPayee(address newPayee) external nonReentrant {
        address previous = _payee(VaultCodeLib.decode());
        if (msg.sender != previous || previous == address(0)) revert ErrorsLib.NotPayee(msg.sender);
        if (newPayee == address(0) || newPayee == address(this)) revert ErrorsLib.BadAddress(newPayee);

        _payout.payee = newPayee;
        _log(3, abi.encode(PayeeChanged.selector, previous, newPayee));
    }

    // ------------------------------------------------------------------ the keeper

    /// @inheritdoc IMandateVault
    function mark() external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        bool working = _requireMarkable(terms);
        if (msg.sender != FACTORY.keeper()) revert ErrorsLib.NotKeeper(msg.sender);

        (uint256 worth_, uint256 unvaluedOut) = _measure(terms);
        _log(1, abi.encode(Marked.selector, worth_, unvaluedOut));
        if (working && worth_ <= terms.stopFloor) _stop(REASON_STOP_LINE, worth_, unvaluedOut, true);
    }

    /// @dev After a stop a mark measures the end's worth. After the grace the owner may withdraw without a stop, and an
    /// empty vault is no loss.
    function _requireMarkable(VaultTerms memory terms) private view returns (bool working) {
        if (_control.stoppedAt != 0) return false;
        _requireWorking(terms);
        if (block.timestamp >= terms.endsAt + SETTLE_GRACE) revert ErrorsLib.MandateEnded(terms.endsAt);
        return true;
    }

    // ------------------------------------------------------------------ owner or agent

    /// @inheritdoc IMandateVault
    function stop(bytes32 reason) external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireNotOver(terms);
        if (reason == REASON_STOP_LINE) revert ErrorsLib.ReservedReason(reason);
        _requireMayStop(terms);

        _stop(reason, 0, 0, false);
    }

    /// @dev The grace binds the agent as it binds the owner, who may have made a key of theirs the agent before the end.
    function _requireMayStop(VaultTerms memory terms) private view {
        if (msg.sender != terms.owner) {
            address agent_ = _control.agent;
            if (agent_ == address(0)) revert ErrorsLib.NoAgent();
            if (msg.sender != agent_) revert ErrorsLib.NotParty(msg.sender);
        }
        uint64 until = terms.endsAt + SETTLE_GRACE;
        if (block.timestamp >= terms.endsAt && block.timestamp < until) revert ErrorsLib.SettleGrace(until);
    }

    function _stop(bytes32 reason, uint256 worth_, uint256 unvaluedOut, bool worthKnown) private {
        _control.agent = address(0);
        _control.status = Status.Stopped;
        _control.stoppedAt = uint40(block.timestamp);
        _log(3, abi.encode(Stopped.selector, msg.sender, reason, worth_, unvaluedOut, worthKnown));
    }

    /// @inheritdoc IMandateVault
    function unwind(Call[] calldata calls) external nonReentrant returns (bytes[] memory results) {
        VaultTerms memory terms = VaultCodeLib.decode();
        if (_control.status == Status.Funding) revert ErrorsLib.MandateNotFunded(_book.deposited, terms.budget);
        if (msg.sender != terms.owner) revert ErrorsLib.NotOwner(msg.sender);
        if (calls.length == 0) revert ErrorsLib.EmptyBatch();

        results = new bytes[](calls.length);
        uint256 receivedSum;
        uint256 balance = _balance();
        for (uint256 i; i < calls.length; ++i) {
            (bytes4 selector, uint8 kind) = terms.rules.requireAllowed(calls[i].target, calls[i].data);
            if (kind != KIND_EXIT) revert ErrorsLib.NotAnExit(calls[i].target, selector);
            _requireFree(calls[i]);

            uint256 received;
            (results[i],, received, balance) = _callApproved(calls[i], balance);
            receivedSum += received;
            _countUnvalued(terms, calls[i].target, kind, 0, received);
            _log(4, abi.encode(Unwound.selector, msg.sender, calls[i].target, selector, received, balance));
        }
        _flow.received = (_flow.received + receivedSum).toUint80();
    }

    // ------------------------------------------------------------------ adapters

    /// @inheritdoc IMandateVault
    /// @dev Also an adapter that was taken off the list later: the mandate's own adapters are fixed by its rules.
    function receiveProceeds(uint256 amount) external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        if (_control.status == Status.Funding) revert ErrorsLib.MandateNotFunded(_book.deposited, terms.budget);
        bool isValued = terms.rules.isValued(msg.sender);
        if (!FACTORY.isAdapter(msg.sender) && !isValued) revert ErrorsLib.NotAdapter(msg.sender);
        if (amount == 0) revert ErrorsLib.ZeroAmount();

        // What an adapter of no valued positions brings home was out where nobody values it.
        if (!isValued) _book.unvaluedOut = Math.saturatingSub(_book.unvaluedOut, amount).toUint80();
        _flow.received = (_flow.received + amount).toUint80();
        _log(2, abi.encode(ProceedsReceived.selector, msg.sender, amount, _balance() + amount));
        IERC20(USDC).safeTransferFrom(msg.sender, address(this), amount);
    }

    // ------------------------------------------------------------------ anyone

    /// @inheritdoc IMandateVault
    function enforceStopLine() external nonReentrant {
        VaultTerms memory terms = VaultCodeLib.decode();
        _requireWorking(terms);
        _requireBeforeEnd(terms);
        (uint256 worth_, uint256 unvaluedOut) = _measure(terms);
        if (worth_ > terms.stopFloor) revert ErrorsLib.AboveStopLine(worth_, terms.stopFloor);

        _stop(REASON_STOP_LINE, worth_, unvaluedOut, true);
    }

    /// @inheritdoc IMandateVault
    function settle() external nonReentrant returns (uint256 fee) {
        VaultTerms memory terms = VaultCodeLib.decode();
        Status status_ = _control.status;
        if (status_ == Status.Funding) revert ErrorsLib.MandateNotFunded(_book.deposited, terms.budget);
        _requireMaySettle(terms);
        fee = _feeOwed(terms);
        if (status_ == Status.Settled && fee == 0) revert ErrorsLib.NothingToSettle();

        _control.status = Status.Settled;
        _control.agent = address(0);
        _book.feePaid = (_book.feePaid + fee).toUint80();
        address payee_ = _payee(terms);
        _log(2, abi.encode(Settled.selector, payee_, _gain(), fee, _balance() - fee));
        if (fee != 0) IERC20(USDC).safeTransfer(payee_, fee);
    }

    function _requireMaySettle(VaultTerms memory terms) private view {
        uint64 graceEnd = terms.endsAt + SETTLE_GRACE;
        if (block.timestamp >= graceEnd) return;
        bool stopped = _control.stoppedAt != 0;
        if (stopped && msg.sender == terms.owner) return;
        if (msg.sender != FACTORY.keeper()) revert ErrorsLib.SettleTooEarly(graceEnd);
        if (!stopped && block.timestamp < terms.endsAt) revert ErrorsLib.SettleTooEarly(terms.endsAt);
    }

    // ------------------------------------------------------------------ logs

    /// @dev The only place that writes a log, of the very bytes that are chained: `event_` is the topics and then the data,
    /// a word each. The first topic says how many topics there are, so no two events have the same bytes.
    function _log(uint256 topics, bytes memory event_) private {
        bytes32 head = logHead;
        assembly ("memory-safe") {
            let topic := add(event_, 0x20)
            let size := mload(event_)
            let free := mload(0x40)
            mstore(free, head)
            mstore(add(free, 0x20), number())
            mstore(add(free, 0x40), timestamp())
            mstore(add(free, 0x60), keccak256(topic, size))
            head := keccak256(free, 0x80)

            let head_ := mul(topics, 0x20)
            let data := add(topic, head_)
            size := sub(size, head_)
            switch topics
            case 1 { log1(data, size, mload(topic)) }
            case 2 { log2(data, size, mload(topic), mload(add(topic, 0x20))) }
            case 3 { log3(data, size, mload(topic), mload(add(topic, 0x20)), mload(add(topic, 0x40))) }
            default {
                log4(
                    data,
                    size,
                    mload(topic),
                    mload(add(topic, 0x20)),
                    mload(add(topic, 0x40)),
                    mload(add(topic, 0x60))
                )
            }
        }
        logHead = head;
    }

    // ------------------------------------------------------------------ status

    function _requireFunding(VaultTerms memory terms) private view {
        _requireNotOver(terms);
        if (_control.status != Status.Funding) revert ErrorsLib.MandateFunded(terms.budget);
        _requireBeforeEnd(terms);
    }

    function _requireBeforeEnd(VaultTerms memory terms) private view {
        if (block.timestamp >= terms.endsAt) revert ErrorsLib.MandateEnded(terms.endsAt);
    }

    function _requireWorking(VaultTerms memory terms) private view {
        _requireNotOver(terms);
        if (_control.status != Status.Working) revert ErrorsLib.MandateNotFunded(_book.deposited, terms.budget);
    }

    /// @dev Settled without a stop happens only after the end.
    function _requireNotOver(VaultTerms memory terms) private view {
        if (_control.stoppedAt != 0) revert ErrorsLib.MandateStopped(_control.stoppedAt);
        if (_control.status == Status.Settled) revert ErrorsLib.MandateEnded(terms.endsAt);
    }

    /// @dev The part of the lock that time opens: zero reason when withdrawals are possible.
    function _timeLock(VaultTerms memory terms) private view returns (bytes32 reason, uint64 until) {
        if (_control.status != Status.Working) return (0, 0);
        until = terms.endsAt + SETTLE_GRACE;
        if (block.timestamp >= until) return (0, 0);
        reason = block.timestamp < terms.endsAt ? LOCK_WORKING : LOCK_SETTLE_GRACE;
    }

    // ------------------------------------------------------------------ money

    function _balance() private view returns (uint256) {
        return USDC.balanceOf(address(this));
    }

    /// @dev Withdrawn donations could exceed what is the mandate's own, so the difference ends at 0.
    function _ownCash() private view returns (uint256) {
        return Math.saturatingSub(
            uint256(_book.deposited) + _flow.received, uint256(_flow.spent) + _payout.withdrawn + _book.feePaid
        );
    }

    function _gain() private view returns (uint256) {
        return Math.saturatingSub(_flow.received, _flow.spent);
    }

    /// @dev Rounded down. Nothing is owed while there is nobody to pay.
    function _feeOwed(VaultTerms memory terms) private view returns (uint256) {
        if (_payee(terms) == address(0)) return 0;
        return Math.saturatingSub(_gain() * terms.agentFeeBps / BPS, _book.feePaid);
    }

    function _payee(VaultTerms memory terms) private view returns (address) {
        address changed = _payout.payee;
        return changed == address(0) ? terms.agent : changed;
    }

    /// @dev Rules are sorted by target, so an adapter with several rules of kind 2 is asked once.
    function _measure(VaultTerms memory terms) private view returns (uint256 worth_, uint256 unvaluedOut) {
        unvaluedOut = _book.unvaluedOut;
        worth_ = _ownCash() + unvaluedOut;
        address asked;
        for (uint256 i; i < terms.rules.countOf(); ++i) {
            Rule memory rule = terms.rules.at(i);
            if (rule.kind != KIND_VALUED_SPEND || rule.target == asked) continue;
            asked = rule.target;
            worth_ += IAdapter(asked).valueOf(address(this));
        }
    }

    // ------------------------------------------------------------------ views: limits

    /// @inheritdoc IMandateVault
    function remaining()
        external
        view
        nonReentrantView
        returns (uint256 perAction, uint256 today, uint256 total, uint256 windowFreesAt)
    {
        VaultTerms memory terms = VaultCodeLib.decode();
        Flow memory flow = _flow;
        _window.advance(flow);
        return (terms.perTxCap, _window.left(flow, terms.dailyCap), _ownCash(), _window.freesAt(flow));
    }

    /// @inheritdoc IMandateVault
    function check(Call[] calldata calls) external view nonReentrantView returns (bytes memory reason) {
        try this.requireExecutable(calls) {}
        catch (bytes memory data) {
            // Every refusal has data. Without it the inner call ran out of gas, which is no answer.
            require(data.length != 0);
            reason = data;
        }
    }

    /// @inheritdoc IMandateVault
    function requireExecutable(Call[] calldata calls) external view nonReentrantView {
        _requireExecutable(VaultCodeLib.decode(), calls, _control.agent);
    }

    /// @inheritdoc IMandateVault
    function worth() external view nonReentrantView returns (uint256 worth_, uint256 unvaluedOut) {
        return _measure(VaultCodeLib.decode());
    }

    /// @inheritdoc IMandateVault
    function feeOwed() external view nonReentrantView returns (uint256) {
        return _feeOwed(VaultCodeLib.decode());
    }

    /// @inheritdoc IMandateVault
    function lock() external view nonReentrantView returns (bool withdrawable, bytes32 reason, uint64 until) {
        VaultTerms memory terms = VaultCodeLib.decode();
        (reason, until) = _timeLock(terms);
        if (reason != 0) return (false, reason, until);
        if (_balance() <= _feeOwed(terms)) return (false, LOCK_NOTHING_LEFT, 0);
        return (true, 0, 0);
    }

    /// @inheritdoc IMandateVault
    function totals() external view nonReentrantView returns (Totals memory) {
        return Totals({
            deposited: _book.deposited,
            spent: _flow.spent,
            received: _flow.received,
            withdrawn: _payout.withdrawn,
            feePaid: _book.feePaid,
            unvaluedOut: _book.unvaluedOut,
            nonce: _flow.nonce
        });
    }

    // ------------------------------------------------------------------ views: state

    /// @inheritdoc IMandateVault
    function agent() external view returns (address) {
        return _control.agent;
    }

    /// @inheritdoc IMandateVault
    function payee() external view returns (address) {
        return _payee(VaultCodeLib.decode());
    }

    /// @inheritdoc IMandateVault
    function status() external view returns (Status) {
        return _control.status;
    }

    /// @inheritdoc IMandateVault
    /// @dev The open board that has had no agent yet is not paused.
    function paused() external view returns (bool) {
        Control memory control = _control;
        return control.hadAgent && control.agent == address(0) && control.status < Status.Stopped
            && block.timestamp < VaultCodeLib.decode().endsAt;
    }

    /// @inheritdoc IMandateVault
    function stoppedAt() external view returns (uint64) {
        return _control.stoppedAt;
    }

    // ------------------------------------------------------------------ views: terms

    /// @inheritdoc IMandateVault
    function owner() external view returns (address) {
        return VaultCodeLib.decode().owner;
    }

    /// @inheritdoc IMandateVault
    function budget() external view returns (uint256) {
        return VaultCodeLib.decode().budget;
    }

    /// @inheritdoc IMandateVault
    function perTxCap() external view returns (uint256) {
        return VaultCodeLib.decode().perTxCap;
    }

    /// @inheritdoc IMandateVault
    function dailyCap() external view returns (uint256) {
        return VaultCodeLib.decode().dailyCap;
    }

    /// @inheritdoc IMandateVault
    function stopFloor() external view returns (uint256) {
        return VaultCodeLib.decode().stopFloor;
    }

    /// @inheritdoc IMandateVault
    function endsAt() external view returns (uint64) {
        return VaultCodeLib.decode().endsAt;
    }

    /// @inheritdoc IMandateVault
    function agentFeeBps() external view returns (uint256) {
        return VaultCodeLib.decode().agentFeeBps;
    }

    /// @inheritdoc IMandateVault
    function termsDigest() external view returns (bytes32) {
        return VaultCodeLib.decode().digest;
    }

    /// @inheritdoc IMandateVault
    function rules() external view returns (Rule[] memory unpacked) {
        bytes memory packed = VaultCodeLib.decode().rules;
        unpacked = new Rule[](packed.countOf());
        for (uint256 i; i < unpacked.length; ++i) {
            unpacked[i] = packed.at(i);
        }
    }

    /// @inheritdoc IMandateVault
    function isAllowed(address target, bytes4 selector) external view returns (bool found) {
        (found,,) = VaultCodeLib.decode().rules.find(target, selector);
    }

    /// @inheritdoc IMandateVault
    function depositNonce(address from, uint256 amount, bytes32 salt) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), from, amount, salt));
    }
}
