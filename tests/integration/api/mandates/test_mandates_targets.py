"""Targets at every place where a draft is written; drafts of before, which stay readable; adapters
that misbehave.
"""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from core.blocks.registry import add_adapter, delist_adapter
from core.chain.abi import AbiDecodeError
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcCodeFailedError, RpcRevertedError
from core.mandate import queries as mandates
from core.mandate.chain.typed_data import rules_hash
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind, rules_from_json, rules_to_json
from core.mandate.tables import Mandate
from tests.integration.api.mandates.stage import (
    ADAPTER,
    BUY,
    CHAIN_ID,
    CONTRACTS,
    DRAFT,
    PAY,
    SELL,
    Stage,
    address,
    reason,
)

VENUE, X402, FORGER = address(7), CONTRACTS["x402_adapter"], address(0x1007)
SELECTOR_PIN = {"selector": "0x6e553f65", "recipient_word": 1}
REAL_PIN = {"signature": "deposit(uint256,address)", "recipient_word": 1}
REAL_PIN_SELECTOR = "0x6e553f65"
GOAL = {name: DRAFT[name] for name in ("budget_usdc", "horizon_days", "stop_floor_bps")}


def venue(*functions: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"address": VENUE, "functions": list(functions), **more}]


def outcome(answer: httpx.Response) -> tuple[int, str, str]:
    """(status, reason, detail); the last two are empty when the draft was taken."""
    body = answer.json()
    return answer.status_code, body.get("service", {}).get("reason", ""), body.get("detail", "")


def created(stage: Stage, targets: list[Any]) -> tuple[int, str, str]:
    answer = stage.call("POST", "/mandates", stage.owner, {**DRAFT, "allowed_targets": targets})
    return outcome(answer)


def updated(stage: Stage, targets: list[Any]) -> tuple[int, str, str]:
    answer = stage.call(
        "PUT", f"/mandates/{stage.draft()}", stage.owner, {**DRAFT, "allowed_targets": targets}
    )
    return outcome(answer)


@pytest.mark.parametrize("write", [created, updated])
def test_decoy__is_refused_wherever_a_draft_is_written(
    stage: Stage, write: Callable[[Stage, list[Any]], tuple[int, str, str]]
) -> None:
    status, refused, detail = write(stage, venue(SELECTOR_PIN))
    assert (status, refused) == (400, "invalid_parameter")
    assert "allowed_targets[0].functions[0].recipient_word: a pin needs the full" in detail


def test_proposal__names_no_targets_so_that_an_agent_writes_no_pin(stage: Stage) -> None:
    body = {
        "agent_id": stage.agent_id,
        "title": "Earn",
        "goal": {**GOAL, "allowed_targets": venue(REAL_PIN)},
    }
    answer = stage.call("POST", "/proposals", stage.agent, body)
    assert (reason(answer), "allowed_targets" in answer.json()["detail"]) == (
        (400, "invalid_parameter"),
        True,
    )


# Drafts of before


def markets(stage: Stage, mandate_id: str) -> str:
    clauses = stage.get(f"/mandates/{mandate_id}", stage.owner)["clauses"]
    return str(next(clause["text_en"] for clause in clauses if clause["key"] == "markets"))


@pytest.fixture
def old_draft(stage: Stage) -> str:
    """A draft with a pin by a bare selector beside one that holds, as an earlier version stored
    it.
    """
    mandate_id = stage.draft(
        allowed_targets=venue(
            {"selector": SELECTOR_PIN["selector"]},
            {"signature": "f(address)", "recipient_word": 0},
            unpinned=True,
        )
    )
    functions = [
        {"selector": "0x6e553f65", "signature": None, "recipient_word": 1, "exit": False},
        {"selector": "0xfc68521a", "signature": "f(address)", "recipient_word": 0, "exit": False},
    ]
    stored = [
        {
            "kind": "contract",
            "chain_id": CHAIN_ID,
            "address": VENUE,
            "functions": functions,
            "unpinned": False,
        }
    ]
    rules = [
        Rule(VENUE, "0x6e553f65", 1, RuleKind.SPEND),
        Rule(VENUE, "0xfc68521a", 0, RuleKind.SPEND),
    ]
    with stage.database.write() as session:
        frozen = {"allowed_targets": stored, "rules": rules_to_json(rules)}
        session.execute(update(Mandate).where(Mandate.public_id == mandate_id).values(**frozen))
    return mandate_id


def test_stored_draft_with_a_decoy__is_shown_as_it_was_and_its_clause_says_what_the_pin_is_worth(
    stage: Stage, old_draft: str
) -> None:
    shown = stage.get(f"/mandates/{old_draft}", stage.owner)["mandate"]["allowed_targets"][0]
    assert [function["recipient_word"] for function in shown["functions"]] == [1, 0]
    assert (
        "but the receiver is not tied to your vault in 0x6e553f65. The name f(address) is the "
        "proposer's word"
    ) in markets(stage, old_draft)


def test_stored_draft_with_a_decoy__can_be_assigned_signed_and_exported(
    stage: Stage, old_draft: str
) -> None:
    stage.post(f"/mandates/{old_draft}/assign", stage.owner, {"agent_id": stage.agent_id})
    assert "not tied to your vault in 0x6e553f65" in markets(stage, old_draft)
    stage.post(
        f"/mandates/{old_draft}/sign", stage.owner, {"signature": stage.sign_terms(old_draft)}
    )
    assert "not tied to your vault in 0x6e553f65" in markets(stage, old_draft)
    assert stage.call("GET", f"/mandates/{old_draft}/record", stage.owner).status_code == 200
    assert stage.call("GET", f"/mandates/{old_draft}/statement", stage.owner).status_code == 200


def test_stored_draft_with_a_decoy__written_again__is_refused_until_the_pin_holds(
    stage: Stage, old_draft: str
) -> None:
    answer = stage.call(
        "PUT",
        f"/mandates/{old_draft}",
        stage.owner,
        {**DRAFT, "allowed_targets": venue(SELECTOR_PIN)},
    )
    assert reason(answer) == (400, "invalid_parameter")
    answer = stage.call(
        "PUT", f"/mandates/{old_draft}", stage.owner, {**DRAFT, "allowed_targets": venue(REAL_PIN)}
    )
    assert answer.status_code == 200
    assert "not tied" not in markets(stage, old_draft)


# Listings that change between a draft and its assignment


VENUE_RULES = (Rule(VENUE, REAL_PIN_SELECTOR, UNPINNED, RuleKind.VALUED),)


def assigned(stage: Stage, mandate_id: str) -> Any:
    return stage.call(
        "POST", f"/mandates/{mandate_id}/assign", stage.owner, {"agent_id": stage.agent_id}
    )


def test_assign__of_a_named_target_that_became_a_listed_adapter__is_refused_until_the_targets_are_written_again(
    stage: Stage,
) -> None:
    mandate_id = stage.draft(allowed_targets=venue(REAL_PIN))
    before = stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]
    listed(stage, GOOD, TILL, (VENUE, VENUE_RULES))
    answer = assigned(stage, mandate_id)
    assert reason(answer) == (400, "invalid_parameter")
    assert (
        "allowed_targets[0].functions[0]: the listed adapters have changed"
        in answer.json()["detail"]
    )
    assert "write the targets again" in answer.json()["detail"]
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"] == before
    targets = venue({"signature": "deposit(uint256,address)"})
    assert (
        stage.call(
            "PUT", f"/mandates/{mandate_id}", stage.owner, {**DRAFT, "allowed_targets": targets}
        ).status_code
        == 200
    )
    assert assigned(stage, mandate_id).status_code == 200


def test_assign__of_a_named_adapter_that_is_listed_no_more__is_refused_since_its_kind_would_change(
    stage: Stage,
) -> None:
    pinned = (Rule(VENUE, REAL_PIN_SELECTOR, 1, RuleKind.VALUED),)
    listed(stage, GOOD, TILL, (VENUE, pinned))
    mandate_id = stage.draft(allowed_targets=venue(REAL_PIN))
    with stage.database.write() as session:
        delist_adapter(
            session, CHAIN_ID, BlockHeader(2, "0x" + "02" * 32, "0x" + "01" * 32, 2, 0, ()), VENUE
        )
    assert "write the targets again" in assigned(stage, mandate_id).json()["detail"]


def test_assign__of_targets_that_name_no_functions__takes_what_is_listed_now(stage: Stage) -> None:
    mandate_id = stage.draft()
    listed(stage, GOOD, TILL, (VENUE, VENUE_RULES))
    assert assigned(stage, mandate_id).status_code == 200
    assert (VENUE, REAL_PIN_SELECTOR) in rules_of(stage, mandate_id)


# Entries that would make a clause untrue


CREDIT = "0x11111111"
TRADES = tuple(
    Rule(FORGER, selector, UNPINNED, kind)
    for selector, kind in ((CREDIT, RuleKind.SPEND), (BUY, RuleKind.VALUED), (SELL, RuleKind.EXIT))
)


@pytest.mark.parametrize("write", [created, updated])
def test_spend_of_an_adapter_without_the_function_that_it_values__is_refused(
    stage: Stage, write: Callable[[Stage, list[Any]], tuple[int, str, str]]
) -> None:
    """It was taken, and clause 4 told that an adapter of this service values the money there."""
    listed(stage, GOOD, TILL, (FORGER, TRADES))
    status, refused, detail = write(
        stage, [{"address": FORGER, "functions": [{"selector": CREDIT}]}]
    )
    assert (status, refused) == (400, "invalid_parameter")
    assert detail.startswith("allowed_targets[0].functions: ") and f"name {BUY} too" in detail
    assert (
        created(
            stage, [{"address": FORGER, "functions": [{"selector": CREDIT}, {"selector": BUY}]}]
        )[0]
        == 201
    )


# Adapters that misbehave


FAILURES = [
    RpcRevertedError("eth_call", 3, "execution reverted", b""),
    RpcCodeFailedError("eth_call", -32603, "EVM error InvalidFEOpcode"),
    AbiDecodeError("not ((address,bytes4,uint8,uint8)[])"),
]


def rules_of(stage: Stage, mandate_id: str) -> set[tuple[str, str]]:
    with stage.database.read() as session:
        mandate = mandates.find_mandate(session, mandate_id)
        assert mandate is not None
        assert mandate.terms["allowedTargetsHash"] == rules_hash(rules_from_json(mandate.rules))
        return {(rule["target"], rule["selector"]) for rule in mandate.rules}


def listed(stage: Stage, *adapters: tuple[str, tuple[Rule, ...]]) -> None:
    """As the indexer has written it."""
    header = BlockHeader(1, "0x" + "01" * 32, "0x" + "00" * 32, 1, 0, ())
    with stage.database.write() as session:
        for adapter, rules in adapters:
            add_adapter(session, CHAIN_ID, header, adapter, rules_to_json(rules))


GOOD = (
    ADAPTER,
    (Rule(ADAPTER, BUY, UNPINNED, RuleKind.VALUED), Rule(ADAPTER, SELL, UNPINNED, RuleKind.EXIT)),
)
TILL = (X402, (Rule(X402, PAY, UNPINNED, RuleKind.COST),))


def test_adapter_with_a_fault__is_refused_by_name_and_harms_no_default(stage: Stage) -> None:
    listed(stage, GOOD, TILL, (FORGER, (Rule(FORGER, PAY, UNPINNED, RuleKind.COST),)))
    says = "this adapter publishes payments, which only the x402 adapter may; leave it out."
    assert created(stage, [FORGER]) == (400, "invalid_parameter", f"allowed_targets[0]: {says}")
    assert rules_of(stage, stage.draft()) == {(ADAPTER, BUY), (ADAPTER, SELL), (X402, PAY)}
