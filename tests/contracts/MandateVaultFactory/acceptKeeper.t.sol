// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract AcceptKeeperTest is Test {
    uint64 internal constant ETA = NOW + 48 hours;

    function setUp() public override {
        super.setUp();
        vm.prank(keeperAdmin);
        factory.proposeKeeper(stranger);
    }

    function _acceptAt(uint256 time) private {
        vm.warp(time);
        vm.prank(stranger);
        factory.acceptKeeper();
    }

    function test_acceptKeeper__at_eta__changes_it_and_clears_the_proposal() public {
        _expectEmit(address(factory));
        emit EventsLib.KeeperChanged(keeper, stranger);
        _acceptAt(ETA);
        assertEq(factory.keeper(), stranger);
        (address proposed, uint64 eta) = factory.pendingKeeper();
        assertEq(proposed, address(0));
        assertEq(uint256(eta), 0);
    }

    function test_acceptKeeper__one_second_before_eta__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalTooEarly.selector, ETA));
        _acceptAt(ETA - 1);
    }

    function test_acceptKeeper__seven_days_after_eta__passes() public {
        _acceptAt(ETA + 7 days);
        assertEq(factory.keeper(), stranger);
    }

    function test_acceptKeeper__one_second_later__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalExpired.selector, ETA + 7 days));
        _acceptAt(ETA + 7 days + 1);
    }

    function test_acceptKeeper__others__revert() public {
        vm.warp(ETA);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, thief));
        vm.prank(thief);
        factory.acceptKeeper();
    }

    function test_acceptKeeper__after_a_cancellation__reverts() public {
        vm.prank(pauser);
        factory.cancelKeeperProposal();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, stranger));
        _acceptAt(ETA);
    }

    function test_acceptKeeper__twice__reverts() public {
        _acceptAt(ETA);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, stranger));
        _acceptAt(ETA);
    }
}
