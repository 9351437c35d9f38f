// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract DelistAdapterTest is Test {
    function test_delistAdapter__admin__delists() public {
        _expectEmit(address(factory));
        emit EventsLib.AdapterDelisted(address(adapter));
        vm.prank(admin);
        factory.delistAdapter(address(adapter));
        assertFalse(factory.isAdapter(address(adapter)));
    }

    function test_delistAdapter__not_listed__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.AdapterNotListed.selector, address(hostile)));
        vm.prank(admin);
        factory.delistAdapter(address(hostile));
    }

    function test_delistAdapter__others__revert() public {
        _expectRevert(abi.encodeWithSignature("AccessControlUnauthorizedAccount(address,bytes32)", pauser, bytes32(0)));
        vm.prank(pauser);
        factory.delistAdapter(address(adapter));
    }
}
