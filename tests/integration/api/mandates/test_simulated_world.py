"""A simulated world: sound ledgers, marked in every answer, refused anywhere but in a local stack."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from api.areas.records.views import agent_records
from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import RowKind
from core.mandate.tables import Mandate
from tests.integration.api.mandates.stage import ADAPTER, CHAIN_ID, CONTRACTS, Stage
from tests.world import seed as seed_world
from tests.world.mandates import Place, world
from tests.world.seed import SeedRefusedError, seed, stack_of

PLACE = Place(CHAIN_ID, CONTRACTS["factory"], CONTRACTS["usdc"], ADAPTER)
FACTS = {
    "base_url": "http://127.0.0.1:8000",
    "rpc_url": "http://127.0.0.1:8545",
    "database_url": "postgresql://x",
    "chain_id": CHAIN_ID,
}


def test_a_world__has_sound_ledgers_and_says_what_it_is_in_every_answer(
    stage: Stage, database: Database
) -> None:
    rows = seed(database, PLACE, stage.clock.now, agents=2, days=40)
    with database.read() as session:
        ids = list(session.scalars(select(Mandate.id).order_by(Mandate.id)))
        assert len(ids) == 8
        assert [fault for id_ in ids for fault in mandate_ledger.verify(session, id_)] == []
        agents = list(session.scalars(select(Account.id).where(Account.name.like("Simulated a%"))))
    assert rows > 200
    answer = stage.get("/agents/records", {}, ids=f"{agents[0]},{stage.agent_id}")
    simulated, real = (answer["records"][str(one)] for one in (agents[0], stage.agent_id))
    assert (simulated["simulated"], "simulated" in real) == (True, False)
    assert simulated["agent_name"] == "Simulated agent 1"
    assert simulated["limits"]["mandates_ended"] >= 3
    terms = {"budget_usdc": "100000", "horizon_days": 365, "stop_floor_bps": 1000}
    asked = {"agent_id": str(agents[0]), "terms": terms}
    found = stage.post("/terms/what-if", stage.agent, asked)
    assert (found["simulated"], found["refused"]) == (True, {})
    assert found["actions"]["mandates"] == 4
    with pytest.raises(SeedRefusedError, match="already"):
        seed(database, PLACE, stage.clock.now, agents=1, days=4)


def test_conduct__of_a_world__is_what_its_rows_say_one_by_one(
    stage: Stage, database: Database
) -> None:
    """The slow reference: every row of every ledger, counted without the fold."""
    seed(database, PLACE, stage.clock.now, agents=3, days=120)
    with database.read() as session:
        named = session.execute(select(Mandate.agent_id, Mandate.id)).all()
        expected: dict[int, Counter[str]] = {agent_id: Counter() for agent_id, _ in named}
        for agent_id, mandate_id in named:
            rows = mandate_ledger.load_rows(session, mandate_id)
            refused = sum("refusal" in row.payload for row in rows)
            is_over = any(row.kind in (RowKind.STOP, RowKind.PAYOUT) for row in rows)
            expected[agent_id] += Counter(
                mandates=1, refusals=refused, ended=is_over, kept=is_over and not refused
            )
        found = agent_records.conduct_of(session, expected.keys())
    assert sum(one["refusals"] for one in expected.values()) > 0
    for agent_id, one in expected.items():
        counted = {name: getattr(found[agent_id], name) for name in one}
        assert counted == dict(one)


def test_a_world__is_the_same_for_the_same_seed(stage: Stage) -> None:
    first, again = (list(world(PLACE, stage.clock.now, agents=1, days=8)) for _ in range(2))
    assert first == again
    later = list(world(PLACE, stage.clock.now + timedelta(days=1), agents=1, days=8))
    assert later != first


@pytest.mark.parametrize(
    ("changed", "node", "says"),
    [
        ({}, "Geth/v1", "not anvil"),
        ({"chain_id": 8453}, "anvil/v1", "8453"),
        ({"rpc_url": "https://sepolia.base.org"}, "anvil/v1", "not on this machine"),
        ({"base_url": "https://api.example"}, "anvil/v1", "not on this machine"),
    ],
)
def test_a_world__is_refused_anywhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], node: str, says: str
) -> None:
    file = tmp_path / "stack.json"
    file.write_text(json.dumps(FACTS | changed))
    monkeypatch.setattr(seed_world, "_rpc", lambda url, method: node)
    monkeypatch.setattr(httpx, "get", lambda url, timeout: httpx.Response(200))
    with pytest.raises(SeedRefusedError, match=says):
        stack_of(file)


def test_a_world__without_a_stack__is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeedRefusedError, match="make up"):
        stack_of(tmp_path / "stack.json")


def _answer(stage: Stage, path: str) -> dict[str, Any]:
    answer = stage.client.get(path)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_world__fills_every_page_and_says_of_each_that_it_is_simulated(
    stage: Stage, database: Database
) -> None:
    seed(database, PLACE, stage.clock.now, agents=8, days=8)
    gallery = stage.get("/gallery", {})["listings"]
    tasks = _answer(stage, "/tasks/browse?limit=100")["tasks"]
    rooms = _answer(stage, "/hive/rooms")["rooms"]
    earned = _answer(stage, "/earn/feed?limit=100")["rows"]
    assert (len(gallery), len(rooms)) == (6, 6)
    assert len(tasks) >= 3 + 12 and {one["category"] for one in tasks} > {"translation"}
    assert all(one["title"].startswith("Simulated: ") for one in gallery)
    assert {"mine_approved", "mine_submit"} <= {one["kind"] for one in earned}
    assert stage.get(f"/gallery/{gallery[0]['id']}", {})["title"] == gallery[0]["title"]
    said = _answer(stage, f"/hive/rooms/{rooms[0]['id']}")["messages"]
    assert [one["kind"] for one in said].count("post") == 2
