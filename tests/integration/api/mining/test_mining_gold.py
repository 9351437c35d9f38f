"""Values that an operator knows to be wrong, which tell who looks and who guesses."""

from typing import Any

import pytest
from sqlalchemy import text

from api.areas.mining import jobs as job
from api.areas.mining import queries
from api.areas.mining.writes import gold
from tests.integration.api.conftest import Clock, connect, set_apart
from tests.integration.api.mining.conftest import CHAIN, EVIDENCE, Mine, Rebuild, entry, record


def plant(mine: Mine, agent: dict[str, Any], value: str = "tron") -> dict[str, Any]:
    """A value that an operator knows to be wrong, submitted for an agent of the house."""
    with mine.database.write() as session:
        by = session.scalar(text("select id from account where kind = 'operator'")) or 0
        made = gold.submit(
            session,
            agent["user_id"],
            "binance",
            "LINK/USDT",
            "blockchain",
            value,
            EVIDENCE,
            by,
            mine.clock.now,
        )
    return {
        "submission_id": made.submission_id,
        "entries": [{"entry_id": one.entry_id, "task_id": one.task_id} for one in made.entries],
    }


def test_gold__looks_like_any_submission_to_whoever_is_no_operator(mine: Mine) -> None:
    planted = plant(mine, connect(mine.client, agent_name="house"))
    honest = mine.submit(mine.agent, entry(value="base"))
    shown = [
        mine.client.get(f"/tasks/{made['entries'][0]['task_id']}").json()
        for made in (planted, honest)
    ]
    same = [set(one) for one in shown]
    assert same[0] == same[1]
    assert shown[0]["title"] == shown[1]["title"]
    queue = mine.client.get("/admin/queue", headers=mine.operator).json()["items"]
    assert [one["submission"]["gold"] for one in queue] == [True, False]


def test_gold__is_never_approved(mine: Mine) -> None:
    planted = plant(mine, mine.agent)
    answer = mine.decide("approve", planted["submission_id"], **record(planted))
    assert (answer.status_code, "known to be wrong" in answer.text) == (409, True)


@pytest.mark.slow
def test_gold__ends_as_wrong_when_five_proofs_are_in(mine: Mine, place: Any) -> None:
    house = connect(mine.client, agent_name="house")
    planted = plant(mine, house)
    task_id = planted["entries"][0]["task_id"]
    others = [connect(mine.client, agent_name=f"agent {n}") for n in range(5)]
    set_apart(mine.database, *others)
    for one in others[:4]:
        mine.re_observe(one, task_id, "mismatch")
    assert job.run(place, mine.clock.now) == {"rejected": 0}
    mine.re_observe(others[4], task_id, "match")
    assert job.run(place, mine.clock.now) == {"rejected": 1}
    assert job.run(place, mine.clock.now) == {"rejected": 0}
    assert [mine.credits(one)["earned"] for one in others] == [60, 60, 60, 60, 0]
    assert mine.credits(others[4])["owed"] == 60
    assert mine.credits(house)["owed"] == 240  # as anybody's who was wrong
    with mine.database.read() as session:
        assert session.scalar(text("select count(*) from earn_group_debt")) == 0


def test_gold__ends_as_wrong_after_24_hours(mine: Mine, place: Any) -> None:
    house = connect(mine.client, agent_name="house")
    plant(mine, house)
    mine.clock.pass_(hours=23, minutes=59, seconds=59)
    assert job.run(place, mine.clock.now) == {"rejected": 0}
    mine.clock.pass_(seconds=1)
    assert job.run(place, mine.clock.now) == {"rejected": 1}
    shown = mine.submissions(house)[0]["entries"][0]
    assert (shown["status"], shown["reason_code"]) == ("rejected", "value_wrong")
    assert shown["review"]["reviewed_by"] == "operator:1"


def test_gold__beside_an_approved_value_is_wrong_not_superseded(mine: Mine) -> None:
    house = connect(mine.client, agent_name="house")
    plant(mine, house)
    mine.approve(mine.submit(mine.agent, CHAIN))
    assert mine.submissions(house)[0]["entries"][0]["reason_code"] == "value_wrong"
    with mine.database.read() as session:
        assert queries.pending_gold(session, 10) == []


def test_gold__that_cannot_be_rejected_keeps_no_other_from_it(mine: Mine, place: Any) -> None:
    house = connect(mine.client, agent_name="house")
    broken, sound = plant(mine, house), plant(mine, house, value="sui")
    with mine.database.write() as session:
        lost = text("update task set entry_id = 999999 where id = :id")
        session.execute(lost, {"id": broken["entries"][0]["task_id"]})
    mine.clock.pass_(hours=24)
    did = job.run(place, mine.clock.now)
    assert did["rejected"] == 1
    assert "1 of 2" in did["attention"]
    statuses = {one["submission_id"]: one["status"] for one in mine.submissions(house)}
    assert statuses[sound["submission_id"]] == "rejected"
    assert statuses[broken["submission_id"]] == "pending"


def test_gold__looks_in_the_public_ledger_like_any_wrong_value(mine: Mine, place: Any) -> None:
    """Or who submits gold would be known by the first of it."""
    house, liar, *others = [connect(mine.client, agent_name=f"agent {n}") for n in range(7)]
    planted, lie = plant(mine, house), mine.submit(liar, entry(value="base"))
    for made in (planted, lie):
        for one in others:
            mine.re_observe(one, made["entries"][0]["task_id"], "mismatch")
    assert job.run(place, mine.clock.now) == {"rejected": 1}
    mine.reject(lie)
    shown = list[list[tuple[Any, ...]]]()
    for made in (planted, lie):
        rows = mine.client.get("/earn/feed", params={"limit": 200}).json()["rows"]
        ref = f"mining:entry:{made['entries'][0]['entry_id']}"
        shown.append([(one["kind"], one["credits"]) for one in rows if one["ref"] == ref])
    assert shown[0] == shown[1]
    assert ("debt", 300) in shown[0]


def test_gold__counts_for_nobody_as_a_wrong_value(
    mine_with: Rebuild, clock: Clock, place: Any
) -> None:
    """The house submits true values beside it, and its operators may sit at one network address."""
    mine = mine_with(wrong_entries_in_7_days=1)
    house = connect(mine.client, agent_name="house")
    plant(mine, house)
    clock.pass_(hours=24)
    assert job.run(place, clock.now) == {"rejected": 1}
    mine.submit(house, CHAIN)
