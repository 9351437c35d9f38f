// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract TreasuryTest is ReserveTokenTest {
    address internal next = address(0xBEEF);
    uint64 internal constant ETA = NOW + 48 hours;

    function _propose() private {
        vm.prank(admin);
        token.proposeTreasury(next);
    }

    function test_propose_treasury__says_from_when() public {
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.TreasuryProposed(next, ETA);
        _propose();
        (address proposed, uint64 eta) = token.pendingTreasury();
        assertEq(proposed, next);
        assertEq(uint256(eta), ETA);
        assertEq(token.treasury(), treasury);
    }

    function test_propose_treasury__a_second_one__reverts() public {
        _propose();
        vm.prank(admin);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalPending.selector, next, ETA));
        token.proposeTreasury(thief);
    }

    function test_propose_treasury__that_nobody_could_use__reverts() public {
        address[4] memory refused = [address(0), address(token), address(usdc), BURNED];
        for (uint256 i; i < refused.length; ++i) {
            vm.prank(admin);
            vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, refused[i]));
            token.proposeTreasury(refused[i]);
        }
    }

    function test_propose_treasury__by_a_stranger__reverts() public {
        vm.prank(thief);
        vm.expectRevert(_missingRole(thief, 0));
        token.proposeTreasury(thief);
    }

    function test_change_treasury__a_second_too_early_reverts__at_eta_it_changes() public {
        _propose();
        vm.warp(ETA - 1);
        vm.prank(admin);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalTooEarly.selector, ETA));
        token.changeTreasury();

        vm.warp(ETA);
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.TreasuryChanged(treasury, next);
        vm.prank(admin);
        token.changeTreasury();
        assertEq(token.treasury(), next);
        (address proposed, uint64 eta) = token.pendingTreasury();
        assertEq(proposed, address(0));
        assertEq(uint256(eta), 0);
    }

    function test_change_treasury__at_the_last_second_changes__one_later_reverts() public {
        _propose();
        vm.warp(ETA + 7 days + 1);
        vm.prank(admin);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalExpired.selector, ETA + 7 days));
        token.changeTreasury();
        vm.warp(ETA + 7 days);
        vm.prank(admin);
        token.changeTreasury();
        assertEq(token.treasury(), next);
    }

    function test_change_treasury__without_a_proposal_or_by_a_stranger__reverts() public {
        vm.prank(admin);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, address(0)));
        token.changeTreasury();
        _propose();
        vm.warp(ETA);
        vm.prank(next);
        vm.expectRevert(_missingRole(next, 0));
        token.changeTreasury();
    }

    function test_cancel_treasury_proposal__by_admin_or_pauser__drops_it() public {
        address[2] memory allowed = [admin, pauser];
        for (uint256 i; i < allowed.length; ++i) {
            _propose();
            vm.expectEmit(true, true, true, true, address(token));
            emit EventsLib.TreasuryProposalCancelled(next);
            vm.prank(allowed[i]);
            token.cancelTreasuryProposal();
        }
        vm.prank(admin);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, address(0)));
        token.cancelTreasuryProposal();
    }

    function test_cancel_treasury_proposal__by_a_stranger__reverts() public {
        _propose();
        bytes32 role = token.PAUSER_ROLE();
        vm.prank(thief);
        vm.expectRevert(_missingRole(thief, role));
        token.cancelTreasuryProposal();
    }
}
