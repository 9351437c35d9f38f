// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {RateLimiter} from "@openzeppelin/contracts/utils/RateLimiter.sol";

import {Flow, SpendWindow, SpendWindowLib} from "../../../contracts/libraries/SpendWindowLib.sol";
import {Vm} from "../base/Vm.sol";

/// @notice Our window and OpenZeppelin's take the same spends at the same seconds, and must leave the same each time.
contract SpendWindowLibTest {
    using SpendWindowLib for SpendWindow;
    using RateLimiter for RateLimiter.SlidingWindow;

    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    uint256 internal constant START = 1_800_000_000;

    SpendWindow private _window;
    Flow private _flow;
    RateLimiter.SlidingWindow private _theirs;

    /// @dev Every entry ever, to compute what is used and when it frees by looking at all of them.
    uint256[] private _times;
    uint256[] private _amounts;

    function setUp() public {
        vm.warp(START);
        _setCap(1_000);
    }

    function _setCap(uint256 cap) private {
        // Caps are below 2^53.
        // forge-lint: disable-next-line(unsafe-typecast)
        _theirs.updateSettings(1 days, uint208(cap));
    }

    function _spend(uint256 amount) private {
        Flow memory flow = _flow;
        _window.advance(flow);
        _window.count(flow, amount);
        _flow = flow;
        _theirs.consume(0, amount);
        if (amount == 0) return;
        _times.push(block.timestamp);
        _amounts.push(amount);
    }

    function _left(uint256 cap) private view returns (uint256) {
        Flow memory flow = _flow;
        _window.advance(flow);
        return _window.left(flow, cap);
    }

    function _freesAt() private view returns (uint256) {
        Flow memory flow = _flow;
        _window.advance(flow);
        return _window.freesAt(flow);
    }

    function _assertAgree(uint256 cap) private view {
        vm.assertEq(_left(cap), _theirs.available(0));
        uint256 used;
        uint256 freesAt;
        for (uint256 i = _times.length; i > 0 && _times[i - 1] + 1 days > block.timestamp; --i) {
            used += _amounts[i - 1];
            freesAt = _times[i - 1] + 1 days;
        }
        vm.assertEq(_left(cap), cap - used);
        vm.assertEq(_freesAt(), freesAt);
    }

    function test_window__untouched__leaves_the_cap() public view {
        _assertAgree(1_000);
    }

    function test_window__an_entry_counts_for_86399_seconds_more() public {
        _spend(400);
        _assertAgree(1_000);
        vm.warp(START + 86_399);
        _assertAgree(1_000);
        vm.assertEq(_left(1_000), 600);
        vm.warp(START + 86_400);
        _assertAgree(1_000);
        vm.assertEq(_left(1_000), 1_000);
    }

    function test_window__entries_of_one_second_add_up() public {
        _spend(1);
        _spend(2);
        _spend(3);
        _spend(4);
        _assertAgree(1_000);
        vm.assertEq(_left(1_000), 990);
    }

    function test_window__nothing_spent_is_no_entry() public {
        _spend(0);
        vm.assertEq(uint256(_flow.head), 0);
        _assertAgree(1_000);
    }

    function test_window__begins_anew_over_old_words_when_nothing_counts() public {
        for (uint256 i; i < 7; ++i) {
            _spend(i + 1);
        }
        vm.assertEq(uint256(_flow.head), 7);
        vm.warp(START + 1 days);
        _spend(9);
        vm.assertEq(uint256(_flow.head), 1);
        vm.assertEq(uint256(_flow.tail), 0);
        _assertAgree(1_000);
    }

    function test_window__a_total_that_wraps_2_to_the_53__still_differs_rightly() public {
        uint256 cap = SpendWindowLib.MAX_CAP;
        _setCap(cap);
        _spend(cap);
        _assertAgree(cap);
        vm.warp(START + 1 days);
        _spend(5);
        vm.warp(START + 1 days + 1);
        _spend(cap - 5);
        _assertAgree(cap);
        vm.warp(START + 2 days);
        _assertAgree(cap);
        vm.assertEq(_left(cap), 5);
    }

    function test_window__many_entries_at_even_distances() public {
        for (uint256 i; i < 200; ++i) {
            _spend(1 + i % 7);
            _assertAgree(1_000);
            vm.warp(block.timestamp + 1_013);
            _assertAgree(1_000);
        }
    }

    function test_window__many_entries_freed_at_once() public {
        for (uint256 i; i < 50; ++i) {
            _spend(3);
            vm.warp(block.timestamp + 60);
        }
        vm.warp(START + 1 days + 25 * 60);
        _assertAgree(1_000);
        _spend(1);
        _assertAgree(1_000);
        vm.warp(START + 3 days);
        _assertAgree(1_000);
    }

    /// @dev Each word of the seed is one step: how long to wait, and how much to spend of what is left.
    function testFuzz_window__agrees_with_openzeppelin(uint256 seed, uint64 cap) public {
        uint256 limit = 1 + uint256(cap) % SpendWindowLib.MAX_CAP;
        _setCap(limit);
        for (uint256 i; i < 60; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            vm.warp(block.timestamp + _wait(seed));
            _assertAgree(limit);
            _spend((seed >> 128) % (_left(limit) / 3 + 1));
            _assertAgree(limit);
        }
    }

    /// @dev Mostly minutes to hours, often no time at all, and now and then about a day, on both sides of it.
    function _wait(uint256 seed) private pure returns (uint256) {
        uint256 choice = seed % 10;
        if (choice == 0) return 0;
        if (choice == 1) return 86_398 + (seed >> 8) % 5;
        return (seed >> 8) % 9_000;
    }
}
