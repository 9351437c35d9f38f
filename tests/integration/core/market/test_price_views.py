"""What ETH costs, over the exchanges that say so."""

from datetime import timedelta
from math import inf, nan
from typing import Any

import pytest
from sqlalchemy import update

from core.db.engine import Database
from core.market import queries
from core.market.facts import DataSource, MarketStatus
from core.market.price_views import EthMedian, eth_usd_median
from core.market.tables import MarketListingState
from tests.each import each
from tests.integration.core.market.conftest import NOON, market

LATE = NOON - timedelta(minutes=4)


def seen(
    database: Database,
    exchange: str,
    price: float | None,
    *,
    quote: str = "USDT",
    age: timedelta = timedelta(0),
    source: DataSource = DataSource.LIVE,
    status: MarketStatus | None = MarketStatus.TRADING,
) -> None:
    """ETH at an exchange, as it was last looked at."""
    found = [market(exchange, "ETH", quote, status=status)]
    with database.write() as session:
        queries.learn_markets(session, exchange, found, source, NOON)
        session.execute(
            update(MarketListingState)
            .where(
                MarketListingState.exchange == exchange,
                MarketListingState.symbol == f"ETH/{quote}",
            )
            .values(price_usd=price, sampled_at=NOON - age)
        )


def price(database: Database) -> EthMedian | None:
    with database.read() as session:
        return eth_usd_median(session, NOON)


@pytest.fixture
def two(database: Database) -> Database:
    seen(database, "kraken", 3_000.0, quote="USD")
    seen(database, "okx", 3_010.5, age=timedelta(minutes=4))
    return database


def test_three_exchanges__give_the_median_and_the_oldest_minute(two: Database) -> None:
    seen(two, "gate", 9_999.0)
    assert price(two) == EthMedian(3_010_500_000, 3, LATE, is_simulated=False)


def test_four_exchanges__give_the_middle_of_the_middle_two(two: Database) -> None:
    seen(two, "gate", 3_020.0)
    seen(two, "mexc", 1.0)
    found = price(two)
    assert found is not None
    assert found.price_e6 == 3_005_250_000


THIRD = {"exchange": "gate", "price": 3_020.0}


@each(
    ("third", "counts"),
    [
        ({"age": timedelta(minutes=5)}, True),
        ({"age": timedelta(minutes=5, seconds=1)}, False),
        ({"age": -timedelta(minutes=1)}, True),
        ({"age": -timedelta(minutes=1, seconds=1)}, False),
        *(({"price": bad}, False) for bad in (None, nan, inf, 0.0, -3_000.0, 1e9)),
        ({"status": MarketStatus.HALTED}, False),
        ({"status": MarketStatus.DELISTED}, False),
        ({"status": None}, True),
        ({"exchange": "kraken"}, False),  # which has one in dollars
        ({"exchange": "upbit", "quote": "KRW"}, False),
        ({"source": DataSource.SIMULATED}, False),
    ],
)
def test_a_third_exchange__makes_two_a_price_if_it_counts(
    two: Database, third: dict[str, Any], counts: bool
) -> None:
    seen(two, **THIRD | third)
    try:
        assert (price(two) is not None) is counts
    finally:
        with two.write() as session:
            gone = MarketListingState.exchange.in_(("gate", "upbit"))
            session.execute(update(MarketListingState).where(gone).values(sampled_at=None))


def test_simulated_prices_alone__say_so(database: Database) -> None:
    for name in ("gate", "okx", "mexc"):
        seen(database, name, 3_000.0, source=DataSource.SIMULATED)
    assert price(database) == EthMedian(3_000_000_000, 3, NOON, is_simulated=True)
