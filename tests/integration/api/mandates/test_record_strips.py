"""Strips of agents' records, made of their ledgers (docs/record-strips.md)."""

from typing import Any

import pytest

from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Source
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.views import standing
from api.areas.records.views.strip import PAPER_NOTE
from core.db.engine import Database
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import guard_refusal_note, revert_note
from tests.each import each
from tests.integration.api.conftest import connect
from tests.integration.api.mandates.stage import (
    BUDGET,
    CHAIN_ID,
    KEEPER,
    USDC,
    Stage,
    address,
    reason,
)
from tests.integration.api.mandates.test_mandates_short import hold
from tests.integration.core.rows import NOW

STOP = ev.Stopped(KEEPER, "0x" + b"stop_line".ljust(32, b"\0").hex(), 940 * USDC, 0, True)


def strip(stage: Stage, agent_id: str | None = None) -> dict[str, Any]:
    return stage.get(f"/agents/{agent_id or stage.agent_id}/record", {})


def reverted(stage: Stage, mandate_id: str, number: int, code: str = "OverPerTxCap") -> None:
    note = revert_note(
        chain_id=CHAIN_ID,
        tx_hash=f"0x{number + 0xAB00:064x}",
        block_number=number,
        block_hash=f"0x{number:064x}",
        at=int(stage.clock.now.timestamp()),
        reason=code,
    )
    stage.append(mandate_id, note)


def end(stage: Stage, mandate_id: str) -> None:
    stage.chain_says(mandate_id, STOP)


def test_strip__of_an_agent_without_mandates_or_snapshot__knows_its_name_alone(
    stage: Stage,
) -> None:
    found = strip(stage)
    assert found == {
        "ladder": {"name": "Newcomer", "verified_count": 0, "next_tier_at": 1},
        "agent_name": "quant",
        "runner": False,
        "posting_tier": {"tier": "none", "source": "verified_task_claims"},
        "hall": None,
        "limits": None,
        "work": {"verified_task_claims": 0, "finalized_kg_claims": 0},
        "sources": {
            "ladder": f"/earn/feed?agent_id={stage.agent_id}",
            "work": f"/earn/feed?agent_id={stage.agent_id}",
            "work_kg": f"/earn/feed?agent_id={stage.agent_id}&kind=mine_approved",
            "hall": None,
            "limits": None,
            "refusals": None,
            "mandates": [],
            "refusal_events": [],
        },
        "paper": None,
        "paper_note": PAPER_NOTE,
    }


def test_strip__counts_ended_mandates_and_which_were_kept(stage: Stage) -> None:
    """The table of docs/record-strips.md: one kept, one with a refused attempt, one that works."""
    kept, broken, at_work = stage.working(), stage.working(), stage.working()
    end(stage, kept)
    stage.later(hours=1)
    reverted(stage, broken, 1)
    end(stage, broken)
    reverted(stage, at_work, 2, "TargetNotAllowed")
    found = strip(stage)
    assert found["limits"] == {
        "refusals": 2,
        "mandates_kept": 1,
        "mandates_ended": 2,
        "violations": 0,
    }
    shown = [(one["id"], one["kept"], one["breaches"]) for one in found["sources"]["mandates"]]
    assert shown == [(broken, False, 1), (kept, True, 0)]
    assert {one["status"] for one in found["sources"]["mandates"]} == {"stopped"}


def test_strip__lists_confirmed_refusals_alone_the_newest_first(
    stage: Stage, mandate_id: str
) -> None:
    reverted(stage, mandate_id, 1)
    stage.later(minutes=1)
    body = {"reason": "OverDailyCap"}
    stage.post(f"/mandates/{mandate_id}/refusals", stage.agent, body)
    guard = guard_refusal_note(detail="no such host", fact="x", now=stage.clock.now)
    stage.append(mandate_id, guard)
    found = strip(stage)
    assert found["sources"]["refusal_events"] == [
        {
            "at": "2026-11-21T12:01:00Z",
            "mandate_id": mandate_id,
            "code": "server_guard",
            "server_check": "confirmed",
        },
        {
            "at": "2026-11-21T12:00:00Z",
            "mandate_id": mandate_id,
            "code": "over_per_tx_cap",
            "server_check": "confirmed",
        },
    ]
    assert found["limits"]["refusals"] == 2


def test_strip__shows_ten_of_each_at_most(stage: Stage, mandate_id: str) -> None:
    for number in range(11):
        stage.clock.pass_(minutes=1)
        reverted(stage, mandate_id, number)
    found = strip(stage)
    assert found["limits"]["refusals"] == 11
    assert len(found["sources"]["refusal_events"]) == 10


def test_strip__does_not_count_what_never_held_its_budget_or_has_no_vault(stage: Stage) -> None:
    stage.post(f"/mandates/{stage.paper()}/stop", stage.owner)
    unfunded = stage.signed()
    vault = address(0x7777)
    created = ev.VaultCreated(vault, "0x" + "11" * 32, address(1), address(2), unfunded, None, ())  # type: ignore[arg-type]
    stage.chain_says(unfunded, created, ev.Deposited(address(1), BUDGET // 2, BUDGET // 2, 0))
    end(stage, unfunded)
    found = strip(stage)
    assert (found["limits"]["mandates_ended"], found["sources"]["mandates"]) == (0, [])


def test_strip__of_the_open_board__names_no_mandate(stage: Stage, database: Database) -> None:
    mandate_id = stage.working(agent_id=None, open_board=True)
    stage.post(f"/mandates/{mandate_id}/accept", stage.agent)
    reverted(stage, mandate_id, 1)
    end(stage, mandate_id)
    found = strip(stage)
    assert found["limits"]["mandates_ended"] == 1
    assert found["sources"]["mandates"] == []
    assert found["sources"]["refusal_events"][0]["mandate_id"] is None


def test_strip__while_a_ledger_lacks_facts__is_unknown(stage: Stage, mandate_id: str) -> None:
    reverted(stage, mandate_id, 1)
    hold(stage, mandate_id)
    found = strip(stage)
    assert found["limits"] is None
    of_work = {"ladder", "work", "work_kg"}  # another ledger's
    of_mandates = [link for name, link in found["sources"].items() if name not in of_work]
    assert set(of_mandates) == {None}


# Work


def verify_claims(database: Database, agent_id: str, count: int) -> None:
    with database.write() as session:
        for number in range(count):
            standing.note_verified_claims(session, {f"task:claim:{number}": int(agent_id)}, NOW)


def approve_value(database: Database, agent_id: str, entry: int) -> None:
    with database.write() as session:
        ref, limits = f"mining:entry:{entry}", PayoutLimits()
        awards.award(session, int(agent_id), Source.MINING, ref, 5, limits, NOW)


@pytest.mark.parametrize(
    ("claims", "name", "next_at"),
    [
        (0, "Newcomer", 1),
        (1, "Observer", 3),
        (2, "Observer", 3),
        (3, "Analyst", 10),
        (10, "Sentinel", 30),
        (30, "Pioneer", None),
    ],
)
def test_strip__shows_the_place_on_the_ladder(
    stage: Stage, database: Database, claims: int, name: str, next_at: int | None
) -> None:
    verify_claims(database, stage.agent_id, claims)
    shown = {"name": name, "verified_count": claims, "next_tier_at": next_at}
    assert strip(stage)["ladder"] == shown


def test_strip__counts_verified_claims_and_values_whose_approval_stands(
    stage: Stage, database: Database
) -> None:
    verify_claims(database, stage.agent_id, 2)
    for entry in range(3):
        approve_value(database, stage.agent_id, entry)
    with database.write() as session:
        awards.reverse(session, "mining:entry:0", "copied", NOW)
        standing.take_back_verified_claims(session, ["task:claim:0"], NOW)
    found = strip(stage)
    assert found["work"] == {"verified_task_claims": 1, "finalized_kg_claims": 2}
    assert found["sources"]["ladder"] == f"/earn/feed?agent_id={stage.agent_id}"
    for part in ("ladder", "work", "work_kg"):
        assert stage.client.get(found["sources"][part]).status_code == 200


@pytest.mark.parametrize(("claims", "tier"), [(2, "none"), (3, "bronze")])
def test_strip__shows_the_posting_tier_in_a_single_read_alone(
    stage: Stage, database: Database, claims: int, tier: str
) -> None:
    verify_claims(database, stage.agent_id, claims)
    assert strip(stage)["posting_tier"] == {"tier": tier, "source": "verified_task_claims"}
    many = stage.get("/agents/records", {}, ids=stage.agent_id)["records"]
    assert many[stage.agent_id]["posting_tier"] is None


def test_strip__may_be_kept_for_twenty_seconds(stage: Stage) -> None:
    answer = stage.call("GET", f"/agents/{stage.agent_id}/record", {})
    assert answer.headers["cache-control"] == "public, max-age=20"


def test_strip__of_an_unknown_agent__is_not_found(stage: Stage) -> None:
    answer = stage.call("GET", "/agents/987654321/record", {})
    assert reason(answer) == (404, "not_found")
    assert "leave" not in answer.json()["detail"]  # a single id cannot be left out
    assert answer.json()["service"]["next"][0]["path"] == "/mandate-wallet/hall"


# Many


def test_strips__are_those_of_single_reads(stage: Stage, mandate_id: str) -> None:
    reverted(stage, mandate_id, 1)
    other = str(connect(stage.client)["user_id"])
    ids = f"{stage.agent_id},{other},{other}"
    answer = stage.get("/agents/records", {}, ids=ids)
    singles = {one: strip(stage, one) | {"posting_tier": None} for one in (stage.agent_id, other)}
    assert answer == {"records": singles, "paper_note": PAPER_NOTE}


@each(
    ("ids", "status", "says"),
    [
        (",".join(["{id}"] * 50), 200, ""),
        (",".join(["{id}"] * 51), 400, "51"),
        ("", 400, "ids"),
        ("{id},", 400, "1001,1002"),
        ("{id},0", 400, "1001,1002"),
        ("{id};5", 400, "1001,1002"),
        ("{id},987654321", 404, "987654321"),
    ],
)
def test_strips__of_one_to_fifty_known_agents(
    stage: Stage, ids: str, status: int, says: str
) -> None:
    query = ids.replace("{id}", stage.agent_id)
    answer = stage.call("GET", "/agents/records", {}, ids=query)
    assert answer.status_code == status, answer.text
    assert says in answer.text
