// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract SellTest is Test {
    function test_sell__the_proceeds_go_to_the_caller() public {
        vm.startPrank(owner);
        usdc.approve(address(adapter), 10 * USD);
        adapter.buy(10 * USD);
        vm.stopPrank();
        vm.prank(operator);
        venue.setPrice(2 * USD);

        vm.prank(owner);
        assertEq(adapter.sell(3 * USD), 6 * USD);
        assertEq(venue.positionOf(owner), 7 * USD);
        assertEq(usdc.balanceOf(owner), 10 * BUDGET - 4 * USD);
    }

    function test_sell__somebody_elses_position__reverts() public {
        vm.startPrank(owner);
        usdc.approve(address(adapter), 10 * USD);
        adapter.buy(10 * USD);
        vm.stopPrank();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPosition.selector, uint256(1), uint256(0)));
        vm.prank(thief);
        adapter.sell(1);
    }
}
