// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract ConvertTest is ReserveTokenTest {
    bytes32 internal constant ACCOUNT = "account-1";

    function setUp() public override {
        super.setUp();
        _bought(102 * USD);
    }

    function test_convert__burns_and_leaves_the_share_to_the_others() public {
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.Converted(owner, ACCOUNT, 5_000e18, 10_198);
        vm.prank(owner);
        token.convert(5_000e18, ACCOUNT);

        assertEq(token.balanceOf(owner), 5_000e18);
        assertEq(token.reserve(), 103 * USD);
        assertEq(usdc.balanceOf(address(token)), 103 * USD);
        // 103 USDC now back 5,100 tokens.
        assertEq(token.redeemPrice(), 20_196);
    }

    function test_convert__nothing__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.convert(0, ACCOUNT);
    }

    function test_convert__for_no_account__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NoAccount.selector));
        token.convert(ONE, 0);
    }

    function test_convert__while_paused__is_not_held_up() public {
        vm.prank(pauser);
        token.pause();
        vm.prank(owner);
        token.convert(ONE, ACCOUNT);
        assertEq(token.totalSupply(), 10_099e18);
    }

    function test_convert__more_than_is_held__reverts() public {
        vm.prank(thief);
        vm.expectRevert(
            abi.encodeWithSignature("ERC20InsufficientBalance(address,uint256,uint256)", thief, uint256(0), ONE)
        );
        token.convert(ONE, ACCOUNT);
    }
}
