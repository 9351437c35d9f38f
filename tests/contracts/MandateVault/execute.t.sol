// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import "../base/Test.sol";

contract ExecuteTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    // ------------------------------------------------------------------ what it does

    function test_execute__buy__spends_counts_and_emits() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(
            0, address(adapter), TestVenueAdapter.buy.selector, 40 * USD, 0, BUDGET - 40 * USD
        );
        bytes memory result = _execute(vault, _buy(40 * USD));

        assertEq(abi.decode(result, (uint256)), 40 * USD);
        assertEq(usdc.balanceOf(address(vault)), BUDGET - 40 * USD);
        assertEq(venue.positionOf(address(vault)), 40 * USD);
        Totals memory totals = vault.totals();
        assertEq(totals.spent, 40 * USD);
        assertEq(totals.received, 0);
        assertEq(totals.nonce, 1);
        assertEq(totals.unvaluedOut, 0);
    }

    function test_execute__sell__receives_without_giving_the_day_back() public {
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(3 * USD);

        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(
            1, address(adapter), TestVenueAdapter.sell.selector, 0, 300 * USD, BUDGET + 200 * USD
        );
        _execute(vault, _sell(100 * USD));

        (, uint256 today, uint256 total,) = vault.remaining();
        assertEq(today, 200 * USD);
        assertEq(total, BUDGET + 200 * USD);
    }

    function test_execute__target_takes_less_than_max_spend__counts_what_it_took() public {
        Call memory call_ = _take(30 * USD);
        call_.maxSpend = 90 * USD;
        _execute(vault, call_);

        (, uint256 today,,) = vault.remaining();
        assertEq(today, DAILY - 30 * USD);
        assertEq(vault.totals().spent, 30 * USD);
    }

    function test_execute__returns_what_the_target_returns() public {
        assertEq(_execute(vault, _take(7)), abi.encode(uint256(7)));
    }

    function test_execute__nonce_rises_by_one_each_time() public {
        _execute(vault, _buy(USD));
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(1, address(adapter), TestVenueAdapter.buy.selector, USD, 0, BUDGET - 2 * USD);
        _execute(vault, _buy(USD));
        assertEq(vault.totals().nonce, 2);
    }

    // ------------------------------------------------------------------ approvals

    function test_execute__leaves_no_allowance() public {
        Call memory call_ = _take(30 * USD);
        call_.maxSpend = 90 * USD;
        _execute(vault, call_);

        assertEq(usdc.allowance(address(vault), address(hostile)), 0);
        vm.prank(thief);
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(hostile), uint256(0), uint256(1)
            )
        );
        hostile.pullLater(address(vault), 1);
    }

    function test_execute__target_takes_more_than_max_spend__reverts() public {
        Call memory call_ = _take(31 * USD);
        call_.maxSpend = 30 * USD;
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(hostile), 30 * USD, 31 * USD
            )
        );
        _execute(vault, call_);
    }

    function test_execute__without_max_spend_nothing_is_approved() public {
        Call memory call_ = _take(1);
        call_.maxSpend = 0;
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(hostile), uint256(0), uint256(1)
            )
        );
        _execute(vault, call_);
    }

    // ------------------------------------------------------------------ caps

    function test_execute__at_per_tx_cap__passes() public {
        _execute(vault, _buy(PER_TX));
        assertEq(vault.totals().spent, PER_TX);
    }

    function test_execute__above_per_tx_cap__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX));
        _execute(vault, _buy(PER_TX + 1));
    }

    function test_execute__max_spend_above_cap_reverts_though_the_target_takes_less() public {
        Call memory call_ = _take(1);
        call_.maxSpend = PER_TX + 1;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX));
        _execute(vault, call_);
    }

    function test_execute__at_daily_cap__passes() public {
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        assertEq(vault.totals().spent, DAILY);
    }

    function test_execute__above_daily_cap__reverts() public {
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX - 5));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, uint256(6), uint256(5)));
        _execute(vault, _buy(6));
    }

    function test_execute__one_second_before_the_window_frees__reverts() public {
        _spendTheDay();
        vm.warp(NOW + 86_399);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, uint256(1), uint256(0)));
        _execute(vault, _buy(1));
    }

    function test_execute__exactly_86400_seconds_later__passes() public {
        _spendTheDay();
        vm.warp(NOW + 86_400);
        _execute(vault, _buy(PER_TX));
        assertEq(vault.totals().spent, DAILY + PER_TX);
    }

    function test_execute__no_burst_around_midnight() public {
        vm.warp(NOW + 86_399);
        _spendTheDay();
        vm.warp(NOW + 86_401);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, uint256(1), uint256(0)));
        _execute(vault, _buy(1));
    }

    function test_execute__above_own_cash__reverts_though_the_balance_is_larger() public {
        _setCapsToBudget();
        usdc.mint(address(vault), 500 * USD);
        _execute(vault, _buy(BUDGET - 10));
        vm.warp(NOW + 1 days);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverBudget.selector, uint256(11), uint256(10)));
        _execute(vault, _buy(11));
        _execute(vault, _buy(10));
    }

    function test_execute__what_came_back_can_be_spent_again() public {
        _setCapsToBudget();
        _execute(vault, _buy(BUDGET));
        _execute(vault, _sell(BUDGET - 10));
        vm.warp(NOW + 1 days);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverBudget.selector, BUDGET - 9, BUDGET - 10));
        _execute(vault, _buy(BUDGET - 9));
        _execute(vault, _buy(BUDGET - 10));
        assertEq(vault.totals().spent, 2 * BUDGET - 10);
    }

    // ------------------------------------------------------------------ rules

    function test_execute__unlisted_target__reverts() public {
        Call memory call_ = Call(address(usdc), 0, abi.encodeWithSelector(usdc.transfer.selector, thief, USD));
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(usdc), usdc.transfer.selector)
        );
        _execute(vault, call_);
    }

    function test_execute__unlisted_function_of_a_listed_target__reverts() public {
        Call memory call_ = Call(address(hostile), 0, abi.encodeCall(HostileVenue.pullLater, (address(vault), 1)));
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.TargetNotAllowed.selector, address(hostile), HostileVenue.pullLater.selector
            )
        );
        _execute(vault, call_);
    }

    function test_execute__three_bytes_of_data__reverts() public {
        Call memory call_ = Call(address(hostile), 0, hex"aabbcc");
        _expectRevert(abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(hostile), bytes4(0)));
        _execute(vault, call_);
    }

    function test_execute__empty_data__reverts() public {
        Call memory call_ = Call(address(hostile), 0, "");
        _expectRevert(abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(hostile), bytes4(0)));
        _execute(vault, call_);
    }

    function test_execute__pinned_recipient_is_the_vault__passes() public {
        _execute(vault, _giveTo(5 * USD, address(vault)));
        assertEq(vault.totals().received, 5 * USD);
    }

    function test_execute__pinned_recipient_is_a_thief__reverts() public {
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint8(1),
                bytes32(uint256(uint160(thief)))
            )
        );
        _execute(vault, _giveTo(5 * USD, thief));
    }

    function test_execute__pinned_word_with_dirty_upper_bytes__reverts() public {
        bytes32 dirty = bytes32((uint256(1) << 160) | uint160(address(vault)));
        Call memory call_ =
            Call(address(hostile), 0, abi.encodePacked(HostileVenue.giveTo.selector, abi.encode(uint256(USD), dirty)));
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector, address(hostile), HostileVenue.giveTo.selector, uint8(1), dirty
            )
        );
        _execute(vault, call_);
    }

    function test_execute__data_ends_before_the_pinned_word_does__reverts() public {
        bytes memory full = abi.encodeCall(HostileVenue.giveTo, (USD, address(vault)));
        bytes memory short = new bytes(67);
        for (uint256 i; i < 67; ++i) {
            short[i] = full[i];
        }
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.CalldataTooShort.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint256(67),
                uint256(68)
            )
        );
        _execute(vault, Call(address(hostile), 0, short));
    }

    // ------------------------------------------------------------------ who and when, in the order of the checks

    function test_execute__stranger__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAgent.selector, stranger));
        vm.prank(stranger);
        vault.execute(_buy(1));
    }

    function test_execute__owner__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAgent.selector, owner));
        vm.prank(owner);
        vault.execute(_buy(1));
    }

    function test_execute__before_the_budget_is_in__reverts() public {
        terms.nonce = 2;
        MandateVault young = _createEmpty();
        vm.prank(owner);
        young.deposit(BUDGET - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, BUDGET - 1, BUDGET));
        _execute(young, _buy(1));
    }

    function test_execute__last_second_before_the_end__passes() public {
        vm.warp(ENDS_AT - 1);
        _execute(vault, _buy(1));
    }

    function test_execute__at_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _execute(vault, _buy(1));
    }

    function test_execute__settled_without_a_stop__reverts_as_ended() public {
        vm.warp(ENDS_AT);
        vm.prank(keeper);
        vault.settle();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _execute(vault, _buy(1));
    }

    function test_execute__factory_paused__reverts() public {
        vm.prank(pauser);
        factory.pause();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandatePaused.selector));
        _execute(vault, _buy(1));
    }

    function test_execute__after_a_stop__reverts_for_everyone() public {
        _stop(vault);
        bytes memory stopped = abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW);
        _expectRevert(stopped);
        _execute(vault, _buy(1));
        _expectRevert(stopped);
        vm.prank(stranger);
        vault.execute(_buy(1));
        _expectRevert(stopped);
        vm.prank(keeper);
        vault.execute(_buy(1));
    }

    function test_execute__stopped_ended_and_paused__reverts_as_stopped() public {
        _stop(vault);
        vm.warp(ENDS_AT);
        vm.prank(pauser);
        factory.pause();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        vm.prank(stranger);
        vault.execute(_buy(PER_TX + 1));
    }

    function test_execute__ended_and_paused__reverts_as_ended() public {
        vm.warp(ENDS_AT);
        vm.prank(pauser);
        factory.pause();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        vm.prank(stranger);
        vault.execute(_buy(1));
    }

    function test_execute__paused_comes_before_the_caller() public {
        vm.prank(pauser);
        factory.pause();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandatePaused.selector));
        vm.prank(stranger);
        vault.execute(_buy(1));
    }

    function test_execute__caller_comes_before_the_rule() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAgent.selector, stranger));
        vm.prank(stranger);
        vault.execute(Call(address(usdc), PER_TX + 1, ""));
    }

    function test_execute__rule_comes_before_the_caps() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(usdc), bytes4(0)));
        _execute(vault, Call(address(usdc), PER_TX + 1, ""));
    }

    function test_execute__removed_agent__reverts() public {
        vm.prank(owner);
        vault.removeAgent();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NoAgent.selector));
        _execute(vault, _buy(1));
    }

    // ------------------------------------------------------------------ hostile targets

    function test_execute__target_fails__reverts_with_its_data() public {
        Call memory call_ = Call(address(hostile), 0, abi.encodeCall(HostileVenue.fail, (42)));
        _expectRevert(abi.encodeWithSelector(HostileVenue.VenueFailed.selector, uint256(42)));
        _execute(vault, call_);
    }

    function test_execute__target_reenters_any_entry__reverts() public {
        bytes memory reentrant = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        bytes[13] memory entries = [
            abi.encodeCall(vault.execute, (_buy(1))),
            abi.encodeCall(vault.executeBatch, (_batch(_buy(1)))),
            abi.encodeCall(vault.deposit, (1)),
            abi.encodeCall(vault.depositWithAuthorization, (owner, 1, 0, 0, bytes32(0), "")),
            abi.encodeCall(vault.withdraw, (address(usdc), thief, 1)),
            abi.encodeCall(vault.setAgent, (thief)),
            abi.encodeCall(vault.removeAgent, ()),
            abi.encodeCall(vault.setPayee, (thief)),
            abi.encodeCall(vault.mark, ()),
            abi.encodeCall(vault.stop, (bytes32(0))),
            abi.encodeCall(vault.unwind, (_batch(_give(1)))),
            abi.encodeCall(vault.receiveProceeds, (1)),
            abi.encodeCall(vault.enforceStopLine, ())
        ];
        for (uint256 i; i < entries.length; ++i) {
            _expectRevert(reentrant);
            _execute(vault, _reenter(entries[i]));
        }
        _expectRevert(reentrant);
        _execute(vault, _reenter(abi.encodeCall(vault.settle, ())));
        _expectRevert(reentrant);
        _execute(vault, _reenter(abi.encodeCall(vault.initialize, (_noFunding()))));
        _expectRevert(reentrant);
        _execute(vault, _reenter(abi.encodeCall(vault.fund, (_noFunding()))));
    }

    function test_execute__target_reads_limits_in_the_middle__reverts() public {
        bytes memory reentrant = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        bytes[7] memory entries = [
            abi.encodeCall(vault.remaining, ()),
            abi.encodeCall(vault.check, (_batch(_buy(1)))),
            abi.encodeCall(vault.requireExecutable, (_batch(_buy(1)))),
            abi.encodeCall(vault.worth, ()),
            abi.encodeCall(vault.feeOwed, ()),
            abi.encodeCall(vault.lock, ()),
            abi.encodeCall(vault.totals, ())
        ];
        for (uint256 i; i < entries.length; ++i) {
            _expectRevert(reentrant);
            _execute(vault, _reenterView(entries[i]));
        }
    }

    function test_execute__spend_and_income_in_one_call__counts_both_gross() public {
        Call memory call_ =
            Call(address(hostile), 80 * USD, abi.encodeCall(HostileVenue.takeAndGive, (80 * USD, 30 * USD)));
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(
            0, address(hostile), HostileVenue.takeAndGive.selector, 80 * USD, 30 * USD, BUDGET - 50 * USD
        );
        _execute(vault, call_);
        assertEq(vault.totals().spent, 80 * USD);
        assertEq(vault.totals().received, 30 * USD);
    }

    function test_execute__change_that_a_venue_returns__uses_the_day() public {
        _execute(
            vault, Call(address(hostile), 80 * USD, abi.encodeCall(HostileVenue.takeAndGive, (80 * USD, 30 * USD)))
        );
        (, uint256 today, uint256 total,) = vault.remaining();
        assertEq(today, DAILY - 80 * USD);
        assertEq(total, BUDGET - 50 * USD);
    }

    function test_execute__allowance_that_is_not_used_up__counts_what_was_used() public {
        _execute(
            vault, Call(address(hostile), 80 * USD, abi.encodeCall(HostileVenue.takeAndGive, (50 * USD, 50 * USD)))
        );
        assertEq(vault.totals().spent, 50 * USD);
        assertEq(vault.totals().received, 50 * USD);
        assertEq(usdc.allowance(address(vault), address(hostile)), 0);
    }

    function test_execute__exit_with_a_max_spend__reverts() public {
        Call memory call_ = _give(1);
        call_.maxSpend = 1;
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.ExitNotFree.selector, uint256(1));
        assertEq(vault.check(_batch(call_)), reason);
        _expectRevert(reason);
        _execute(vault, call_);
    }

    // ------------------------------------------------------------------ a token that does not keep its word

    function test_execute__balance_falls_by_more_than_was_spent__reverts() public {
        _redeployWith("FaultyUSDC.sol");
        FaultyUSDC(address(usdc)).setFaults(3, false);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverMaxSpend.selector, 10 * USD + 3, 10 * USD));
        _execute(vault, _buy(10 * USD));
    }

    function test_execute__token_keeps_an_allowance__reverts() public {
        _redeployWith("FaultyUSDC.sol");
        FaultyUSDC(address(usdc)).setFaults(0, true);
        Call memory call_ = _take(4 * USD);
        call_.maxSpend = 10 * USD;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ApprovalLeft.selector, address(hostile), 6 * USD));
        _execute(vault, call_);
    }

    // ------------------------------------------------------------------ unvalued money

    function test_execute__spend_and_exit_at_an_unvalued_target__moves_the_counter_and_stops_at_zero() public {
        _execute(vault, _take(60 * USD));
        assertEq(vault.totals().unvaluedOut, 60 * USD);
        _execute(vault, _give(20 * USD));
        assertEq(vault.totals().unvaluedOut, 40 * USD);
        _execute(vault, _give(50 * USD));
        assertEq(vault.totals().unvaluedOut, 0);
    }

    function test_execute__exit_at_a_valued_target__leaves_the_counter() public {
        _execute(vault, _take(60 * USD));
        _execute(vault, _buy(50 * USD));
        _execute(vault, _sell(50 * USD));
        assertEq(vault.totals().unvaluedOut, 60 * USD);
    }

    // ------------------------------------------------------------------ helpers

    function _spendTheDay() private {
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
    }

    function _setCapsToBudget() private {
        terms.perTxCap = BUDGET;
        terms.dailyCap = BUDGET;
        vault = _createWorking();
    }

    function _redeployWith(string memory token) private {
        _clearRules();
        _deployHouse(token);
        _draftTerms();
        vault = _createWorking();
    }
}
