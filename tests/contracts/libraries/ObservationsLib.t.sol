// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ObservationsLib} from "../../../contracts/libraries/ObservationsLib.sol";
import "../base/UniswapV3Test.sol";

/// @notice The pool's own search.
interface IObserver {
    function observe(uint32[] calldata secondsAgos) external view returns (int56[] memory, uint160[] memory);
}

/// @dev Against what the pool itself answers, over rings of every state.
contract ObservationsLibTest is UniswapV3Market {
    uint256 private _seed;

    function sums(uint256 long, uint256 short) external view returns (int256, int256, uint256) {
        return ObservationsLib.sums(pool, long, short);
    }

    function testFuzz_sums__are_those_of_the_pool(uint256 seed, bool isBelow, bool isEven) public {
        _seed = seed;
        _open(isBelow, 1 + uint16(seed % 40));
        for (uint256 i; i < 50; ++i) {
            _act(isEven);
            _assertLikeThePool();
        }
    }

    function test_sums__of_a_ring_that_is_lengthened__are_those_of_the_pool() public {
        _open(true, 7);
        for (uint256 i; i < 40; ++i) {
            if (i == 17) pool.increaseObservationCardinalityNext(19);
            _pass(2 + i % 5);
            market.moveTo(PRICE + (i % 3) * USD);
            _assertLikeThePool();
        }
    }

    function test_sums__beyond_the_oldest_observation__reverts() public {
        _open(true, 4);
        for (uint256 i; i < 6; ++i) {
            _pass(10);
            market.moveTo(PRICE + (i % 2) * USD);
        }
        this.sums(30, 10);
        vm.expectRevert(
            abi.encodeWithSelector(ErrorsLib.BadTerms.selector, bytes32("observations"), uint256(30), uint256(31))
        );
        this.sums(31, 10);
    }

    /// @dev Seconds are counted modulo 2^32, and so end in 2106 for a moment.
    function test_sums__over_the_end_of_the_pools_clock__are_those_of_the_pool() public {
        vm.warp(2 ** 32 - 60);
        _open(true, 30);
        for (uint256 i; i < 50; ++i) {
            _pass(3);
            market.moveTo(PRICE + (i % 3) * USD);
            _assertLikeThePool();
        }
    }

    /// @dev A burst of trades at either end, where an estimate by the ages is furthest off.
    function test_sums__of_the_worst_spacing__costs_no_more_than_twice_the_even_one() public {
        _open(true, OBSERVATIONS);
        for (uint256 i; i < OBSERVATIONS; ++i) {
            _pass(i < 400 || i > 1_020 ? 1_000 : 1);
            market.moveTo(PRICE + (i % 2) * USD);
        }
        _pass(1);
        uint256 before = gasleft();
        this.sums(3_600, 3_100);
        vm.assertLe(before - gasleft(), 120_000);
        _assertLikeThePool();
    }

    // ------------------------------------------------------------------ words

    function _open(bool isBelow, uint16 observations) private {
        _deployUniswap();
        token = TestToken(_deployToken("TestToken.sol", isBelow));
        market = _deployMarket();
        usdc.mint(address(market), 1e12 * USD);
        token.mint(address(market), 1e9 * WHOLE);
        market.open(PRICE, LIQUIDITY);
        pool.increaseObservationCardinalityNext(observations);
    }

    /// @dev A trade, liquidity, a longer ring, or nothing; then seconds or hours, or none.
    function _act(bool isEven) private {
        uint256 word = _random();
        if (word % 8 < 5) market.moveTo(PRICE * (5_000 + (word >> 8) % 10_000) / 10_000);
        else if (word % 8 == 5) market.provide(uint128(1 + (word >> 8) % 1e18));
        else if (word % 32 == 6) pool.increaseObservationCardinalityNext(uint16(1 + (word >> 8) % 60));
        if (isEven) _pass(2);
        else _pass((word >> 128) % 3 == 0 ? (word >> 136) % 10_000 : (word >> 136) % 9);
    }

    function _assertLikeThePool() private {
        (,, uint16 index, uint16 size,,,) = pool.slot0();
        (uint32 first,,, bool isFull) = pool.observations((uint256(index) + 1) % size);
        if (!isFull) (first,,,) = pool.observations(0);
        uint256 reach;
        unchecked {
            reach = uint32(uint32(block.timestamp) - first);
        }
        if (reach == 0) return;
        uint32[] memory ages = new uint32[](3);
        ages[0] = uint32(1 + _random() % reach);
        ages[1] = uint32(1 + _random() % ages[0]);
        (int56[] memory ticks, uint160[] memory time) = IObserver(address(pool)).observe(ages);
        (int256 long, int256 short, uint256 perLiquidity) = this.sums(ages[0], ages[1]);
        assertTrue(long == int256(ticks[2]) - ticks[0]);
        assertTrue(short == int256(ticks[2]) - ticks[1]);
        uint256 expected;
        unchecked {
            expected = uint160(time[2] - time[0]);
        }
        vm.assertLe(perLiquidity > expected ? perLiquidity - expected : expected - perLiquidity, 1);
    }

    function _random() private returns (uint256) {
        _seed = uint256(keccak256(abi.encode(_seed)));
        return _seed;
    }
}
