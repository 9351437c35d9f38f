"""The simulated past as a new stack has it."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import select, text

from core.db.engine import Database
from core.fund import indices
from core.fund.indices import ShownIndex
from core.fund.rules.indices import rows_in, universe_of
from core.fund.simulated import QORN
from core.fund.snapshots import snapshot_of
from core.market import board_views, grading, statistics, warning_views
from core.market.rules.warnings import foreign_outcome
from core.market.tables import MarketWarning
from indexer.venues import chosen
from indexer.venues.store import ScannerStore

PAIRS = 500
_SHOWN = text("""
select (select count(*) from listing_state where grade is not null and gpa_7d is not null),
       (select count(*) from asset_state where identity is not null and contracts <> '[]'),
       (select count(*) from snap_2h)
""")


def constituents(index: ShownIndex) -> int:
    assert index.newest is not None
    return len(universe_of(rows_in(index.newest.figures), ()))


@pytest.mark.slow
def test_the_past_is_shown_when_it_is_there__though_the_jobs_ran_before(database: Database) -> None:
    now = datetime.now(UTC)
    with database.write() as session:  # the worker, which began first
        assert grading.grade_hour(session, now.replace(minute=0, second=0, microsecond=0), now) == 0
        found = statistics.wci_of(statistics.wci_rows(session), now)
        statistics.publish(session, found, now, now)
        assert indices.write_days(session, now) == {}
        assert statistics.summarise(session, now)["tokens"] == 0
    store = ScannerStore(database, lambda session: None)
    later = datetime.now(UTC)

    chosen.made([chosen.SIM], PAIRS, store, lambda: later)

    with database.read() as session:
        graded, identified, rollups = session.execute(_SHOWN).one()
        first, shown = (warning_views.statistics_of(session, None, one) for one in (1, None))
        found_indices = indices.all_indices(session)
        flags = session.scalars(
            select(MarketWarning.evidence).where(MarketWarning.type == "cross_exchange_flag")
        ).all()
        illiquid = snapshot_of(session, QORN, later)
        counted = board_views.summary(session)
    assert graded > PAIRS / 2
    assert identified > 0
    assert first is not None
    assert shown is not None
    assert first.figures["B3.1"]["headline"]["rate"] is None
    assert (shown.version, shown.cause, shown.as_of) == (2, "late_inputs", later)
    assert shown.figures["B3.1"]["headline"]["rate"] is not None
    assert {one.key: constituents(one) for one in found_indices} == {"majors": 20, "sectors": 5}
    assert flags
    assert all(foreign_outcome(one) is not None for one in flags)
    assert illiquid.grade == "F"
    assert counted is not None
    assert counted.figures["graded_listings"] == graded
    again = chosen.made([chosen.SIM], PAIRS, store, lambda: datetime.now(UTC))
    with database.read() as session:
        assert session.execute(_SHOWN).one()[2] == rollups
    assert {one.exchange for one in again} > {"binance"}
