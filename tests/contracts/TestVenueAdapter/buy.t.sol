// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract BuyTest is Test {
    function test_buy__the_money_goes_to_the_venue_and_the_position_to_the_caller() public {
        uint256 before = usdc.balanceOf(address(venue));
        vm.startPrank(owner);
        usdc.approve(address(adapter), 10 * USD);
        assertEq(adapter.buy(10 * USD), 10 * USD);

        assertEq(venue.positionOf(owner), 10 * USD);
        assertEq(adapter.valueOf(owner), 10 * USD);
        assertEq(usdc.balanceOf(address(venue)), before + 10 * USD);
        assertEq(usdc.balanceOf(address(adapter)), 0);
    }

    function test_buy__without_allowance__reverts() public {
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(adapter), uint256(0), USD
            )
        );
        vm.prank(owner);
        adapter.buy(USD);
    }
}
