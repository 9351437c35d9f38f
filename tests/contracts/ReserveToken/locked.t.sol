// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

/// @notice What a purchase locks, and how it unlocks.
contract LockedTest is ReserveTokenTest {
    uint256 internal constant MOST = 1e18; // a million million USDC
    uint256 internal constant DAY_NS = 24 hours * 1e9;
    uint256 internal constant NOW_NS = uint256(NOW) * 1e9;

    function setUp() public override {
        super.setUp();
        usdc.mint(owner, 4 * MOST);
    }

    function _until() private view returns (uint256 until) {
        (, until) = token.locked();
    }

    // ------------------------------------------------------------------ one purchase

    function test_locked__after_a_purchase__is_its_markup_for_24_hours() public {
        _bought(102 * USD);
        assertEq(_lockedNow(), 2 * USD);
        assertEq(_until(), NOW_NS + DAY_NS);
    }

    function test_locked__falls_evenly__rounded_up__to_nothing_at_the_last_second() public {
        _bought(102 * USD);
        uint256[5] memory at = [uint256(1), 6 hours, 12 hours, 24 hours - 1, 24 hours];
        // A second unlocks 23.148... base units.
        uint256[5] memory left = [uint256(1_999_977), 1_500_000, 1_000_000, 24, 0];
        for (uint256 i; i < at.length; ++i) {
            vm.warp(NOW + at[i]);
            assertEq(_lockedNow(), left[i]);
        }
    }

    function test_locked__moves_redemptions__and_no_purchase() public {
        _bought(102 * USD);
        assertEq(token.quoteRedeem(1_000e18), 10 * USD);
        uint256 minted = token.quoteBuy(7 * USD);
        vm.warp(NOW + 12 hours);
        // 102 of 103 USDC are unlocked: 102 x 1,000 / 10,100.
        assertEq(token.quoteRedeem(1_000e18), 10_099_009);
        assertEq(token.quoteBuy(7 * USD), minted);
        assertEq(token.buyPrice(), 10_402);
        assertEq(token.reserve(), 103 * USD);
    }

    function test_locked__redemptions_and_conversions__are_what_is_quoted_and_leave_it() public {
        _bought(102 * USD);
        vm.warp(NOW + 12 hours);
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.Redeemed(owner, 1_000e18, 10_099_009, 10_099);
        vm.startPrank(owner);
        assertEq(token.redeem(1_000e18, 10_099_009), 10_099_009);
        assertEq(token.convert(1_000e18, "account-1"), 10_099_010); // what the redemption rounded off is there
        vm.stopPrank();
        assertEq(_lockedNow(), 1_000_000);
        assertEq(_until(), NOW_NS + DAY_NS);
    }

    function test_locked__everything_redeemed__stays_for_those_who_are_left() public {
        uint256 out = _bought(102 * USD);
        vm.prank(owner);
        assertEq(token.redeem(out, 0), 100 * USD);
        assertEq(token.redeemPrice(), 10_000);
        _unlock();
        // The first 100 tokens: 3 USDC.
        assertEq(token.redeemPrice(), 30_000);
    }

    function test_locked__a_purchase_without_a_markup__leaves_it() public {
        _bought(102 * USD);
        vm.warp(NOW + 1);
        _bought(1);
        assertEq(_lockedNow(), 1_999_977);
        vm.warp(NOW + 12 hours);
        assertEq(_lockedNow(), 1_000_000);
        assertEq(_until(), NOW_NS + DAY_NS);
    }

    // ------------------------------------------------------------------ one purchase after another

    function test_locked__a_second_purchase__adds_its_markup_and_its_share_of_what_is_locked() public {
        _bought(102 * USD);
        vm.warp(NOW + 12 hours);
        // 102 x 10,100 x 100 / (103 x 102) = 9,805.825... tokens, whose share of 102 unlocked USDC is 99.029127 rounded
        // up. 2.970873 more are locked: the markup of 2 USDC, and 0.970873 for the share of 1 USDC.
        _bought(102 * USD);
        assertEq(_lockedNow(), 3_970_873);
        assertEq(token.redeemPrice(), 10_099);
        // 12 hours, and 2 / 3.970873 of the 12 hours that a new lock has more.
        assertEq(_until(), NOW_NS + DAY_NS + uint256(2 * USD) * 12 hours * 1e9 / 3_970_873);
        assertEq(_until(), NOW_NS + 108_158_439_516_952);
    }

    function test_locked__after_the_end_of_one__the_next_begins_anew() public {
        _bought(102 * USD);
        vm.warp(NOW + 3 days);
        _bought(51 * USD);
        assertEq(_lockedNow(), USD);
        assertEq(_until(), NOW_NS + 4 * DAY_NS);
    }

    function test_locked__two_in_one_block__are_as_one() public {
        _bought(102 * USD);
        _bought(102 * USD);
        assertEq(_until(), NOW_NS + DAY_NS);
        _unlock();
        assertEq(_lockedNow(), 0);
    }

    /// @dev 51 base units, each minute of a day, move the end of 196 USDC by less than five seconds.
    function test_locked__dust_each_minute__hardly_moves_the_end() public {
        _bought(10_000 * USD);
        uint256 end = _until();
        uint256 minted;
        for (uint256 i = 1; i < 24 * 60; ++i) {
            vm.warp(NOW + i * 1 minutes);
            minted += _bought(51); // a markup of one base unit
        }
        vm.assertLe(end, _until());
        vm.assertLt(_until(), end + 5e9);
        assertTrue(minted != 0);
        // At the end of the lock of before, less than a cent is left.
        vm.warp(NOW + 24 hours);
        vm.assertLt(_lockedNow(), 10_000);
    }

    // ------------------------------------------------------------------ laws

    function testFuzz_locked__a_purchase__leaves_the_redeem_price_and_brings_no_end_nearer(
        uint256 first,
        uint256 second,
        uint256 wait
    ) public {
        _bought(1 + first % MOST);
        vm.warp(NOW + wait % 2 days);
        (uint256 reserve, uint256 supply, uint256 before) = (token.reserve(), token.totalSupply(), _lockedNow());
        uint256 end = _until();
        second = 1 + second % MOST;
        if (token.quoteBuy(second) == 0) return;
        _bought(second);

        uint256 unlocked = token.reserve() - _lockedNow();
        vm.assertLe((reserve - before) * token.totalSupply(), unlocked * supply);
        // It is the least that does not lower it.
        vm.assertLt((unlocked - 1) * supply, (reserve - before) * token.totalSupply());
        vm.assertLe(before + second * 2 / 102, _lockedNow());
        vm.assertLe(end, _until());
        vm.assertLe(_until(), block.timestamp * 1e9 + DAY_NS);
    }

    function testFuzz_locked__time__only_unlocks(uint256 first, uint256 second, uint256[6] memory waits) public {
        _bought(1 + first % MOST);
        vm.warp(NOW + waits[0] % 1 days);
        if (token.quoteBuy(1 + second % MOST) != 0) _bought(1 + second % MOST);
        uint256 left = _lockedNow();
        uint256 price = token.redeemPrice();
        for (uint256 i = 1; i < waits.length; ++i) {
            vm.warp(block.timestamp + waits[i] % 6 hours);
            vm.assertLe(_lockedNow(), left);
            vm.assertLe(price, token.redeemPrice());
            (left, price) = (_lockedNow(), token.redeemPrice());
        }
    }

    /// @dev Rate: what a whole token gains in a second, of what is locked / (supply x time to the end).
    function testFuzz_locked__a_purchase__adds_at_most_its_markup_a_day_to_the_rate_of_a_token(
        uint256 first,
        uint256 second,
        uint256 wait
    ) public {
        _bought(USD + first % MOST);
        vm.warp(NOW + 1 + wait % (24 hours - 2));
        uint256 rate = _rate();
        second = USD + second % MOST;
        _bought(second);
        uint256 added = 1e36 * (second * 2 / 102 + 1) / (token.totalSupply() * 24 hours);
        // What is locked is rounded to a base unit, and the end to a nanosecond.
        uint256 rounding = 2 * rate / _lockedNow() + 2 * rate / (_until() - block.timestamp * 1e9) + 2;
        vm.assertLe(_rate(), rate + added + rounding);
    }

    /// @dev Without rounding the parts lock as long as the whole, or longer: a purchase multiplies (time missing to 24 hours)
    /// by 1 - markup / locked, which is what was locked before, times the growth of the supply, / locked. What rounding takes
    /// away at most, of a second part under which the supply grows to g times (a unit is one of USDC):
    /// - a nanosecond of each part's end;
    /// - a unit of the first part's markup. The second part multiplies all that is locked by g, so it is g units then;
    /// - a unit of the second part's markup;
    /// - a unit of the whole's share, and 1 + g units of the parts' shares, by which less is locked than of the whole.
    /// A unit is missing / locked of time, and one more is for the wei by which a mint is rounded.
    function _roundedOff(uint256 missing, uint256 growth) private view returns (uint256) {
        return 2 + missing * (2 * growth + 4) / _lockedNow();
    }

    function _partsUnlockNoSooner(uint256 before, uint256 wait, uint256 first, uint256 second) private {
        _bought(before);
        vm.warp(NOW + wait);
        uint256 missing = block.timestamp * 1e9 + DAY_NS - _until();
        uint256 state = vm.snapshotState();
        _bought(first + second);
        uint256 whole = _until();
        assertTrue(vm.revertToState(state));
        _bought(first);
        uint256 supply = token.totalSupply();
        _bought(second);
        uint256 growth = token.totalSupply() / supply + 1;
        vm.assertLe(whole, _until() + _roundedOff(missing, growth));
    }

    function testFuzz_locked__a_purchase_in_two_parts__unlocks_no_sooner(
        uint256 before,
        uint256 wait,
        uint256 first,
        uint256 second
    ) public {
        _partsUnlockNoSooner(USD + before % MOST, wait % 24 hours, USD + first % MOST, USD + second % MOST);
    }

    /// @dev A dollar and half a million million of them, two seconds before the end of a lock of one unit.
    function test_locked__a_purchase_in_two_parts__a_small_one_first__loses_a_unit_of_that_markup() public {
        _partsUnlockNoSooner(1_010_043, 86_398, USD, MOST / 2);
        _partsUnlockNoSooner(1_010_043, 86_398, 51, MOST / 2);
    }

    function _rate() private view returns (uint256) {
        return 1e36 * _lockedNow() * 1e9 / (token.totalSupply() * (_until() - block.timestamp * 1e9));
    }
}
