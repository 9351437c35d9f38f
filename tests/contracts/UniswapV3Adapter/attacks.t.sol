// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

/// @dev Of the means. The mandate puts its whole budget into the token, and its floor is 5 % below what that is worth.
contract MeanAttacksTest is UniswapV3Test {
    uint256 private constant LINE = 951 * USD;

    function setUp() public override {
        (terms.perTxCap, terms.dailyCap) = (BUDGET, BUDGET);
        super.setUp();
        (terms.perTxCap, terms.dailyCap) = (BUDGET, BUDGET);
        (terms.stopFloor, terms.stopFloorBps) = (LINE, 490);
        terms.nonce += 1;
        vault = _createWorking();
        _hold(BUDGET);
    }

    function test_attack__the_price_moved_within_a_block_by_flash_liquidity__changes_no_value() public {
        uint256 value = _value();
        market.moveTo(PRICE / 100);
        assertEq(_value(), value);
        _assertStays();
        vm.prank(keeper);
        vault.mark();
        assertEq(vault.status(), Status.Working);
        market.moveTo(PRICE * 100);
        assertEq(_value(), value);
        market.moveTo(PRICE);
        assertEq(_value(), value);
        _pass(2);
        assertEq(_value(), value);
    }

    /// @dev Liquidity that comes and goes within a block neither makes a thin pool count nor hides a deep one.
    function test_attack__liquidity_provided_within_a_block__does_not_count() public {
        UniswapV3Adapter strict = _deployAdapter(address(token), 2e18);
        market.provide(50e18);
        _expectRevert(_badTerms("liquidity", 1e18, 2e18));
        strict.unitPrice();
    }

    function test_attack__a_minute_with_a_tenth_of_the_pool__does_not_stop_a_mandate_5_percent_above_its_floor()
        public
    {
        market.moveTo(PRICE * 100 / 121); // a tenth more of the token in it
        _pass(1 minutes);

        _assertNear(_value(), 962.6e6, 10);
        _assertStays();
    }

    function test_attack__a_minute_with_a_tenth_of_the_pool__does_not_hide_a_loss() public {
        _settle(PRICE * 90 / 100);
        market.moveTo(PRICE * 90 / 100 * 121 / 100);
        _pass(1 minutes);

        _assertNear(_value(), 905.7e6, 10);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }

    function test_attack__a_real_fall__stops_within_minutes() public {
        market.moveTo(PRICE * 90 / 100);
        _pass(2 minutes);
        _assertStays();
        _pass(1 minutes);
        vault.enforceStopLine();

        assertEq(vault.status(), Status.Stopped);
    }

    /// @dev At most one observation a block: 1,024 of them reach back 2,048 seconds of blocks of two.
    function test_attack__dust_swapped_in_every_block__does_not_age_the_observations_out() public {
        uint256 value = _value();
        for (uint256 i; i < 2 * OBSERVATIONS; ++i) {
            _pass(2);
            market.moveTo(PRICE + (i % 2) * USD);
            market.moveTo(PRICE + (i + 1) % 2 * USD);
        }

        _assertNear(_value(), value, 5);
        _assertStays();
    }

    /// @dev Why the adapter is for chains whose blocks take two seconds: of one second each, they reach back 17 minutes.
    function test_attack__dust_swapped_each_second__would_need_more_observations() public {
        for (uint256 i; i < OBSERVATIONS; ++i) {
            _pass(1);
            market.moveTo(PRICE + (i % 2) * USD);
        }

        _expectRevert(_old(1_024));
        swaps.unitPrice();
    }

    /// @dev Who may act for the mandate takes no more of it by moving the price than the loss that is accepted.
    function test_attack__an_agent_that_moves_the_price_around_its_trade__takes_no_more_than_the_accepted_loss()
        public
    {
        uint256 held = _units();
        uint256 worth = _value();
        for (uint256 by = 2; by < 60; by += 3) {
            uint256 snapshot = vm.snapshotState();
            market.moveTo(PRICE * (1_000 - by) / 1_000);
            vm.prank(agent);
            (bool sold,) = address(vault).call(abi.encodeCall(vault.execute, (_swapBack(held, 0))));
            assertTrue(sold == (by < 10));
            if (sold) vm.assertLe(worth * 99 / 100, usdc.balanceOf(address(vault)));
            vm.revertToState(snapshot);
        }
    }

    /// @dev Who holds the price down for five minutes lowers the value by as much, and still buys the position from the
    /// mandate no cheaper than at the mean of thirty: at 0.7^(1/6) of the price, less what is accepted.
    function test_attack__the_short_mean_held_down__lets_an_agent_sell_no_cheaper_than_at_the_long_one() public {
        market.moveTo(PRICE * 70 / 100);
        _pass(5 minutes);
        _assertNear(_value(), 699.6e6, 10);
        assertFalse(_sellsAt(PRICE * 70 / 100));
        assertFalse(_sellsAt(PRICE * 932 / 1_000));
        assertTrue(_sellsAt(PRICE * 935 / 1_000));
    }

    /// @dev The mirror: a purchase is measured at the lower mean, so the long one has to be held up too.
    function test_attack__the_short_mean_held_up__lets_an_agent_buy_no_dearer_than_at_the_long_one() public {
        _execute(vault, _swapBack(_units(), 0));
        _pass(1 days);
        market.moveTo(PRICE * 100 / 70);
        _pass(5 minutes);
        assertFalse(_buysAt(PRICE * 1_074 / 1_000));
        assertTrue(_buysAt(PRICE * 1_070 / 1_000));
    }

    function _sellsAt(uint256 price) private returns (bool) {
        return _tradesAt(price, _swapBack(_units(), 0));
    }

    function _buysAt(uint256 price) private returns (bool) {
        return _tradesAt(price, _swapIn(usdc.balanceOf(address(vault)) / 2, 0));
    }

    /// @dev Whether the agent can, the price being moved there just before. Leaves everything as it was.
    function _tradesAt(uint256 price, Call memory call_) private returns (bool passed) {
        uint256 snapshot = vm.snapshotState();
        market.moveTo(price);
        vm.prank(agent);
        (passed,) = address(vault).call(abi.encodeCall(vault.execute, (call_)));
        vm.revertToState(snapshot);
    }

    function _assertStays() private {
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.AboveStopLine.selector, _value() + usdc.balanceOf(address(vault)), LINE)
        );
        vault.enforceStopLine();
    }
}

/// @dev Of the custody.
contract CustodyAttacksTest is UniswapV3Test {
    function test_attack__token_and_USDC_that_somebody_sends__are_nobodys_position() public {
        _hold(100 * USD);
        (uint256 units, uint256 value) = (_units(), _value());
        usdc.mint(address(swaps), 10 * USD);
        token.mint(address(swaps), WHOLE);
        usdc.mint(address(pool), 10 * USD);
        token.mint(address(pool), WHOLE);

        assertEq(_units(), units);
        assertEq(_value(), value);
        bytes memory answer = _execute(vault, _swapIn(USD, 0));
        assertEq(_units(), units + abi.decode(answer, (uint256)));
    }

    function test_attack__the_callback_by_a_stranger__reverts() public {
        _hold(100 * USD);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        vm.prank(thief);
        swaps.uniswapV3SwapCallback(1, 0, "");
    }

    function test_attack__the_callback_outside_of_a_swap_of_ours__reverts() public {
        _hold(100 * USD);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(pool)));
        vm.prank(address(pool));
        swaps.uniswapV3SwapCallback(1, 0, "");
    }

    function test_attack__a_pool_without_liquidity__takes_no_money() public {
        token = TestToken(_deployToken("TestToken.sol", true));
        market = _deployMarket();
        market.open(PRICE, 0);
        pool.increaseObservationCardinalityNext(OBSERVATIONS);
        _pass(1 hours);
        market.moveTo(PRICE + USD);
        swaps = _deployAdapter(address(token), MIN_LIQUIDITY);
        _addRulesOfSubject();
        terms.nonce += 1;
        vault = _createWorking();

        _expectRevert(_underMinOut(0, 100 * USD));
        _execute(vault, _swapIn(100 * USD, 0));
        _expectRevert(_badTerms("liquidity", 1, MIN_LIQUIDITY));
        swaps.unitPrice();
    }
}

/// @dev Of tokens that are not as they should be.
contract TokenAttacksTest is UniswapV3Test {
    FaultyToken private _faulty;

    function setUp() public override {
        super.setUp();
        _faulty = FaultyToken(_deployToken("FaultyToken.sol", false));
        _useToken(address(_faulty));
    }

    function test_attack__a_token_that_charges_for_transfers__is_refused() public {
        _faulty.setFee(1);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapIn(100 * USD, 0));
    }

    function test_attack__a_token_that_begins_to_charge__is_left_by_release() public {
        _hold(100 * USD);
        uint256 held = _units();
        _faulty.setFee(100);
        _stop(vault);
        _expectRevert(abi.encodeWithSignature("Error(string)", "IIA"));
        _unwind(_swapBack(held, 0));
        _unwind(_release());

        assertEq(token.balanceOf(address(vault)), held - held / 100);
    }

    function test_attack__a_token_that_answers_nothing__is_bought_sold_and_released() public {
        _faulty.setSilent(true);
        _hold(100 * USD);
        _execute(vault, _swapBack(_units() / 2, 0));
        _stop(vault);
        uint256 held = _units();
        _unwind(_release());

        assertEq(token.balanceOf(address(vault)), held);
    }

    function test_attack__a_token_that_reverts__costs_nothing_and_waits() public {
        _hold(100 * USD);
        uint256 held = _units();
        _faulty.setPaused(true);
        _expectRevert(abi.encodeWithSignature("Error(string)", "TF"));
        _execute(vault, _swapIn(100 * USD, 0));
        _expectRevert(abi.encodeWithSelector(FaultyToken.TokenPaused.selector));
        _execute(vault, _swapBack(held, 0));
        assertEq(_units(), held);
        _assertNear(_value(), 100 * USD, 8);
        _faulty.setPaused(false);
        _execute(vault, _swapBack(held, 0));
    }

    function test_attack__a_token_that_reenters__reaches_no_entry() public {
        _hold(100 * USD);
        bytes[4] memory entries = [
            abi.encodeCall(swaps.buy, (USD, 0)),
            abi.encodeCall(swaps.sell, (1, 0)),
            abi.encodeCall(swaps.release, ()),
            abi.encodeCall(swaps.uniswapV3SwapCallback, (1, 0, ""))
        ];
        for (uint256 i; i < entries.length; ++i) {
            _faulty.setHook(address(swaps), entries[i]);
            _hold(USD);
            assertFalse(_faulty.answered());
            bytes4 error_ = i < 3 ? bytes4(keccak256("ReentrancyGuardReentrantCall()")) : ErrorsLib.BadAddress.selector;
            assertEq(bytes32(bytes4(_faulty.answer())), bytes32(error_));
        }
    }

    /// @dev What somebody sends here in the middle of a purchase is not bought.
    function test_attack__units_that_arrive_in_the_middle_of_a_purchase__are_nobodys() public {
        _faulty.setHook(address(_faulty), abi.encodeCall(FaultyToken.mint, (address(swaps), WHOLE)));
        bytes memory answer = _execute(vault, _swapIn(100 * USD, 0));

        assertTrue(_faulty.answered());
        assertEq(_units(), abi.decode(answer, (uint256)));
        vm.assertLt(_units(), 0.04 ether);
    }
}
