// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";
import {FreezableUSDC} from "../../../contracts/mocks/FreezableUSDC.sol";

/// @notice An adapter that tells any worth, or none.
contract LyingAdapter {
    uint256 private _value;
    bool private _fails;
    bool private _burns;

    function lie(uint256 value, bool fails) external {
        (_value, _fails) = (value, fails);
    }

    /// @dev All gas that it is given.
    function burn() external {
        _burns = true;
    }

    function valueOf(address) external view returns (uint256) {
        require(!_fails, "no");
        while (_burns) {}
        return _value;
    }

    function spend() external {}
}

/// @notice Pitfalls 17, 18, 21 and 23: trapped money, gifts, a freezing issuer, and what a lie about worth can do.
contract MoneyAttacksTest is Test {
    MandateVault internal vault;
    LyingAdapter internal liar;
    FreezableUSDC internal freezer;

    function setUp() public override {
        vm.warp(NOW);
        vm.roll(BLOCK);
        _deployHouse("FreezableUSDC.sol");
        freezer = FreezableUSDC(address(usdc));
        liar = new LyingAdapter();
        vm.prank(admin);
        factory.listAdapter(address(liar));
        _draftTerms();
        _addRule(address(liar), LyingAdapter.spend.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
    }

    function _withdraw(uint256 amount) private {
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, amount);
    }

    // ------------------------------------------------------------------ 17 trapped money

    function test_pitfall_17__pause__holds_up_no_way_home() public {
        _execute(vault, _buy(100 * USD));
        vm.prank(pauser);
        factory.pause();
        vm.prank(keeper);
        vault.mark();
        _stop(vault);
        vm.prank(owner);
        vault.unwind(_batch(_sell(100 * USD)));
        vm.prank(keeper);
        vault.settle();
        _withdraw(BUDGET);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }

    function test_pitfall_17__positions_open_at_the_stop__come_home_afterwards_and_leave() public {
        _execute(vault, _buy(100 * USD));
        _stop(vault);
        _withdraw(BUDGET - 100 * USD);
        vm.prank(owner);
        vault.unwind(_batch(_sell(100 * USD)));
        _withdraw(100 * USD);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }

    function test_pitfall_17__keeper_that_never_comes__costs_the_owner_a_day() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WithdrawLocked.selector, LOCK_SETTLE_GRACE, GRACE_END));
        _withdraw(BUDGET);
        vm.warp(GRACE_END);
        _withdraw(BUDGET);
    }

    function test_pitfall_17__keeper_whose_office_is_taken_over__still_pays_nobody() public {
        // The worst keeper: it settles when that is due, moves no position, and each base unit stays with owner and payee.
        _execute(vault, _buy(100 * USD));
        vm.startPrank(keeper);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotParty.selector, keeper));
        vault.stop("hostile");
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, keeper));
        vault.unwind(_batch(_sell(100 * USD)));
        vault.settle();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, keeper));
        vault.withdraw(address(usdc), keeper, 1);
        vm.stopPrank();
        assertEq(usdc.balanceOf(keeper), 0);
        assertEq(usdc.balanceOf(address(vault)), BUDGET - 100 * USD);
        assertEq(venue.positionOf(address(vault)), 100 * USD);
    }

    // ------------------------------------------------------------------ 18 gifts

    function test_pitfall_18__gift__is_no_gain_no_budget_and_no_worth() public {
        usdc.mint(address(vault), 500 * USD);
        (,, uint256 total,) = vault.remaining();
        assertEq(total, BUDGET);
        (uint256 worth,) = vault.worth();
        assertEq(worth, BUDGET);
        assertEq(vault.feeOwed(), 0);
        _stop(vault);
        _withdraw(BUDGET + 500 * USD);
    }

    function test_pitfall_18__gift_cannot_complete_a_budget() public {
        terms.nonce = 2;
        vault = _createEmpty();
        vm.prank(owner);
        vault.deposit(BUDGET - 1);
        usdc.mint(address(vault), BUDGET);
        assertEq(vault.status(), Status.Funding);
    }

    function test_pitfall_18__gift_cannot_lift_a_worth_above_the_stop_line() public {
        _execute(vault, _buy(100 * USD));
        _execute(vault, _buy(100 * USD));
        _execute(vault, _buy(USD));
        vm.prank(operator);
        venue.setPrice(1);
        usdc.mint(address(vault), BUDGET);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }

    function testFuzz_pitfall_18__agent_that_pays_in_its_own_money_for_the_fee__never_profits(uint256 gift, uint16 bps)
        public
    {
        terms.nonce = 2;
        terms.agentFeeBps = bps % 10_001;
        vault = _createWorking();
        gift = gift % BUDGET;
        // A venue in the agent's pay: what it gives counts as received.
        _execute(vault, _give(gift));
        _stop(vault);
        vm.prank(owner);
        uint256 fee = vault.settle();
        vm.assertLe(fee, gift);
        assertEq(fee, gift * terms.agentFeeBps / 10_000);
    }

    function test_pitfall_18__money_sent_in_a_circle__earns_nothing() public {
        for (uint256 i; i < 3; ++i) {
            _execute(vault, _take(100 * USD));
            _execute(vault, _give(100 * USD));
        }
        assertEq(vault.feeOwed(), 0);
        (, uint256 today,,) = vault.remaining();
        assertEq(today, 0);
    }

    function test_pitfall_18__owner_that_withdraws_first__leaves_the_fee() public {
        _execute(vault, _give(100 * USD));
        _stop(vault);
        bytes memory refusal =
            abi.encodeWithSelector(ErrorsLib.OverWithdrawable.selector, BUDGET + 90 * USD + 1, BUDGET + 90 * USD);
        _expectRevert(refusal);
        _withdraw(BUDGET + 90 * USD + 1);
        _withdraw(BUDGET + 90 * USD);
        vm.prank(keeper);
        assertEq(vault.settle(), 10 * USD);
    }

    // ------------------------------------------------------------------ 21 the issuer

    function test_pitfall_21__frozen_vault__keeps_everything_until_it_is_thawed() public {
        _stop(vault);
        freezer.setFrozen(address(vault), true);
        _expectRevert(abi.encodeWithSignature("Error(string)", "Blacklistable: account is blacklisted"));
        _withdraw(BUDGET);
        freezer.setFrozen(address(vault), false);
        _withdraw(BUDGET);
    }

    function test_pitfall_21__frozen_owner__takes_the_money_to_another_account() public {
        _stop(vault);
        freezer.setFrozen(owner, true);
        vm.prank(owner);
        vault.withdraw(address(usdc), stranger, BUDGET);
        assertEq(usdc.balanceOf(stranger), BUDGET);
    }

    function test_pitfall_21__frozen_payee__holds_up_its_fee_and_not_the_owner() public {
        _execute(vault, _give(100 * USD));
        _stop(vault);
        freezer.setFrozen(agent, true);
        _expectRevert(abi.encodeWithSignature("Error(string)", "Blacklistable: account is blacklisted"));
        vm.prank(keeper);
        vault.settle();
        _withdraw(BUDGET + 90 * USD);
        // The payee names another account and is paid there.
        vm.prank(agent);
        vault.setPayee(stranger);
        vm.prank(keeper);
        vault.settle();
        assertEq(usdc.balanceOf(stranger), 10 * USD);
    }

    // ------------------------------------------------------------------ 23 worth

    function test_pitfall_23__lie_of_a_high_worth__pays_no_fee_and_lifts_no_limit() public {
        liar.lie(1_000_000 * USD, false);
        (uint256 worth,) = vault.worth();
        assertEq(worth, BUDGET + 1_000_000 * USD);
        vm.prank(keeper);
        vault.mark();
        assertEq(vault.status(), Status.Working);
        assertEq(vault.feeOwed(), 0);
        (uint256 perAction, uint256 today, uint256 total,) = vault.remaining();
        assertEq(perAction, PER_TX);
        assertEq(today, DAILY);
        assertEq(total, BUDGET);
    }

    /// @dev Neither a mark nor a stop by worth while an adapter fails; a party's stop and the way home stand.
    function test_pitfall_23__adapter_that_fails_or_overflows__blocks_no_partys_stop() public {
        bytes[2] memory failures =
            [abi.encodeWithSignature("Error(string)", "no"), abi.encodeWithSignature("Panic(uint256)", uint256(0x11))];
        for (uint256 i; i < 2; ++i) {
            uint256 snapshot = vm.snapshotState();
            liar.lie(i == 0 ? 0 : type(uint256).max, i == 0);
            _expectRevert(failures[i]);
            vault.enforceStopLine();
            _expectRevert(failures[i]);
            vm.prank(keeper);
            vault.mark();
            vm.prank(agent);
            vault.stop("enough");
            _expectRevert(failures[i]);
            vm.prank(keeper);
            vault.mark();
            _withdraw(BUDGET);
            vm.revertToState(snapshot);
        }
    }

    /// @dev Who stops chooses the gas; what an adapter does with it is no matter, since a party's stop asks none.
    function test_pitfall_23__adapter_that_eats_all_gas__blocks_no_partys_stop_and_no_way_home() public {
        liar.burn();
        vm.prank(keeper);
        (bool passed,) = address(vault).call{gas: 500_000}(abi.encodeCall(vault.mark, ()));
        assertFalse(passed);
        (passed,) = address(vault).call{gas: 500_000}(abi.encodeCall(vault.enforceStopLine, ()));
        assertFalse(passed);
        vm.prank(agent);
        (passed,) = address(vault).call{gas: 60_000}(abi.encodeCall(vault.stop, ("enough")));
        assertTrue(passed);
        assertEq(vault.status(), Status.Stopped);
        vm.prank(keeper);
        (passed,) = address(vault).call{gas: 500_000}(abi.encodeCall(vault.mark, ()));
        assertFalse(passed);
        _withdraw(BUDGET);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }

    /// @dev One unit less than the truth is enough for the line, and for nothing else: it costs the mandate its end, never
    /// money, and the agent's own stop says no worth that could be bent.
    function test_pitfall_23__adapter_that_lies_by_a_unit_while_the_agent_stops__bends_no_stop() public {
        for (uint256 i; i < 3; ++i) {
            _execute(vault, _buy(PER_TX));
        }
        vm.prank(operator);
        venue.setPrice(1);
        // 700 of cash, 300 base units at the test venue, and what the liar says.
        uint256 truth = 100 * USD - 300 + 1;
        liar.lie(truth, false);
        _markLogs(FLOOR + 1);
        assertEq(vault.status(), Status.Working);

        uint256 snapshot = vm.snapshotState();
        liar.lie(truth - 1, false);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
        vm.revertToState(snapshot);

        liar.lie(truth - 1, false);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(agent, "enough", 0, 0, false);
        vm.prank(agent);
        vault.stop("enough");
        _markLogs(FLOOR);
        liar.lie(truth, false);
        _markLogs(FLOOR + 1);
        _withdraw(700 * USD);
    }

    function _markLogs(uint256 worth) private {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(worth, 0);
        vm.prank(keeper);
        vault.mark();
    }

    /// @dev What a stolen keeper's key can write is what the vault measures.
    function test_pitfall_23__mark__moves_no_money_and_says_nothing_of_its_own() public {
        vm.startPrank(keeper);
        for (uint256 i; i < 3; ++i) {
            _expectEmit(address(vault));
            emit IMandateVaultEvents.Marked(BUDGET, 0);
            vault.mark();
        }
        assertEq(vault.status(), Status.Working);
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
        assertEq(vault.feeOwed(), 0);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotParty.selector, keeper));
        vault.stop("keeper");
    }
}
