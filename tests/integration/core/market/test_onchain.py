"""On-chain figures of a day, and the warning that they raise."""

from datetime import timedelta

from sqlalchemy import select

from core.db.engine import Database
from core.market import onchain, queries
from core.market.facts import DataSource, OnchainFigures
from core.market.onchain import CoinFigures
from core.market.tables import MarketOnchain, MarketWarningStanding
from indexer.venues.sim.onchain import figures_at
from indexer.venues.sim.world import world_of
from tests.integration.core.market.conftest import NOON, Listed, market, warn

MIDNIGHT = NOON.replace(hour=0)
DAY = timedelta(days=1)


def told(ticker: str, supply: float, back: int = 0) -> CoinFigures:
    at = MIDNIGHT - back * DAY
    return CoinFigures(ticker, OnchainFigures("eip155:1", supply, 10, 0.5, 3, at))


def supplies(database: Database) -> list[float | None]:
    with database.read() as session:
        return list(session.scalars(select(MarketOnchain.supply).order_by(MarketOnchain.day)))


def test_a_day__is_written_once_and_of_listed_coins(database: Database, listed: Listed) -> None:
    with database.write() as session:
        found = [told("BTC", 5.0), told("BTC", 7.0), told("NONE", 1.0)]
        assert onchain.write(session, found, NOON.date()) == 1
        assert onchain.write(session, [told("BTC", 9.0)], NOON.date()) == 0
        assert onchain.has_day(session, NOON.date())
        assert not onchain.has_day(session, (NOON - DAY).date())
    assert supplies(database) == [5.0]


def test_a_supply_that_grew_by_a_tenth__is_warned_of(database: Database, listed: Listed) -> None:
    with database.write() as session:
        before = [told("BTC", 100.0, 1), told("ETH", 100.0, 1)]
        onchain.write(session, before, (NOON - DAY).date())
        onchain.write(session, [told("BTC", 110.0), told("ETH", 109.0)], NOON.date())
    with database.write() as session:
        warn(session, NOON)
    with database.read() as session:
        columns = MarketWarningStanding.token, MarketWarningStanding.type
        found = [tuple(row) for row in session.execute(select(*columns))]
    assert found == [("BTC", "onchain_supply")]


def test_the_simulated_jump__is_warned_of_on_its_day(database: Database) -> None:
    world = world_of(24, MIDNIGHT)
    with database.write() as session:
        found = [market("mexc", "SUPLQ"), market("mexc", "LINK")]
        queries.learn_markets(session, "mexc", found, DataSource.SIMULATED, NOON)
        for back in (12, 11):
            at = MIDNIGHT - back * DAY
            assert onchain.write(session, figures_at(world, at), at.date()) >= 1
        now = NOON - 11 * DAY
        warn(session, now)
    with database.read() as session:
        assert list(session.scalars(select(MarketWarningStanding.token))) == ["SUPLQ"]
