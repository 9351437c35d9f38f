// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract RemoveAgentTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function test_removeAgent__owner__pauses() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.AgentRemoved(agent, owner);
        vm.prank(owner);
        vault.removeAgent();

        assertEq(vault.agent(), address(0));
        assertTrue(vault.paused());
        assertEq(vault.status(), Status.Working);
        assertEq(vault.payee(), agent);
    }

    function test_removeAgent__pauser_of_the_factory__pauses() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.AgentRemoved(agent, pauser);
        vm.prank(pauser);
        vault.removeAgent();
        assertTrue(vault.paused());
    }

    function test_removeAgent__at_the_end__is_no_pause_any_more() public {
        vm.prank(owner);
        vault.removeAgent();
        vm.warp(ENDS_AT - 1);
        assertTrue(vault.paused());
        vm.warp(ENDS_AT);
        assertFalse(vault.paused());
    }

    function test_removeAgent__others__revert() public {
        address[4] memory others = [agent, keeper, admin, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwnerOrPauser.selector, others[i]));
            vm.prank(others[i]);
            vault.removeAgent();
        }
    }

    function test_removeAgent__without_an_agent__reverts() public {
        vm.startPrank(owner);
        vault.removeAgent();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NoAgent.selector));
        vault.removeAgent();
    }

    function test_removeAgent__after_a_stop__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        vm.prank(owner);
        vault.removeAgent();
    }
}
