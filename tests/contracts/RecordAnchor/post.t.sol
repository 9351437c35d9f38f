// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {RecordAnchor} from "../../../contracts/RecordAnchor.sol";
import "../base/Test.sol";

contract RecordAnchorPostTest is Test {
    bytes32 internal constant ROOT = keccak256("root");
    bytes32 internal constant NEXT = keccak256("next");
    uint64 internal constant EPOCH = NOW / 3600;

    RecordAnchor internal anchor;
    bytes32 internal start;

    function setUp() public override {
        super.setUp();
        anchor = RecordAnchor(vm.deployCode("RecordAnchor.sol", abi.encode(address(factory))));
        start = anchor.START();
    }

    function _post(uint64 epoch, bytes32 root, bytes32 rootBefore) internal {
        vm.prank(keeper);
        anchor.post(epoch, root, rootBefore);
    }

    function test_constructor__begins_before_the_hour_of_its_creation() public view {
        assertEq(uint256(anchor.epoch()), uint256(EPOCH) - 1);
        assertEq(anchor.root(), keccak256("record-anchor:v1"));
        assertEq(address(anchor.FACTORY()), address(factory));
    }

    function test_constructor__factory_without_code__reverts() public {
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        new RecordAnchor(thief);
    }

    function test_post__by_the_keeper__holds_epoch_and_root_and_tells_them() public {
        vm.warp((EPOCH + 1) * 3600);
        vm.expectEmit(true, true, true, true, address(anchor));
        emit RecordAnchor.Anchored(EPOCH, ROOT, start);
        _post(EPOCH, ROOT, start);
        assertEq(uint256(anchor.epoch()), uint256(EPOCH));
        assertEq(anchor.root(), ROOT);
    }

    function test_post__by_another__reverts() public {
        vm.warp((EPOCH + 1) * 3600);
        vm.prank(thief);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NotKeeper.selector, thief));
        anchor.post(EPOCH, ROOT, start);
    }

    function test_post__after_the_keeper_changed__is_the_new_ones() public {
        vm.prank(keeperAdmin);
        factory.proposeKeeper(operator);
        vm.warp(NOW + 2 days);
        vm.prank(operator);
        factory.acceptKeeper();
        vm.prank(operator);
        anchor.post(EPOCH, ROOT, start);
        assertEq(anchor.root(), ROOT);
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NotKeeper.selector, keeper));
        anchor.post(EPOCH + 1, NEXT, ROOT);
    }

    function test_post__a_second_before_the_hour_is_over__reverts() public {
        vm.warp((EPOCH + 1) * 3600 - 1);
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(RecordAnchor.EpochNotOver.selector, EPOCH, (uint256(EPOCH) + 1) * 3600));
        anchor.post(EPOCH, ROOT, start);
    }

    function test_post__the_same_epoch_twice__reverts() public {
        vm.warp((EPOCH + 1) * 3600);
        _post(EPOCH, ROOT, start);
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(RecordAnchor.EpochNotAfter.selector, EPOCH, EPOCH));
        anchor.post(EPOCH, ROOT, ROOT);
    }

    function test_post__an_epoch_that_was_passed_over__reverts() public {
        vm.warp((EPOCH + 2) * 3600);
        _post(EPOCH + 1, ROOT, start);
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(RecordAnchor.EpochNotAfter.selector, EPOCH, EPOCH + 1));
        anchor.post(EPOCH, NEXT, ROOT);
    }

    function test_post__with_another_root_before__reverts() public {
        vm.warp((EPOCH + 2) * 3600);
        _post(EPOCH, ROOT, start);
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(RecordAnchor.OtherRootBefore.selector, start, ROOT));
        anchor.post(EPOCH + 1, NEXT, start);
    }

    /// @dev It stood for the first post, and whoever posted it could leave every hour before it out of a record.
    function test_post__the_root_before_the_first__reverts() public {
        vm.warp((EPOCH + 2) * 3600);
        _post(EPOCH, ROOT, start);
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(RecordAnchor.RootIsStart.selector));
        anchor.post(EPOCH + 1, start, ROOT);
    }

    function test_post__the_greatest_epoch__is_never_over() public {
        vm.prank(keeper);
        vm.expectRevert(
            abi.encodeWithSelector(
                RecordAnchor.EpochNotOver.selector, type(uint64).max, (uint256(type(uint64).max) + 1) * 3600
            )
        );
        anchor.post(type(uint64).max, ROOT, start);
    }

    function testFuzz_post__epochs_only_rise(uint64 first, uint64 second) public {
        vm.warp(uint256(type(uint64).max) * 3600);
        vm.prank(keeper);
        (bool taken,) = address(anchor).call(abi.encodeCall(anchor.post, (first, ROOT, start)));
        uint64 before = anchor.epoch();
        vm.prank(keeper);
        (bool takenToo,) = address(anchor).call(abi.encodeCall(anchor.post, (second, NEXT, taken ? ROOT : start)));
        assertTrue(takenToo == (second > before && second < type(uint64).max));
        assertTrue(anchor.epoch() >= before);
    }
}
