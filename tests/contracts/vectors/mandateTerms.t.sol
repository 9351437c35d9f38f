// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {TermsLib} from "../../../contracts/libraries/TermsLib.sol";
import "../base/Test.sol";

/// @notice The cheatcodes that read a file and JSON.
interface VmJson {
    function readFile(string calldata path) external view returns (string memory);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonKeys(string calldata json, string calldata key) external pure returns (string[] memory);
    function toString(uint256 value) external pure returns (string memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
}

/// @notice Makes calldata of terms that are in memory.
contract Hasher {
    function hashStruct(MandateTerms calldata terms) external pure returns (bytes32) {
        return TermsLib.hashStruct(terms);
    }

    function hashRules(Rule[] calldata rules) external pure returns (bytes32) {
        return RuleLib.hashRules(rules);
    }
}

/// @notice The golden vectors of what a wallet signs, computed by the contracts' own code.
contract MandateTermsVectorsTest is Test {
    VmJson private constant JSON = VmJson(address(vm));
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    Hasher private _hasher = new Hasher();
    string private _json = JSON.readFile("tests/vectors/mandate_terms.json");

    function test_every_vector_of_version_2__has_the_contracts_digest_and_the_owners_signature() public view {
        address signer = JSON.parseJsonAddress(_json, ".signer");
        uint256 checked;
        for (uint256 n; JSON.keyExistsJson(_json, _at(n, "")); ++n) {
            if (JSON.parseJsonUint(_json, _at(n, ".version")) != 2) continue;
            bytes32 digest = _typedDigest(
                _domainSeparator(
                    JSON.parseJsonUint(_json, _at(n, ".chain_id")), JSON.parseJsonAddress(_json, _at(n, ".factory"))
                ),
                _hasher.hashStruct(_terms(n))
            );
            assertEq(digest, JSON.parseJsonBytes32(_json, _at(n, ".digest")));
            assertEq(_recovered(digest, JSON.parseJsonBytes(_json, _at(n, ".signature"))), signer);
            ++checked;
        }
        assertEq(checked, 6);
    }

    function test_the_rules_of_the_first_vector__hash_to_its_term() public view {
        Rule[] memory listed = new Rule[](3);
        for (uint256 n; n < listed.length; ++n) {
            string memory at = string.concat(_at(0, ".rules["), JSON.toString(n), "]");
            listed[n] = Rule({
                target: JSON.parseJsonAddress(_json, string.concat(at, ".target")),
                selector: bytes4(JSON.parseJsonBytes(_json, string.concat(at, ".selector"))),
                recipientWord: uint8(JSON.parseJsonUint(_json, string.concat(at, ".recipient_word"))),
                kind: uint8(JSON.parseJsonUint(_json, string.concat(at, ".kind")))
            });
        }
        assertEq(_hasher.hashRules(listed), _terms(0).allowedTargetsHash);
    }

    function test_the_factorys_digest__is_made_of_the_same_parts() public view {
        MandateTerms memory first = _terms(0);
        bytes32 parts = _typedDigest(_domainSeparator(block.chainid, address(factory)), _hasher.hashStruct(first));
        assertEq(factory.termsDigest(first), parts);
    }

    function _at(uint256 n, string memory rest) private pure returns (string memory) {
        return string.concat(".terms[", JSON.toString(n), "]", rest);
    }

    function _domainSeparator(uint256 chainId, address contract_) private pure returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, keccak256("Mandate Wallet"), keccak256("2"), chainId, contract_));
    }

    function _terms(uint256 n) private view returns (MandateTerms memory read) {
        string memory at = _at(n, ".typed_data.message.");
        read.publicId = JSON.parseJsonString(_json, string.concat(at, "publicId"));
        read.owner = JSON.parseJsonAddress(_json, string.concat(at, "owner"));
        read.agent = JSON.parseJsonAddress(_json, string.concat(at, "agent"));
        read.budgetUsdc = _uint(at, "budgetUsdc");
        read.perTxCap = _uint(at, "perTxCap");
        read.dailyCap = _uint(at, "dailyCap");
        read.stopFloor = _uint(at, "stopFloor");
        read.stopFloorBps = uint16(_uint(at, "stopFloorBps"));
        read.horizonDays = uint32(_uint(at, "horizonDays"));
        read.endsAt = uint64(_uint(at, "endsAt"));
        read.agentFeeBps = uint16(_uint(at, "agentFeeBps"));
        read.approvalAbove = _uint(at, "approvalAbove");
        read.onFloor = uint8(_uint(at, "onFloor"));
        read.allowedTargetsHash = JSON.parseJsonBytes32(_json, string.concat(at, "allowedTargetsHash"));
        read.guardTargetsHash = JSON.parseJsonBytes32(_json, string.concat(at, "guardTargetsHash"));
        read.issuedAt = uint64(_uint(at, "issuedAt"));
        read.nonce = _uint(at, "nonce");
    }

    function _uint(string memory at, string memory key) private view returns (uint256) {
        return JSON.parseJsonUint(_json, string.concat(at, key));
    }

    function _recovered(bytes32 digest, bytes memory signature) private pure returns (address) {
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        return ecrecover(digest, v, r, s);
    }
}
