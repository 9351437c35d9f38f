// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract CancelGuardProposalTest is Test {
    function setUp() public override {
        super.setUp();
        vm.prank(keeperAdmin);
        factory.proposeGuard(stranger);
    }

    function test_cancelGuardProposal__admin_or_pauser__drops_it() public {
        _expectEmit(address(factory));
        emit EventsLib.GuardProposalCancelled(stranger);
        vm.prank(admin);
        factory.cancelGuardProposal();

        vm.prank(keeperAdmin);
        factory.proposeGuard(thief);
        _expectEmit(address(factory));
        emit EventsLib.GuardProposalCancelled(thief);
        vm.prank(pauser);
        factory.cancelGuardProposal();
    }

    function test_cancelGuardProposal__others__revert() public {
        address[4] memory others = [keeperAdmin, guard, stranger, thief];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdminOrPauser.selector, others[i]));
            vm.prank(others[i]);
            factory.cancelGuardProposal();
        }
    }

    function test_cancelGuardProposal__nothing_pending__reverts() public {
        vm.startPrank(admin);
        factory.cancelGuardProposal();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, address(0)));
        factory.cancelGuardProposal();
    }
}
