// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";

import {MAX_RULES} from "./ConstantsLib.sol";
import {ErrorsLib} from "./ErrorsLib.sol";
import {RuleLib} from "./RuleLib.sol";
import {SpendWindowLib} from "./SpendWindowLib.sol";
import {MandateTerms, Rule} from "./TermsLib.sol";

/// @notice What a vault reads of its terms, unpacked.
struct VaultTerms {
    address owner;
    address agent;
    uint256 budget;
    uint256 perTxCap;
    uint256 dailyCap;
    uint256 stopFloor;
    uint64 endsAt;
    uint256 agentFeeBps;
    bytes32 digest;
    /// Packed by RuleLib.
    bytes rules;
}

/// @title VaultCodeLib
/// @notice The code of a vault: a minimal proxy (ERC-1167) followed by the terms. Written by the factory, read by
/// the vault.
/// @dev Terms never change, and code is cheaper than storage both to write (200 gas a byte) and to read (one copy).
///
/// ```
/// byte 0      45              65         77              97           109
///      | proxy | owner (20)    | budget 12 | agent (20)    | perTxCap 12 |
///     109           121            133        139           141          173
///      | dailyCap 12 | stopFloor 12 | endsAt 6 | feeBps 2    | digest (32) | rules, 26 bytes each
/// ```
library VaultCodeLib {
    /// @dev Length of the terms in front of the rules.
    uint256 internal constant TERMS_LENGTH = 128;

    /// @dev Length of the terms and the most rules.
    uint256 internal constant MAX_LENGTH = TERMS_LENGTH + MAX_RULES * RuleLib.PACKED_LENGTH;

    /// @notice The largest budget, and so the largest cap: what the window can count.
    uint256 internal constant MAX_AMOUNT = SpendWindowLib.MAX_CAP;

    /// @notice The runtime code of the vault of these terms. The factory has checked all bounds.
    function encode(address implementation, bytes32 digest, MandateTerms calldata terms, Rule[] calldata rules)
        internal
        pure
        returns (bytes memory)
    {
        bytes memory head = abi.encodePacked(
            hex"363d3d373d3d3d363d73",
            implementation,
            hex"5af43d82803e903d91602b57fd5bf3",
            terms.owner,
            uint96(terms.budgetUsdc),
            terms.agent,
            uint96(terms.perTxCap)
        );
        bytes memory tail = abi.encodePacked(
            uint96(terms.dailyCap),
            uint96(terms.stopFloor),
            uint48(terms.endsAt),
            terms.agentFeeBps,
            digest,
            RuleLib.pack(rules)
        );
        return bytes.concat(head, tail);
    }

    /// @notice The terms of the vault that runs this. The implementation has none, and its own code, which is far longer than
    /// any vault's, must not be read as terms.
    function decode() internal view returns (VaultTerms memory terms) {
        bytes memory code = Clones.fetchCloneArgs(address(this));
        if (code.length > MAX_LENGTH) revert ErrorsLib.NotAVault(address(this));
        bytes memory packedRules;
        uint256 word0;
        uint256 word1;
        uint256 word2;
        bytes32 digest;
        assembly ("memory-safe") {
            word0 := mload(add(code, 0x20))
            word1 := mload(add(code, 0x40))
            word2 := mload(add(code, 0x60))
            digest := mload(add(code, 0x80))
            // The rules are not copied again: the digest's word becomes the length of the array that begins there.
            packedRules := add(code, 0x80)
            mstore(packedRules, sub(mload(code), TERMS_LENGTH))
        }
        // Each cast takes its own field out of a packed word.
        // forge-lint: disable-start(unsafe-typecast)
        terms.owner = address(uint160(word0 >> 96));
        terms.budget = uint96(word0);
        terms.agent = address(uint160(word1 >> 96));
        terms.perTxCap = uint96(word1);
        terms.dailyCap = uint96(word2 >> 160);
        terms.stopFloor = uint96(word2 >> 64);
        terms.endsAt = uint48(word2 >> 16);
        terms.agentFeeBps = uint16(word2);
        // forge-lint: disable-end(unsafe-typecast)
        terms.digest = digest;
        terms.rules = packedRules;
    }
}
