"""Golden vectors, and a second implementation (eth_account) beside ours.

The factory's own word: tests/integration/indexer.
"""

from dataclasses import replace
from typing import Any

import pytest
from eth_account.messages import _hash_eip191_message, encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from core.mandate.chain import typed_data
from core.mandate.rules.terms import UNPINNED, ZERO_ADDRESS, MandateTerms, Rule, RuleKind

FACTORY = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
CHAIN_ID = 84532

TERMS = MandateTerms(
    public_id="m_4k2v7c3xqa",
    owner=OWNER,
    agent=ZERO_ADDRESS,
    budget_usdc=1_000_000_000,
    per_tx_cap=100_000_000,
    daily_cap=300_000_000,
    stop_floor=950_000_000,
    stop_floor_bps=500,
    horizon_days=30,
    ends_at=1_800_000_000,
    agent_fee_bps=1_000,
    approval_above=0,
    on_floor=0,
    allowed_targets_hash="0x" + "aa" * 32,
    guard_targets_hash="0x" + "bb" * 32,
    issued_at=1_797_408_000,
    nonce=7,
)


def digest_by_eth_account(document: dict[str, Any]) -> str:
    return "0x" + _hash_eip191_message(encode_typed_data(full_message=document)).hex()


@pytest.mark.parametrize(
    ("version", "digest"),
    [
        (1, "0x5675028960f441696a50a62017dfcd402a186d7ff7566e9b2afa8f61d6ffe7a7"),
        (2, "0xd8d1f2659377f0e0822d46b6f5a8f2104e710fe08d73609dbf9c6622bcf37cbf"),
    ],
)
def test_terms_digest__golden_vector__is_as_written(version: int, digest: str) -> None:
    assert typed_data.terms_digest(TERMS, FACTORY, CHAIN_ID, version) == digest


@pytest.mark.parametrize("version", [1, 2])
def test_terms_digest__is_that_of_the_typed_data(version: int) -> None:
    document = typed_data.terms_typed_data(TERMS, FACTORY, CHAIN_ID, version)
    assert digest_by_eth_account(document) == typed_data.terms_digest(
        TERMS, FACTORY, CHAIN_ID, version
    )


uint256 = st.integers(0, 2**256 - 1)


@given(
    public_id=st.text(),
    amounts=st.tuples(uint256, uint256, uint256, uint256, uint256, uint256),
    nonce=uint256,
)
def test_terms_digest__any_terms__is_that_of_the_typed_data(
    public_id: str, amounts: tuple[int, ...], nonce: int
) -> None:
    names = ("budget_usdc", "per_tx_cap", "daily_cap", "stop_floor", "approval_above", "ends_at")
    changes = dict(zip(names, amounts, strict=True))
    changes["ends_at"] %= 2**64
    terms = replace(TERMS, public_id=public_id, nonce=nonce, **changes)
    document = typed_data.terms_typed_data(terms, FACTORY, CHAIN_ID)
    assert digest_by_eth_account(document) == typed_data.terms_digest(terms, FACTORY, CHAIN_ID)


def test_terms_digest__another_chain_or_factory__is_another() -> None:
    digests = {
        typed_data.terms_digest(TERMS, FACTORY, CHAIN_ID),
        typed_data.terms_digest(TERMS, FACTORY, 8453),
        typed_data.terms_digest(TERMS, OWNER, CHAIN_ID),
        typed_data.terms_digest(TERMS, FACTORY, CHAIN_ID, version=1),
    }
    assert len(digests) == 4


def test_terms_typed_data__integers_are_decimal_text_and_the_chain_id_is_a_number() -> None:
    document = typed_data.terms_typed_data(TERMS, FACTORY, CHAIN_ID)
    assert document["message"]["budgetUsdc"] == "1000000000"
    assert document["domain"] == {
        "name": "Mandate Wallet",
        "version": "2",
        "chainId": CHAIN_ID,
        "verifyingContract": FACTORY,
    }
    assert [field["name"] for field in document["types"]["MandateTerms"]] == list(
        document["message"]
    )


def test_version_1__leaves_the_caps_out() -> None:
    message = typed_data.terms_typed_data(TERMS, FACTORY, CHAIN_ID, version=1)["message"]
    assert (
        not {"perTxCap", "dailyCap", "approvalAbove", "onFloor", "guardTargetsHash"}
        & message.keys()
    )


def test_rules_hash__golden_vector__is_as_written() -> None:
    rules = (
        Rule(FACTORY, "0xd96a094a", UNPINNED, RuleKind.VALUED),
        Rule(FACTORY, "0xe4849b32", 0, RuleKind.EXIT),
    )
    assert (
        typed_data.rules_hash(rules)
        == "0xbbdaf7c578903ae0a3379d9a9afa26def78b1241ca06b68068dd039b552c0b63"
    )


def test_guard_targets_hash__order_of_keys__does_not_matter() -> None:
    left = [{"kind": "x402", "hosts": ["a.example"], "payees": []}]
    right = [{"payees": [], "hosts": ["a.example"], "kind": "x402"}]
    assert typed_data.guard_targets_hash(left) == typed_data.guard_targets_hash(right)


def test_guard_targets_hash__no_targets__is_the_hash_of_an_empty_list() -> None:
    assert (
        typed_data.guard_targets_hash([])
        == "0x518674ab2b227e5f11e9084f615d57663cde47bce1ba168b4c19c7ee22a73d70"
    )


@pytest.mark.parametrize(
    "document",
    [
        typed_data.receive_authorization(
            *(FACTORY, CHAIN_ID, OWNER, FACTORY, 5_000_000, 0, 1_800_000_000, "0x" + "cc" * 32)
        ),
        typed_data.transfer_authorization(
            *(FACTORY, CHAIN_ID, OWNER, FACTORY, 5_000_000, 0, 1_800_000_000, "0x" + "cc" * 32)
        ),
        typed_data.x402_payment(
            *(FACTORY, CHAIN_ID, OWNER, FACTORY, 5),
            *("0x" + "ab" * 32, "0x" + "cd" * 32, 1_800_000_000),
        ),
    ],
    ids=lambda document: document.name,
)
def test_a_documents_digest__is_that_of_its_typed_data(
    document: typed_data.TypedDocument,
) -> None:
    assert digest_by_eth_account(document.typed_data) == document.digest
