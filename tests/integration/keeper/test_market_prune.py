"""What the job `market_prune` keeps of samples: those of active targets longer than the others."""

from datetime import timedelta
from types import SimpleNamespace
from typing import cast

from sqlalchemy import select

from core.db.engine import Database
from core.earn.rules.payout import PayoutLimits
from core.mandate.chain.reader import VaultReader
from core.market import samples
from core.market.tables import MarketSample
from core.targets.rules import TargetLimits
from keeper.areas.market import prune
from keeper.schedule import JobPlace
from tests.integration.core.market.conftest import NOON, Listed, batch
from tests.integration.core.market.conftest import listed as listed  # a fixture
from tests.integration.subscribed import subscribe_to


def place_of(database: Database) -> JobPlace:
    return JobPlace(
        database=database,
        reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
        fence=lambda _: None,
        mark_retention_days=90,
        intent_retention_days=90,
        payouts=PayoutLimits(),
        targets=TargetLimits(20, 100),
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
