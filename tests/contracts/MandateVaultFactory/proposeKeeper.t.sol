// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ProposeKeeperTest is Test {
    function test_proposeKeeper__keeper_admin__can_be_accepted_after_48_hours() public {
        _expectEmit(address(factory));
        emit EventsLib.KeeperProposed(stranger, NOW + 48 hours);
        vm.prank(keeperAdmin);
        factory.proposeKeeper(stranger);

        (address proposed, uint64 eta) = factory.pendingKeeper();
        assertEq(proposed, stranger);
        assertEq(uint256(eta), NOW + 48 hours);
        assertEq(factory.keeper(), keeper);
    }

    function test_proposeKeeper__others__revert() public {
        bytes32 role = factory.KEEPER_ADMIN_ROLE();
        address[4] memory others = [admin, pauser, keeper, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSignature("AccessControlUnauthorizedAccount(address,bytes32)", others[i], role));
            vm.prank(others[i]);
            factory.proposeKeeper(stranger);
        }
    }

    function test_proposeKeeper__while_another_is_pending__reverts() public {
        vm.startPrank(keeperAdmin);
        factory.proposeKeeper(stranger);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalPending.selector, stranger, NOW + 48 hours));
        factory.proposeKeeper(thief);
    }

    function test_proposeKeeper__while_an_expired_one_is_not_cancelled__reverts() public {
        vm.startPrank(keeperAdmin);
        factory.proposeKeeper(stranger);
        vm.warp(NOW + 48 hours + 7 days + 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ProposalPending.selector, stranger, NOW + 48 hours));
        factory.proposeKeeper(thief);
    }

    function test_proposeKeeper__nobody__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        vm.prank(keeperAdmin);
        factory.proposeKeeper(address(0));
    }
}
