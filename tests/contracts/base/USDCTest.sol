// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Test.sol";

/// @notice Words for EIP-3009: the owner authorizes, for one hour from now.
abstract contract USDCTest is Test {
    bytes32 internal constant NONCE = "nonce";
    uint256 internal constant BEFORE = NOW + 1 hours;

    function _signAs(uint256 key, bytes32 typehash, address from, address to, uint256 value)
        internal
        view
        returns (bytes memory)
    {
        bytes32 structHash = keccak256(abi.encode(typehash, from, to, value, uint256(NOW) - 1, BEFORE, NONCE));
        return _sign(key, _typedDigest(usdc.DOMAIN_SEPARATOR(), structHash));
    }

    function _split(bytes memory signature) internal pure returns (uint8 v, bytes32 r, bytes32 s) {
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
    }

    function _expectError(string memory reason) internal {
        _expectRevert(abi.encodeWithSignature("Error(string)", reason));
    }
}
