// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {DAY_WINDOW} from "./ConstantsLib.sol";

/// @notice What every action of the agent reads and writes, in one slot: totals, and where the window stands.
/// @dev Amounts are USDC base units.
struct Flow {
    /// All that ever left by the agent's calls.
    uint80 spent;
    /// All that ever came in by calls, unwinds and adapters.
    uint80 received;
    /// Number of actions so far.
    uint32 nonce;
    /// Index of the oldest entry that may still count.
    uint32 tail;
    /// Index of the next entry to be written.
    uint32 head;
}

/// @notice The entries of the window, three in a word.
struct SpendWindow {
    mapping(uint256 index => uint256) words;
}

/// @title SpendWindowLib
/// @notice The rolling 24 hours of the daily cap, exact to the second.
/// @dev Counted are the entries in (now - 86400, now], start exclusive, end inclusive:
///
/// ```
///   now - 86400                                   now
///        (------------- counted ------------------]
///   an entry here is free      one second later: counted
/// ```
///
/// An entry is the second in which money left (32 bits, good until 2106) and the total spent before it, modulo 2^53.
/// What is used is the total now less the total before the oldest counted entry: a difference below the daily cap,
/// and caps are below 2^53, so the modulus loses nothing. Three entries share a word:
///
/// ```
///   bit  255 | 254 ... 170 | 169 ... 85 | 84 ... 53   52 ... 0      |
///        free|   entry 2   |  entry 1   | entry 0: second | before  |
/// ```
///
/// It answers as the sliding window of OpenZeppelin's RateLimiter does, which a test holds it to, at a third of the
/// storage: entries are packed, the tail is remembered, and totals lie where the vault writes anyway.
library SpendWindowLib {
    using SafeCast for uint256;

    uint256 private constant ENTRIES_IN_WORD = 3;
    uint256 private constant ENTRY_BITS = 85;
    uint256 private constant TOTAL_BITS = 53;
    uint256 private constant ENTRY_MASK = 2 ** ENTRY_BITS - 1;
    uint256 private constant TOTAL_MASK = 2 ** TOTAL_BITS - 1;

    /// @notice The largest daily cap that the entries can tell apart: 9,007,199,254.740991 USDC.
    uint256 internal constant MAX_CAP = TOTAL_MASK;

    /// @notice Moves the tail to the oldest entry that counts now, in memory. The functions below expect it there.
    /// @dev Steps on from the old tail in doubling strides until an entry counts, then halves the stride in which the
    /// border lies. Mostly nothing became free since the last action, and one entry is read.
    function advance(SpendWindow storage self, Flow memory flow) internal view {
        uint256 head = flow.head;
        uint256 low = flow.tail;
        uint256 high = low;
        uint256 stride = 1;
        while (high < head && _freeAt(self, high) <= block.timestamp) {
            low = high + 1;
            high += stride;
            stride *= 2;
        }
        high = Math.min(high, head);
        while (low < high) {
            uint256 middle = (low + high) / 2;
            if (_freeAt(self, middle) <= block.timestamp) low = middle + 1;
            else high = middle;
        }
        // The border is at most the head, which fits.
        // forge-lint: disable-next-line(unsafe-typecast)
        flow.tail = uint32(low);
    }

    /// @notice What left in the 24 hours that end now.
    function used(SpendWindow storage self, Flow memory flow) internal view returns (uint256) {
        if (flow.tail == flow.head) return 0;
        unchecked {
            // Modulo 2^53 the difference is right even when the total has wrapped since.
            return (flow.spent - _entry(self, flow.tail)) & TOTAL_MASK;
        }
    }

    /// @notice What may still leave in the 24 hours that end now.
    function left(SpendWindow storage self, Flow memory flow, uint256 dailyCap) internal view returns (uint256) {
        return Math.saturatingSub(dailyCap, used(self, flow));
    }

    /// @notice Unix second at which the oldest counted entry is free again; 0 when none is counted.
    function freesAt(SpendWindow storage self, Flow memory flow) internal view returns (uint256) {
        return flow.tail == flow.head ? 0 : _freeAt(self, flow.tail);
    }

    /// @notice Counts an amount that left now, in storage and in the flow. The caller has checked it against `left`
    /// and stores the flow.
    /// @dev When nothing is counted any more the entries begin anew, over words that were paid for before.
    function count(SpendWindow storage self, Flow memory flow, uint256 amount) internal {
        if (amount == 0) return;
        if (flow.tail == flow.head) (flow.tail, flow.head) = (0, 0);
        _write(self, flow.head, flow.spent);
        flow.head += 1;
        flow.spent = (flow.spent + amount).toUint80();
    }

    function _write(SpendWindow storage self, uint256 index, uint256 spentBefore) private {
        uint256 entry = (uint256(uint32(block.timestamp)) << TOTAL_BITS) | (spentBefore & TOTAL_MASK);
        uint256 shift = (index % ENTRIES_IN_WORD) * ENTRY_BITS;
        uint256 word = self.words[index / ENTRIES_IN_WORD];
        self.words[index / ENTRIES_IN_WORD] = (word & ~(ENTRY_MASK << shift)) | (entry << shift);
    }

    function _freeAt(SpendWindow storage self, uint256 index) private view returns (uint256) {
        return (_entry(self, index) >> TOTAL_BITS) + DAY_WINDOW;
    }

    function _entry(SpendWindow storage self, uint256 index) private view returns (uint256) {
        uint256 shift = (index % ENTRIES_IN_WORD) * ENTRY_BITS;
        return (self.words[index / ENTRIES_IN_WORD] >> shift) & ENTRY_MASK;
    }
}
