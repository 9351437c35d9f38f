// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract RedeemTest is ReserveTokenTest {
    function setUp() public override {
        super.setUp();
        _bought(102 * USD); // 10,000 tokens; 103 USDC back 10,100
        _unlock();
    }

    function test_redeem__pays_the_share_rounded_down() public {
        uint256 share = uint256(103 * USD) * 1_000e18 / 10_100e18;
        assertEq(share, 10_198_019);
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.Redeemed(owner, 1_000e18, share, 10_198);
        uint256 before = usdc.balanceOf(owner);
        vm.prank(owner);
        assertEq(token.redeem(1_000e18, share), share);

        assertEq(usdc.balanceOf(owner), before + share);
        assertEq(token.balanceOf(owner), 9_000e18);
        assertEq(token.reserve(), 103 * USD - share);
        assertEq(usdc.balanceOf(address(token)), 103 * USD - share);
        assertEq(token.totalSupply(), 9_100e18);
    }

    function test_redeem__everything_that_is_held__leaves_the_seed_with_more_than_it_had() public {
        vm.prank(owner);
        token.redeem(10_000e18, 0);
        assertEq(token.totalSupply(), SEED);
        assertTrue(token.redeemPrice() >= 10_198);
    }

    function test_redeem__while_paused__is_not_held_up() public {
        vm.prank(pauser);
        token.pause();
        vm.prank(owner);
        assertTrue(token.redeem(ONE, 0) > 0);
    }

    function test_redeem__min_out_is_met_exactly__and_one_more_reverts() public {
        uint256 quoted = token.quoteRedeem(7e18);
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.UnderMinOut.selector, quoted, quoted + 1));
        token.redeem(7e18, quoted + 1);
        vm.prank(owner);
        assertEq(token.redeem(7e18, quoted), quoted);
    }

    function test_redeem__a_share_of_nothing__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.redeem(0, 0);
        // 98,058,252,427,184 wei are worth less than a base unit of USDC, one wei more is worth one.
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.redeem(98_058_252_427_184, 0);
        vm.prank(owner);
        assertEq(token.redeem(98_058_252_427_185, 0), 1);
    }

    function test_redeem__one_unit_more_than_is_held__reverts() public {
        vm.prank(owner);
        vm.expectRevert(_insufficientBalance(owner, 10_000e18, 10_000e18 + 1));
        token.redeem(10_000e18 + 1, 0);
    }

    function test_redeem__more_than_there_are__reverts_with_the_holding() public {
        vm.prank(owner);
        vm.expectRevert(_insufficientBalance(owner, 10_000e18, 20_000e18));
        token.redeem(20_000e18, 0);
    }

    function test_redeem__leaves_what_is_owed_to_the_treasury() public {
        vm.prank(owner);
        uint256 owed = token.convert(4_000e18, "account-1");
        vm.prank(owner);
        uint256 out = token.redeem(6_000e18, 0);

        assertEq(token.treasuryOwed(), owed);
        assertEq(usdc.balanceOf(address(token)), 103 * USD - out);
        assertEq(token.reserve(), 103 * USD - out - owed);
    }
}
