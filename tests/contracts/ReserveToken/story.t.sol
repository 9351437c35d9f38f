// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

/// @notice The worked numbers of docs/reserve-token.md, row by row.
contract StoryTest is ReserveTokenTest {
    function test_story__from_creation_to_the_payment_of_the_treasury() public {
        _assertRow(1_000_000, 0, 100e18, 10_000, 10_200);

        assertEq(_bought(102 * USD), 10_000e18);
        assertEq(_lockedNow(), 2_000_000);
        _assertRow(103_000_000, 0, 10_100e18, 10_000, 10_402);

        vm.warp(NOW + 12 hours);
        assertEq(_lockedNow(), 1_000_000);
        _assertRow(103_000_000, 0, 10_100e18, 10_099, 10_402);

        vm.warp(NOW + 24 hours);
        assertEq(_lockedNow(), 0);
        _assertRow(103_000_000, 0, 10_100e18, 10_198, 10_402);

        vm.prank(owner);
        assertEq(token.redeem(1_000e18, 0), 10_198_019);
        _assertRow(92_801_981, 0, 9_100e18, 10_198, 10_402);

        vm.prank(owner);
        assertEq(token.convert(4_000e18, "account-1"), 40_792_079);
        _assertRow(52_009_902, 40_792_079, 5_100e18, 10_198, 10_402);

        usdc.mint(address(token), 500 * USD);
        _assertRow(52_009_902, 40_792_079, 5_100e18, 10_198, 10_402);

        assertEq(token.payTreasury(), 40_792_079);
        _assertRow(52_009_902, 0, 5_100e18, 10_198, 10_402);
        assertEq(usdc.balanceOf(treasury), 40_792_079);
        assertEq(usdc.balanceOf(address(token)), 552_009_902);
    }

    function _assertRow(uint256 reserve, uint256 owed, uint256 supply, uint256 redeemPrice, uint256 buyPrice)
        private
        view
    {
        assertEq(token.reserve(), reserve);
        assertEq(token.treasuryOwed(), owed);
        assertEq(token.totalSupply(), supply);
        assertEq(token.redeemPrice(), redeemPrice);
        assertEq(token.buyPrice(), buyPrice);
    }
}
