"""What gas is reckoned by: the market's median and a margin, held against the operator's figure."""

from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import update

from core.db.engine import Database
from core.market import queries
from core.market.facts import DataSource
from core.market.tables import MarketListingState
from core.sponsored.prices import (
    EthInUsdc,
    EthPrices,
    EthSource,
    EthUnknown,
)
from tests.integration.core.market.conftest import NOON, market

VENUES = ("kraken", "okx", "gate")


def listed(
    database: Database,
    prices: tuple[float, ...],
    *,
    age_s: int = 0,
    source: DataSource = DataSource.LIVE,
) -> None:
    with database.write() as session:
        for exchange, price in zip(VENUES, prices, strict=False):
            queries.learn_markets(session, exchange, [market(exchange, "ETH")], source, NOON)
            session.execute(
                update(MarketListingState)
                .where(MarketListingState.exchange == exchange)
                .values(price_usd=price, sampled_at=NOON - timedelta(seconds=age_s))
            )


def now(
    database: Database, usd: str | None = "3000", *, is_local: bool = False
) -> EthInUsdc | EthUnknown:
    figure = None if usd is None else Decimal(usd)
    with database.read() as session:
        return EthPrices(figure, EthSource.MARKET, is_local).now(session, NOON)


def why(database: Database, usd: str | None = "3000") -> str:
    found = now(database, usd)
    assert isinstance(found, EthUnknown), found
    return found.why


def test_the_median__and_five_percent_more(database: Database) -> None:
    listed(database, (3_000.0, 3_010.5, 2_990.0), age_s=60)
    at = NOON - timedelta(seconds=60)
    assert now(database) == EthInUsdc(3_150_000_000, EthSource.MARKET, at)  # type: ignore[arg-type]


def test_one_exchange_that_lies__moves_it_to_a_neighbour_at_most(database: Database) -> None:
    listed(database, (3_000.0, 3_010.5, 900_000.0))
    found = now(database)
    assert isinstance(found, EthInUsdc)
    assert found.usdc_e6_per_eth == 3_161_025_000


@pytest.mark.parametrize(
    ("median", "is_known"),
    [(1_500.0, True), (1_499.999999, False), (6_000.0, True), (6_000.000001, False)],
)
def test_a_median_beyond_twice_the_operators_figure__is_no_price(
    database: Database, median: float, is_known: bool
) -> None:
    listed(database, (median, median, median))
    assert isinstance(now(database), EthInUsdc) is is_known


def test_a_median_that_is_refused__says_both_figures(database: Database) -> None:
    listed(database, (9_000.0, 9_000.0, 9_000.0))
    said = why(database)
    assert "9000.000000" in said
    assert "3000.000000" in said


def test_too_few_or_too_old__is_unknown_and_not_the_operators_figure(database: Database) -> None:
    listed(database, (3_000.0, 3_000.0))
    assert "fewer than 3 exchanges" in why(database)
    listed(database, (3_000.0, 3_000.0, 3_000.0), age_s=301)
    assert "fewer than 3 exchanges" in why(database)


def test_without_the_operators_figure__there_is_nothing_to_hold_it_against(
    database: Database,
) -> None:
    listed(database, (3_000.0, 3_000.0, 3_000.0))
    assert "GAS_ETH_USD" in why(database, None)


def test_simulated_prices__count_on_a_local_chain_alone(database: Database) -> None:
    listed(database, (3_000.0, 3_000.0, 3_000.0), source=DataSource.SIMULATED)
    assert "simulated" in why(database)
    assert isinstance(now(database, is_local=True), EthInUsdc)


def test_fixed__is_the_operators_figure_without_a_time(database: Database) -> None:
    listed(database, (9_000.0, 9_000.0, 9_000.0))
    with database.read() as session:
        found = EthPrices(Decimal("3000.0000001"))
        assert found.now(session, NOON) == EthInUsdc(3_000_000_001, EthSource.FIXED)  # type: ignore[arg-type]
