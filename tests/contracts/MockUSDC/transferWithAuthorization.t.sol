// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/USDCTest.sol";

contract TransferWithAuthorizationTest is USDCTest {
    function _signature(uint256 key, uint256 value) private view returns (bytes memory) {
        return _signAs(key, usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), owner, thief, value);
    }

    function _submit(bytes memory signature) private {
        usdc.transferWithAuthorization(owner, thief, 5, NOW - 1, BEFORE, NONCE, signature);
    }

    function test_transferWithAuthorization__bytes__pays_and_uses_the_nonce() public {
        bytes memory signature = _signature(OWNER_KEY, 5);
        _expectEmit(address(usdc));
        emit MockUSDC.AuthorizationUsed(owner, NONCE);
        _submit(signature);
        assertEq(usdc.balanceOf(thief), 5);
        assertTrue(usdc.authorizationState(owner, NONCE));
    }

    function test_transferWithAuthorization__v_r_s__pays() public {
        (uint8 v, bytes32 r, bytes32 s) = _split(_signature(OWNER_KEY, 5));
        usdc.transferWithAuthorization(owner, thief, 5, NOW - 1, BEFORE, NONCE, v, r, s);
        assertEq(usdc.balanceOf(thief), 5);
    }

    function test_transferWithAuthorization__erc1271_wallet__pays() public {
        ERC1271Wallet wallet = new ERC1271Wallet(owner);
        usdc.mint(address(wallet), 5);
        bytes memory signature =
            _signAs(OWNER_KEY, usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), address(wallet), thief, 5);
        usdc.transferWithAuthorization(address(wallet), thief, 5, NOW - 1, BEFORE, NONCE, signature);
        assertEq(usdc.balanceOf(thief), 5);
    }

    function test_transferWithAuthorization__twice__reverts() public {
        bytes memory signature = _signature(OWNER_KEY, 5);
        _submit(signature);
        _expectError("FiatTokenV2: authorization is used or canceled");
        _submit(signature);
    }

    function test_transferWithAuthorization__other_key_or_amount__reverts() public {
        bytes memory foreign = _signature(STRANGER_KEY, 5);
        bytes memory other = _signature(OWNER_KEY, 6);
        _expectError("FiatTokenV2: invalid signature");
        _submit(foreign);
        _expectError("FiatTokenV2: invalid signature");
        _submit(other);
    }

    function test_transferWithAuthorization__both_time_bounds_are_exclusive() public {
        bytes memory signature = _signature(OWNER_KEY, 5);
        vm.warp(NOW - 1);
        _expectError("FiatTokenV2: authorization is not yet valid");
        _submit(signature);
        vm.warp(BEFORE);
        _expectError("FiatTokenV2: authorization is expired");
        _submit(signature);
        vm.warp(BEFORE - 1);
        _submit(signature);
        assertEq(usdc.balanceOf(thief), 5);
    }
}
