// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/USDCTest.sol";

contract ReceiveWithAuthorizationTest is USDCTest {
    function _signature(uint256 key) private view returns (bytes memory) {
        return _signAs(key, usdc.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(), owner, stranger, 5);
    }

    function _submitBy(address sender, bytes memory signature) private {
        vm.prank(sender);
        usdc.receiveWithAuthorization(owner, stranger, 5, NOW - 1, BEFORE, NONCE, signature);
    }

    function test_receiveWithAuthorization__payee__is_paid() public {
        _submitBy(stranger, _signature(OWNER_KEY));
        assertEq(usdc.balanceOf(stranger), 5);
        assertTrue(usdc.authorizationState(owner, NONCE));
    }

    function test_receiveWithAuthorization__v_r_s__is_paid() public {
        (uint8 v, bytes32 r, bytes32 s) = _split(_signature(OWNER_KEY));
        vm.prank(stranger);
        usdc.receiveWithAuthorization(owner, stranger, 5, NOW - 1, BEFORE, NONCE, v, r, s);
        assertEq(usdc.balanceOf(stranger), 5);
    }

    function test_receiveWithAuthorization__anyone_else__reverts() public {
        bytes memory signature = _signature(OWNER_KEY);
        _expectError("FiatTokenV2: caller must be the payee");
        _submitBy(thief, signature);
    }

    function test_receiveWithAuthorization__a_transfer_signature_is_no_receive_signature() public {
        bytes memory signature = _signAs(OWNER_KEY, usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), owner, stranger, 5);
        _expectError("FiatTokenV2: invalid signature");
        _submitBy(stranger, signature);
    }

    function test_receiveWithAuthorization__both_time_bounds_are_exclusive() public {
        bytes memory signature = _signature(OWNER_KEY);
        vm.warp(NOW - 1);
        _expectError("FiatTokenV2: authorization is not yet valid");
        _submitBy(stranger, signature);
        vm.warp(BEFORE);
        _expectError("FiatTokenV2: authorization is expired");
        _submitBy(stranger, signature);
    }
}
