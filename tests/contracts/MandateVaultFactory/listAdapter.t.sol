// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ListAdapterTest is Test {
    function test_listAdapter__admin__lists() public {
        _expectEmit(address(factory));
        emit EventsLib.AdapterListed(address(hostile));
        vm.prank(admin);
        factory.listAdapter(address(hostile));
        assertTrue(factory.isAdapter(address(hostile)));
    }

    function test_listAdapter__twice__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.AdapterAlreadyListed.selector, address(adapter)));
        vm.prank(admin);
        factory.listAdapter(address(adapter));
    }

    function test_listAdapter__without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, stranger));
        vm.prank(admin);
        factory.listAdapter(stranger);
    }

    function test_listAdapter__others__revert() public {
        _expectRevert(
            abi.encodeWithSignature("AccessControlUnauthorizedAccount(address,bytes32)", stranger, bytes32(0))
        );
        vm.prank(stranger);
        factory.listAdapter(address(hostile));
    }
}
