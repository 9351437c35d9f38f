"""Mandate wallet 2.2: the ten clauses, the card around them, and the state of the signature."""

from typing import Any

import pytest

from core.mandate.rules import events as ev
from tests.integration.api.mandates.stage import ADAPTER, Stage, address

VENUE = address(7)
OWN = (
    "budget",
    "per_action",
    "per_day",
    "stop_line",
    "markets",
    "asking",
    "at_stop",
    "period",
    "agent_fee",
    "your_floors",
)


def clauses_of(stage: Stage, mandate_id: str) -> dict[str, dict[str, Any]]:
    return {
        clause["key"]: clause
        for clause in stage.get(f"/mandates/{mandate_id}", stage.agent)["clauses"]
    }


@pytest.mark.row("2.2 the order of clauses", "2.2 n", "2.2 key")
def test_clauses__stand_in_the_documents_order_in_every_read(stage: Stage) -> None:
    mandate_id, open_id = stage.signed(), stage.signed(agent_id=None, open_board=True)
    offer = stage.get(f"/agents/{stage.agent_id}/offers", stage.agent)["offers"][0]
    board = stage.get("/board", {})["mandates"][0]
    assert (offer["id"], board["id"]) == (mandate_id, open_id)
    for shown in (
        stage.get(f"/mandates/{mandate_id}", stage.owner),
        stage.get(f"/mandates/{stage.draft()}", stage.owner),
        offer,
        board,
    ):
        assert [(clause["n"], clause["key"]) for clause in shown["clauses"]] == list(
            enumerate(OWN, start=1)
        )


@pytest.mark.row(
    "2.2 text_en", "2.2 params", "2.2 enforced_by", "2.2 source", "2.2 signed_fields", "2.2 status"
)
def test_clauses__carry_their_sentence_values_enforcer_and_signed_term(stage: Stage) -> None:
    clauses = clauses_of(stage, stage.signed(approval_above_usdc="50"))
    assert clauses["stop_line"] == {
        "n": 4,
        "key": "stop_line",
        "text_en": (
            "When the mandate is worth 950 USDC or less, the vault stops it. That is a loss of "
            "50 USDC, 5.00 % of the budget. A price that jumps can cost more before the stop."
        ),
        "params": {"amount": "950.000000", "loss": "50.000000", "pct": "5.00"},
        "enforced_by": "Contract",
        "source": "terms.stopFloor",
        "signed_fields": ["stopFloor", "stopFloorBps"],
        "status": "enforced",
    }
    assert {
        key: clause["params"]
        for key, clause in clauses.items()
        if key not in ("stop_line", "markets")
    } == {
        "budget": {"amount": "1000.000000"},
        "per_action": {"amount": "200.000000"},
        "per_day": {"amount": "450.000000", "hours": 24},
        "asking": {"amount": "50.000000"},
        "at_stop": {"on_floor": "keep"},
        "period": {"days": 30, "ends_at": "2026-12-21T12:00:00Z"},
        "agent_fee": {
            "pct": "10.00",
            "payee": stage.agent_wallet.address,
            "payee_is_agent": True,
        },
        "your_floors": {
            "owner": stage.owner_wallet.address,
            "items": ["owner_withdraws", "owner_stops", "no_lock_after_grace"],
        },
    }
    items = clauses["markets"]["params"]["items"]
    assert [(item["kind"], item["enforced_by"]) for item in items] == [
        ("mandate_vault", "Contract"),
        ("x402", "Torii guard"),
    ]
    backing = {
        key: (clause["enforced_by"], clause["source"], clause["signed_fields"], clause["status"])
        for key, clause in clauses.items()
    }
    assert backing == {
        "budget": ("Contract", "terms.budgetUsdc", ["budgetUsdc"], "enforced"),
        "per_action": ("Contract", "terms.perTxCap", ["perTxCap"], "enforced"),
        "per_day": ("Contract", "terms.dailyCap", ["dailyCap"], "enforced"),
        "stop_line": ("Contract", "terms.stopFloor", ["stopFloor", "stopFloorBps"], "enforced"),
        "markets": (
            "Contract",
            "terms.allowedTargetsHash",
            ["allowedTargetsHash", "guardTargetsHash"],
            "enforced",
        ),
        "asking": ("Torii guard", "terms.approvalAbove", ["approvalAbove"], "stored_pending"),
        "at_stop": ("Torii guard", "terms.onFloor", ["onFloor"], "stored_pending"),
        "period": ("Contract", "terms.endsAt", ["endsAt", "horizonDays", "issuedAt"], "enforced"),
        "agent_fee": ("Contract", "terms.agentFeeBps", ["agentFeeBps"], "enforced"),
        "your_floors": ("Contract", "terms.owner", ["owner", "endsAt"], "enforced"),
    }


def test_clauses__of_a_contract_that_nobody_here_knows__say_whose_word_its_name_is_and_that_it_has_no_exit(
    stage: Stage,
) -> None:
    stake = {"signature": "stake(uint256,address)", "recipient_word": 1}
    clauses = clauses_of(
        stage, stage.signed(allowed_targets=[{"address": VENUE, "functions": [stake]}])
    )
    assert (
        "The name stake(uint256,address) is the proposer's word alone"
        in clauses["markets"]["text_en"]
    )
    assert clauses["markets"]["params"]["unverified_names"] == ["stake(uint256,address)"]
    assert (
        f"you can unwind yourself, but not at {VENUE}: no exit is named there"
        in clauses["at_stop"]["text_en"]
    )
    assert clauses["at_stop"]["params"]["targets_without_exit"] == [VENUE]


def test_clauses__of_a_well_known_function__take_its_name_for_true(stage: Stage) -> None:
    functions = [
        {"signature": "deposit(uint256,address)", "recipient_word": 1},
        {"signature": "redeem(uint256,address,address,uint256)", "recipient_word": 1, "exit": True},
    ]
    clauses = clauses_of(
        stage, stage.signed(allowed_targets=[{"address": VENUE, "functions": functions}])
    )
    assert "proposer" not in clauses["markets"]["text_en"]
    assert clauses["at_stop"]["text_en"].endswith("you can unwind yourself.")


@pytest.mark.row("2.2 receipts cite n", "2.4 clauses")
def test_a_report__cites_a_clause_by_its_number(stage: Stage, mandate_id: str) -> None:
    body = {"kind": "buy", "amount_usdc": "10", "payload": {"target": ADAPTER, "clauses": [5, 2]}}
    stage.post(f"/mandates/{mandate_id}/events", stage.agent, body)
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"][0]["clauses"] == [2, 5]


@pytest.mark.row("2.2 card_header identity", "2.2 card_header who.params.wallet", "2.2 card_footer")
def test_card__names_the_mandate_the_agent_and_what_always_holds(stage: Stage) -> None:
    mandate_id = stage.signed()
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    wallet = stage.agent_wallet.address
    assert read["card_header"]["identity"] == {
        "text_en": f"Mandate {mandate_id} on chain 84532",
        "params": {"id": mandate_id, "chain_id": 84532},
    }
    assert read["card_header"]["who"] == {
        "text_en": f"quant acts with {wallet}",
        "params": {"agent_id": stage.agent_id, "name": "quant", "wallet": wallet},
    }
    assert [row["key"] for row in read["card_footer"]] == [
        "off_switch",
        "no_keys",
        "net_of_fees",
        "past_results",
        "testnet",
    ]
    assert all(row["text_en"].endswith(".") and row["params"] == {} for row in read["card_footer"])


def wallet_shown(stage: Stage, mandate_id: str) -> str | None:
    wallet: str | None = stage.get(f"/mandates/{mandate_id}", stage.owner)["card_header"]["who"][
        "params"
    ]["wallet"]
    return wallet


@pytest.mark.row("2.2 card_header who.params.wallet")
def test_wallet__is_of_the_terms_else_on_file_and_with_a_vault_the_one_that_the_chain_set(
    stage: Stage,
) -> None:
    chains = "0x" + "7A" * 20
    named, filed = stage.working(), stage.signed(agent_id=None, open_board=True)
    assert wallet_shown(stage, named) == stage.agent_wallet.address
    stage.chain_says(named, ev.AgentSet(chains))
    assert wallet_shown(stage, named) == chains
    stage.chain_says(named, ev.AgentRemoved(chains, stage.owner_wallet.address))
    assert wallet_shown(stage, named) is None
    assert wallet_shown(stage, filed) is None
    stage.post(f"/mandates/{filed}/accept", stage.agent)
    assert wallet_shown(stage, filed) == stage.agent_wallet.address
    walletless_id, walletless = stage.new_agent(stage.owner)
    stage.accept_mandates(walletless_id)
    unknown = stage.working(agent_id=None, open_board=True)
    stage.post(f"/mandates/{unknown}/accept", walletless)
    stage.chain_says(unknown, ev.AgentSet(chains))
    assert wallet_shown(stage, unknown) == chains


@pytest.mark.row("2.2 terms_status", "2.2 terms_status is for non-drafts")
def test_terms_status__is_null_for_a_draft_and_tells_a_signature_from_none(stage: Stage) -> None:
    draft, signed, cancelled = stage.draft(), stage.signed(), stage.draft()
    stage.post(f"/mandates/{cancelled}/cancel", stage.owner)
    digest = stage.get(f"/mandates/{signed}/terms", stage.owner)["digest"]
    assert stage.get(f"/mandates/{draft}", stage.owner)["terms_status"] is None
    assert stage.get(f"/mandates/{signed}", stage.agent)["terms_status"] == {
        "signed": True, "version": 2, "digest": digest, "digest_matches": True,
        "signer_matches": True
    }  # fmt: skip
    unsigned = stage.get(f"/mandates/{cancelled}", stage.owner)["terms_status"]
    assert (unsigned["signed"], unsigned["digest_matches"], unsigned["signer_matches"]) == (
        False,
        True,
        None,
    )
