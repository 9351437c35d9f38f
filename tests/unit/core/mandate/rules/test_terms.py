"""From a draft to the document that is signed."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.rules.terms import (
    UNPINNED,
    ZERO_ADDRESS,
    MandateTerms,
    Rule,
    RuleKind,
    TermsDraft,
    address_from_text,
    agent_fee_bps,
    rules_from_json,
    rules_to_json,
    stop_floor_usdc_e6,
    terms_from_draft,
    terms_from_json,
    terms_to_json,
)
from core.money import MAX_ABS_USDC_E6, UsdcE6
from tests.each import each

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
AGENT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
DRAFT = TermsDraft(
    public_id="m_4k2v7c3xqa",
    owner=OWNER.lower(),
    agent=AGENT.upper().replace("0X", "0x"),
    budget_usdc_e6=UsdcE6(1_000_000_000),
    horizon_days=30,
    stop_floor_bps=2_000,
)
ISSUED_AT = 1_767_225_600


def terms_of(draft: TermsDraft) -> MandateTerms:
    return terms_from_draft(
        draft,
        issued_at=ISSUED_AT,
        nonce=7,
        allowed_targets_hash="0x" + "11" * 32,
        guard_targets_hash="0x" + "22" * 32,
    )


@each(
    ("budget", "bps", "floor"),
    [
        (1_000_000_000, 500, 950_000_000),
        (1_000_000_000, 10_000, 0),
        (1_000_000_000, 1, 999_900_000),
        (10_000, 1, 9_999),
        (19_999, 1, 19_998),
        (1, 10_000, 0),
        (333_333_333, 3_333, 222_233_334),
    ],
)
def test_stop_floor__is_the_budget_less_the_loss_rounded_down(
    budget: int, bps: int, floor: int
) -> None:
    assert stop_floor_usdc_e6(budget, bps) == floor


def test_stop_floor__that_would_be_the_whole_budget__is_refused() -> None:
    with pytest.raises(InvalidNumberError) as refused:
        stop_floor_usdc_e6(9_999, 1)
    assert refused.value.field == "stop_floor_bps"


@given(st.integers(10_000, MAX_ABS_USDC_E6), st.integers(1, 10_000))
def test_stop_floor__never_accepts_more_than_the_share_and_lies_below_the_budget(
    budget: int, bps: int
) -> None:
    floor = stop_floor_usdc_e6(budget, bps)
    assert 0 <= floor < budget
    assert (budget - floor) * 10_000 <= budget * bps


@each(
    ("change", "field"),
    [
        ({"budget_usdc_e6": 0}, "budget_usdc"),
        ({"budget_usdc_e6": -1}, "budget_usdc"),
        ({"budget_usdc_e6": MAX_ABS_USDC_E6 + 1}, "budget_usdc"),
        ({"per_tx_cap_usdc_e6": 0}, "per_tx_cap_usdc"),
        ({"per_tx_cap_usdc_e6": 1_000_000_001}, "per_tx_cap_usdc"),
        ({"daily_cap_usdc_e6": 0}, "daily_cap_usdc"),
        ({"daily_cap_usdc_e6": 1_000_000_001}, "daily_cap_usdc"),
        ({"approval_above_usdc_e6": 0}, "approval_above_usdc"),
        ({"stop_floor_bps": 0}, "stop_floor_bps"),
        ({"stop_floor_bps": 10_001}, "stop_floor_bps"),
        ({"stop_floor_bps": True}, "stop_floor_bps"),
        ({"horizon_days": 0}, "horizon_days"),
        ({"horizon_days": 3_651}, "horizon_days"),
        ({"payout_rule": {"bps": 10_001}}, "payout_rule.bps"),
        ({"payout_rule": {"bps": -1}}, "payout_rule.bps"),
        ({"payout_rule": {"bps": "1000"}}, "payout_rule.bps"),
    ],
)
def test_draft__with_a_number_out_of_range__names_the_field(
    change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidNumberError) as refused:
        terms_of(replace(DRAFT, **change))
    assert refused.value.field == field


@each(
    "change",
    [
        {"budget_usdc_e6": MAX_ABS_USDC_E6},
        {"per_tx_cap_usdc_e6": 1_000_000_000},
        {"daily_cap_usdc_e6": 1},
        {"stop_floor_bps": 1},
        {"stop_floor_bps": 10_000},
        {"horizon_days": 1},
        {"horizon_days": 3_650},
        {"payout_rule": {"bps": 10_000}},
        {"payout_rule": {}},
    ],
)
def test_draft__at_the_edge_of_a_range__is_taken(change: dict[str, Any]) -> None:
    terms_of(replace(DRAFT, **change))


@each(
    ("change", "field"),
    [
        ({"public_id": "m_4K2V7C3XQA"}, "id"),
        ({"public_id": "m_4k2v7c3xq1"}, "id"),
        ({"owner": ZERO_ADDRESS}, "owner_wallet"),
        ({"agent": "0x12"}, "agent_wallet"),
        ({"agent": ZERO_ADDRESS}, "agent_wallet"),
        ({"on_floor": "sell"}, "on_floor"),
        ({"payout_rule": {"kind": "flat"}}, "payout_rule.kind"),
        ({"payout_rule": {"bps": 1, "cap": 2}}, "payout_rule.cap"),
    ],
)
def test_draft__with_another_broken_field__names_the_field(
    change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        terms_of(replace(DRAFT, **change))
    assert refused.value.field == field


def test_payout_rule__left_out__is_a_tenth_of_the_gain() -> None:
    assert agent_fee_bps(None) == 1_000


@each("text", [OWNER, OWNER.lower(), OWNER.upper(), "0x" + OWNER[2:].upper()])
def test_address__in_any_case__is_returned_with_its_checksum(text: str) -> None:
    assert address_from_text(text, "to") == OWNER


def test_address__with_another_checksum__is_refused_by_that_name() -> None:
    with pytest.raises(InvalidParameterError, match=r"^to: its EIP-55 checksum"):
        address_from_text(OWNER.replace("79C8", "97C8"), "to")


@each("text", [OWNER[2:], OWNER[:-1], OWNER + "0", "", None, 5, OWNER + "\n"])
def test_address__in_another_form__is_refused(text: object) -> None:
    with pytest.raises(InvalidParameterError):
        address_from_text(text, "to")


def test_terms__as_json__have_the_names_of_the_typed_data_in_order() -> None:
    document = terms_to_json(terms_of(DRAFT))
    assert ",".join(document) == (
        "publicId,owner,agent,budgetUsdc,perTxCap,dailyCap,stopFloor,stopFloorBps,horizonDays,endsAt,agentFeeBps,"
        "approvalAbove,onFloor,allowedTargetsHash,guardTargetsHash,issuedAt,nonce"
    )
    assert document["budgetUsdc"] == "1000000000"
    assert document["endsAt"] == "1769817600"


@given(st.integers(0, 2**256 - 1))
def test_terms__written_and_read__are_the_same(nonce: int) -> None:
    terms = replace(terms_of(DRAFT), nonce=nonce)
    assert terms_from_json(terms_to_json(terms)) == terms


@each("value", [1, True, None, "01", "-1", "1.0", "", " 1", "1" * 79, str(2**256)])
def test_terms__read_with_a_number_in_another_form__are_refused(value: object) -> None:
    with pytest.raises((InvalidNumberError, InvalidParameterError), match=r"^nonce: "):
        terms_from_json({**terms_to_json(terms_of(DRAFT)), "nonce": value})


def test_terms__read_with_a_key_too_many_or_too_few__are_refused() -> None:
    document = terms_to_json(terms_of(DRAFT))
    with pytest.raises(InvalidParameterError):
        terms_from_json({**document, "extra": "1"})
    del document["owner"]
    with pytest.raises(InvalidParameterError):
        terms_from_json(document)


def test_rules__written_and_read__are_the_same() -> None:
    rules = (
        Rule(OWNER, "0xa9059cbb", 0, RuleKind.SPEND),
        Rule(AGENT, "0xd0e30db0", UNPINNED, RuleKind.COST),
    )
    assert rules_to_json(rules)[1] == {
        "target": AGENT,
        "selector": "0xd0e30db0",
        "recipient_word": 255,
        "kind": 3,
    }
    assert rules_from_json(rules_to_json(rules)) == rules


def test_payout_rule__of_unknown_fields__names_the_first() -> None:
    with pytest.raises(InvalidParameterError) as refused:
        agent_fee_bps({"bps": 1, "z": 2, "a": 3})
    assert refused.value.field == "payout_rule.a"


@each("key", ["owner", "agent"])
def test_terms__read_with_an_address_that_has_another_checksum__are_refused(key: str) -> None:
    document = terms_to_json(terms_of(DRAFT))
    with pytest.raises(InvalidParameterError, match=rf"^{key}: its EIP-55 checksum"):
        terms_from_json({**document, key: OWNER.replace("79C8", "97C8")})
