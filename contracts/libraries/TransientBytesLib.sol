// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @title TransientBytesLib
/// @notice A byte string in transient storage: its length in the slot, its words in the slots after it.
library TransientBytesLib {
    /// @notice Stores the string until the transaction ends or another one takes its place.
    function store(bytes32 slot, bytes memory value) internal {
        assembly ("memory-safe") {
            let length := mload(value)
            tstore(slot, length)
            for { let i := 0 } lt(i, length) { i := add(i, 0x20) } {
                slot := add(slot, 1)
                tstore(slot, mload(add(add(value, 0x20), i)))
            }
        }
    }

    /// @notice The stored string, empty when there is none.
    function load(bytes32 slot) internal view returns (bytes memory value) {
        uint256 length;
        assembly ("memory-safe") {
            length := tload(slot)
        }
        value = new bytes(length);
        assembly ("memory-safe") {
            for { let i := 0 } lt(i, length) { i := add(i, 0x20) } {
                slot := add(slot, 1)
                mstore(add(add(value, 0x20), i), tload(slot))
            }
        }
    }

    /// @notice Forgets the string. Its words stay in their slots, out of reach, until the transaction ends.
    function clear(bytes32 slot) internal {
        assembly ("memory-safe") {
            tstore(slot, 0)
        }
    }
}
