// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {ErrorsLib} from "./ErrorsLib.sol";

/// @title TickLib
/// @notice Amounts at the prices that Uniswap v3 names by ticks: tick t is a price of 1.0001^t.
///
/// ```
///   1.0001^t = product of 1.0001^(2^i) over the bits i that are set in t      for t >= 0
///   1.0001^t = 1 / 1.0001^-t                                                 for t < 0
/// ```
///
/// The product is kept in units of 2^-64 and each factor and step is rounded down: 20 factors and 20 steps leave it less
/// than 2^-58 of itself below the true one. Where it divides, it is first raised by as much. So a quote is never above the
/// true one, and what it lacks is less than 2^-56 of it and one unit.
/// @dev The factors are those of tests/vectors/ticks.py.
library TickLib {
    /// @notice The largest tick of either sign.
    uint256 internal constant MAX_TICK = 887_272;

    /// @notice `amount` times 1.0001^tick, rounded down.
    function quoteDown(uint256 amount, int256 tick) internal pure returns (uint256) {
        if (tick < 0) {
            uint256 ratio = _power(uint256(-tick));
            return Math.mulDiv(amount, 1 << 64, ratio + (ratio >> 58) + 1);
        }
        return Math.mulDiv(amount, _power(uint256(tick)), 1 << 64);
    }

    /// @dev 1.0001^n in units of 2^-64, rounded down. At most 2^192, so that no product of two leaves 256 bits.
    function _power(uint256 n) private pure returns (uint256 ratio) {
        if (n > MAX_TICK) revert ErrorsLib.BadTerms("tick", n, MAX_TICK);
        unchecked {
            ratio = 1 << 64;
            if (n & 0x1 != 0) ratio = ratio * 0x100068db8bac710cb >> 64;
            if (n & 0x2 != 0) ratio = ratio * 0x1000d1b9c68abe5f7 >> 64;
            if (n & 0x4 != 0) ratio = ratio * 0x1001a37e4a234cb08 >> 64;
            if (n & 0x8 != 0) ratio = ratio * 0x100347278ab0e92ad >> 64;
            if (n & 0x10 != 0) ratio = ratio * 0x10068efb00a525480 >> 64;
            if (n & 0x20 != 0) ratio = ratio * 0x100d20a63b4173839 >> 64;
            if (n & 0x40 != 0) ratio = ratio * 0x101a4c11c742dd772 >> 64;
            if (n & 0x80 != 0) ratio = ratio * 0x1034c35c31f64cfa6 >> 64;
            if (n & 0x100 != 0) ratio = ratio * 0x106a34b78c8aaffbf >> 64;
            if (n & 0x200 != 0) ratio = ratio * 0x10d72a6a46ccd8bce >> 64;
            if (n & 0x400 != 0) ratio = ratio * 0x11b9a258e63928596 >> 64;
            if (n & 0x800 != 0) ratio = ratio * 0x13a2e2bda04f8379f >> 64;
            if (n & 0x1000 != 0) ratio = ratio * 0x181954be69e0da8fe >> 64;
            if (n & 0x2000 != 0) ratio = ratio * 0x244c2655d185a0290 >> 64;
            if (n & 0x4000 != 0) ratio = ratio * 0x525816eeb9f935b1c >> 64;
            if (n & 0x8000 != 0) ratio = ratio * 0x1a7c8d00b551684ff4 >> 64;
            if (n & 0x10000 != 0) ratio = ratio * 0x2bd893d0b2df7c97884 >> 64;
            if (n & 0x20000 != 0) ratio = ratio * 0x78278e1e19e448cf8b95d >> 64;
            if (n & 0x40000 != 0) ratio = ratio * 0x38651b58d457501416feade319 >> 64;
            if (n & 0x80000 != 0) ratio = ratio * 0xc6c63e573e99b8b10f5961ae4cacb1f9927 >> 64;
        }
    }
}
