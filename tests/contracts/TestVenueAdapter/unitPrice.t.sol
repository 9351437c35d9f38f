// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract UnitPriceTest is Test {
    function test_unitPrice__is_the_venues_price_of_1e6_units() public {
        assertEq(adapter.unitPrice(), USD);
        vm.prank(operator);
        venue.setPrice(1_234_567);
        assertEq(adapter.unitPrice(), 1_234_567);
    }
}
