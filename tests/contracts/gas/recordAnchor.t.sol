// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {RecordAnchor} from "../../../contracts/RecordAnchor.sol";
import "../base/Test.sol";
import "./GasTest.sol";

/// @dev The first post and one after it cost the same: nothing is written where nothing was.
contract RecordAnchorGas is GasTest {
    RecordAnchor internal anchor;

    function setUp() public override {
        super.setUp();
        anchor = RecordAnchor(vm.deployCode("RecordAnchor.sol", abi.encode(address(factory))));
    }

    function test_gas__anchor__the_first_and_the_second() public {
        uint64 epoch = NOW / 3600;
        vm.warp((epoch + 2) * 3600);
        bytes32 root = anchor.START();
        for (uint64 after_; after_ < 2; ++after_) {
            bytes32 next = keccak256(abi.encode(root));
            vm.prank(keeper);
            anchor.post(epoch + after_, next, root);
            _record("anchor");
            root = next;
        }
        assertEq(anchor.root(), root);
    }
}
