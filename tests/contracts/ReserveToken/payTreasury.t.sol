// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract PayTreasuryTest is ReserveTokenTest {
    uint256 private constant OWED = 50_990_099;

    function setUp() public override {
        super.setUp();
        _bought(102 * USD);
        _unlock();
        vm.prank(owner);
        token.convert(5_000e18, "account-1");
    }

    function test_pay_treasury__by_anybody__pays_everything_that_is_owed() public {
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.TreasuryPaid(treasury, OWED);
        vm.prank(stranger);
        assertEq(token.payTreasury(), OWED);

        assertEq(usdc.balanceOf(treasury), OWED);
        assertEq(usdc.balanceOf(stranger), 0);
        assertEq(token.treasuryOwed(), 0);
    }

    function test_pay_treasury__leaves_reserve_and_price() public {
        token.payTreasury();
        assertEq(token.reserve(), 52_009_901);
        assertEq(usdc.balanceOf(address(token)), 52_009_901);
        assertEq(token.redeemPrice(), 10_198);
    }

    function test_pay_treasury__when_nothing_is_owed__reverts() public {
        token.payTreasury();
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NothingOwed.selector));
        token.payTreasury();
    }

    function test_pay_treasury__a_single_base_unit__is_paid() public {
        token.payTreasury();
        vm.prank(owner);
        token.convert(98_058_252_427_185, "account-1");
        assertEq(token.payTreasury(), 1);
    }

    function test_pay_treasury__leaves_donations_where_they_are() public {
        usdc.mint(address(token), 7 * USD);
        assertEq(token.payTreasury(), OWED);
        assertEq(usdc.balanceOf(address(token)), token.reserve() + 7 * USD);
    }

    function test_pay_treasury__while_paused__is_not_held_up() public {
        vm.prank(pauser);
        token.pause();
        assertEq(token.payTreasury(), OWED);
    }

    function test_pay_treasury__after_a_change__pays_the_new_one() public {
        _changeTreasury(address(0xBEEF));
        token.payTreasury();
        assertEq(usdc.balanceOf(address(0xBEEF)), OWED);
        assertEq(usdc.balanceOf(treasury), 0);
    }

    function test_pay_treasury__to_a_frozen_one__reverts_and_stays_owed() public {
        _ownerConvertsFreezable();
        _freeze(treasury, true);
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "Blacklistable: account is blacklisted"));
        token.payTreasury();
        assertEq(token.treasuryOwed(), OWED);

        _freeze(treasury, false);
        assertEq(token.payTreasury(), OWED);
    }

    function test_pay_treasury__after_a_frozen_one_was_replaced__pays_the_new_one() public {
        _ownerConvertsFreezable();
        _freeze(treasury, true);
        _changeTreasury(address(0xBEEF));
        assertEq(token.payTreasury(), OWED);
        assertEq(usdc.balanceOf(address(0xBEEF)), OWED);
    }

    function _ownerConvertsFreezable() private {
        _deployWithFreezableUSDC();
        _bought(102 * USD);
        _unlock();
        vm.prank(owner);
        token.convert(5_000e18, "account-1");
    }

    function _changeTreasury(address next) private {
        vm.startPrank(admin);
        token.proposeTreasury(next);
        vm.warp(block.timestamp + 48 hours);
        token.changeTreasury();
        vm.stopPrank();
    }
}
