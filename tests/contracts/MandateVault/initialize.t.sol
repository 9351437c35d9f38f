// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract InitializeTest is Test {
    function test_initialize__stranger__reverts() public {
        MandateVault vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotFactory.selector, stranger));
        vm.prank(stranger);
        vault.initialize(_noFunding());
    }

    function test_initialize__owner__reverts() public {
        MandateVault vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotFactory.selector, owner));
        vm.prank(owner);
        vault.initialize(_noFunding());
    }

    function test_initialize__sets_the_agent_of_the_terms() public {
        MandateVault vault = _createEmpty();
        assertEq(vault.agent(), agent);
        assertEq(vault.payee(), agent);
        assertEq(vault.status(), Status.Funding);
    }

    function test_initialize__open_board__has_neither_agent_nor_payee_and_is_not_paused() public {
        terms.agent = address(0);
        MandateVault vault = _createEmpty();
        assertEq(vault.agent(), address(0));
        assertEq(vault.payee(), address(0));
        assertFalse(vault.paused());
    }

    function test_initialize__the_implementation_itself_takes_no_part() public {
        MandateVault implementation = MandateVault(factory.implementation());
        assertEq(implementation.status(), Status.Settled);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAVault.selector, address(implementation)));
        vm.prank(owner);
        implementation.deposit(1);
    }
}
