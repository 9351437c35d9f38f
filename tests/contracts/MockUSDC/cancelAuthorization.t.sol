// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/USDCTest.sol";

contract CancelAuthorizationTest is USDCTest {
    function _signature(uint256 key, address authorizer) private view returns (bytes memory) {
        bytes32 structHash = keccak256(abi.encode(usdc.CANCEL_AUTHORIZATION_TYPEHASH(), authorizer, NONCE));
        return _sign(key, _typedDigest(usdc.DOMAIN_SEPARATOR(), structHash));
    }

    function test_cancelAuthorization__bytes__burns_the_nonce() public {
        bytes memory signature = _signature(OWNER_KEY, owner);
        _expectEmit(address(usdc));
        emit MockUSDC.AuthorizationCanceled(owner, NONCE);
        usdc.cancelAuthorization(owner, NONCE, signature);
        assertTrue(usdc.authorizationState(owner, NONCE));

        bytes memory payment = _signAs(OWNER_KEY, usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), owner, thief, 5);
        _expectError("FiatTokenV2: authorization is used or canceled");
        usdc.transferWithAuthorization(owner, thief, 5, NOW - 1, BEFORE, NONCE, payment);
    }

    function test_cancelAuthorization__v_r_s__burns_the_nonce() public {
        (uint8 v, bytes32 r, bytes32 s) = _split(_signature(OWNER_KEY, owner));
        usdc.cancelAuthorization(owner, NONCE, v, r, s);
        assertTrue(usdc.authorizationState(owner, NONCE));
    }

    function test_cancelAuthorization__other_key__reverts() public {
        bytes memory signature = _signature(STRANGER_KEY, owner);
        _expectError("FiatTokenV2: invalid signature");
        usdc.cancelAuthorization(owner, NONCE, signature);
    }

    function test_cancelAuthorization__twice__reverts() public {
        bytes memory signature = _signature(OWNER_KEY, owner);
        usdc.cancelAuthorization(owner, NONCE, signature);
        _expectError("FiatTokenV2: authorization is used or canceled");
        usdc.cancelAuthorization(owner, NONCE, signature);
    }
}
