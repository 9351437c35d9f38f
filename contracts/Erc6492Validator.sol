// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {ERC6492_MAGIC} from "./libraries/ConstantsLib.sol";

/// @title Erc6492Validator
/// @notice Checks signatures of contract wallets that may not exist yet (ERC-6492): creates the wallet as its signature
/// says, then asks it by ERC-1271.
///
/// WHY IT STANDS ALONE
/// - The signature names any contract and any call data. Whoever makes that call lends its name to a stranger, so it
///   is made from here and never from the factory or a vault.
/// - This contract holds nothing, has no role anywhere, and nothing treats it as a caller of rank. Anyone may use it.
///
/// NOT GUARANTEED
/// - That the call creates a wallet and nothing else. What it does, it could have done without this contract.
contract Erc6492Validator {
    /// @notice True when `signer` stands behind `digest`, after its wallet was created if it was missing.
    /// @dev Form: abi.encode(address creator, bytes creatorData, bytes signature) and the 32 bytes of ERC6492_MAGIC.
    /// Another form reverts. A call that fails is no error by itself: the wallet may exist, or not answer.
    function isValidSignature(address signer, bytes32 digest, bytes calldata wrapped) external returns (bool) {
        uint256 end = wrapped.length - 32;
        if (bytes32(wrapped[end:]) != ERC6492_MAGIC) return false;
        (address creator, bytes memory creatorData, bytes memory signature) =
            abi.decode(wrapped[:end], (address, bytes, bytes));
        if (signer.code.length == 0) {
            // The answer counts for nothing: whether there is a wallet is seen next.
            (bool isCreated,) = creator.call(creatorData);
            if (!isCreated || signer.code.length == 0) return false;
        }
        return SignatureChecker.isValidERC1271SignatureNow(signer, digest, signature);
    }
}
