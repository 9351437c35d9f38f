// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

/// @dev What it costs to move a mean by 5 %: the tables of docs/venues-onchain.md. The price is held at 2,500 times
/// 0.95^(the mean's time / held time).
contract PricesTest is UniswapV3Test {
    uint256 private _before;

    function test_price__of_a_value_5_percent_lower__for_2_seconds() public {
        _assertPrice(1_138_887, 2 seconds, 2_244_821_413 * USD, 1_170_770 * USD);
        _assertNear(_value(), _before * 95 / 100, 5);
    }

    function test_price__of_a_value_5_percent_lower__for_60_seconds() public {
        _assertPrice(1_934_452_344, 60 seconds, 826_736 * USD, 6_429 * USD);
        _assertNear(_value(), _before * 95 / 100, 5);
    }

    function test_price__of_a_value_5_percent_lower__for_300_seconds() public {
        _assertPrice(2_375_000_000, 300 seconds, 33_539 * USD, 1_282 * USD);
        _assertNear(_value(), _before * 95 / 100, 5);
    }

    function test_price__of_a_sale_5_percent_cheaper__for_60_seconds() public {
        _assertPrice(536_596_910, 60 seconds, 31_117_014 * USD, 42_401 * USD);
        _assertNear(_leastOfASale(), _before * 95 * 99 / 10_000, 5);
    }

    function test_price__of_a_sale_5_percent_cheaper__for_300_seconds() public {
        _assertPrice(1_837_729_727, 300 seconds, 1_190_450 * USD, 7_728 * USD);
        _assertNear(_leastOfASale(), _before * 95 * 99 / 10_000, 5);
    }

    function test_price__of_a_sale_5_percent_cheaper__for_1800_seconds() public {
        _assertPrice(2_375_000_000, 1_800 seconds, 33_539 * USD, 1_283 * USD);
        _assertNear(_leastOfASale(), _before * 95 * 99 / 10_000, 5);
    }

    /// @param traded What one push costs when everybody else trades the price back at once.
    /// @param alone What it costs when nobody does: the pool's fee, there and back.
    function _assertPrice(uint256 price, uint256 time, uint256 traded, uint256 alone) private {
        _hold(100 * USD);
        _before = _value();
        uint256 before = _holdings();
        market.moveTo(price);
        _assertNear(before - _holdings(), traded, 10);
        _pass(time);
        market.moveTo(PRICE);
        _assertNear(before - _holdings(), alone, 10);
    }

    /// @dev What a working mandate would have to get for all that it holds, by the refusal of a sale for less.
    function _leastOfASale() private returns (uint256 least) {
        market.moveTo(PRICE / 2);
        bytes memory call_ = abi.encodeCall(vault.execute, (_swapBack(_units(), 0)));
        vm.prank(agent);
        (bool sold, bytes memory answer) = address(vault).call(call_);
        assertFalse(sold);
        assembly ("memory-safe") {
            least := mload(add(answer, 0x44)) // after the selector and what the sale would bring
        }
    }

    /// @dev Of who trades, at the price that everybody else has.
    function _holdings() private view returns (uint256) {
        return usdc.balanceOf(address(market)) + token.balanceOf(address(market)) * PRICE / WHOLE;
    }
}
