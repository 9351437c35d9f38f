// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract FactoryViewsTest is Test {
    function test_termsDigest__is_the_eip712_hash() public view {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Mandate Wallet"),
                keccak256("2"),
                block.chainid,
                address(factory)
            )
        );
        bytes32 typehash = keccak256(
            "MandateTerms(string publicId,address owner,address agent,uint256 budgetUsdc,uint256 perTxCap,uint256 dailyCap,uint256 stopFloor,uint16 stopFloorBps,uint32 horizonDays,uint64 endsAt,uint16 agentFeeBps,uint256 approvalAbove,uint8 onFloor,bytes32 allowedTargetsHash,bytes32 guardTargetsHash,uint64 issuedAt,uint256 nonce)"
        );
        bytes memory head = abi.encode(typehash, keccak256(bytes(terms.publicId)), owner, agent, BUDGET, PER_TX);
        bytes memory middle = abi.encode(DAILY, FLOOR, 2_000, 30, ENDS_AT, 1_000, 0, 0);
        bytes memory tail = abi.encode(terms.allowedTargetsHash, keccak256("{}"), NOW, 1);
        bytes32 structHash = keccak256(bytes.concat(head, middle, tail));
        assertEq(factory.termsDigest(terms), _typedDigest(domain, structHash));
    }

    function test_termsDigest__every_field_counts() public {
        bytes32[18] memory digests;
        digests[0] = _digest();
        terms.publicId = "m_other";
        digests[1] = _digest();
        terms.owner = stranger;
        digests[2] = _digest();
        terms.agent = stranger;
        digests[3] = _digest();
        terms.budgetUsdc += 1;
        digests[4] = _digest();
        terms.perTxCap += 1;
        digests[5] = _digest();
        terms.dailyCap += 1;
        digests[6] = _digest();
        terms.stopFloor += 1;
        digests[7] = _digest();
        terms.stopFloorBps += 1;
        digests[8] = _digest();
        terms.horizonDays += 1;
        digests[9] = _digest();
        terms.endsAt += 1;
        digests[10] = _digest();
        terms.agentFeeBps += 1;
        digests[11] = _digest();
        terms.approvalAbove += 1;
        digests[12] = _digest();
        terms.onFloor = 1;
        digests[13] = _digest();
        terms.allowedTargetsHash = bytes32(uint256(1));
        digests[14] = _digest();
        terms.guardTargetsHash = bytes32(uint256(1));
        digests[15] = _digest();
        terms.issuedAt += 1;
        digests[16] = _digest();
        terms.nonce += 1;
        digests[17] = _digest();
        for (uint256 i; i < 18; ++i) {
            for (uint256 j; j < i; ++j) {
                assertTrue(digests[i] != digests[j]);
            }
        }
    }

    function test_isVault__only_what_this_factory_created() public {
        MandateVault vault = _createEmpty();
        assertTrue(factory.isVault(address(vault)));
        assertFalse(factory.isVault(factory.implementation()));
        assertFalse(factory.isVault(address(factory)));
        assertFalse(factory.isVault(address(usdc)));
        assertFalse(factory.isVault(stranger));
        assertFalse(factory.isVault(address(new Impostor(vault.termsDigest()))));
        assertFalse(factory.isVault(address(new ShortImpostor())));

        terms.nonce = 2;
        assertFalse(factory.isVault(_predicted()));
    }

    function test_predictVault__another_factory_predicts_another_address() public {
        bytes32 digest = _digest();
        address here = factory.predictVault(digest);
        _clearRules();
        _deployHouse("MockUSDC.sol");
        assertTrue(factory.predictVault(digest) != here);
    }

    function test_vaultCode__empty_when_nothing_is_created() public view {
        assertEq(factory.vaultCode(), "");
    }
}

/// @notice Answers any question with nothing.
contract ShortImpostor {
    fallback() external {}
}

contract Impostor {
    bytes32 public immutable termsDigest;

    constructor(bytes32 digest) {
        termsDigest = digest;
    }
}
