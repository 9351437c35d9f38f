// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ErrorsLib} from "./ErrorsLib.sol";
import {KIND_COST, KIND_EXIT, KIND_SPEND, KIND_VALUED_SPEND, MAX_RULES, NO_PIN, PERMIT2} from "./ConstantsLib.sol";
import {Rule} from "./TermsLib.sol";

/// @title RuleLib
/// @notice How rules are checked, packed into a vault's code, found there and applied to calldata.
/// @dev A packed rule has 26 bytes: target (20), selector (4), recipientWord (1), kind (1). Packed rules keep the
/// signed order, which is strictly ascending by (target, selector), so that a binary search finds one.
///
/// ```
/// byte   0                    20       24               25     26
///        | target             | selector | recipientWord | kind |
///        '------- key, 24 bytes ---------'
/// ```
library RuleLib {
    uint256 internal constant PACKED_LENGTH = 26;

    /// @notice The hash under which the owner signs the rules.
    function hashRules(Rule[] calldata rules) internal pure returns (bytes32) {
        return keccak256(abi.encode(rules));
    }

    /// @notice Reverts unless count, order, targets and kinds are sound. Listing of adapters is the factory's part.
    /// @param house The contracts of the house that are never targets, besides the factory itself.
    function requireSound(Rule[] calldata rules, address[4] memory house) internal view {
        uint256 count = rules.length;
        if (count == 0 || count > MAX_RULES) revert ErrorsLib.BadRuleCount(count, MAX_RULES);

        uint192 previous;
        for (uint256 i; i < count; ++i) {
            Rule calldata rule = rules[i];
            uint192 current = keyOf(rule.target, rule.selector);
            if (current <= previous) revert ErrorsLib.RulesNotSorted(i);
            if (_isForbidden(rule.target, house)) revert ErrorsLib.ForbiddenTarget(i, rule.target);
            if (rule.kind > KIND_COST) revert ErrorsLib.UnknownKind(i, rule.kind);
            previous = current;
        }
    }

    /// @dev The factory is `address(this)`: this library runs inside it.
    function _isForbidden(address target, address[4] memory house) private view returns (bool) {
        return target == address(this) || target == PERMIT2 || target.code.length == 0 || target == house[0]
            || target == house[1] || target == house[2] || target == house[3];
    }

    /// @notice True for kinds whose target must be a listed adapter.
    function needsListing(uint8 kind) internal pure returns (bool) {
        return kind == KIND_VALUED_SPEND || kind == KIND_COST;
    }

    /// @notice The rules as they lie in a vault's code.
    /// @dev Each store writes 32 bytes, of which the last 6 are zero and overwritten by the next rule. The array is
    /// allocated 6 bytes longer for the last of them, and then cut to its length.
    function pack(Rule[] calldata rules) internal pure returns (bytes memory packed) {
        uint256 count = rules.length;
        packed = new bytes(count * PACKED_LENGTH + 6);
        for (uint256 i; i < count; ++i) {
            Rule calldata rule = rules[i];
            uint256 word = (uint256(keyOf(rule.target, rule.selector)) << 64) | (uint256(rule.recipientWord) << 56)
                | (uint256(rule.kind) << 48);
            assembly ("memory-safe") {
                mstore(add(add(packed, 0x20), mul(i, PACKED_LENGTH)), word)
            }
        }
        assembly ("memory-safe") {
            mstore(packed, sub(mload(packed), 6))
        }
    }

    /// @notice Target and selector as one number, in the order that rules are sorted by.
    function keyOf(address target, bytes4 selector) internal pure returns (uint192) {
        return (uint192(uint160(target)) << 32) | uint32(selector);
    }

    // The casts below take single fields out of a packed word.
    // forge-lint: disable-start(unsafe-typecast)

    /// @notice Number of packed rules.
    function countOf(bytes memory packed) internal pure returns (uint256) {
        return packed.length / PACKED_LENGTH;
    }

    /// @notice The rule at `index`. The caller keeps the index in bounds.
    function at(bytes memory packed, uint256 index) internal pure returns (Rule memory rule) {
        uint256 word = _wordAt(packed, index);
        rule = Rule({
            target: address(uint160(word >> 96)),
            selector: bytes4(uint32(word >> 64)),
            recipientWord: uint8(word >> 56),
            kind: uint8(word >> 48)
        });
    }

    /// @notice The rule for a function of a target, by binary search.
    function find(bytes memory packed, address target, bytes4 selector)
        internal
        pure
        returns (bool found, uint8 recipientWord, uint8 kind)
    {
        uint192 key = keyOf(target, selector);
        uint256 low;
        uint256 high = countOf(packed);
        while (low < high) {
            uint256 middle = (low + high) / 2;
            uint256 word = _wordAt(packed, middle);
            uint192 candidate = uint192(word >> 64);
            if (candidate == key) return (true, uint8(word >> 56), uint8(word >> 48));
            if (candidate < key) low = middle + 1;
            else high = middle;
        }
    }

    /// @notice True when the mandate values positions at this target: one of its rules is of kind 2.
    function isValued(bytes memory packed, address target) internal pure returns (bool) {
        uint256 count = countOf(packed);
        for (uint256 i; i < count; ++i) {
            uint256 word = _wordAt(packed, i);
            if (address(uint160(word >> 96)) == target && uint8(word >> 48) == KIND_VALUED_SPEND) return true;
        }
        return false;
    }

    // forge-lint: disable-end(unsafe-typecast)

    /// @notice True when spending and receiving under this kind is counted as money out at a place to be valued.
    function isPositionKind(uint8 kind) internal pure returns (bool) {
        return kind == KIND_SPEND || kind == KIND_EXIT;
    }

    /// @notice The rule's kind, when the call is allowed: a rule names it and the pinned word is the vault.
    /// @dev The vault is `address(this)`: this library runs inside it. Words are counted after the selector.
    function requireAllowed(bytes memory packed, address target, bytes calldata data)
        internal
        view
        returns (bytes4 selector, uint8 kind)
    {
        // Fewer than four bytes would be padded with zeros into a selector that nobody named.
        if (data.length < 4) revert ErrorsLib.TargetNotAllowed(target, bytes4(0));
        // The first four bytes are meant.
        // forge-lint: disable-next-line(unsafe-typecast)
        selector = bytes4(data);
        bool found;
        uint8 recipientWord;
        (found, recipientWord, kind) = find(packed, target, selector);
        if (!found) revert ErrorsLib.TargetNotAllowed(target, selector);
        if (recipientWord != NO_PIN) _requirePinned(target, selector, recipientWord, data);
    }

    function _requirePinned(address target, bytes4 selector, uint8 recipientWord, bytes calldata data) private view {
        uint256 start = 4 + uint256(recipientWord) * 32;
        if (data.length < start + 32) revert ErrorsLib.CalldataTooShort(target, selector, data.length, start + 32);
        bytes32 word = bytes32(data[start:start + 32]);
        if (word != bytes32(uint256(uint160(address(this))))) {
            revert ErrorsLib.RecipientNotVault(target, selector, recipientWord, word);
        }
    }

    function _wordAt(bytes memory packed, uint256 index) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(add(packed, 0x20), mul(index, PACKED_LENGTH)))
        }
    }
}
