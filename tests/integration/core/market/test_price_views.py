"""What ETH costs, over the exchanges that say so."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from core.db.engine import Database
from core.market import queries
from core.market.facts import DataSource, MarketStatus
from core.market.price_views import EthPrice, eth_usd_median
from core.market.tables import MarketListingState
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


def price(database: Database) -> EthPrice | None:
    with database.read() as session:
        return eth_usd_median(session, NOON)


@pytest.fixture
def two(database: Database) -> Database:
    seen(database, "kraken", 3_000.0, quote="USD")
    seen(database, "okx", 3_010.5, age=timedelta(minutes=4))
    return database


def test_three_exchanges__give_the_median_and_the_oldest_minute(two: Database) -> None:
    seen(two, "gate", 9_999.0)
    assert price(two) == EthPrice(3_010_500_000, 3, LATE, is_simulated=False)


def test_four_exchanges__give_the_middle_of_the_middle_two(two: Database) -> None:
    seen(two, "gate", 3_020.0)
    seen(two, "mexc", 1.0)
    found = price(two)
    assert found is not None
    assert found.price_e6 == 3_005_250_000


def test_two_exchanges__are_no_price(two: Database) -> None:
    assert price(two) is None


@pytest.mark.parametrize(("age_s", "venues"), [(300, 3), (301, None), (-60, 3), (-61, None)])
def test_a_look__counts_for_five_minutes(two: Database, age_s: int, venues: int | None) -> None:
    seen(two, "gate", 3_020.0, age=timedelta(seconds=age_s))
    found = price(two)
    assert (found.venues if found else None) == venues


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), 0.0, -3_000.0, 1e9])
def test_what_is_no_price__is_left_out(two: Database, bad: float | None) -> None:
    seen(two, "gate", bad)
    assert price(two) is None


@pytest.mark.parametrize("status", [MarketStatus.HALTED, MarketStatus.DELISTED])
def test_a_pair_that_does_not_trade__is_left_out(two: Database, status: MarketStatus) -> None:
    seen(two, "gate", 3_020.0, status=status)
    assert price(two) is None


def test_a_pair_of_which_no_status_is_known__counts(two: Database) -> None:
    seen(two, "gate", 3_020.0, status=None)
    assert price(two) is not None


def test_two_pairs_of_one_exchange__are_one_venue(two: Database) -> None:
    seen(two, "kraken", 3_020.0)
    assert price(two) is None


def test_another_quote__is_no_dollar(two: Database) -> None:
    seen(two, "upbit", 3_020.0, quote="KRW")
    assert price(two) is None


def test_simulated_prices__never_stand_beside_live_ones(two: Database) -> None:
    seen(two, "gate", 3_020.0, source=DataSource.SIMULATED)
    assert price(two) is None


def test_simulated_prices_alone__say_so(database: Database) -> None:
    for name in ("gate", "okx", "mexc"):
        seen(database, name, 3_000.0, source=DataSource.SIMULATED)
    assert price(database) == EthPrice(3_000_000_000, 3, NOON, is_simulated=True)
