// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract StopTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _stopBy(address who) private {
        vm.prank(who);
        vault.stop("why");
    }

    function test_stop__owner__ends_it_and_revokes_the_agent_without_a_removal() public {
        vm.recordLogs();
        _stopBy(owner);
        Vm.Log[] memory logs = vm.getRecordedLogs();

        assertEq(logs.length, 1);
        assertEq(logs[0].topics[0], IMandateVaultEvents.Stopped.selector);
        assertEq(vault.status(), Status.Stopped);
        assertEq(vault.agent(), address(0));
        assertEq(uint256(vault.stoppedAt()), NOW);
        assertFalse(vault.paused());
        assertEq(vault.payee(), agent);
    }

    function test_stop__carries_who_and_why_and_no_worth() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(owner, "why", 0, 0, false);
        _stopBy(owner);
    }

    function test_stop__agent__passes() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(agent, "why", 0, 0, false);
        _stopBy(agent);
    }

    function test_stop__others__revert() public {
        address[4] memory others = [admin, pauser, stranger, keeper];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotParty.selector, others[i]));
            _stopBy(others[i]);
        }
    }

    function test_stop__removed_agent__reverts() public {
        vm.prank(owner);
        vault.removeAgent();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NoAgent.selector));
        _stopBy(agent);
    }

    function test_stop__without_an_agent__the_zero_address_is_nobody() public {
        vm.prank(owner);
        vault.removeAgent();
        address[4] memory others = [address(0), stranger, admin, keeper];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NoAgent.selector));
            _stopBy(others[i]);
        }
    }

    function test_stop__without_an_agent__owner_passes() public {
        vm.startPrank(owner);
        vault.removeAgent();
        vault.stop("why");
        assertEq(vault.status(), Status.Stopped);
    }

    function test_stop__word_of_the_stop_line__reverts_whoever_says_it() public {
        address[3] memory parties = [owner, agent, keeper];
        for (uint256 i; i < parties.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.ReservedReason.selector, bytes32("stop_line")));
            vm.prank(parties[i]);
            vault.stop("stop_line");
        }
    }

    function test_stop__twice__reverts() public {
        _stopBy(owner);
        vm.warp(NOW + 5);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        _stopBy(owner);
    }

    function test_stop__after_settling__reverts() public {
        vm.warp(ENDS_AT);
        vm.prank(keeper);
        vault.settle();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _stopBy(owner);
    }

    function test_stop__while_funding__passes() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _stopBy(owner);
        assertEq(vault.status(), Status.Stopped);
    }

    // ------------------------------------------------------------------ the grace

    function test_stop__owner_one_second_before_the_end__passes() public {
        vm.warp(ENDS_AT - 1);
        _stopBy(owner);
        assertEq(vault.status(), Status.Stopped);
    }

    function test_stop__owner_at_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
        _stopBy(owner);
    }

    function test_stop__owner_in_the_last_second_of_the_grace__reverts() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
        _stopBy(owner);
    }

    function test_stop__owner_after_the_grace__passes() public {
        vm.warp(GRACE_END);
        _stopBy(owner);
        assertEq(vault.status(), Status.Stopped);
    }

    function test_stop__agent_one_second_before_the_end__passes() public {
        vm.warp(ENDS_AT - 1);
        _stopBy(agent);
        assertEq(vault.status(), Status.Stopped);
    }

    function test_stop__agent_at_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
        _stopBy(agent);
    }

    function test_stop__agent_in_the_last_second_of_the_grace__reverts() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
        _stopBy(agent);
    }

    function test_stop__agent_after_the_grace__passes() public {
        vm.warp(GRACE_END);
        _stopBy(agent);
        assertEq(vault.status(), Status.Stopped);
    }

    function test_stop__owner_who_is_also_the_agent__is_gated_as_the_owner() public {
        vm.prank(owner);
        vault.setAgent(owner);
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
        _stopBy(owner);
    }

    function test_stop__while_the_factory_is_paused__passes() public {
        vm.prank(pauser);
        factory.pause();
        _stopBy(owner);
        assertEq(vault.status(), Status.Stopped);
    }
}
