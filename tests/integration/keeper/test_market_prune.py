"""What the jobs `market_prune` and `reports_prune` keep: samples and captures of active targets longer
than the others, reports for 90 days.
"""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy import select

from api.areas.market import jobs as market_jobs
from api.areas.market.jobs import prune
from api.areas.reports import jobs as report_jobs
from api.areas.reports import queries as reports
from api.areas.reports.queries import ReportOrder
from api.kernel.jobs import JobPlace
from core.db.engine import Database
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.market import bursts, samples
from core.market.rules.research import BurstSample, BurstSummary, BurstTrigger
from core.market.tables import MarketBurst, MarketSample
from tests.integration.core.market.conftest import NOON, Listed, batch
from tests.integration.core.market.conftest import listed as listed  # a fixture
from tests.integration.subscribed import subscribe_to


def place_of(database: Database) -> JobPlace:
    return JobPlace(
        database=database,
        reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
        mark_retention_days=90,
        intent_retention_days=90,
        limits=CallerLimits(),
    )


def kept(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.scalars(select(MarketSample.listing_id)))


def test_samples_of_an_active_target__live_90_days_and_the_others_7(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        samples.copy_samples(session, batch(listed.ids, NOON))
    subscribe_to(database, listed.ids[1], NOON, days=90)

    prune(place_of(database), NOON + timedelta(days=9))
    assert kept(database) == [listed.ids[1]]
    prune(place_of(database), NOON + timedelta(days=89))
    assert kept(database) == [listed.ids[1]]
    prune(place_of(database), NOON + timedelta(days=92))
    assert kept(database) == []


def test_samples_of_a_target_whose_tier_ended__live_7_days(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        samples.copy_samples(session, batch(listed.ids, NOON))
    subscribe_to(database, listed.ids[1], NOON, days=8)

    prune(place_of(database), NOON + timedelta(days=9))

    assert kept(database) == []


def test_captures__live_as_long_as_samples(
    database: Database, listed: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(market_jobs, "BATCH", 1)
    samples_of = [BurstSample(NOON, 100.0, 10.0, 1e5)]
    summary = BurstSummary(BurstTrigger.MOVE, NOON, 0.0, 10.0, 1e5, None, 1)
    with database.write() as session:
        for listing_id in (*listed.ids, *listed.ids):
            bursts.write(session, listing_id, summary, samples_of)
    subscribe_to(database, listed.ids[1], NOON, days=100)

    def captured() -> list[int]:
        with database.read() as session:
            return list(session.scalars(select(MarketBurst.listing_id)))

    prune(place_of(database), NOON + timedelta(days=7))
    assert len(captured()) == 4
    prune(place_of(database), NOON + timedelta(days=7, seconds=1))
    assert captured() == [listed.ids[1]] * 2
    prune(place_of(database), NOON + timedelta(days=90))
    assert captured() == [listed.ids[1]] * 2
    prune(place_of(database), NOON + timedelta(days=90, seconds=1))
    assert captured() == []


def test_reports__live_90_days_after_their_two_hours(
    database: Database, listed: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_jobs, "BATCH", 1)
    account_id = subscribe_to(database, listed.ids[1], NOON)
    with database.write() as session:
        ids = [
            reports.request(
                session,
                account_id,
                ReportOrder(listing_id=listed.ids[1], version="v1", lang=lang, bucket=NOON + later),
                NOON + later,
            )
            for lang in ("en", "ko")
            for later in (timedelta(0), timedelta(hours=2))
        ]
    ends = NOON + timedelta(days=90, hours=2)

    def dropped(at: datetime) -> int:
        return int(report_jobs.prune(place_of(database), at)["reports"])

    assert dropped(ends - timedelta(seconds=1)) == 0
    assert dropped(ends) == 2
    with database.read() as reading:
        has = [reports.has_report(reading, account_id, one) for one in ids]
    assert has == [False, True, False, True]
    assert dropped(ends + timedelta(hours=2)) == 2
