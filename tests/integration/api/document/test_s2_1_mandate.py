"""Mandate wallet 2.1: every field of a mandate, its rule and its states."""

import re
from typing import Any

import pytest

from core.mandate import queries as mandates
from core.mandate.rules import events as ev
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import ADAPTER, DRAFT, USDC, Stage, reason
from tests.integration.chain_fixtures import CHAIN_ID
from tests.personas import OWNER

WHOLE: dict[str, Any] = {
    "purpose": "Buy units at the test venue, carefully.",
    "budget_usdc": "1000",
    "horizon_days": 30,
    "stop_floor_bps": 501,
    "target_bps": 700,
    "payout_rule": {"kind": "share_of_verified_gain", "bps": 1500},
    "allowed_targets": [ADAPTER],
    "per_tx_cap_usdc": "200.5",
    "daily_cap_usdc": 450,
    "approval_above_usdc": "50",
    "on_floor": "close",
    "chain_id": 84532,
}


def created(stage: Stage, **body: Any) -> dict[str, Any]:
    return dict(stage.post("/mandates", stage.owner, body, status=201)["mandate"])


def mandate_of(stage: Stage, mandate_id: str) -> dict[str, Any]:
    return dict(stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"])


@pytest.mark.row(
    "2.1 public id", "2.1 agent_id", "2.1 open_board", "2.1 purpose", "2.1 budget_usdc",
    "2.1 horizon_days", "2.1 stop_floor_bps",
    "2.1 the floor equals budget times 1 minus bps divided by 10000", "2.1 target_bps",
    "2.1 payout_rule", "2.1 allowed_targets",
    "2.1 per_tx_cap_usdc", "2.1 daily_cap_usdc", "2.1 approval_above_usdc", "2.1 on_floor",
    "2.1 chain_id", "2.1 vault_address",
    "2.1 status", "2.1 created_at", "2.1 signed_at", "2.1 ends_at", "2.1 strategy",
    "2.1 proposed_by_agent_id", "2.1 status draft",
)  # fmt: skip
def test_a_draft_with_every_field__is_read_as_it_was_written(stage: Stage) -> None:
    mandate = created(stage, **WHOLE, agent_id=stage.agent_id)
    mandate_id = mandate["public_id"]
    assert re.fullmatch(r"m_[a-z2-7]{10}", mandate_id)
    wallet = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["terms"]["agent"]
    assert mandate == {
        "id": mandate_id,
        "public_id": mandate_id,
        "agent_id": stage.agent_id,
        "open_board": False,
        "purpose": "Buy units at the test venue, carefully.",
        "budget_usdc": "1000.000000",
        "horizon_days": 30,
        "stop_floor_bps": 501,
        "stop_floor_usdc": "949.900000",
        "target_bps": 700,
        "payout_rule": {"kind": "share_of_verified_gain", "bps": 1500},
        "fee_payee": {
            "address": wallet,
            "is_agent": True,
            "text_en": f"paid to {wallet}, which is the agent",
        },
        "allowed_targets": mandate["allowed_targets"],
        "per_tx_cap_usdc": "200.500000",
        "daily_cap_usdc": "450.000000",
        "approval_above_usdc": "50.000000",
        "on_floor": "close",
        "chain_id": 84532,
        "market_mode": "testnet",
        "vault_address": None,
        "status": "draft",
        "paused": False,
        "paused_at": None,
        "last_paused_at": None,
        "last_resumed_at": None,
        "created_at": "2026-11-21T12:00:00Z",
        "signed_at": None,
        "accepted_at": None,
        "ends_at": "2026-12-21T12:00:00Z",
        "ended_at": None,
        "strategy": None,
        "proposed_by_agent_id": None,
    }
    (target,) = mandate["allowed_targets"]
    assert (target["kind"], target["chain_id"], target["address"]) == ("contract", 84532, ADAPTER)
    assert mandate_of(stage, mandate_id) == mandate


@pytest.mark.row("4 POST /mandates",
    "2.1 target_bps", "2.1 payout_rule", "2.1 allowed_targets", "2.1 approval_above_usdc",
    "2.1 on_floor", "2.1 chain_id",
    "2.1 per_tx_cap_usdc", "2.1 daily_cap_usdc", "2.1 open_board", "2.1 agent_id",
)  # fmt: skip
def test_what_a_draft_leaves_out__has_the_documents_default_or_is_null(stage: Stage) -> None:
    mandate = created(
        stage, purpose="Try", budget_usdc="100", horizon_days=1, stop_floor_bps=10_000
    )
    assert [
        mandate[name]
        for name in (
            "target_bps",
            "per_tx_cap_usdc",
            "daily_cap_usdc",
            "approval_above_usdc",
            "agent_id",
        )
    ] == [None] * 5
    assert (mandate["payout_rule"], mandate["on_floor"]) == (
        {"kind": "share_of_verified_gain", "bps": 1000},
        "keep",
    )
    assert (mandate["chain_id"], mandate["open_board"], mandate["stop_floor_usdc"]) == (
        84532,
        False,
        "0.000000",
    )
    assert mandate["allowed_targets"] == [
        {"kind": "mandate_vault", "chain_id": 84532, "address": None},
        {"kind": "x402", "hosts": [], "payees": []},
    ]


@pytest.mark.row(
    "2.1 an empty cap is the whole budget",
    "2.1 an empty approval_above_usdc means the agent acts on its own",
    "8 per-action and per-day caps",
)
def test_empty_caps__are_the_whole_budget_and_an_empty_line_asks_nobody(stage: Stage) -> None:
    mandate_id = stage.paper(per_tx_cap_usdc=None, daily_cap_usdc=None)
    limits = stage.get(f"/mandates/{mandate_id}", stage.agent)["limits"]
    assert (limits["allowed"]["per_tx_cap_usdc"], limits["allowed"]["daily_cap_usdc"]) == (
        "1000.000000",
        "1000.000000",
    )
    assert (limits["used"]["per_action_max"]["value"], limits["used"]["left_today"]["value"]) == (
        "1000.000000",
        "1000.000000",
    )
    body = {"kind": "buy", "amount_usdc": "1000", "payload": {"target": ADAPTER}}
    assert stage.post(f"/mandates/{mandate_id}/events", stage.agent, body)["violation"] is False
    assert limits["allowed"]["approval_above_usdc"] is None
    assert stage.get(f"/mandates/{mandate_id}/approvals", stage.owner)["items"] == []


@pytest.mark.row(
    "2.1 agent_id is set by the owner at create or by assign on a draft, never first-come",
    "2.1 agent_id",
)
def test_agent_id__comes_from_the_owner_and_never_from_the_first_who_asks(stage: Stage) -> None:
    unnamed = created(stage, **DRAFT)
    mandate_id = unnamed["id"]
    stage.post(
        f"/mandates/{mandate_id}/sign", stage.owner, {"signature": stage.sign_terms(mandate_id)}
    )
    assert reason(stage.call("POST", f"/mandates/{mandate_id}/accept", stage.agent)) == (
        409,
        "agent_not_designated",
    )
    assert mandate_of(stage, mandate_id)["agent_id"] is None
    assert reason(
        stage.call(
            "POST", f"/mandates/{mandate_id}/assign", stage.owner, {"agent_id": stage.agent_id}
        )
    ) == (409, "wrong_status")
    assigned = stage.post(
        f"/mandates/{stage.draft(agent_id=None)}/assign", stage.owner, {"agent_id": stage.agent_id}
    )["mandate"]
    assert assigned["agent_id"] == stage.agent_id


@pytest.mark.row(
    "2.1 open_board",
    "2.1 only an open board lets any agent accept, and designating an agent sets it back to false",
)
def test_open_board__is_the_owners_opt_in_and_ends_with_a_designation(stage: Stage) -> None:
    _, other = stage.new_agent()
    closed, opened = stage.signed(agent_id=None), stage.draft(agent_id=None, open_board=True)
    assert reason(stage.call("POST", f"/mandates/{closed}/accept", stage.agent)) == (
        409,
        "agent_not_designated",
    )
    assert mandate_of(stage, opened)["open_board"] is True
    assigned = stage.post(f"/mandates/{opened}/assign", stage.owner, {"agent_id": stage.agent_id})[
        "mandate"
    ]
    assert (assigned["open_board"], assigned["agent_id"]) == (False, stage.agent_id)
    stage.post(f"/mandates/{opened}/sign", stage.owner, {"signature": stage.sign_terms(opened)})
    assert reason(stage.call("POST", f"/mandates/{opened}/accept", other)) == (
        409,
        "agent_not_designated",
    )
    taken = stage.signed(agent_id=None, open_board=True)
    assert (
        stage.post(f"/mandates/{taken}/accept", stage.agent)["mandate"]["agent_id"]
        == stage.agent_id
    )


@pytest.mark.row("2.1 proposed_by_agent_id", "2.1 proposed_by_agent_id is never changed")
def test_proposed_by_agent_id__stays_when_the_owner_edits_and_names_another_agent(
    stage: Stage,
) -> None:
    goal = {"budget_usdc": "250", "horizon_days": 14, "stop_floor_bps": 800}
    body = {"agent_id": stage.agent_id, "title": "Lend", "goal": goal}
    mandate_id = stage.post("/proposals", stage.agent, body, status=201)["mandate"]["id"]
    other_id, _ = stage.new_agent(stage.owner)
    stage.accept_mandates(other_id)
    stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, DRAFT)
    stage.post(f"/mandates/{mandate_id}/assign", stage.owner, {"agent_id": other_id})
    read = mandate_of(stage, mandate_id)
    assert (read["agent_id"], read["proposed_by_agent_id"]) == (other_id, stage.agent_id)
    own = {**DRAFT, "proposed_by_agent_id": other_id}
    assert reason(stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, own)) == (
        400,
        "invalid_parameter",
    )
    assert mandate_of(stage, stage.draft())["proposed_by_agent_id"] is None


STRATEGY = {
    "listing_id": "l_1", "name": "Slow units", "product_type": "strategy_template",
    "operator": "quant", "runner_agent_id": "7",
    "markets": ["test venue"],
}  # fmt: skip


@pytest.mark.row(
    "2.1 strategy",
    "2.1 strategy is descriptive and not part of the signed terms",
    "2.2 card_header strategy",
)
def test_strategy__is_shown_and_changes_no_signed_term(stage: Stage) -> None:
    mandate_id = stage.draft()
    plain = stage.get(f"/mandates/{mandate_id}", stage.owner)
    terms = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)
    assert (plain["mandate"]["strategy"], plain["card_header"]["strategy"]) == (None, None)
    with stage.database.write() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        found.strategy = STRATEGY
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    assert read["mandate"]["strategy"] == STRATEGY
    assert read["card_header"]["strategy"] == {
        "text_en": "Strategy: Slow units. It is a description, not part of the signed terms.",
        "params": STRATEGY,
    }
    assert read["clauses"] == plain["clauses"]
    assert stage.get(f"/mandates/{mandate_id}/terms", stage.owner) == terms


@pytest.mark.row(
    "2.1 status", "2.1 status draft", "2.1 status signed", "2.1 status working",
    "2.1 status stopped", "2.1 status cancelled",
    "2.1 signed_at",
)  # fmt: skip
def test_status__has_the_documents_words(stage: Stage) -> None:
    draft, signed, working, paper = stage.draft(), stage.signed(), stage.working(), stage.paper()
    stopped, cancelled = stage.paper(), stage.draft()
    stage.post(f"/mandates/{stopped}/stop", stage.owner)
    stage.post(f"/mandates/{cancelled}/cancel", stage.owner)
    words = [
        mandate_of(stage, one)["status"]
        for one in (draft, signed, working, paper, stopped, cancelled)
    ]
    assert words == ["draft", "signed", "working", "working", "stopped", "cancelled"]
    assert [mandate_of(stage, one)["signed_at"] for one in (draft, signed)] == [
        None,
        "2026-11-21T12:00:00Z",
    ]


@pytest.mark.row(
    "2.1 status",
    "2.1 status signed",
    "2.1 status working",
    "2.1 status stopped",
    "2.1 status settled",
    "2.1 vault_address",
)
def test_status_and_vault_address__follow_the_chain_from_signed_to_settled(live: Live) -> None:
    live.deployed.mint(live.stage.owner_wallet.address, 1_000 * USDC)
    mandate_id = live.stage.signed()
    seen = [
        (
            live.read(mandate_id)["mandate"]["status"],
            live.read(mandate_id)["mandate"]["vault_address"],
        )
    ]
    asked = live.owners(mandate_id, "deploy-call", fund="approve")
    for call in asked["calls"]:
        live.send(OWNER, call)
    seen.append(
        (
            live.read(mandate_id)["mandate"]["status"],
            live.read(mandate_id)["mandate"]["vault_address"],
        )
    )
    live.send_owners(mandate_id, "stop-call")
    seen.append(
        (
            live.read(mandate_id)["mandate"]["status"],
            live.read(mandate_id)["mandate"]["vault_address"],
        )
    )
    live.settle(asked["vault_address"])
    last = live.read(mandate_id)["mandate"]
    vault = asked["vault_address"]
    assert [*seen, (last["status"], last["vault_address"])] == [
        ("signed", None), ("working", vault), ("stopped", vault), ("settled", vault)
    ]  # fmt: skip
    assert last["chain_id"] == CHAIN_ID and last["ended_at"] is not None


@pytest.mark.row(
    "2.1 the public id is the only id the API shows",
    "2.1 the owner's internal user id is never returned",
)
def test_no_read_of_owner_or_agent__has_the_owners_id_or_the_mandates_number(stage: Stage) -> None:
    # so that the mandate's number and the owner's differ from every small number in an answer
    for _ in range(12):
        stage.draft()
    mandate_id = stage.working()
    stage.chain_says(mandate_id, ev.Withdrawn(ADAPTER, stage.owner_wallet.address, 5, 0))
    with stage.database.read() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        number, owner_id = found.id, found.owner_id
    paths = [
        f"/mandates/{mandate_id}{end}"
        for end in (
            "",
            "/steps",
            "/ledger",
            "/terms",
            "/statement",
            "/close-all-plan",
            "/approvals",
        )
    ]
    for path in [*paths, "/mandates", "/me/statement", "/me/alerts"]:
        found_keys = keys_and_values(stage.get(path, stage.owner))
        assert not any("owner_id" in key or key == "owner_user_id" for key, _ in found_keys), path
        ids = [
            value
            for key, value in found_keys
            if key in ("id", "mandate_id", "user_id", "account_id") and isinstance(value, str)
        ]
        assert not {str(number), str(owner_id)} & set(ids), path


def keys_and_values(answer: Any) -> list[tuple[str, Any]]:
    if isinstance(answer, dict):
        return [
            pair
            for key, value in answer.items()
            for pair in [(key, value), *keys_and_values(value)]
        ]
    return (
        [pair for one in answer for pair in keys_and_values(one)]
        if isinstance(answer, list)
        else []
    )
