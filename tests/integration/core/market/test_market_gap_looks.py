"""Looks at gaps above 25 bps, by asset and hour, and what notes make of them."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from api.areas.notes import views
from core.db.engine import Database
from core.market import gaps
from core.market.gaps import SeenGap
from core.market.rules.arbitrage import ArbPair
from core.market.rules.transfer import GateState
from core.market.tables import MarketGapEpisode
from tests.integration.core.market.conftest import NOON, Listed


def seen(listed: Listed, asset: int, gross_bps: float, *, is_actionable: bool) -> SeenGap:
    pair = ArbPair(
        buy_at="kucoin",
        sell_at="okx",
        gross_bps=gross_bps,
        net_bps=(12.0, None, None),
        gate=GateState.OPEN,
        chains=("eip155:1",),
        is_actionable=is_actionable,
        suspicions=(),
        fx_sources=("par", "par"),
        taker_fees_bps=(10.0, None),
        withdraw_chain="eip155:1",
        withdraw_fee=0.5,
    )
    buy, sell = listed.ids if asset == 0 else listed.ids[::-1]
    return SeenGap(listed.assets[asset], ("BTC", "ETH")[asset], buy, sell, NOON, NOON, pair)


def test_looks_at_gaps__are_counted_for_each_asset__for_seven_days(
    database: Database, listed: Listed
) -> None:
    looks = [(30.0, True), (40.0, False), (25.1, False), (25.0, True)]
    for minute, (gross, is_actionable) in enumerate(looks):
        found = [
            seen(listed, 0, gross, is_actionable=is_actionable),
            seen(listed, 1, 90.0, is_actionable=True),
        ]
        with database.write() as session:
            gaps.write(session, found, [], NOON + timedelta(minutes=minute))

    def actionable_pct(token: str, days: float) -> float | None:
        with database.read() as session:
            now = NOON + timedelta(days=days)
            return views.facts_of(session, token, now).one_price_actionable_pct

    with database.read() as session:
        assert gaps.figures(session, NOON).actionable_share_7d == (1 + 4) / (3 + 4)
    assert actionable_pct("BTC", 0.1) == 100 / 3
    assert actionable_pct("ETH", 7) == 100
    assert actionable_pct("ETH", 7.1) is None
    with database.write() as session:
        assert gaps.prune(session, NOON + timedelta(days=7.1)) > 0
        assert (
            session.connection().exec_driver_sql("select count(*) from arb_asset_hour").scalar()
            == 0
        )


def test_an_episode__keeps_what_the_gap_was_worth_and_how_it_could_be_moved_when_it_began(
    database: Database, listed: Listed
) -> None:
    for minute, gross in enumerate((30.0, 90.0)):
        with database.write() as session:
            found = [seen(listed, 0, gross, is_actionable=True)]
            gaps.write(session, found, [], NOON + timedelta(minutes=minute))
    with database.read() as session:
        (episode,) = session.scalars(select(MarketGapEpisode))
        assert (episode.net_1k_bps, episode.chain, episode.withdraw_fee) == (12.0, "eip155:1", 0.5)
        assert (episode.buy_fee_bps, episode.sell_fee_bps) == (10.0, None)


@pytest.mark.parametrize(
    ("looks", "episodes"),
    [
        ({0: 30.0, 1: 20.0, 4: 40.0, 6: 10.0, 11: 26.0}, [(0, 4, 9), (11, 11, None)]),
        ({0: 30.0, 4: 30.0}, [(0, 4, None)]),
        ({0: 30.0, 5: 30.0}, [(0, 0, 5), (5, 5, None)]),
        ({0: 25.0, 1: 25.01}, [(1, 1, None)]),
    ],
)
def test_an_episode__begins_above_25_bps_and_is_over_after_five_minutes_without(
    database: Database,
    listed: Listed,
    looks: dict[int, float],
    episodes: list[tuple[int, int, int | None]],
) -> None:
    for minute, gross in looks.items():
        with database.write() as session:
            found = [seen(listed, 0, gross, is_actionable=True)]
            gaps.write(session, found, [], NOON + timedelta(minutes=minute))
    with database.read() as session:
        rows = session.scalars(select(MarketGapEpisode).order_by(MarketGapEpisode.id)).all()
    assert [
        tuple(
            None if at is None else (at - NOON) // timedelta(minutes=1)
            for at in (row.began_at, row.last_at, row.ended_at)
        )
        for row in rows
    ] == episodes
