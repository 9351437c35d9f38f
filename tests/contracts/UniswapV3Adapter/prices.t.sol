// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

/// @dev What it costs to lower the five-minute mean by 5 %: the table of docs/venues-onchain.md. The price is held at 2,500
/// times 0.95^(300 s / held time).
contract PricesTest is UniswapV3Test {
    function test_price__of_5_percent_for_2_seconds() public {
        _assertPrice(1_138_887, 2 seconds, 2_244_821_413 * USD, 1_170_770 * USD);
    }

    function test_price__of_5_percent_for_60_seconds() public {
        _assertPrice(1_934_452_344, 60 seconds, 826_736 * USD, 6_429 * USD);
    }

    function test_price__of_5_percent_for_300_seconds() public {
        _assertPrice(2_375_000_000, 300 seconds, 33_539 * USD, 1_282 * USD);
    }

    /// @param traded What one push costs when everybody else trades the price back at once.
    /// @param alone What it costs when nobody does: the pool's fee, there and back.
    function _assertPrice(uint256 price, uint256 time, uint256 traded, uint256 alone) private {
        _hold(100 * USD);
        uint256 value = _value();
        uint256 before = _holdings();
        market.moveTo(price);
        _assertNear(before - _holdings(), traded, 10);
        _pass(time);
        _assertNear(_value(), value * 95 / 100, 5);
        market.moveTo(PRICE);
        _assertNear(before - _holdings(), alone, 10);
    }

    /// @dev Of who trades, at the price that everybody else has.
    function _holdings() private view returns (uint256) {
        return usdc.balanceOf(address(market)) + token.balanceOf(address(market)) * PRICE / WHOLE;
    }
}
