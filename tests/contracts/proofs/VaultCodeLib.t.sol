// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {KIND_EXIT, KIND_SPEND, NO_PIN} from "../../../contracts/libraries/ConstantsLib.sol";
import {RuleLib} from "../../../contracts/libraries/RuleLib.sol";
import {MandateTerms, Rule} from "../../../contracts/libraries/TermsLib.sol";
import {VaultCodeLib, VaultTerms} from "../../../contracts/libraries/VaultCodeLib.sol";
import {Proof} from "./Proof.sol";

/// @notice Reads its own code as a vault does.
contract Reader {
    function read() external view returns (VaultTerms memory) {
        return VaultCodeLib.decode();
    }
}

/// @notice The terms in a vault's code: what is written comes back.
contract VaultCodeLibProof is Proof {
    Reader private constant VAULT = Reader(address(0x7A017));
    address private constant TARGET = address(0x7A26E7);

    function encode(address implementation, bytes32 digest, MandateTerms calldata terms, Rule[] calldata rules)
        external
        pure
        returns (bytes memory)
    {
        return VaultCodeLib.encode(implementation, digest, terms, rules);
    }

    function check_decode__every_field_comes_back_as_it_was_written(bytes32 digest) external {
        (MandateTerms memory terms, VaultTerms memory read) = _written(digest);
        assert(read.owner == terms.owner && read.agent == terms.agent);
        assert(read.budget == terms.budgetUsdc && read.perTxCap == terms.perTxCap && read.dailyCap == terms.dailyCap);
        assert(read.stopFloor == terms.stopFloor && read.endsAt == terms.endsAt);
        assert(read.agentFeeBps == terms.agentFeeBps && read.digest == digest);
        assert(RuleLib.countOf(read.rules) == 2);
        Rule memory first = RuleLib.at(read.rules, 0);
        assert(first.target == TARGET && first.selector == 0x00000001 && first.recipientWord == NO_PIN);
        assert(first.kind == KIND_EXIT && RuleLib.at(read.rules, 1).kind == KIND_SPEND);
    }

    function check_reachable_decode(bytes32 digest) external {
        (, VaultTerms memory read) = _written(digest);
        assert(read.budget == read.perTxCap);
    }

    function _written(bytes32 digest) private returns (MandateTerms memory terms, VaultTerms memory read) {
        terms.owner = svm.createAddress("owner");
        terms.agent = svm.createAddress("agent");
        terms.budgetUsdc = svm.createUint(53, "budget");
        terms.perTxCap = svm.createUint(53, "perTxCap");
        terms.dailyCap = svm.createUint(53, "dailyCap");
        terms.stopFloor = svm.createUint(53, "stopFloor");
        // The symbols have no more bits than the fields.
        // forge-lint: disable-next-line(unsafe-typecast)
        terms.endsAt = uint64(svm.createUint(32, "endsAt"));
        // forge-lint: disable-next-line(unsafe-typecast)
        terms.agentFeeBps = uint16(svm.createUint(16, "agentFeeBps"));
        Rule[] memory rules = new Rule[](2);
        rules[0] = Rule(TARGET, 0x00000001, NO_PIN, KIND_EXIT);
        rules[1] = Rule(TARGET, 0x00000002, NO_PIN, KIND_SPEND);
        vm.etch(address(VAULT), this.encode(address(new Reader()), digest, terms, rules));
        read = VAULT.read();
    }
}
