// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract OpenTest is Test {
    function _open(uint256 amount) private returns (uint256) {
        vm.prank(address(adapter));
        return venue.open(stranger, amount);
    }

    function test_open__units_are_amount_over_price() public {
        vm.prank(operator);
        venue.setPrice(2_500_000);
        _expectEmit(address(venue));
        emit EventsLib.PositionOpened(stranger, 10 * USD, 4 * USD, 2_500_000);
        assertEq(_open(10 * USD), 4 * USD);
        assertEq(venue.positionOf(stranger), 4 * USD);
    }

    function test_open__units_are_rounded_down() public {
        vm.prank(operator);
        venue.setPrice(3 * USD);
        assertEq(_open(10 * USD), 3_333_333);
    }

    function test_open__adds_to_the_position() public {
        _open(10);
        _open(5);
        assertEq(venue.positionOf(stranger), 15);
    }

    function test_open__less_than_one_base_unit__reverts() public {
        vm.prank(operator);
        venue.setPrice(3 * USD);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _open(2);
        assertEq(_open(3), 1);
    }

    function test_open__others__revert() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, stranger));
        vm.prank(stranger);
        venue.open(stranger, USD);
    }
}
