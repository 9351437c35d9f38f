// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ERC1271Wallet} from "./ERC1271Wallet.sol";

/// @title ERC1271WalletCreator
/// @notice Creates contract wallets at addresses that are known before.
contract ERC1271WalletCreator {
    /// @notice Creates the wallet of `owner`.
    function create(address owner) external returns (address) {
        return address(new ERC1271Wallet{salt: bytes32(0)}(owner));
    }

    /// @notice Where that wallet is or will be.
    function predict(address owner) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(ERC1271Wallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), bytes32(0), code)))));
    }
}
