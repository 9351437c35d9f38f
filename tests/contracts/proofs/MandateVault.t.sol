// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {MandateVault} from "../../../contracts/MandateVault.sol";
import {Call, Status, Totals} from "../../../contracts/interfaces/IMandateVault.sol";
import {KIND_EXIT, KIND_SPEND, NO_PIN} from "../../../contracts/libraries/ConstantsLib.sol";
import {Funding, MandateTerms, Rule} from "../../../contracts/libraries/TermsLib.sol";
import {VaultCodeLib} from "../../../contracts/libraries/VaultCodeLib.sol";
import {MockUSDC} from "../../../contracts/mocks/MockUSDC.sol";
import {Proof} from "./Proof.sol";

/// @notice Every movement of USDC that a target can make: it takes what it is allowed, and pays what it has.
contract AnyVenue {
    IERC20 private immutable USDC;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function spend(uint256 taken, uint256 paid) external {
        require(USDC.transferFrom(msg.sender, address(this), taken));
        require(USDC.transfer(msg.sender, paid));
    }

    function exit(uint256 taken, uint256 paid) external {
        require(USDC.transferFrom(msg.sender, address(this), taken));
        require(USDC.transfer(msg.sender, paid));
    }
}

/// @notice A wallet that signs whatever it is asked: then an authorization is good with any bytes.
contract AnySigner {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return this.isValidSignature.selector;
    }
}

/// @notice The whole vault, its real code behind a real proxy, with any terms, any state and any balance.
/// @dev The proof stands where the factory does and answers what the vault asks it. Each proof is about one entry from
/// any state; what holds across one step from any state holds after any number of steps. `check_reachable_*` must fail:
/// the counterexample is a way through the entry, without which the proof beside it would say nothing.
contract MandateVaultProof is Proof {
    address private constant OWNER = address(0xA11CE);
    address private constant AGENT = address(0xA6E27);
    address private constant PAYEE = address(0xFEE);
    address private constant RECEIVER = address(0xB0B);
    MandateVault private constant VAULT = MandateVault(address(0x7A017));

    /// @dev What totals fit in, with room for one more step.
    uint256 private constant MOST = 2 ** 72;

    /// @dev What is compared after an entry.
    struct Snapshot {
        Totals totals;
        Status status;
        bool isStopped;
        address agent;
        uint256 balance;
    }

    MockUSDC private _usdc;
    AnyVenue private _venue;
    uint256 private _budget;
    uint256 private _endsAt;
    uint256 private _perTxCap;
    uint256 private _dailyCap;

    function setUp() public {
        _usdc = new MockUSDC();
        _venue = new AnyVenue(address(_usdc));
        MandateVault implementation = new MandateVault(address(_usdc));

        MandateTerms memory terms;
        terms.owner = OWNER;
        terms.agent = AGENT;
        terms.budgetUsdc = _budget = svm.createUint(53, "budget");
        terms.perTxCap = _perTxCap = svm.createUint(53, "perTxCap");
        terms.dailyCap = _dailyCap = svm.createUint(53, "dailyCap");
        terms.stopFloor = svm.createUint(53, "stopFloor");
        _endsAt = svm.createUint(32, "endsAt");
        // The symbols have no more bits than the fields.
        // forge-lint: disable-next-line(unsafe-typecast)
        terms.endsAt = uint64(_endsAt);
        // forge-lint: disable-next-line(unsafe-typecast)
        terms.agentFeeBps = uint16(svm.createUint(16, "agentFeeBps"));
        Rule[] memory rules = new Rule[](2);
        rules[0] = Rule(address(_venue), AnyVenue.exit.selector, NO_PIN, KIND_EXIT);
        rules[1] = Rule(address(_venue), AnyVenue.spend.selector, NO_PIN, KIND_SPEND);
        assert(AnyVenue.exit.selector < AnyVenue.spend.selector);
        vm.etch(address(VAULT), this.encode(address(implementation), terms, rules));
        _usdc.mint(address(_venue), MOST);
        _usdc.mint(OWNER, MOST);
    }

    // ------------------------------------------------------------------ what the vault asks its factory

    function paused() external pure returns (bool) {
        return false;
    }

    function isPauser(address) external pure returns (bool) {
        return false;
    }

    function isAdapter(address account) external view returns (bool) {
        return account == address(_venue);
    }

    function keeper() external view returns (address) {
        return address(this);
    }

    function encode(address implementation, MandateTerms calldata terms, Rule[] calldata rules)
        external
        pure
        returns (bytes memory)
    {
        return VaultCodeLib.encode(implementation, "digest", terms, rules);
    }

    // ------------------------------------------------------------------ caps

    /// @dev One call of the agent, whatever the venue takes and pays in it: counted is what it took, not what the balance
    /// lost. That maxSpend itself is within the caps is the next two proofs.
    function check_execute__counts_gross_and_takes_at_most_maxSpend(uint256 maxSpend, uint256 taken, uint256 paid)
        external
    {
        Snapshot memory before = _anyState();
        _execute(_spend(maxSpend, taken, paid));
        Totals memory t = VAULT.totals();
        assert(taken <= maxSpend);
        assert(t.spent == before.totals.spent + taken);
        assert(t.received == before.totals.received + paid);
        assert(_usdc.allowance(address(VAULT), address(_venue)) == 0);
    }

    function check_execute__an_exit_spends_nothing(uint256 maxSpend, uint256 taken, uint256 paid) external {
        Snapshot memory before = _anyState();
        _execute(Call(address(_venue), maxSpend, abi.encodeCall(AnyVenue.exit, (taken, paid))));
        assert(maxSpend == 0 && taken == 0);
        assert(VAULT.totals().spent == before.totals.spent);
    }

    function check_execute__maxSpend_is_within_cap_and_cash(uint256 maxSpend, uint256 taken) external {
        Snapshot memory before = _anyState();
        _execute(_spend(maxSpend, taken, 0));
        assert(maxSpend <= _perTxCap);
        assert(maxSpend <= _budget + before.totals.received - before.totals.spent);
    }

    /// @dev What is left of the day is the window's word for it, which SpendWindowLib.t.sol proves to be the cap less
    /// what left in the last 86,400 seconds. The limit is judged before the call, so the venue need not move.
    function check_execute__maxSpend_is_within_the_day(uint256 maxSpend) external {
        _anyDay();
        (, uint256 today,,) = VAULT.remaining();
        _execute(_spend(maxSpend, 0, 0));
        assert(maxSpend <= today);
    }

    /// @dev A batch is one action: its sum is bound as a single call is, and both calls are counted.
    function check_executeBatch__takes_at_most_the_cap(uint256[2] memory maxSpend, uint256[2] memory taken) external {
        Snapshot memory before = _executeBatch(maxSpend, taken);
        assert(maxSpend[0] <= _perTxCap && maxSpend[1] <= _perTxCap - maxSpend[0]);
        assert(taken[0] <= maxSpend[0] && taken[1] <= maxSpend[1]);
        assert(VAULT.totals().spent == before.totals.spent + taken[0] + taken[1]);
        assert(_usdc.allowance(address(VAULT), address(_venue)) == 0);
    }

    function check_execute__nobody_but_the_agent(address caller, uint256 maxSpend, uint256 taken) external {
        _anyState();
        vm.assume(caller != AGENT);
        vm.prank(caller);
        try VAULT.execute(_spend(maxSpend, taken, 0)) {
            assert(false);
        } catch {}
    }

    function check_execute__never_without_an_agent_or_after_the_end(uint256 maxSpend, uint256 taken) external {
        _anyState();
        vm.assume(VAULT.agent() == address(0) || block.timestamp >= _endsAt || VAULT.status() != Status.Working);
        vm.prank(AGENT);
        try VAULT.execute(_spend(maxSpend, taken, 0)) {
            assert(false);
        } catch {}
    }

    function check_reachable_execute(uint256 maxSpend, uint256 taken, uint256 paid) external {
        Snapshot memory before = _anyState();
        _execute(_spend(maxSpend, taken, paid));
        assert(VAULT.totals().spent == before.totals.spent);
    }

    function check_reachable_execute_with_change(uint256 maxSpend, uint256 taken, uint256 paid) external {
        Snapshot memory before = _anyState();
        _execute(_spend(maxSpend, taken, paid));
        assert(VAULT.totals().spent == before.totals.spent || VAULT.totals().received == before.totals.received);
    }

    function check_reachable_exit(uint256 maxSpend, uint256 taken, uint256 paid) external {
        Snapshot memory before = _anyState();
        _execute(Call(address(_venue), maxSpend, abi.encodeCall(AnyVenue.exit, (taken, paid))));
        assert(VAULT.totals().received == before.totals.received);
    }

    function check_reachable_execute_in_a_day(uint256 maxSpend) external {
        _anyDay();
        (, uint256 today,,) = VAULT.remaining();
        _execute(_spend(maxSpend, 0, 0));
        assert(maxSpend == 0 || today == _dailyCap);
    }

    function check_reachable_executeBatch(uint256[2] memory maxSpend, uint256[2] memory taken) external {
        Snapshot memory before = _executeBatch(maxSpend, taken);
        assert(VAULT.totals().spent == before.totals.spent);
    }

    function _execute(Call memory call_) private {
        vm.prank(AGENT);
        VAULT.execute(call_);
    }

    function _executeBatch(uint256[2] memory maxSpend, uint256[2] memory taken)
        private
        returns (Snapshot memory before)
    {
        before = _anyState();
        Call[] memory calls = new Call[](2);
        calls[0] = _spend(maxSpend[0], taken[0], 0);
        calls[1] = _spend(maxSpend[1], taken[1], 0);
        vm.prank(AGENT);
        VAULT.executeBatch(calls);
    }

    // ------------------------------------------------------------------ solvency

    function check_booked__execute(uint256 maxSpend, uint256 taken, uint256 paid) external {
        Snapshot memory before = _anyState();
        _execute(_spend(maxSpend, taken, paid));
        _assertBooked(before);
    }

    function check_booked__executeBatch(uint256[2] memory maxSpend, uint256[2] memory taken) external {
        _assertBooked(_executeBatch(maxSpend, taken));
    }

    function check_booked__unwind(address caller, uint256 paid) external {
        _assertBooked(_unwind(caller, paid));
        assert(caller == OWNER);
    }

    function check_booked__deposit(uint256 amount) external {
        _assertBooked(_deposit(amount));
        assert(VAULT.totals().deposited <= _budget);
    }

    /// @dev Whoever hands it in, and whatever was signed.
    function check_booked__depositWithAuthorization(
        address caller,
        address from,
        uint256 amount,
        uint256[2] memory valid,
        bytes32 salt
    ) external {
        Snapshot memory before = _depositWithAuthorization(caller, from, amount, valid, salt);
        _assertBooked(before);
        assert(from == OWNER && before.status == Status.Funding && !before.isStopped && block.timestamp < _endsAt);
        assert(amount != 0 && VAULT.totals().deposited == before.totals.deposited + amount);
        assert(VAULT.totals().deposited <= _budget);
    }

    /// @dev A new vault, to which anybody may have sent USDC before. It begins with its terms' agent and with what it took.
    function check_booked__initialize(address caller, uint256 amount, bool isPull) external {
        Snapshot memory before = _initialize(caller, amount, isPull);
        _assertBooked(before);
        Totals memory t = VAULT.totals();
        assert(caller == address(this));
        assert(t.deposited == amount && amount <= _budget);
        assert(t.received == 0 && t.withdrawn == 0 && t.spent == 0 && t.feePaid == 0 && t.unvaluedOut == 0);
        assert(VAULT.agent() == AGENT && VAULT.payee() == AGENT);
        assert(VAULT.status() == (amount != 0 && amount == _budget ? Status.Working : Status.Funding));
    }

    /// @dev While Funding donated USDC leaves first, so what counts as deposited stays within the balance.
    function check_booked__withdraw_while_funding(uint256 amount, address caller) external {
        Snapshot memory before = _withdraw(amount, caller);
        vm.assume(before.status == Status.Funding);
        Totals memory t = VAULT.totals();
        assert(caller == OWNER);
        assert(_usdc.balanceOf(address(VAULT)) + amount == before.balance);
        assert(t.deposited <= _usdc.balanceOf(address(VAULT)) && t.deposited <= before.totals.deposited);
        assert(t.spent == before.totals.spent && t.received == before.totals.received);
        assert(t.withdrawn == before.totals.withdrawn && t.feePaid == before.totals.feePaid);
        assert(VAULT.status() == Status.Funding);
    }

    function check_booked__withdraw_later(uint256 amount, address caller) external {
        Snapshot memory before = _withdraw(amount, caller);
        vm.assume(before.status != Status.Funding);
        assert(caller == OWNER);
        assert(before.status != Status.Working || block.timestamp >= _endsAt + 1 days);
        _assertBooked(before);
    }

    function check_booked__receiveProceeds(uint256 amount) external {
        _assertBooked(_receiveProceeds(amount));
    }

    function check_booked__settle(address caller) external {
        Snapshot memory before = _settle(caller);
        _assertBooked(before);
        assert(VAULT.status() == Status.Settled && VAULT.agent() == address(0));
        bool isStopped = VAULT.stoppedAt() != 0;
        assert(
            block.timestamp >= _endsAt + 1 days || (isStopped && caller == OWNER)
                || (caller == address(this) && (isStopped || block.timestamp >= _endsAt))
        );
    }

    /// @dev The zero address is a caller like any: without an agent it must not pass for one.
    function check_booked__stop(address caller, bytes32 reason) external {
        Snapshot memory before = _stop(caller, reason);
        _assertBooked(before);
        assert(VAULT.status() == Status.Stopped && VAULT.agent() == address(0));
        assert(reason != "stop_line");
        assert(caller == OWNER || (caller == AGENT && before.agent == AGENT));
        assert(block.timestamp < _endsAt || block.timestamp >= _endsAt + 1 days);
    }

    /// @dev A mark moves no money, says what the vault measures, and stops a working mandate at the floor alone.
    function check_booked__mark(address caller) external {
        Snapshot memory before = _mark(caller);
        _assertBooked(before);
        assert(caller == address(this));
        if (before.isStopped) {
            assert(VAULT.status() == before.status && VAULT.agent() == before.agent);
        } else {
            (uint256 worth,) = VAULT.worth();
            assert(before.status == Status.Working && block.timestamp < _endsAt + 1 days);
            assert((VAULT.status() == Status.Stopped) == (worth <= VAULT.stopFloor()));
        }
    }

    function check_booked__enforceStopLine(address caller) external {
        Snapshot memory before = _enforceStopLine(caller);
        _assertBooked(before);
        (uint256 worth,) = VAULT.worth();
        assert(before.status == Status.Working && !before.isStopped && block.timestamp < _endsAt);
        assert(worth <= VAULT.stopFloor());
        assert(VAULT.status() == Status.Stopped && VAULT.agent() == address(0));
    }

    function check_booked__setAgent(address caller, address newAgent) external {
        _assertBooked(_setAgent(caller, newAgent));
        assert(VAULT.payee() == PAYEE);
    }

    function check_booked__removeAgent(address caller) external {
        Snapshot memory before = _removeAgent(caller);
        _assertBooked(before);
        assert(caller == OWNER && before.agent != address(0) && !before.isStopped);
        assert(VAULT.agent() == address(0) && VAULT.payee() == PAYEE);
    }

    function check_booked__setPayee(address caller, address newPayee) external {
        Snapshot memory before = _setPayee(caller, newPayee);
        _assertBooked(before);
        assert(caller == PAYEE && newPayee != address(0) && newPayee != address(VAULT));
        assert(VAULT.payee() == newPayee && VAULT.agent() == before.agent && VAULT.status() == before.status);
    }

    function check_setAgent__only_the_owner_and_before_the_end(address caller, address newAgent) external {
        _setAgent(caller, newAgent);
        assert(caller == OWNER && block.timestamp < _endsAt);
        assert(newAgent != address(0) && newAgent != address(VAULT));
        assert(VAULT.agent() == newAgent);
    }

    function check_reachable_setAgent(address caller, address newAgent) external {
        _setAgent(caller, newAgent);
        assert(false);
    }

    function check_reachable_unwind(address caller, uint256 paid) external {
        assert(VAULT.totals().received == _unwind(caller, paid).totals.received);
    }

    function check_reachable_deposit(uint256 amount) external {
        _deposit(amount);
        assert(VAULT.status() != Status.Working);
    }

    function check_reachable_depositWithAuthorization(
        address caller,
        address from,
        uint256 amount,
        uint256[2] memory valid,
        bytes32 salt
    ) external {
        _depositWithAuthorization(caller, from, amount, valid, salt);
        assert(VAULT.status() != Status.Working);
    }

    function check_reachable_initialize(address caller, uint256 amount, bool isPull) external {
        _initialize(caller, amount, isPull);
        assert(VAULT.status() != Status.Working);
    }

    function check_reachable_withdraw_while_funding(uint256 amount, address caller) external {
        assert(_withdraw(amount, caller).status != Status.Funding);
    }

    function check_reachable_withdraw_later(uint256 amount, address caller) external {
        assert(_withdraw(amount, caller).status != Status.Stopped);
    }

    function check_reachable_receiveProceeds(uint256 amount) external {
        _receiveProceeds(amount);
        assert(false);
    }

    function check_reachable_settle(address caller) external {
        assert(_settle(caller).totals.feePaid == VAULT.totals().feePaid);
    }

    function check_reachable_stop(address caller, bytes32 reason) external {
        _stop(caller, reason);
        assert(false);
    }

    function check_reachable_stop_by_the_agent(bytes32 reason) external {
        _stop(AGENT, reason);
        assert(false);
    }

    function check_reachable_mark(address caller) external {
        assert(_mark(caller).isStopped || VAULT.status() != Status.Stopped);
    }

    function check_reachable_mark_after_a_stop(address caller) external {
        assert(!_mark(caller).isStopped);
    }

    function check_reachable_enforceStopLine(address caller) external {
        _enforceStopLine(caller);
        assert(false);
    }

    function check_reachable_removeAgent(address caller) external {
        _removeAgent(caller);
        assert(false);
    }

    function check_reachable_setPayee(address caller, address newPayee) external {
        _setPayee(caller, newPayee);
        assert(false);
    }

    function _enforceStopLine(address caller) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.enforceStopLine();
    }

    function _removeAgent(address caller) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.removeAgent();
    }

    function _setPayee(address caller, address newPayee) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.setPayee(newPayee);
    }

    function _setAgent(address caller, address newAgent) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.setAgent(newAgent);
    }

    function _unwind(address caller, uint256 paid) private returns (Snapshot memory before) {
        before = _anyState();
        Call[] memory calls = new Call[](1);
        calls[0] = Call(address(_venue), 0, abi.encodeCall(AnyVenue.exit, (0, paid)));
        vm.prank(caller);
        VAULT.unwind(calls);
    }

    function _deposit(uint256 amount) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(OWNER);
        _usdc.approve(address(VAULT), amount);
        vm.prank(OWNER);
        VAULT.deposit(amount);
    }

    function _depositWithAuthorization(
        address caller,
        address from,
        uint256 amount,
        uint256[2] memory valid,
        bytes32 salt
    ) private returns (Snapshot memory before) {
        before = _anyState();
        vm.etch(OWNER, address(new AnySigner()).code);
        // Another who would pay, too.
        vm.etch(RECEIVER, OWNER.code);
        _usdc.mint(RECEIVER, MOST);
        vm.prank(caller);
        VAULT.depositWithAuthorization(from, amount, valid[0], valid[1], salt, "signed");
    }

    function _initialize(address caller, uint256 amount, bool isPull) private returns (Snapshot memory before) {
        before.balance = svm.createUint(80, "balance");
        _usdc.mint(address(VAULT), before.balance);
        vm.warp(svm.createUint(32, "now"));
        vm.etch(OWNER, address(new AnySigner()).code);
        vm.prank(OWNER);
        _usdc.approve(address(VAULT), amount);
        vm.prank(caller);
        VAULT.initialize(Funding(amount, 0, type(uint256).max, isPull ? bytes("") : bytes("signed")));
    }

    function _withdraw(uint256 amount, address caller) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.withdraw(address(_usdc), RECEIVER, amount);
    }

    function _receiveProceeds(uint256 amount) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(address(_venue));
        _usdc.approve(address(VAULT), amount);
        vm.prank(address(_venue));
        VAULT.receiveProceeds(amount);
    }

    function _settle(address caller) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.settle();
    }

    function _stop(address caller, bytes32 reason) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.stop(reason);
    }

    function _mark(address caller) private returns (Snapshot memory before) {
        before = _anyState();
        vm.prank(caller);
        VAULT.mark();
    }

    /// @dev Own cash, deposited + received - spent - withdrawn - feePaid, moves by exactly what the balance moves. So
    /// own cash that was within the balance stays within it. Stated change by change: no counter falls, and the solver
    /// need not order sums of six numbers. While Funding nothing but deposits is counted, and no step leads back there.
    function _assertBooked(Snapshot memory before) private view {
        Totals memory t = VAULT.totals();
        Totals memory t0 = before.totals;
        assert(t.deposited >= t0.deposited && t.received >= t0.received);
        assert(t.spent >= t0.spent && t.withdrawn >= t0.withdrawn && t.feePaid >= t0.feePaid);
        uint256 came = uint256(t.deposited - t0.deposited) + (t.received - t0.received);
        uint256 left = uint256(t.spent - t0.spent) + (t.withdrawn - t0.withdrawn) + (t.feePaid - t0.feePaid);
        assert(before.balance + came == _usdc.balanceOf(address(VAULT)) + left);
        if (before.status == Status.Funding) {
            assert(left == 0 && t.received == t0.received);
        } else {
            assert(VAULT.status() != Status.Funding);
        }
        assert(_usdc.allowance(address(VAULT), address(_venue)) == 0);
    }

    // ------------------------------------------------------------------ states

    /// @dev Every field of the vault's storage but the entries of the window: the day is one in which nothing counts.
    function _anyState() private returns (Snapshot memory before) {
        vm.warp(svm.createUint(32, "now"));
        uint256 agent = svm.createBool("hasAgent") ? uint256(uint160(AGENT)) : 0;
        uint256 control = agent | (svm.createUint(2, "status") << 160) | (svm.createUint(40, "stoppedAt") << 168);
        uint256 flags = (svm.createBool("hadAgent") ? 1 : 0) | (svm.createBool("payeeFixed") ? 1 << 8 : 0);
        _store(0, control | (flags << 208));
        uint256 place = svm.createUint(32, "place");
        before = _anyTotals(svm.createUint(72, "spent"), (place << 192) | (place << 224));
    }

    /// @dev The vault works and has its agent, since otherwise nothing passes, and one entry of any amount and second
    /// lies in the window: it still counts, or no longer does.
    function _anyDay() private returns (Snapshot memory before) {
        uint256 now_ = svm.createUint(32, "now");
        uint256 time = svm.createUint(32, "time");
        vm.assume(time <= now_);
        vm.warp(now_);
        _store(0, uint256(uint160(AGENT)) | (uint256(Status.Working) << 160));
        _store(uint256(keccak256(abi.encode(0, 4))), (time << 53) | svm.createUint(53, "spentBefore"));
        before = _anyTotals(svm.createUint(72, "spent"), 1 << 224);
    }

    function _anyTotals(uint256 spent, uint256 window) private returns (Snapshot memory before) {
        _store(1, spent | (svm.createUint(72, "received") << 80) | (svm.createUint(31, "nonce") << 160) | window);
        uint256 unvaluedOut = svm.createUint(72, "unvaluedOut");
        _store(2, svm.createUint(72, "deposited") | (unvaluedOut << 80) | (svm.createUint(72, "feePaid") << 160));
        _store(3, uint256(uint160(PAYEE)) | (svm.createUint(72, "withdrawn") << 160));
        _usdc.mint(address(VAULT), svm.createUint(80, "balance"));
        before.totals = VAULT.totals();
        before.status = VAULT.status();
        before.isStopped = VAULT.stoppedAt() != 0;
        before.agent = VAULT.agent();
        before.balance = _usdc.balanceOf(address(VAULT));
    }

    function _store(uint256 slot, uint256 word) private {
        vm.store(address(VAULT), bytes32(slot), bytes32(word));
    }

    function _spend(uint256 maxSpend, uint256 taken, uint256 paid) private view returns (Call memory) {
        return Call(address(_venue), maxSpend, abi.encodeCall(AnyVenue.spend, (taken, paid)));
    }
}
