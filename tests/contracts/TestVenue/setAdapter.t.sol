// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract SetAdapterTest is Test {
    function _newVenue() private returns (TestVenue) {
        return new TestVenue(address(usdc), operator, USD);
    }

    function test_setAdapter__operator__names_it() public {
        TestVenue fresh = _newVenue();
        _expectEmit(address(fresh));
        emit EventsLib.VenueAdapterSet(stranger);
        vm.prank(operator);
        fresh.setAdapter(stranger);
        assertEq(fresh.adapter(), stranger);
    }

    function test_setAdapter__twice__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.AdapterAlreadySet.selector, address(adapter)));
        vm.prank(operator);
        venue.setAdapter(stranger);
    }

    function test_setAdapter__nobody__reverts() public {
        TestVenue fresh = _newVenue();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        vm.prank(operator);
        fresh.setAdapter(address(0));
    }

    function test_setAdapter__others__revert() public {
        TestVenue fresh = _newVenue();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOperator.selector, stranger));
        vm.prank(stranger);
        fresh.setAdapter(stranger);
    }

    /// @dev A node simulates calls from the zero address as from any other, and before this the adapter's slot holds it.
    function test_setAdapter__before_it__the_zero_address_neither_opens_nor_closes() public {
        TestVenue fresh = _newVenue();
        vm.startPrank(address(0));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, address(0)));
        fresh.open(stranger, USD);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, address(0)));
        fresh.close(stranger, USD);
    }
}
