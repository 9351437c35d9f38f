// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract IsLinearTest is Test {
    function test_isLinear__the_venue_knows_no_spread_and_no_depth() public view {
        assertTrue(adapter.isLinear());
    }

    /// @dev Any price that the venue takes, and amounts far above all USDC there will be.
    function testFuzz_isLinear__value_is_position_times_price_over_1e6_rounded_down(
        uint96 amount,
        uint96 bought,
        uint96 sold
    ) public {
        vm.prank(operator);
        venue.setPrice(bought == 0 ? 1 : bought);
        uint256 units = uint256(amount) * USD / venue.priceE6();
        if (units != 0) {
            vm.prank(address(adapter));
            venue.open(stranger, amount);
        }
        vm.prank(operator);
        venue.setPrice(sold == 0 ? 1 : sold);

        assertEq(adapter.positionOf(stranger), units);
        assertEq(adapter.valueOf(stranger), adapter.positionOf(stranger) * adapter.unitPrice() / 1e6);
    }

    function test_isLinear__the_value_is_rounded_down() public {
        vm.prank(address(adapter));
        venue.open(stranger, 3);
        vm.prank(operator);
        venue.setPrice(1_999_999);
        assertEq(adapter.valueOf(stranger), 5);
    }
}
