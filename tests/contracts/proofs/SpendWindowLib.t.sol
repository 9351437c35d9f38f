// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {DAY_WINDOW} from "../../../contracts/libraries/ConstantsLib.sol";
import {Flow, SpendWindow, SpendWindowLib} from "../../../contracts/libraries/SpendWindowLib.sol";
import {Proof} from "./Proof.sol";

/// @notice The rolling day answers as a plain sum over all spends does, and so lets no more through than the cap.
/// @dev For every cap, every total before (wrapped modulo 2^53 or not), every amount and every second. Bounded is the
/// number of spends; SpendWindowLib.t.sol in tests/contracts/libraries fuzzes long sequences.
/// `check_reachable_*` must fail: see MandateVault.t.sol.
contract SpendWindowLibProof is Proof {
    using SpendWindowLib for SpendWindow;

    SpendWindow private _window;
    Flow private _flow;

    function check_left__two_spends__is_the_cap_less_the_day(
        uint256 cap,
        uint72 spentBefore,
        uint256[2] memory amounts,
        uint32[2] memory times,
        uint32 moment
    ) external {
        vm.assume(cap <= SpendWindowLib.MAX_CAP && times[0] <= times[1] && times[1] <= moment);
        _flow.spent = spentBefore;
        vm.warp(times[0]);
        _spendWithin(cap, amounts[0]);
        vm.warp(times[1]);
        _spendWithin(cap, amounts[1]);

        vm.warp(moment);
        uint256 day = _counted(amounts[0], times[0], moment) + _counted(amounts[1], times[1], moment);
        assert(day <= cap);
        assert(_left(cap) == cap - day);
    }

    /// @dev Entries in order of time, as blocks are. The search must stop at the first that still counts, whatever
    /// was free before.
    function check_advance__stops_at_the_oldest_entry_that_counts(uint32[5] memory times, uint32 moment) external {
        uint256 free;
        Flow memory flow;
        for (uint256 i; i < 5; ++i) {
            vm.assume(i == 0 || times[i - 1] <= times[i]);
            vm.warp(times[i]);
            _window.count(flow, 1);
            if (uint256(times[i]) + DAY_WINDOW <= moment) ++free;
        }
        vm.assume(times[4] <= moment);
        vm.warp(moment);
        _window.advance(flow);
        assert(flow.tail == free);
    }

    /// @dev At any index, into a word with anything in it: the entry comes back, and its two neighbours stay.
    function check_count__writes_one_entry_and_no_other(
        uint256 word,
        uint32 index,
        uint72 spentBefore,
        uint64 amount,
        uint32 moment
    ) external {
        vm.assume(amount != 0 && index != 0 && index < type(uint32).max && word >> 255 == 0);
        vm.warp(moment);
        _window.words[uint256(index) / 3] = word;
        Flow memory flow = Flow({spent: spentBefore, received: 0, nonce: 0, tail: 0, head: index});
        _window.count(flow, amount);
        assert(flow.head == index + 1 && flow.tail == 0 && flow.spent == uint256(spentBefore) + amount);

        uint256 others = ~(uint256(2 ** 85 - 1) << (85 * (uint256(index) % 3)));
        assert(_window.words[uint256(index) / 3] & others == word & others);
        flow.tail = index;
        assert(_window.freesAt(flow) == uint256(moment) + DAY_WINDOW);
        assert(_window.used(flow) == amount % 2 ** 53);
    }

    // ------------------------------------------------------------------ the assumptions can be met

    function check_reachable_left(uint256 cap, uint256[2] memory amounts, uint32[2] memory times) external {
        vm.assume(cap <= SpendWindowLib.MAX_CAP && times[0] < times[1]);
        vm.warp(times[0]);
        _spendWithin(cap, amounts[0]);
        vm.warp(times[1]);
        _spendWithin(cap, amounts[1]);
        assert(amounts[0] == 0 || amounts[1] == 0 || _left(cap) != cap - amounts[0] - amounts[1]);
    }

    function check_reachable_advance(uint32[2] memory times, uint32 moment) external {
        vm.assume(times[0] <= times[1] && times[1] <= moment);
        Flow memory flow;
        for (uint256 i; i < 2; ++i) {
            vm.warp(times[i]);
            _window.count(flow, 1);
        }
        vm.warp(moment);
        _window.advance(flow);
        assert(flow.tail != 1);
    }

    // ------------------------------------------------------------------ words

    function _spendWithin(uint256 cap, uint256 amount) private {
        Flow memory flow = _flow;
        _window.advance(flow);
        vm.assume(amount <= _window.left(flow, cap));
        _window.count(flow, amount);
        _flow = flow;
    }

    function _left(uint256 cap) private view returns (uint256) {
        Flow memory flow = _flow;
        _window.advance(flow);
        return _window.left(flow, cap);
    }

    /// @dev Counted are the seconds in (moment - 86400, moment].
    function _counted(uint256 amount, uint256 time, uint256 moment) private pure returns (uint256) {
        return time + DAY_WINDOW > moment ? amount : 0;
    }
}
