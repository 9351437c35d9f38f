// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract TestVenueConstructorTest is Test {
    function test_constructor__without_an_operator__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        new TestVenue(address(usdc), address(0), USD);
    }

    function test_constructor__usdc_without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        new TestVenue(thief, operator, USD);
    }

    function test_constructor__without_a_price__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        new TestVenue(address(usdc), operator, 0);
    }
}
