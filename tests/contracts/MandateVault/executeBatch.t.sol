// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ExecuteBatchTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _executeBatch(Call[] memory calls) private returns (bytes[] memory) {
        vm.prank(agent);
        return vault.executeBatch(calls);
    }

    function test_executeBatch__calls_run_in_order_under_one_nonce() public {
        _execute(vault, _buy(USD));

        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(
            1, address(adapter), TestVenueAdapter.buy.selector, 40 * USD, 0, BUDGET - 41 * USD
        );
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(
            1, address(adapter), TestVenueAdapter.sell.selector, 0, 10 * USD, BUDGET - 31 * USD
        );
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(
            1, address(hostile), HostileVenue.take.selector, 5 * USD, 0, BUDGET - 36 * USD
        );
        bytes[] memory results = _executeBatch(_batch(_buy(40 * USD), _sell(10 * USD), _take(5 * USD)));

        assertEq(results.length, 3);
        assertEq(results[0], abi.encode(40 * USD));
        assertEq(results[1], abi.encode(10 * USD));
        assertEq(results[2], abi.encode(5 * USD));
        Totals memory totals = vault.totals();
        assertEq(totals.spent, 46 * USD);
        assertEq(totals.received, 10 * USD);
        assertEq(totals.nonce, 2);
    }

    function test_executeBatch__sum_at_per_tx_cap__passes() public {
        _executeBatch(_batch(_buy(60 * USD), _buy(40 * USD)));
        assertEq(vault.totals().spent, PER_TX);
    }

    function test_executeBatch__sum_above_per_tx_cap__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX));
        _executeBatch(_batch(_buy(60 * USD), _buy(40 * USD + 1)));
    }

    function test_executeBatch__income_in_between_gives_no_room() public {
        _execute(vault, _buy(100 * USD));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX));
        _executeBatch(_batch(_buy(100 * USD), _sell(100 * USD), _buy(1)));
    }

    function test_executeBatch__sum_above_the_day__reverts() public {
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(50 * USD));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, 50 * USD + 1, 50 * USD));
        _executeBatch(_batch(_buy(25 * USD), _buy(25 * USD + 1)));
        _executeBatch(_batch(_buy(25 * USD), _buy(25 * USD)));
    }

    function test_executeBatch__the_day_counts_gross() public {
        _execute(vault, _buy(100 * USD));
        _executeBatch(_batch(_buy(90 * USD), _sell(90 * USD)));
        (, uint256 today, uint256 total,) = vault.remaining();
        assertEq(today, DAILY - 190 * USD);
        assertEq(total, BUDGET - 100 * USD);
    }

    function test_executeBatch__sum_above_own_cash__reverts() public {
        terms.perTxCap = BUDGET;
        terms.dailyCap = BUDGET;
        vault = _createWorking();
        _execute(vault, _buy(BUDGET - 10 * USD));
        vm.warp(NOW + 1 days);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverBudget.selector, 10 * USD + 1, 10 * USD));
        _executeBatch(_batch(_buy(10 * USD), _buy(1)));
    }

    function test_executeBatch__sum_beyond_256_bits__reverts_as_over_the_cap() public {
        Call memory huge = _buy(1);
        huge.maxSpend = type(uint256).max;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, type(uint256).max, PER_TX));
        _executeBatch(_batch(huge, huge));
    }

    function test_executeBatch__each_call_keeps_to_its_own_max_spend() public {
        Call memory greedy = _take(10 * USD);
        greedy.maxSpend = 4 * USD;
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(hostile), 4 * USD, 10 * USD
            )
        );
        _executeBatch(_batch(_buy(50 * USD), greedy));
    }

    function test_executeBatch__one_call_fails__nothing_happened() public {
        Call memory failing = Call(address(hostile), 0, abi.encodeCall(HostileVenue.fail, (7)));
        _expectRevert(abi.encodeWithSelector(HostileVenue.VenueFailed.selector, uint256(7)));
        _executeBatch(_batch(_buy(50 * USD), failing));
        assertEq(vault.totals().spent, 0);
        assertEq(vault.totals().nonce, 0);
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
    }

    function test_executeBatch__one_call_is_not_allowed__reverts_before_the_first_runs() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(usdc), bytes4(0)));
        _executeBatch(
            _batch(Call(address(hostile), 0, abi.encodeCall(HostileVenue.fail, (7))), Call(address(usdc), 0, ""))
        );
    }

    function test_executeBatch__empty__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.EmptyBatch.selector));
        _executeBatch(new Call[](0));
    }

    function test_executeBatch__stranger_with_an_empty_batch__reverts_as_not_the_agent() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAgent.selector, stranger));
        vm.prank(stranger);
        vault.executeBatch(new Call[](0));
    }

    function test_executeBatch__after_a_stop__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        _executeBatch(_batch(_buy(1)));
    }

    function test_executeBatch__leaves_no_allowance_at_any_target() public {
        Call memory first = _take(1);
        first.maxSpend = 50 * USD;
        _executeBatch(_batch(first, _buy(20 * USD)));
        assertEq(usdc.allowance(address(vault), address(hostile)), 0);
        assertEq(usdc.allowance(address(vault), address(adapter)), 0);
    }
}
