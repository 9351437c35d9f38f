// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

import {ErrorsLib} from "../libraries/ErrorsLib.sol";

/// @title ERC1271Wallet
/// @notice The smallest contract wallet: a key owns it, signs for it, and makes it call.
contract ERC1271Wallet is IERC1271 {
    using Address for address;

    /// @notice Whose key counts.
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    /// @notice Calls `target` as the wallet. Only the owner.
    function execute(address target, bytes calldata data) external returns (bytes memory result) {
        if (msg.sender != owner) revert ErrorsLib.NotOwner(msg.sender);
        result = target.functionCall(data);
    }

    /// @inheritdoc IERC1271
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address recovered, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(hash, signature);
        bool isValid = failure == ECDSA.RecoverError.NoError && recovered == owner;
        return isValid ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
