// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {TickLib} from "../../../contracts/libraries/TickLib.sol";
import "../base/UniswapV3Test.sol";

contract ValueOfTest is UniswapV3Test {
    uint256 private _held;

    function setUp() public override {
        super.setUp();
        _hold(100 * USD);
        _held = _units();
    }

    function test_valueOf__at_a_price_that_stays__is_that_price_less_a_tick_at_most() public view {
        uint256 exact = _held * PRICE / WHOLE;
        vm.assertLe(_value(), exact);
        _assertNear(_value(), exact, 1);
    }

    function test_valueOf__with_USDC_as_the_pools_first_token__is_never_above_the_price() public {
        _useToken(_deployToken("TestToken.sol", false));
        _hold(100 * USD);

        uint256 exact = _units() * PRICE / WHOLE;
        vm.assertLe(_value(), exact);
        _assertNear(_value(), exact, 2);
    }

    function test_valueOf__a_fall_counts_within_five_minutes() public {
        market.moveTo(PRICE / 2);
        _assertNear(_value(), 100 * USD, 7);
        _pass(1 minutes);
        _assertNear(_value(), 87_055_056, 7); // 100 * (1/2)^(1/5)
        _pass(4 minutes);
        _assertNear(_value(), 50 * USD, 7);
    }

    function test_valueOf__a_rise_counts_in_thirty_minutes() public {
        market.moveTo(PRICE * 2);
        _pass(5 minutes);
        _assertNear(_value(), 112_246_204, 7); // 100 * 2^(1/6)
        _pass(25 minutes);
        _assertNear(_value(), 200 * USD, 7);
    }

    function test_valueOf__of_nobody__is_zero_and_does_not_ask_the_pool() public {
        _breakObservations();

        assertEq(swaps.valueOf(stranger), 0);
    }

    function test_valueOf__of_observations_that_do_not_reach_back__reverts() public {
        _useToken(_deployToken("TestToken.sol", true), 30 minutes - 1);
        _expectRevert(_old(30 minutes - 1));
        swaps.unitPrice();
        _pass(1);
        swaps.unitPrice();
    }

    /// @dev The harmonic mean of half an hour at 1e18 and of some of it at ten times as much.
    function test_valueOf__below_the_floor_of_liquidity__reverts_until_the_mean_is_above() public {
        swaps = _deployAdapter(address(token), 2e18);
        _expectRevert(_badTerms("liquidity", 1e18, 2e18));
        swaps.unitPrice();
        market.provide(9e18);
        _pass(16 minutes);
        _expectRevert(_badTerms("liquidity", 1_923_076_923_076_923_076, 2e18));
        swaps.unitPrice();
        _pass(1 minutes);
        swaps.unitPrice();
    }

    function test_valueOf__costs_at_most_150k_gas_with_every_observation_written() public {
        for (uint256 i; i < OBSERVATIONS; ++i) {
            _pass(2);
            market.moveTo(PRICE + (i % 2) * USD);
        }
        uint256 left = gasleft();
        swaps.valueOf(address(vault));
        vm.assertLe(left - gasleft(), 150_000);
    }

    /// @dev A slow reference: every second of the last half hour is looked at.
    function testFuzz_valueOf__is_that_of_a_slow_reference(uint256 seed, bool isBelow) public {
        if (!isBelow) {
            _useToken(_deployToken("TestToken.sol", false));
            _hold(100 * USD);
        }
        int256[] memory seconds_ = new int256[](30 minutes);
        uint256 next;
        uint256 price = PRICE;
        while (next < 2 hours) {
            seed = uint256(keccak256(abi.encode(seed)));
            price = price * (9_000 + seed % 2_100) / 10_000;
            market.moveTo(price);
            (, int24 tick,,,,,) = pool.slot0();
            uint256 time = 1 + (seed >> 128) % 10 minutes;
            for (uint256 i; i < time; ++i) {
                seconds_[next++ % 30 minutes] = tick;
            }
            _pass(time);
        }
        int256 long;
        int256 short;
        for (uint256 i = 1; i <= 30 minutes; ++i) {
            int256 tick = seconds_[(next - i) % 30 minutes];
            long += tick;
            if (i <= 5 minutes) short += tick;
        }
        (long, short) = (long / 30 minutes, short / 5 minutes);
        int256 lower = isBelow == (long < short) ? long : short;
        _assertNear(_value(), TickLib.quoteDown(_units(), isBelow ? lower : -lower), 3);
    }
}
