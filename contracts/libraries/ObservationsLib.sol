// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IUniswapV3Pool} from "../interfaces/IUniswapV3.sol";
import {ErrorsLib} from "./ErrorsLib.sol";

/// @title ObservationsLib
/// @notice What a Uniswap v3 pool summed up over the last seconds, as its `observe` answers it, from fewer reads.
///
/// The pool halves its ring of observations until it finds the two around a moment: twenty reads of a ring of 1,024. Here
/// the place is estimated from the ages at both ends, which finds it in two or three where observations come evenly.
/// After four estimates the rest is halved too, so that no spacing makes it dearer than the pool's own search.
/// @dev tests/contracts/libraries/ObservationsLib.t.sol holds the sums of ticks to `observe` exactly, and seconds per
/// liquidity to one unit.
library ObservationsLib {
    using Math for uint256;

    uint256 private constant ESTIMATES = 4;

    /// @dev Of the pool's ring. `first`: where its oldest observation is.
    struct Ring {
        IUniswapV3Pool pool;
        uint256 first;
        uint256 size;
    }

    /// @dev What the pool had summed up `age` seconds ago. `place`: how many older ones there are.
    struct Observation {
        uint256 place;
        uint256 age;
        int256 ticks;
        uint160 secondsPerLiquidity;
    }

    /// @notice Sums of the last `long` seconds, and of ticks of the last `short`, at most `long`; both at least 1.
    /// @return longTicks Of each second the tick.
    /// @return shortTicks The same.
    /// @return secondsPerLiquidity Of each second 2^128 / liquidity.
    function sums(IUniswapV3Pool pool, uint256 long, uint256 short)
        internal
        view
        returns (int256 longTicks, int256 shortTicks, uint256 secondsPerLiquidity)
    {
        (Ring memory ring, Observation memory present) = _now(pool);
        Observation memory start = _read(ring, 0);
        if (start.age < long) revert ErrorsLib.BadTerms("observations", start.age, long);
        start = _at(ring, start, present, long);
        longTicks = present.ticks - start.ticks;
        unchecked {
            secondsPerLiquidity = uint160(present.secondsPerLiquidity - start.secondsPerLiquidity);
        }
        shortTicks = present.ticks - _at(ring, start, present, short).ticks;
    }

    /// @dev The ring, and what the pool would write into it now, as the observation after its newest.
    function _now(IUniswapV3Pool pool) private view returns (Ring memory ring, Observation memory present) {
        (, int24 tick, uint16 newest, uint16 size,,,) = pool.slot0();
        uint256 next = (uint256(newest) + 1) % size;
        // A ring that was lengthened has slots behind the newest that were never written: then its oldest is the first.
        (,,, bool isWritten) = pool.observations(next);
        ring = Ring(pool, isWritten ? next : 0, size);
        present = _read(ring, isWritten ? size - 1 : newest);
        unchecked {
            // The pool's sums wrap, their differences do not.
            present.ticks += tick * int256(present.age);
            present.secondsPerLiquidity += uint160((present.age << 128) / uint256(pool.liquidity()).max(1));
        }
        (present.place, present.age) = (present.place + 1, 0);
    }

    /// @dev Between the two observations around that age, of which `low` is at least so old and `high` younger.
    function _at(Ring memory ring, Observation memory low, Observation memory high, uint256 age)
        private
        view
        returns (Observation memory)
    {
        for (uint256 step; high.place - low.place > 1; ++step) {
            uint256 span = high.place - low.place;
            uint256 by = step < ESTIMATES ? (span * (low.age - age) / (low.age - high.age)).max(1) : span / 2;
            Observation memory found = _read(ring, low.place + by);
            if (found.age < age) high = found;
            else low = found;
        }
        (uint256 passed, uint256 time) = (low.age - age, low.age - high.age);
        int256 ticks = low.ticks + (high.ticks - low.ticks) / int256(time) * int256(passed);
        unchecked {
            uint256 more = uint256(uint160(high.secondsPerLiquidity - low.secondsPerLiquidity)) * passed / time;
            return Observation(low.place, age, ticks, low.secondsPerLiquidity + uint160(more));
        }
    }

    function _read(Ring memory ring, uint256 place) private view returns (Observation memory) {
        (uint32 time, int56 ticks, uint160 secondsPerLiquidity,) =
            ring.pool.observations((ring.first + place) % ring.size);
        unchecked {
            return Observation(place, uint32(block.timestamp) - time, ticks, secondsPerLiquidity);
        }
    }
}
