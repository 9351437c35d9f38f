// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IAdapter} from "../../../contracts/interfaces/IAdapter.sol";
import "../base/Test.sol";

/// @notice USDC that lets a watcher look before and after each movement. The real one does not; a venue that pays in ETH
/// or in a token with hooks lets anyone look just so.
contract WatchedUSDC is MockUSDC {
    Watcher private _watcher;

    function setWatcher(Watcher watcher) external {
        _watcher = watcher;
    }

    function _update(address from, address to, uint256 value) internal override {
        _look();
        super._update(from, to, value);
        _look();
    }

    function _look() private {
        if (address(_watcher) != address(0)) _watcher.look();
    }
}

/// @notice Asks the adapter in the middle of somebody's call, and tries to stop the mandate there.
contract Watcher {
    IAdapter private immutable ADAPTER;
    MandateVault private immutable VAULT;
    uint256 private immutable EXPECTED;

    uint256 public looks;
    uint256 public odd;
    bool public isMoved;
    bool public isStopped;

    constructor(IAdapter adapter, MandateVault vault) {
        (ADAPTER, VAULT, EXPECTED) = (adapter, vault, adapter.valueOf(address(vault)));
    }

    function look() external {
        looks += 1;
        uint256 value = ADAPTER.valueOf(address(VAULT));
        if (value != EXPECTED) (isMoved, odd) = (true, value);
        try VAULT.enforceStopLine() {
            isStopped = true;
        } catch {}
    }
}

/// @notice What every listed adapter must keep, as IAdapter says it. An adapter's own file says what its venue offers and
/// calls `_conforms`; each condition throws its own error.
///
/// The mandate of these tests stops at a loss of 0.1 USDC beside what trading costs, and holds 300 USDC of positions. Who attacks has a loan of a
/// million USDC for the length of a transaction. A whole test is one transaction, in one block.
abstract contract AdapterConformance is Test {
    uint256 internal constant LOAN = 1_000_000 * USD;

    error ValueMoved(string by, uint256 before, uint256 during);
    error StoppedBy(string by);
    error NotLinear(uint256 value, uint256 linear);
    error CloseBringsAnother(uint256 value, uint256 brought);
    error OpenedForMore(uint256 paid, uint256 value);
    error PositionDiffers(uint256 units, uint256 value);
    error StatesAPrice(uint256 value, uint256 units, uint256 price, bool isLinear);
    error RuleNotItsOwn(address target, bytes4 selector);
    error NothingSeen();
    error TakenBy(bytes4 selector, bool passed);
    error LeftBehind(uint256 amount);

    MandateVault internal vault;
    MandateVault internal other;
    IAdapter internal subject;
    address internal attacker = address(0xA77AC4E2);

    function setUp() public virtual override {
        vm.warp(NOW);
        vm.roll(BLOCK);
        _deployHouse("AdapterConformance.sol:WatchedUSDC");
        _draftTerms();
        uint256 lossBps = 1 + 3 * PER_TX * _tradingCostE6() / BUDGET / 100;
        (terms.stopFloor, terms.stopFloorBps) = (BUDGET - BUDGET * lossBps / 10_000, uint16(lossBps));
        _clearRules();
        subject = _subject();
        Rule[] memory list = subject.rules();
        for (uint256 i; i < list.length; ++i) {
            _addRule(list[i].target, list[i].selector, list[i].recipientWord, list[i].kind);
        }
        if (list.length == 0) _addRule(address(hostile), HostileVenue.take.selector, NO_PIN, KIND_SPEND);
        other = _createWorking();
        terms.nonce = 2;
        vault = _createWorking();
        usdc.mint(attacker, LOAN);
    }

    // ------------------------------------------------------------------ what an adapter's file says

    /// @dev The adapter, deployed and with all that its venue needs.
    function _subject() internal virtual returns (IAdapter);

    /// @dev The vault's agent puts `amount` to work: a position, or what the adapter does without any.
    function _open(MandateVault of_, uint256 amount) internal virtual;

    /// @dev The call that sells all. Adapters without positions have nothing to sell.
    function _closing(MandateVault of_) internal view virtual returns (Call memory) {}

    /// @dev False: the adapter holds no positions and states no price.
    function _holdsPositions() internal pure virtual returns (bool) {
        return true;
    }

    /// @dev Whatever `who` can do at the venue with a loan to move the price, and the way back.
    function _push(address who, uint256 loan) internal virtual;
    function _undo(address who) internal virtual;

    /// @dev The venue's price moves as it honestly does, from one block to another.
    function _movePrice(uint256) internal virtual {}

    /// @dev What a purchase and a sale each cost at most, in millionths of the amount, beside roundings.
    function _tradingCostE6() internal pure virtual returns (uint256) {
        return 0;
    }

    /// @dev The least amount that can be put to work.
    function _leastAmount() internal pure virtual returns (uint256) {
        return 4;
    }

    /// @dev Every account whose balance the value could hang on.
    function _accounts() internal view virtual returns (address[] memory);

    // ------------------------------------------------------------------ the conditions

    function _conforms() internal {
        function() internal[8] memory conditions = [
            checkFlashSale,
            checkReentrantRead,
            checkDonation,
            checkGas,
            checkUnits,
            checkRules,
            checkStranger,
            checkLeaving
        ];
        for (uint256 i; i < conditions.length; ++i) {
            uint256 snapshot = vm.snapshotState();
            conditions[i]();
            vm.revertToState(snapshot);
        }
    }

    /// @dev The price is pushed with the loan, the mandate is stopped and marked at it, and the price is put back.
    function checkFlashSale() public {
        uint256 value = _hold(vault);
        _push(attacker, LOAN);
        _requireStays("a push with a loan", value);
        _requireWorks("a push with a loan");
        vm.prank(keeper);
        vault.mark();
        _requireWorks("a mark of a pushed price");
        _undo(attacker);
        _requireStays("the way back", value);
        _requireWorks("the way back");
    }

    /// @dev Another's trades are looked into at each movement of USDC: what a venue answers halfway through them is what it
    /// answers before and after. The vault's own calls it cannot be stopped in, since the vault is locked there.
    function checkReentrantRead() public {
        uint256 value = _hold(vault);
        Watcher watcher = new Watcher(subject, vault);
        WatchedUSDC(address(usdc)).setWatcher(watcher);
        _push(attacker, LOAN / 1_000_000);
        _undo(attacker);
        _open(other, PER_TX);
        _close(other);
        WatchedUSDC(address(usdc)).setWatcher(Watcher(address(0)));
        if (watcher.looks() == 0) revert NothingSeen();
        if (watcher.isMoved()) revert ValueMoved("a read halfway through", value, watcher.odd());
        if (watcher.isStopped()) revert StoppedBy("a read halfway through");
    }

    function checkDonation() public {
        uint256 value = _hold(vault);
        address[] memory accounts = _accounts();
        for (uint256 i; i < accounts.length; ++i) {
            usdc.mint(accounts[i], 1);
            _requireStays("a donation of a unit", value);
            usdc.mint(accounts[i], LOAN);
            _requireStays("a donation", value);
        }
        usdc.mint(address(vault), LOAN);
        _requireStays("a donation to the vault", value);
        _requireWorks("a donation");
    }

    /// @dev Who stops a mandate by its line chooses the gas. A call keeps a 64th of it from what it calls, so that one with too
    /// little can still be answered; steps of a 128th leave none of these out.
    function checkGas() public {
        uint256 value = _hold(vault);
        bytes memory question = abi.encodeCall(subject.valueOf, (address(vault)));
        uint256 enough = gasleft();
        (bool answered, bytes memory answer) = address(subject).staticcall(question);
        enough -= gasleft();
        for (uint256 given = 500; given < enough; given += 1 + given / 128) {
            (answered, answer) = address(subject).staticcall{gas: given}(question);
            if (!answered) continue;
            uint256 said = abi.decode(answer, (uint256));
            if (said != value) revert ValueMoved("too little gas", value, said);
        }
    }

    /// @dev USDC base units, rounded down: no more than was paid, what closing brings but for what trading costs, and 0 for
    /// nothing.
    function checkUnits() public {
        uint256[3] memory prices = [uint256(1_000_000), 333_333, 2_500_001];
        uint256[3] memory amounts = [_leastAmount(), 7 * USD + 1, 99_999_999];
        for (uint256 i; i < prices.length; ++i) {
            vm.warp(block.timestamp + 1 days);
            vm.roll(block.number + 1);
            _movePrice(prices[i]);
            for (uint256 j; j < amounts.length; ++j) {
                _checkUnits(amounts[j]);
            }
        }
    }

    function _checkUnits(uint256 amount) private {
        _requireNothing();
        _open(vault, amount);
        if (!_holdsPositions()) return _requireNothing();
        uint256 value = subject.valueOf(address(vault));
        uint256 units = subject.positionOf(address(vault));
        if (units == 0) revert PositionDiffers(units, value);
        // Less by what a unit of the dearest price costs, rounded twice.
        uint256 cost = amount * _tradingCostE6() / 1e6;
        if (value > amount || value + cost + 4 < amount) revert OpenedForMore(amount, value);
        if (subject.isLinear()) {
            uint256 linear = units * subject.unitPrice() / 1e6;
            if (value != linear) revert NotLinear(value, linear);
        }
        uint256 balance = usdc.balanceOf(address(vault));
        _close(vault);
        uint256 brought = usdc.balanceOf(address(vault)) - balance;
        if (brought > value || brought + cost < value) revert CloseBringsAnother(value, brought);
        _requireNothing();
    }

    /// @dev Nothing is held: worth 0. Without positions there is no price either.
    function _requireNothing() private view {
        uint256 value = subject.valueOf(address(vault));
        uint256 units = subject.positionOf(address(vault));
        if (value != 0 || units != 0) revert PositionDiffers(units, value);
        if (_holdsPositions()) return;
        uint256 price = subject.unitPrice();
        if (price != 0 || !subject.isLinear()) revert StatesAPrice(value, units, price, subject.isLinear());
    }

    function checkRules() public view {
        Rule[] memory list = subject.rules();
        for (uint256 i; i < list.length; ++i) {
            bool isSorted = i == 0 || uint32(list[i - 1].selector) < uint32(list[i].selector);
            if (list[i].target != address(subject) || !isSorted) {
                revert RuleNotItsOwn(list[i].target, list[i].selector);
            }
        }
    }

    /// @dev Whichever function a stranger calls, and whatever it passes, the vault keeps position and money.
    function checkStranger() public {
        uint256 value = _hold(vault);
        uint256 units = subject.positionOf(address(vault));
        uint256 balance = usdc.balanceOf(address(vault));
        bytes32[4] memory words =
            [bytes32(0), bytes32(uint256(1)), bytes32(units), bytes32(uint256(uint160(address(vault))))];
        Rule[] memory list = subject.rules();
        for (uint256 i; i < list.length * 16; ++i) {
            (bytes32 first, bytes32 second) = (words[i % 4], words[i / 4 % 4]);
            vm.prank(attacker);
            (bool passed,) =
                address(subject).call(abi.encodePacked(list[i / 16].selector, first, second, first, second));
            bool isSame = subject.positionOf(address(vault)) == units && subject.valueOf(address(vault)) == value;
            if (!isSame || usdc.balanceOf(address(vault)) != balance) revert TakenBy(list[i / 16].selector, passed);
        }
    }

    /// @dev Once the mandate is stopped the owner closes it and takes all but the fee home, with nobody's help.
    function checkLeaving() public {
        uint256 value = _hold(vault);
        _stop(vault);
        if (_holdsPositions()) {
            uint256 before = usdc.balanceOf(address(vault));
            Call[] memory closing = _batch(_closing(vault));
            vm.prank(owner);
            vault.unwind(closing);
            uint256 brought = usdc.balanceOf(address(vault)) - before;
            if (brought + value * _tradingCostE6() / 1e6 + 4 < value) revert CloseBringsAnother(value, brought);
        }
        _requireNothing();
        uint256 fee = vault.feeOwed();
        uint256 free = usdc.balanceOf(address(vault)) - fee;
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, free);
        if (usdc.balanceOf(address(vault)) != fee) revert LeftBehind(usdc.balanceOf(address(vault)));
    }

    // ------------------------------------------------------------------ words

    function _close(MandateVault of_) private {
        if (_holdsPositions()) _execute(of_, _closing(of_));
    }

    function _hold(MandateVault of_) private returns (uint256 value) {
        for (uint256 i; i < 3; ++i) {
            _open(of_, PER_TX);
        }
        value = subject.valueOf(address(of_));
        if (_holdsPositions() != (value != 0)) revert PositionDiffers(subject.positionOf(address(of_)), value);
    }

    function _requireStays(string memory by, uint256 value) private view {
        uint256 now_ = subject.valueOf(address(vault));
        if (now_ != value) revert ValueMoved(by, value, now_);
    }

    function _requireWorks(string memory by) private {
        vm.prank(attacker);
        (bool stopped,) = address(vault).call(abi.encodeCall(vault.enforceStopLine, ()));
        if (stopped || vault.status() != Status.Working) revert StoppedBy(by);
    }
}
