// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract TestVenueAdapterConstructorTest is Test {
    function test_constructor__venue_without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, stranger));
        new TestVenueAdapter(address(usdc), stranger);
    }

    function test_constructor__usdc_without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        new TestVenueAdapter(thief, address(venue));
    }
}
