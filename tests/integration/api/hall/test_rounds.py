"""The Hall after a large import: rounds that end in time, keep what they did, and say in the end what
one long round says; and no transaction that is open while the Hall computes.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from api.areas.hall import jobs as job
from api.areas.hall import queries
from api.areas.hall.jobs import HallJob
from api.areas.hall.rules.days import Days
from api.areas.hall.tables import HallAgent, HallBuild
from api.areas.hall.views import records
from core.db.engine import Database
from tests.integration.api.hall.test_builds import (
    PLACE,
    WALLET,
    agent,
    append,
    build,
    clear,
    mandate,
    owner,
    snapshot,
)
from tests.integration.lent import lent_during
from tests.unit.api.areas.hall.told import Told
from tests.world.seed import seed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def cut(database: Database, now: datetime = NOW) -> Any:
    """A run without time for a second part of anything."""
    return HallJob(database, run_s=0).run(now)


def cut_until_done(database: Database, now: datetime = NOW, most: int = 200) -> list[int]:
    """What each run left."""
    left = [cut(database, now)["left"]]
    while left[-1]:
        assert len(left) < most, "the rounds come to no end"
        left.append(cut(database, now)["left"])
    return left


def computed_at(database: Database) -> datetime | None:
    with database.read() as session:
        return session.scalar(select(HallBuild.computed_at))


def test_a_history_larger_than_a_run__is_built_by_the_runs_that_follow(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 mandates, imported by COPY."""
    rows = seed(database, PLACE, NOW, days=8)
    build(database)
    at_once = snapshot(database)
    clear(database)
    monkeypatch.setattr(job, "ROWS_AT_A_TIME", rows // 10)
    first = cut(database)
    assert computed_at(database) is None
    assert first["ledgers"] > 0

    left = cut_until_done(database)
    assert snapshot(database) == at_once
    assert len(left) >= 15  # ten parts of counting, and as many of summing
    assert computed_at(database) == NOW


@pytest.mark.parametrize("name", ["save_mandates", "save_agents"])
def test_a_run_that_is_killed__keeps_what_it_had_done(
    database: Database, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rows = seed(database, PLACE, NOW, agents=6, days=10)
    monkeypatch.setattr(job, "ROWS_AT_A_TIME", rows // 6)
    save, calls = getattr(queries, name), list[int]()

    def killed(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        save(*args)

    monkeypatch.setattr(queries, name, killed)
    whole = 24
    with pytest.raises(KeyboardInterrupt):
        build(database)
    rest = build(database)
    assert rest["left"] == 0
    assert rest["ledgers"] < whole if name == "save_mandates" else rest["ledgers"] == 0
    assert rest["agents"] == 6 if name == "save_mandates" else 0 < rest["agents"] < 6


def test_the_first_rounds_of_a_day__sum_each_agent_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were all of them due again in each run, a Hall that no run sums as a whole would never be done."""
    seed(database, PLACE, NOW, agents=8, days=20)
    build(database)
    tomorrow = NOW + timedelta(days=1)
    monkeypatch.setattr(job, "AGENTS_AT_A_TIME", 1)
    left = cut_until_done(database, tomorrow, most=20)
    assert left == [7, 6, 5, 4, 3, 2, 1, 0]
    assert computed_at(database) == tomorrow

    in_rounds = snapshot(database)
    clear(database)
    monkeypatch.undo()
    build(database, tomorrow)
    assert snapshot(database) == in_rounds


def test_an_agent_whose_history_no_part_holds__is_summed_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(database, PLACE, NOW, agents=3, days=20)
    build(database)
    at_once = snapshot(database)
    clear(database)
    monkeypatch.setattr(job, "ROWS_AT_A_TIME", 7)
    build(database)
    assert snapshot(database) == at_once


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (Days, "add"),
        (job, "judged_anew"),
        (records, "record_of"),
        (queries, "counted_days"),
    ],
)
def test_the_hall__computes_outside_of_transactions(
    database: Database, monkeypatch: pytest.MonkeyPatch, where: Any, name: str
) -> None:
    """Of an agent with mandates enough, each of these takes longer than a transaction may be idle."""
    told = Told().on(0).deposit(1_000).on(1).buy(100).mark(990)
    mandate(database, agent(database, WALLET), told, owner_id=owner(database))
    lent = lent_during(monkeypatch, database, where, name)
    assert build(database) == {"ledgers": 1, "agents": 1, "left": 0}
    assert set(lent) == {0}


def test_rows_that_come_while_a_round_goes_on__are_counted_by_the_next_one(
    database: Database,
) -> None:
    agent_id = agent(database, WALLET)
    mandate_id = mandate(database, agent_id, Told().on(0).deposit(1_000).on(1).buy(100))
    other = agent(database, b"\x88" * 20)
    mandate(database, other, Told().on(0).deposit(1_000), wallet=b"\x88" * 20, name="m_bbbbbbbbbb")
    cut(database)
    append(database, mandate_id, Told().on(2).mark(990).rows)
    cut_until_done(database)

    with database.read() as session:
        record = session.get_one(HallAgent, agent_id).record
    assert record is not None
    assert record["windows"]["since"]["net_usdc"] == "-10.000000"
