"""Listings of a small world, and what their books measure."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy.orm import Session

from core.db.engine import Database, WriteSession
from core.market import copying, identity, parts, queries, watch
from core.market.facts import DataSource, ListedMarket, MarketStatus
from core.market.identity import ListedCoin
from core.market.ledger import writer
from core.market.ledger.writer import WarningsWritten
from core.market.rules.book import MeasureGrid
from core.market.rules.warnings import WarningFacts
from core.market.samples import MEASURES, SampleBatch
from tests.integration.scenes import Scenes, partitioned

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def market(exchange: str, base: str, quote: str = "USDT", **more: object) -> ListedMarket:
    values: dict[str, object] = {
        "exchange": exchange,
        "native_id": f"{base}{quote}",
        "native_base": base,
        "base": base,
        "quote": quote,
        "status": MarketStatus.TRADING,
        "asset_class": "crypto",
        "has_st_tag": None,
        "has_caution": None,
        "listed_at": None,
        "min_size_quote": None,
    }
    return ListedMarket(**values | more)  # type: ignore[arg-type]  # the fields of ListedMarket


@dataclass(frozen=True)
class Listed:
    ids: tuple[int, ...]
    assets: tuple[int, ...]


@pytest.fixture
def origin(template: str, scenes: Scenes) -> str:
    return scenes.play(
        "series of the market", template, lambda made: partitioned(made, NOON)
    ).database


@pytest.fixture
def listed(database: Database) -> Listed:
    """BTC and ETH at kucoin."""
    with database.write() as session:
        parts.ensure_ahead(session, NOON)
        found = [market("kucoin", "BTC"), market("kucoin", "ETH")]
        queries.learn_markets(session, "kucoin", found, DataSource.SIMULATED, NOON)
        known = queries.known_listings(session, "kucoin")
    known = tuple(sorted(known, key=lambda one: one.base))
    return Listed(tuple(one.listing_id for one in known), tuple(one.asset_id for one in known))


def batch(
    ids: tuple[int, ...], minute: datetime, *, fault: str | None = None, every_s: int = 60
) -> SampleBatch:
    """The same measures of each: a mid of 100, 100,000 dollars a side; or the fault."""
    count = len(ids)
    one = np.full(count, 100_000.0)
    grid = {name: one.copy() for name in MEASURES}
    grid |= {"mid": np.full(count, 100.0), "spread_bps": np.full(count, 10.0)}
    grid |= {name: np.full(count, 12.5) for name in MEASURES if name.startswith("slip")}
    grid |= {"usd_per_quote": np.ones(count), "imbalance": np.zeros(count)}
    at_us = np.full(count, copying.unix_us(minute))
    return SampleBatch(
        minutes_us=at_us,
        listing_ids=np.array(ids),
        every_s=np.full(count, every_s),
        measures=MeasureGrid(**grid, is_truncated=np.zeros(count, dtype=np.bool_)),
        fx_sources=["par"] * count,
        volumes_usd=np.full(count, 5e6),
        can_deposit=np.array([1] * count, dtype=np.int8),
        can_withdraw=np.array([-1] * count, dtype=np.int8),
        venue_at_us=at_us,
        received_at_us=at_us + 120_000,
        faults=[fault] * count,
    )


def show_coins(session: WriteSession, now: datetime) -> None:
    """As the job `coins` does, in one transaction."""
    graph = identity.graph_of(identity.coin_rows(session))
    identity.show(session, identity.changes(graph, identity.shown(session)), now)


def warning_facts(session: Session, now: datetime) -> list[tuple[ListedCoin, WarningFacts]]:
    graph = identity.graph_of(identity.coin_rows(session))
    return watch.facts(graph, {}, watch.seen(session, now), now)


def warn(session: WriteSession, now: datetime) -> WarningsWritten:
    """As the job `warnings` does, in one transaction."""
    raised, cleared = watch.changes(warning_facts(session, now), writer.standing(session))
    return writer.write(session, raised, cleared)
