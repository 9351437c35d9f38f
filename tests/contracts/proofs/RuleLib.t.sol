// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {NO_PIN} from "../../../contracts/libraries/ConstantsLib.sol";
import {RuleLib} from "../../../contracts/libraries/RuleLib.sol";
import {Rule} from "../../../contracts/libraries/TermsLib.sol";
import {Proof} from "./Proof.sol";

/// @notice Rules come back from a vault's code as they were signed, and a call passes by a rule that names it alone.
contract RuleLibProof is Proof {
    using RuleLib for bytes;

    function check_pack__three_rules_come_back(Rule calldata first, Rule calldata second, Rule calldata third)
        external
        view
    {
        Rule[] memory rules = _three(first, second, third);
        bytes memory packed = this.pack(rules);
        assert(packed.length == 3 * RuleLib.PACKED_LENGTH);
        assert(packed.countOf() == 3);
        for (uint256 i; i < 3; ++i) {
            _assertSame(packed.at(i), rules[i]);
        }
    }

    /// @dev Keys are 192 bits: equal keys are equal targets and selectors, and their order is that of the pairs.
    function check_keyOf__orders_by_target_then_selector(address target, bytes4 selector, address other, bytes4 second)
        external
        pure
    {
        uint192 key = RuleLib.keyOf(target, selector);
        uint192 otherKey = RuleLib.keyOf(other, second);
        assert((key == otherKey) == (target == other && selector == second));
        assert((key < otherKey) == (target < other || (target == other && selector < second)));
    }

    /// @dev For sorted rules, as the factory accepts them and no others. Seven rules are a search of three steps, down
    /// every way that it can take.
    function check_find__finds_every_rule_that_is_there() external pure {
        (uint192[7] memory keys, bytes memory packed) = _sorted();
        for (uint256 i; i < 7; ++i) {
            (bool found, uint8 recipientWord, uint8 kind) = _find(packed, keys[i]);
            assert(found && recipientWord == i && kind == i + 100);
        }
    }

    function check_find__finds_nothing_else(uint192 key) external pure {
        (uint192[7] memory keys, bytes memory packed) = _sorted();
        for (uint256 i; i < 7; ++i) {
            vm.assume(key != keys[i]);
        }
        (bool found,,) = _find(packed, key);
        assert(!found);
    }

    /// @dev Whatever the calldata: a call that passes has the selector of the rule, and the pinned word is this.
    function check_requireAllowed__unpinned__passes_the_named_function_only(Rule memory rule, address target)
        external
        view
    {
        rule.recipientWord = NO_PIN;
        _checkAllowed(rule, target, svm.createBytes(68, "data"), 0);
    }

    function check_requireAllowed__pinned_to_the_first_word(Rule memory rule, address target) external view {
        rule.recipientWord = 0;
        _checkAllowed(rule, target, svm.createBytes(68, "data"), 0x24);
    }

    function check_requireAllowed__pinned_to_the_second_word(Rule memory rule, address target) external view {
        rule.recipientWord = 1;
        _checkAllowed(rule, target, svm.createBytes(68, "data"), 0x44);
    }

    function check_requireAllowed__calldata_one_byte_short_of_the_pin_never_passes(Rule memory rule, address target)
        external
        view
    {
        rule.recipientWord = 1;
        Rule[] memory rules = new Rule[](1);
        rules[0] = rule;
        try this.requireAllowed(this.pack(rules), target, svm.createBytes(67, "data")) {
            assert(false);
        } catch {}
    }

    function _checkAllowed(Rule memory rule, address target, bytes memory data, uint256 pinnedAt) private view {
        Rule[] memory rules = new Rule[](1);
        rules[0] = rule;
        try this.requireAllowed(this.pack(rules), target, data) returns (bytes4 selector, uint8 kind) {
            assert(target == rule.target && selector == rule.selector && kind == rule.kind);
            // The first four bytes are meant.
            // forge-lint: disable-next-line(unsafe-typecast)
            assert(bytes4(data) == selector);
            if (pinnedAt == 0) return;
            uint256 word;
            assembly ("memory-safe") {
                word := mload(add(data, pinnedAt))
            }
            assert(word == uint256(uint160(address(this))));
        } catch {}
    }

    function check_requireAllowed__short_calldata_never_passes(Rule calldata rule, address target) external view {
        Rule[] memory rules = new Rule[](1);
        rules[0] = rule;
        bytes memory packed = this.pack(rules);
        for (uint256 length; length < 4; ++length) {
            try this.requireAllowed(packed, target, svm.createBytes(length, "data")) {
                assert(false);
            } catch {}
        }
    }

    // ------------------------------------------------------------------ the assumptions can be met

    function check_reachable_find(uint192 key) external pure {
        (uint192[7] memory keys, bytes memory packed) = _sorted();
        (bool found,,) = _find(packed, key);
        assert(found && key != keys[6]);
    }

    function check_reachable_find_nothing(uint192 key) external pure {
        (uint192[7] memory keys, bytes memory packed) = _sorted();
        vm.assume(key > keys[0] && key < keys[6]);
        (bool found,,) = _find(packed, key);
        assert(found);
    }

    function check_reachable_requireAllowed(Rule memory rule, address target) external view {
        vm.assume(rule.recipientWord == 1);
        Rule[] memory rules = new Rule[](1);
        rules[0] = rule;
        try this.requireAllowed(this.pack(rules), target, svm.createBytes(68, "data")) {
            assert(false);
        } catch {}
    }

    // ------------------------------------------------------------------ the library, behind calldata

    function pack(Rule[] calldata rules) external pure returns (bytes memory) {
        return RuleLib.pack(rules);
    }

    function requireAllowed(bytes memory packed, address target, bytes calldata data)
        external
        view
        returns (bytes4, uint8)
    {
        return packed.requireAllowed(target, data);
    }

    function _three(Rule calldata first, Rule calldata second, Rule calldata third)
        private
        pure
        returns (Rule[] memory rules)
    {
        rules = new Rule[](3);
        (rules[0], rules[1], rules[2]) = (first, second, third);
    }

    /// @dev Any seven keys in ascending order; the pin is the index, the kind the index and 100.
    function _sorted() private pure returns (uint192[7] memory keys, bytes memory packed) {
        for (uint256 i; i < 7; ++i) {
            // The symbol has 192 bits.
            // forge-lint: disable-next-line(unsafe-typecast)
            keys[i] = uint192(svm.createUint(192, "key"));
            // Said of every pair, which follows from neighbours, so that the solver need not find it out.
            for (uint256 j; j < i; ++j) {
                vm.assume(keys[j] < keys[i]);
            }
            // forge-lint: disable-next-line(unsafe-typecast)
            packed = bytes.concat(packed, abi.encodePacked(keys[i], uint8(i), uint8(i + 100)));
        }
    }

    function _find(bytes memory packed, uint192 key) private pure returns (bool, uint8, uint8) {
        // Target and selector are the parts of the key.
        // forge-lint: disable-next-line(unsafe-typecast)
        return packed.find(address(uint160(key >> 32)), bytes4(uint32(key)));
    }

    function _assertSame(Rule memory left, Rule memory right) private pure {
        assert(left.target == right.target);
        assert(left.selector == right.selector);
        assert(left.recipientWord == right.recipientWord);
        assert(left.kind == right.kind);
    }
}
