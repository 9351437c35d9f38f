"""The golden vectors of what a wallet signs, computed by this package (docs/testing.md)."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from core.chain.signatures import recovered_address
from core.mandate.chain.typed_data import (
    guard_targets_hash,
    rules_hash,
    terms_digest,
    terms_typed_data,
)
from core.mandate.rules.terms import MandateTerms, rules_from_json, terms_from_json
from tests.each import each

ROOT = Path(__file__).resolve().parents[5]
VECTORS: dict[str, Any] = json.loads(
    (ROOT / "tests" / "vectors" / "mandate_terms.json").read_text()
)
TERMS: list[dict[str, Any]] = VECTORS["terms"]
CURRENT = [vector for vector in TERMS if vector["version"] == 2]
OTHER_ADDRESS = "0x00000000000000000000000000000000000000FF"


def terms_of(vector: dict[str, Any]) -> MandateTerms:
    return terms_from_json(vector["typed_data"]["message"])


@each("vector", CURRENT, ids=lambda vector: vector["name"])
def test_a_vectors_terms__give_its_document_and_digest(vector: dict[str, Any]) -> None:
    terms, factory, chain_id = terms_of(vector), vector["factory"], vector["chain_id"]
    assert terms_typed_data(terms, factory, chain_id) == vector["typed_data"]
    assert terms_digest(terms, factory, chain_id) == vector["digest"]


@each("vector", CURRENT, ids=lambda vector: vector["name"])
def test_a_vectors_rules_and_guard_targets__give_the_hashes_in_its_terms(
    vector: dict[str, Any],
) -> None:
    message = vector["typed_data"]["message"]
    assert rules_hash(rules_from_json(vector["rules"])) == message["allowedTargetsHash"]
    assert guard_targets_hash(vector["guard_targets"]) == message["guardTargetsHash"]


@each("vector", TERMS, ids=lambda vector: vector["name"])
def test_a_vectors_signature__is_the_owners(vector: dict[str, Any]) -> None:
    assert recovered_address(vector["digest"], vector["signature"]) == VECTORS["signer"]


def test_all_digests_differ() -> None:
    assert len({vector["digest"] for vector in TERMS}) == len(TERMS)


@each("field", [field.name for field in fields(MandateTerms)])
def test_a_change_of_one_field__changes_the_digest(field: str) -> None:
    vector = TERMS[0]
    terms = terms_of(vector)
    before = getattr(terms, field)
    if isinstance(before, int):
        after: int | str = before + 1
    elif field.endswith("_hash"):
        after = "0x" + "11" * 32
    else:
        after = before + "x" if field == "public_id" else OTHER_ADDRESS
    assert (
        terms_digest(replace(terms, **{field: after}), vector["factory"], vector["chain_id"])
        != vector["digest"]
    )
