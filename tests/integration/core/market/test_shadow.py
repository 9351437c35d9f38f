"""The shadow fund over rows: entered once, closed once, summed once (docs/shadow-fund.md)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, text

from core.db.engine import Database
from core.market import parts, queries, samples, shadow, shadow_views
from core.market.facts import DataSource
from core.market.rules.shadow import ENTRY_WITHIN, EXIT_WITHIN, Dimension
from core.market.shadow_tables import ShadowAsset, ShadowBook, ShadowMove, ShadowTrade, ShadowVenue
from core.market.tables import (
    MarketGapEpisode,
    MarketGrade,
    MarketTransferEvent,
)
from tests.integration.core.market.conftest import NOON, batch, market
from tests.slow import few

CHAIN = "eip155:1"
MINUTE = timedelta(minutes=1)
RIPE = ENTRY_WITHIN + shadow.WRITTEN_WITHIN
DUE = 16 * MINUTE + EXIT_WITHIN + shadow.WRITTEN_WITHIN


class Fund:
    """ABC at kucoin, where it costs 100 dollars, and at kraken, where it brings 110. When the fund
    runs, the gap is gone: its way and fee were read of gaps that still are, so that only gaps that
    lasted were traded.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        with database.write() as session:
            parts.ensure_ahead(session, NOON)
            for exchange in ("kucoin", "kraken"):
                queries.learn_markets(
                    session, exchange, [market(exchange, "ABC")], DataSource.SIMULATED, NOON
                )
            (one,) = queries.known_listings(session, "kucoin")
            (other,) = queries.known_listings(session, "kraken")
            self.asset_id, self.buy, self.sell = one.asset_id, one.listing_id, other.listing_id

    def episode(
        self,
        at: datetime,
        sell_fee_bps: float | None = 40.0,
        withdraw_fee: float | None = 0.01,
    ) -> None:
        with self.database.write() as session:
            session.execute(text("update arb_episode set ended_at = now() where ended_at is null"))
            session.add(
                MarketGapEpisode(
                    asset_id=self.asset_id,
                    buy_id=self.buy,
                    sell_id=self.sell,
                    began_at=at,
                    last_at=at,
                    ended_at=None,
                    buy_fee_bps=10.0,
                    sell_fee_bps=sell_fee_bps,
                    net_1k_bps=900.0,
                    chain=CHAIN,
                    withdraw_fee=withdraw_fee,
                )
            )

    def sample(self, listing: int, at: datetime, mid: float) -> None:
        one = batch((listing,), at)
        measures = replace(one.measures, mid=np.array([mid]))
        with self.database.write() as session:
            samples.copy_samples(session, replace(one, measures=measures))

    def both(self, at: datetime, buy: float = 100.0, sell: float = 110.0) -> None:
        self.sample(self.buy, at, buy)
        self.sample(self.sell, at, sell)

    def withdrawals(self, at: datetime, *, was_open: bool | None, is_open: bool) -> None:
        with self.database.write() as session:
            session.add(
                MarketTransferEvent(
                    exchange="kucoin",
                    native_base="ABC",
                    chain=CHAIN,
                    asset_id=self.asset_id,
                    direction="withdraw",
                    was_open=was_open,
                    is_open=is_open,
                    at=at,
                )
            )

    def run(self, now: datetime) -> shadow.ShadowStep:
        with self.database.write() as session:
            return shadow.step(session, now)

    def trade(self) -> ShadowTrade:
        with self.database.read() as session:
            found = session.scalars(select(ShadowTrade)).one()
            session.expunge(found)
            return found

    def venue(self, exchange: str) -> ShadowVenue:
        with self.database.read() as session:
            found = session.get_one(ShadowVenue, exchange)
            session.expunge(found)
            return found


@pytest.fixture
def fund(database: Database) -> Fund:
    return Fund(database)


def test_a_gap__is_bought_at_the_next_sample_and_sold_once_it_was_transferred(fund: Fund) -> None:
    fund.episode(NOON)
    fund.both(NOON, buy=1.0)  # the episode's own sample is not the next one
    fund.both(NOON + MINUTE)
    assert fund.run(NOON + RIPE - timedelta.resolution).entered == 0
    assert fund.run(NOON + RIPE).entered == 1
    assert fund.run(NOON + RIPE + MINUTE).entered == 0
    trade = fund.trade()
    assert (trade.state, trade.chain) == ("open", CHAIN)
    assert trade.due_at == NOON + 16 * MINUTE
    assert trade.coins == pytest.approx(1_000 / (100 * 1.00125 * 1.001))
    fund.both(NOON + 17 * MINUTE)
    assert fund.run(NOON + DUE - MINUTE).closed == 0
    assert fund.run(NOON + DUE).closed == 1
    assert fund.run(NOON + DUE + MINUTE).closed == 0
    trade = fund.trade()
    coins = 1_000 / (100 * 1.00125 * 1.001) - 0.01
    expected = coins * 110 * (1 - 0.00125) * (1 - 0.004) - 1_000
    assert (trade.state, trade.pnl_usd_e6) == ("settled", round(expected * 1_000_000))
    assert fund.venue("kucoin").usd_e6 == 9_000_000_000
    assert fund.venue("kraken").usd_e6 == 11_000_000_000 + (trade.pnl_usd_e6 or 0)
    with fund.database.read() as session:
        book = session.get_one(ShadowBook, 1)
        assert (book.unplaced_usd_e6, book.is_simulated) == (80_000_000_000, True)
        (slice_,) = shadow_views.slices(session, [Dimension.VENUE_PAIR])
        assert (slice_.key, slice_.n, slice_.pnl_usd_e6) == (
            {"venue_pair": "kucoin>kraken"},
            1,
            trade.pnl_usd_e6,
        )
        asset = session.get_one(ShadowAsset, fund.asset_id)
        assert (asset.n, asset.hits, asset.pnl_usd_e6) == (1, 1, trade.pnl_usd_e6)
        assert asset.since == trade.entered_at


def test_withdrawals_that_close_meanwhile__have_the_coins_sold_where_they_were_bought(
    fund: Fund,
) -> None:
    fund.episode(NOON)
    fund.both(NOON + MINUTE)
    fund.run(NOON + RIPE)
    fund.withdrawals(NOON + 10 * MINUTE, was_open=True, is_open=False)
    fund.both(NOON + 17 * MINUTE, buy=99.0)
    fund.run(NOON + DUE)
    trade = fund.trade()
    assert (trade.state, trade.reason) == ("returned", "withdrawals_closed")
    assert trade.pnl_usd_e6 is not None
    assert trade.pnl_usd_e6 < -10_000_000
    assert fund.venue("kucoin").usd_e6 == 10_000_000_000 + trade.pnl_usd_e6
    assert (fund.venue("kucoin").returned, fund.venue("kucoin").hits) == (1, 0)


def test_a_trade_that_no_sample_prices__has_no_result_and_gets_its_stake_back(fund: Fund) -> None:
    fund.episode(NOON)
    fund.both(NOON + MINUTE)
    fund.run(NOON + RIPE)
    assert fund.run(NOON + DUE).voided == 1
    assert (fund.trade().state, fund.trade().pnl_usd_e6) == ("void", None)
    assert fund.venue("kucoin").usd_e6 == 10_000_000_000
    with fund.database.read() as session:
        assert shadow_views.bins(session) == []


@pytest.mark.parametrize("mid", [1e30, 221.0])
def test_a_price_that_nobody_believes__makes_no_result_and_holds_nothing_up(
    fund: Fund, mid: float
) -> None:
    fund.episode(NOON)
    fund.episode(NOON + MINUTE)
    fund.both(NOON + MINUTE)
    fund.both(NOON + 2 * MINUTE)
    assert fund.run(NOON + RIPE + MINUTE).entered == 2
    fund.both(NOON + 17 * MINUTE, sell=mid)
    fund.both(NOON + 18 * MINUTE)
    done = fund.run(NOON + 29 * MINUTE)
    assert (done.voided, done.closed) == (1, 1)
    with fund.database.read() as session:
        states = session.execute(
            select(ShadowTrade.state, ShadowTrade.reason).order_by(ShadowTrade.episode_id)
        ).all()
    assert [tuple(one) for one in states] == [("void", "not_believed"), ("settled", None)]
    assert (fund.venue("kucoin").voided, fund.venue("kucoin").settled) == (1, 1)


@pytest.mark.parametrize(
    ("fees", "is_sampled", "reason"),
    [
        ({}, False, "no_sample"),
        ({"withdraw_fee": None}, True, "fee_unknown"),
        ({"sell_fee_bps": None}, True, "taker_fee_unknown"),
    ],
)
def test_what_is_not_known_of_an_episode__enters_nothing_and_is_counted(
    fund: Fund, fees: dict[str, Any], is_sampled: bool, reason: str
) -> None:
    fund.episode(NOON, **fees)
    if is_sampled:
        fund.both(NOON + MINUTE)
    assert fund.run(NOON + RIPE).skipped == 1
    trade = fund.trade()
    assert (trade.state, trade.reason, trade.coins) == ("skipped", reason, None)
    assert fund.venue("kucoin").skipped == 1
    assert fund.venue("kucoin").usd_e6 == 10_000_000_000


def test_a_market_that_pays_its_takers__gives_more_than_one_without_a_fee(fund: Fund) -> None:
    fund.episode(NOON, sell_fee_bps=-1.0)
    fund.both(NOON + MINUTE)
    fund.run(NOON + RIPE)
    fund.both(NOON + 17 * MINUTE)
    fund.run(NOON + DUE)
    coins = 1_000 / (100 * 1.00125 * 1.001) - 0.01
    expected = coins * 110 * (1 - 0.00125) * 1.0001 - 1_000
    assert fund.trade().pnl_usd_e6 == round(expected * 1_000_000)


def test_a_sample_of_the_last_minute__is_waited_for_until_it_is_written(fund: Fund) -> None:
    fund.episode(NOON)
    fund.run(NOON + ENTRY_WITHIN)
    fund.both(NOON + ENTRY_WITHIN)
    assert fund.run(NOON + RIPE).entered == 1


@pytest.mark.parametrize(("hours", "pattern"), [(24, "recurring"), (25, "wide")])
def test_a_pair_of_more_than_a_day_ago__does_not_recur_whichever_run_saw_it(
    fund: Fund, hours: int, pattern: str
) -> None:
    """All pairs of a run recurred, so that a fund that was down for days knew no fresh gap."""
    for at in (NOON, NOON + timedelta(hours=hours)):
        fund.episode(at)
    fund.both(NOON + MINUTE)
    fund.run(NOON + timedelta(hours=hours) + RIPE)
    with fund.database.read() as session:
        (_, later) = session.scalars(select(ShadowTrade).order_by(ShadowTrade.episode_id))
        assert later.fingerprint["deviation_pattern"] == pattern


def test_a_fingerprint__has_the_letters_of_when_the_gap_began(fund: Fund) -> None:
    with fund.database.write() as session:
        for hour, letter in ((-1, "B"), (0, "A"), (1, "F")):
            session.add_all(
                MarketGrade(
                    listing_id=one,
                    hour=NOON + timedelta(hours=hour),
                    letter=letter,
                    score=50.0,
                    is_provisional=False,
                    version="grade_v1",
                )
                for one in (fund.buy, fund.sell)
            )
    fund.episode(NOON)
    fund.both(NOON + MINUTE)
    fund.run(NOON + timedelta(hours=2))
    assert fund.trade().fingerprint["grade_pair"] == "A/A"


@pytest.mark.parametrize(("was_open", "cause"), [(False, "transfer_reopened"), (None, "unknown")])
def test_what_became_known_again__did_not_reopen(
    fund: Fund, was_open: bool | None, cause: str
) -> None:
    fund.withdrawals(NOON - MINUTE, was_open=was_open, is_open=True)
    fund.episode(NOON)
    fund.both(NOON + MINUTE)
    fund.run(NOON + RIPE)
    assert fund.trade().fingerprint["gap_cause"] == cause


@pytest.mark.parametrize(("known", "sigma"), [(12, 0.12**0.5), (6, 0.12**0.5), (5, None)])
def test_a_days_deviation__counts_two_hours_that_are_not_known_as_the_others(
    fund: Fund, known: int, sigma: float | None
) -> None:
    """They counted as hours without a move."""
    with fund.database.write() as session:
        for n in range(known):
            session.execute(
                text("""
insert into snap_2h (listing_id, bucket, expected, n, rejected, gaps, rv, coverage)
values (:id, :bucket, 120, 120, 0, 0, 0.1, 1)
"""),
                {"id": fund.buy, "bucket": NOON - timedelta(hours=2 * (n + 1))},
            )
    fund.episode(NOON)
    fund.both(NOON + MINUTE)
    fund.run(NOON + RIPE)
    assert fund.trade().sigma_24h == (sigma and pytest.approx(sigma))


def test_an_empty_venue__enters_nothing(fund: Fund) -> None:
    for n in range(11):
        fund.episode(NOON + n * MINUTE)
    for n in range(12):
        fund.both(NOON + n * MINUTE)
    done = fund.run(NOON + 10 * MINUTE + RIPE)
    assert (done.entered, done.skipped) == (10, 1)
    with fund.database.read() as session:
        reasons = session.scalars(
            select(ShadowTrade.reason).where(ShadowTrade.state == "skipped")
        ).all()
        patterns = session.scalars(select(ShadowTrade.fingerprint).order_by("episode_id")).all()
    assert reasons == ["no_capital"]
    assert patterns[0]["deviation_pattern"] != "recurring"
    assert {one["deviation_pattern"] for one in patterns[1:]} == {"recurring"}


def test_capital__is_moved_once_a_day(fund: Fund) -> None:
    with fund.database.write() as session:
        for exchange, usd, worth in (("kucoin", 1_000, 50.0), ("kraken", 19_000, 50.0)):
            session.add(
                ShadowVenue(
                    exchange=exchange,
                    usd_e6=usd * 1_000_000,
                    opportunity_usd=worth,
                    opportunity_at=NOON,
                    quote="USDT",
                    settled=0,
                    returned=0,
                    voided=0,
                    skipped=0,
                    hits=0,
                    pnl_usd_e6=0,
                )
            )
    assert [fund.run(NOON + n * MINUTE).moves for n in range(3)] == [1, 0, 0]
    with fund.database.read() as session:
        move = session.scalars(select(ShadowMove)).one()
        assert (move.from_exchange, move.to_exchange, move.usd_e6) == (
            "kraken",
            "kucoin",
            4_000_000_000,
        )
    assert fund.venue("kucoin").usd_e6 == 5_000_000_000
    assert fund.venue("kraken").usd_e6 == 14_999_000_000


def _plan(session: Any, statement: Any, values: dict[str, Any]) -> str:
    rows = session.execute(text(f"explain {statement}"), values)
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("rows", few([100_000, 1_000_000], plain=0))
def test_a_run_among_many_trades__reads_what_is_new_alone(fund: Fund, rows: int) -> None:
    with fund.database.write() as session:
        session.execute(text("set local statement_timeout = 0"))
        session.execute(text("set local session_replication_role = replica"))
        session.execute(
            text("""
insert into shadow_trade (episode_id, asset_id, token, buy_id, sell_id, buy_exchange, sell_exchange, fingerprint,
                          coins, buy_fee_bps, sell_fee_bps, is_simulated, state, pnl_usd_e6, entered_at, due_at)
select n, :asset, 'ABC', n % 1000, n % 997, 'kucoin', 'kraken', '{}', 1, 10, 40, true, 'settled', 1,
       cast(:at as timestamptz) - n * interval '10 seconds', :at
from generate_series(1, :rows) n
"""),
            {"asset": fund.asset_id, "at": NOON, "rows": rows},
        )
        session.execute(
            text("""
insert into arb_episode (asset_id, buy_id, sell_id, began_at, last_at, ended_at)
select :asset, :buy, :sell, :at, :at, :at from generate_series(1, :rows)
"""),
            {"asset": fund.asset_id, "buy": fund.buy, "sell": fund.sell, "at": NOON, "rows": rows},
        )
        session.execute(text("analyze shadow_trade"))
        session.execute(text("analyze arb_episode"))
    with fund.database.write() as session:
        new = {
            "after": rows - 10,
            "ripe": NOON,
            "most": 500,
            "within": 5 * MINUTE,
            "recurs": 1440 * MINUTE,
        }
        entered = _plan(session, shadow._EPISODES.text, new)
        due = _plan(session, shadow._DUE.text, new)
    assert "Seq Scan on arb_episode" not in entered
    assert "Seq Scan on shadow_trade" not in entered + due
    assert "ix_shadow_trade_open" in due
