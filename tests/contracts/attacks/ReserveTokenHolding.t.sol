// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

/// @notice Buying before another's purchase, or before another's redemption, and leaving after it.
///
/// BOUND
/// - Who leaves in the same second gains nothing: it loses its own markup, 2 / 102 of what it paid, less a base unit for
///   each call between.
/// - Who waits gains at most w / t of the other's markup, where w is the wait since that purchase and t what was left of
///   the lock right after it; and never more than that markup.
/// - docs/reserve-token.md has the argument.
contract ReserveTokenHoldingTest is ReserveTokenTest {
    uint256 private constant MOST = 1e18; // a million million USDC

    function setUp() public override {
        super.setUp();
        usdc.mint(owner, 10 * MOST);
    }

    function testFuzz_pitfall_35__purchase_around_anothers__never_profits(
        uint256 earlier,
        uint256 wait,
        uint256 mine,
        uint256 theirs
    ) public {
        _buyAs(stranger, _sized(earlier));
        vm.warp(NOW + wait % 2 days);
        mine = _sized(mine);
        uint256 out = _buyAs(thief, mine);
        _buyAs(stranger, _sized(theirs));
        uint256 back = _redeemAll(thief);
        assertTrue(out == 0 || back < mine);
        // A base unit for the rounding of each of the three calls.
        vm.assertLe(back * 102, mine * 100 + 3 * 102);
    }

    function testFuzz_pitfall_35__conversion_around_anothers_purchase__never_profits(
        uint256 earlier,
        uint256 mine,
        uint256 theirs
    ) public {
        _buyAs(stranger, _sized(earlier));
        mine = _sized(mine);
        uint256 out = _buyAs(thief, mine);
        _buyAs(stranger, _sized(theirs));
        if (token.quoteRedeem(out) == 0) return;
        vm.prank(thief);
        vm.assertLt(token.convert(out, "account-1"), mine);
    }

    function testFuzz_pitfall_35__holding_around_anothers_purchase__gains_at_most_what_unlocked_of_their_markup(
        uint256 earlier,
        uint256[3] memory waits,
        uint256 mine,
        uint256 theirs
    ) public {
        _buyAs(stranger, _sized(earlier));
        vm.warp(NOW + waits[0] % 2 days);
        mine = _sized(mine);
        if (_buyAs(thief, mine) == 0) return;
        vm.warp(block.timestamp + waits[1] % 2 days);
        theirs = _sized(theirs);
        if (_buyAs(stranger, theirs) == 0) return;
        (, uint256 until) = token.locked();
        uint256 wait = waits[2] % 2 days;
        vm.warp(block.timestamp + wait);

        uint256 most = theirs * 2 / 102 + 1;
        uint256 since = (block.timestamp - wait) * 1e9;
        if (since + wait * 1e9 < until) most = most * wait * 1e9 / (until - since);
        vm.assertLe(_redeemAll(thief), mine + most + 4);
    }

    /// @dev Who redeems before the end leaves a share of what is locked. It unlocks too, and not at once.
    function testFuzz_pitfall_35__holding_around_anothers_redemption__gains_nothing_at_once_and_at_most_what_they_left(
        uint256 theirs,
        uint256 mine,
        uint256 wait
    ) public {
        _buyAs(stranger, _sized(theirs));
        mine = _sized(mine);
        if (_buyAs(thief, mine) == 0) return;
        uint256 left = _lockedNow() * token.balanceOf(stranger) / token.totalSupply();
        _redeemAll(stranger);
        uint256 state = vm.snapshotState();
        vm.assertLt(_redeemAll(thief), mine);
        assertTrue(vm.revertToState(state));
        vm.warp(NOW + wait % 2 days);
        vm.assertLe(_redeemAll(thief), mine + left + 4);
    }

    /// @dev The table of docs/reserve-token.md: around a purchase of 10,000 USDC, in a new contract. Before, who left in the
    /// same block gained what is gained after 24 hours now.
    function test_pitfall_35__holding_around_a_purchase_of_10_000_usdc__gains_by_the_hour() public {
        uint256[6] memory waits = [uint256(0), 1 minutes, 1 hours, 12 hours, 24 hours, 2 days];
        uint256[2] memory mine = [uint256(10_000 * USD), 1_000_000 * USD];
        int256[6][2] memory gains = [
            [int256(-196_078_431), -195_873_526, -183_784_134, -48_546_863, 98_984_705, 98_984_705],
            [int256(-19_607_843_137), -19_594_091_751, -18_782_759_900, -9_706_844_288, 194_154_561, 194_154_561]
        ];
        for (uint256 m; m < mine.length; ++m) {
            for (uint256 i; i < waits.length; ++i) {
                uint256 state = vm.snapshotState();
                _buyAs(thief, mine[m]);
                _buyAs(stranger, 10_000 * USD);
                vm.warp(NOW + waits[i]);
                assertEq(_redeemAll(thief), uint256(int256(mine[m]) + gains[m][i]));
                assertTrue(vm.revertToState(state));
            }
        }
    }

    function _buyAs(address recipient, uint256 amount) private returns (uint256 out) {
        if (token.quoteBuy(amount) == 0) return 0;
        vm.prank(owner);
        out = token.buy(amount, 0, recipient);
    }

    function _redeemAll(address holder) private returns (uint256 back) {
        uint256 held = token.balanceOf(holder);
        if (token.quoteRedeem(held) == 0) return 0;
        vm.prank(holder);
        back = token.redeem(held, 0);
        assertEq(usdc.balanceOf(holder), back);
    }

    /// @dev Every magnitude as likely, from a base unit to a million million USDC.
    function _sized(uint256 word) private pure returns (uint256) {
        return 1 + (word >> 8) % 10 ** (1 + word % 18);
    }
}
