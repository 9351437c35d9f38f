// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract CancelKeeperProposalTest is Test {
    function setUp() public override {
        super.setUp();
        vm.prank(keeperAdmin);
        factory.proposeKeeper(stranger);
    }

    function test_cancelKeeperProposal__admin_or_pauser__drops_it() public {
        _expectEmit(address(factory));
        emit EventsLib.KeeperProposalCancelled(stranger);
        vm.prank(admin);
        factory.cancelKeeperProposal();

        vm.prank(keeperAdmin);
        factory.proposeKeeper(thief);
        _expectEmit(address(factory));
        emit EventsLib.KeeperProposalCancelled(thief);
        vm.prank(pauser);
        factory.cancelKeeperProposal();
    }

    function test_cancelKeeperProposal__others__revert() public {
        address[4] memory others = [keeperAdmin, keeper, stranger, thief];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdminOrPauser.selector, others[i]));
            vm.prank(others[i]);
            factory.cancelKeeperProposal();
        }
    }

    function test_cancelKeeperProposal__nothing_pending__reverts() public {
        vm.startPrank(admin);
        factory.cancelKeeperProposal();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotProposed.selector, address(0)));
        factory.cancelKeeperProposal();
    }
}
