"""What reads of agents' records cost: statements, and rows of long ledgers that are left out."""

import pytest

from api.areas.mandates.views import recorded
from core.db.engine import Database
from tests.bench.strips import (
    MOST_STATEMENTS,
    STRIPS,
    USDC,
    VENUE,
    agent_with,
    strips_sql,
    what_if_rows_per_s,
)


def test_a_batch_of_fifty_strips__takes_at_most_six_statements(database: Database) -> None:
    assert strips_sql(database, range(1, STRIPS + 1)) <= MOST_STATEMENTS


def test_the_bench__replays_rows(database: Database) -> None:
    assert what_if_rows_per_s(database, calls=20) > 0


@pytest.mark.parametrize(("limit", "most"), [("CALLS_REPLAYED", 7), ("ROWS_READ", 8)])
def test_a_record_that_is_too_long__is_replayed_from_its_newest_rows(
    database: Database, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """Of 20 calls 7 are left; the 13 before them had bought for 70 and sold for 66."""
    agent_id = agent_with(database, 20)
    monkeypatch.setattr(recorded, limit, most)
    with database.read() as session:
        found = recorded.recorded_of(session, agent_id)
    [run] = found.runs
    assert not found.is_whole
    if limit == "CALLS_REPLAYED":
        assert (len(run.facts), run.out_before) == (7, {VENUE: 4 * USDC})
    else:
        assert len(run.facts) == 8


def test_a_record_that_is_short_enough__is_whole(database: Database) -> None:
    agent_id = agent_with(database, 20)
    with database.read() as session:
        found = recorded.recorded_of(session, agent_id)
    assert found.is_whole
    assert found.runs[0].out_before == {}
