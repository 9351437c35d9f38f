"""Samples as they are written, shown, rolled up, graded and let go."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from core.db.engine import Database, WriteSession
from core.market import grading, parts, rollups, samples
from core.market.rules.book import LEAST_NUMBER, MOST_NUMBER
from core.market.tables import (
    MarketAssetState,
    MarketGrade,
    MarketListingState,
    MarketRollup,
    MarketSample,
)
from tests.integration.core.market.conftest import NOON, Listed, batch, show_coins


def test_sample__written__is_read_as_it_was_and_shown(database: Database, listed: Listed) -> None:
    with database.write() as session:
        assert samples.write(session, batch(listed.ids, NOON), NOON) == 2
    with database.read() as session:
        row = session.scalars(
            select(MarketSample).where(MarketSample.listing_id == listed.ids[0])
        ).one()
        state = session.get_one(MarketListingState, listed.ids[0])
    assert (row.mid, row.ask_2_usd, row.slip_buy_10k_bps) == (100.0, 100_000.0, 12.5)
    assert (row.ts, row.fx_source, row.is_truncated) == (NOON, "par", False)
    assert (row.can_deposit, row.can_withdraw) == (True, None)
    assert (state.price_usd, state.sampled_at, state.order_usd) == (100.0, NOON, 5e6)


def test_fault__written__keeps_the_last_measures_and_says_why(
    database: Database, listed: Listed
) -> None:
    later = NOON + timedelta(minutes=1)
    with database.write() as session:
        samples.write(session, batch(listed.ids, NOON), NOON)
        samples.write(session, batch(listed.ids, later, fault="crossed"), later)
    with database.read() as session:
        state = session.get_one(MarketListingState, listed.ids[0])
        faulty = session.scalars(select(MarketSample.mid).where(MarketSample.ts == later)).all()
    assert faulty == [None, None]
    assert (state.fault, state.sampled_at, state.mid) == ("crossed", NOON, 100.0)


def test_texts_of_several_lengths__nulls_and_faults_of_one_batch__arrive_as_they_are(
    database: Database, listed: Listed
) -> None:
    found = batch(listed.ids, NOON)
    found.measures.slip_buy_10k_bps[1] = np.nan
    told = replace(found, fx_sources=["upbit:USDT/KRW", None], faults=[None, "no_dollar_rate"])
    with database.write() as session:
        assert samples.write(session, told, NOON) == 2
    with database.read() as session:
        rows = session.scalars(select(MarketSample).order_by(MarketSample.listing_id)).all()
        states = [session.get_one(MarketListingState, one) for one in listed.ids]
    received_at = NOON + timedelta(milliseconds=120)
    assert [(row.fx_source, row.fault, row.mid, row.received_at) for row in rows] == [
        ("upbit:USDT/KRW", None, 100.0, received_at),
        (None, "no_dollar_rate", None, received_at),
    ]
    assert [(one.fx_source, one.fault, one.mid) for one in states] == [
        ("upbit:USDT/KRW", None, 100.0),
        (None, "no_dollar_rate", None),
    ]


def test_minute__written_twice_or_with_no_figure__is_refused(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        samples.write(session, batch(listed.ids, NOON), NOON)
    with pytest.raises(IntegrityError), database.write() as session:
        samples.write(session, batch(listed.ids, NOON), NOON)
    infinite = replace(batch(listed.ids, NOON), volumes_usd=np.array([np.inf, 1.0]))
    with pytest.raises(ValueError, match="infinite"), database.write() as session:
        samples.write(session, infinite, NOON)


def test_takeover__asks_what_the_minute_has(database: Database, listed: Listed) -> None:
    with database.write() as session:
        samples.write(session, batch(listed.ids[:1], NOON), NOON)
    with database.read() as session:
        assert samples.sampled_in(session, NOON, listed.ids) == {listed.ids[0]}
        assert samples.sampled_in(session, NOON, listed.ids[1:]) == frozenset()
        assert samples.sampled_in(session, NOON + timedelta(minutes=1), listed.ids) == frozenset()


def test_two_hours__of_ten_samples_a_minute_apart__are_rolled_up(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        for minute in range(10):
            at = NOON + timedelta(minutes=minute)
            samples.write(session, batch(listed.ids, at), at)
        assert rollups.roll(session, NOON, NOON + timedelta(minutes=10)) == 2
        assert rollups.roll(session, NOON, NOON + timedelta(hours=2)) == 2
    with database.read() as session:
        row = session.get_one(MarketRollup, (listed.ids[0], NOON))
    assert (row.n, row.expected, row.rejected, row.gaps) == (10, 120, 0, 0)
    assert (row.open, row.close, row.depth_2_usd, row.slip_10k_bps) == (100.0, 100.0, 1e5, 12.5)
    assert (row.rv, row.deposit_share, row.withdraw_share) == (0.0, 1.0, None)
    assert row.coverage == pytest.approx(10 / 120)
    assert row.skew_ms == 120


def test_a_side_that_ends_before_a_thousand_dollars__leaves_the_slip_unknown(
    database: Database, listed: Listed
) -> None:
    found = batch(listed.ids[:1], NOON)
    found.measures.slip_sell_1k_bps[:] = np.nan
    with database.write() as session:
        samples.copy_samples(session, found)
        rollups.roll(session, NOON, NOON + timedelta(hours=2))
    with database.read() as session:
        row = session.get_one(MarketRollup, (listed.ids[0], NOON))
    assert (row.slip_1k_bps, row.slip_10k_bps) == (None, 12.5)


@pytest.mark.parametrize(("thin", "shown"), [(0, 12.5), (4, 12.5), (5, None), (10, None)])
def test_a_book_that_ends_before_ten_thousand_dollars__is_dearer_than_any_figure(
    database: Database, listed: Listed, thin: int, shown: float | None
) -> None:
    """Of ten looks so many end before: from half of them on there is no figure."""
    with database.write() as session:
        for minute in range(10):
            at = NOON + timedelta(minutes=minute)
            found = batch(listed.ids[:1], at)
            if minute < thin:
                found.measures.slip_buy_10k_bps[:] = np.nan
            samples.copy_samples(session, found)
        rollups.roll(session, NOON, NOON + timedelta(minutes=10))
    with database.read() as session:
        row = session.get_one(MarketRollup, (listed.ids[0], NOON))
    assert (row.n, row.slip_1k_bps, row.slip_10k_bps) == (10, 12.5, shown)


def test_an_older_minute__is_kept_and_not_shown(database: Database, listed: Listed) -> None:
    earlier = NOON - timedelta(minutes=1)
    with database.write() as session:
        samples.write(session, batch(listed.ids, NOON), NOON)
        assert samples.write(session, batch(listed.ids, earlier), NOON) == 2
    with database.read() as session:
        assert session.get_one(MarketListingState, listed.ids[0]).sampled_at == NOON


HOUR = NOON + timedelta(hours=7)


def add_looks(session: WriteSession, listed: Listed) -> None:
    """At the first listing, each minute of the seven hours until HOUR."""
    for minute in range(420):
        at = NOON + timedelta(minutes=minute)
        samples.copy_samples(session, batch(listed.ids[:1], at))


def test_hour__with_seven_hours_of_samples__is_graded_once_and_provisional(
    database: Database, listed: Listed
) -> None:
    hour = HOUR
    with database.write() as session:
        add_looks(session, listed)
        assert grading.grade_hour(session, hour, hour) == 2
        assert grading.grade_hour(session, hour, hour) == 0
    with database.read() as session:
        state = session.get_one(MarketListingState, listed.ids[0])
        other = session.get_one(MarketListingState, listed.ids[1])
        row = session.get_one(MarketGrade, (listed.ids[0], hour))
    # 100 (0.4 * 2/3 + 0.2 (1 - log 5 / log 250) + 0.2 (1 - log 2.5 / log 200) + 0.1 log 500 / 4 + 0.1)
    assert state.score == pytest.approx(74.126, abs=0.001)
    assert (state.grade, row.letter, state.is_provisional) == ("B", "B", True)
    assert (state.in_uptime, state.in_hours, state.in_spread_bps) == (1.0, 7.0, 10.0)
    assert (other.grade, other.score, other.gates) == (None, None, [])


def test_a_grade_that_took_long__sets_no_row_back_behind_a_look_of_meanwhile(
    database: Database, listed: Listed
) -> None:
    """Whoever had read the feed `board` up to a time in between missed that look."""
    look = NOON + timedelta(seconds=20)
    with database.write() as session:
        samples.write(session, batch(listed.ids, NOON), look)
    with database.write() as session:
        grading.grade_hour(session, NOON + timedelta(hours=1), NOON)
    with database.read() as session:
        assert session.get_one(MarketListingState, listed.ids[0]).updated_at > look


def test_a_token_that_nobody_lists_any_more__is_ungraded_and_nowhere(
    database: Database, listed: Listed
) -> None:
    """It kept its exchanges, its transfers and the letter of its last exchange for good."""
    hour = HOUR
    with database.write() as session:
        add_looks(session, listed)
        grading.grade_hour(session, hour, hour)
        show_coins(session, hour)
    with database.read() as session:
        asset = session.get_one(MarketAssetState, listed.assets[0])
        assert (asset.grade, asset.exchanges) == ("B", ["kucoin"])
    with database.write() as session:
        gone = session.get_one(MarketListingState, listed.ids[0])
        gone.status, gone.delisted_at = "delisted", hour
        session.flush()
        grading.grade_hour(session, hour + timedelta(hours=1), hour)
        show_coins(session, hour)
    with database.read() as session:
        asset = session.get_one(MarketAssetState, listed.assets[0])
        assert (asset.grade, asset.grade_worst, asset.gpa_7d, asset.graded_venues) == (
            *(None, None, None),
            0,
        )
        assert (asset.exchanges, asset.transfer, asset.identity) == ([], "unknown", None)


def test_closes_of_a_week__are_written_with_the_grade(database: Database, listed: Listed) -> None:
    """At 19:00 of buckets at 18:00 and 06:00; one in between is passed by."""
    with database.write() as session:
        add_looks(session, listed)
        parts.ensure(session, parts.ROLLUPS, HOUR - timedelta(days=8), HOUR)
        for hours_ago, close in ((1, 103.0), (3, 1.0), (25, 102.0), (7 * 24 + 1, 100.0)):
            bucket = HOUR - timedelta(hours=hours_ago)
            session.add(
                MarketRollup(
                    listing_id=listed.ids[0], bucket=bucket, close=close,
                    expected=120, n=120, rejected=0, gaps=0, coverage=1.0,
                )
            )  # fmt: skip
        session.flush()
        grading.grade_hour(session, HOUR, HOUR)
        closes = session.get_one(MarketListingState, listed.ids[0]).week_closes
    assert closes == [100.0, *[None] * 11, 102.0, None, 103.0]


@pytest.mark.parametrize(("hours_ago", "best"), [(23, "A"), (24, "B")])
def test_the_best_letter_of_a_day__stands_beside_the_newest(
    database: Database, listed: Listed, hours_ago: int, best: str
) -> None:
    hour = HOUR
    with database.write() as session:
        parts.ensure(session, parts.GRADES, hour - timedelta(days=2), hour)
        add_looks(session, listed)
        session.add(
            MarketGrade(
                listing_id=listed.ids[0],
                hour=hour - timedelta(hours=hours_ago),
                letter="A",
                score=88.0,
                is_provisional=False,
                version="grade_v1",
            )
        )
        grading.grade_hour(session, hour, hour)
        state = session.get_one(MarketListingState, listed.ids[0])
    assert (state.grade, state.best_24h) == ("B", best)


def test_hours_of_crossed_books__count_against_uptime_and_shut_the_gate(
    database: Database, listed: Listed
) -> None:
    hour = NOON + timedelta(hours=24)
    with database.write() as session:
        for minute in range(0, 24 * 60, 4):
            at = NOON + timedelta(minutes=minute)
            fault = "crossed" if minute < 17 * 60 else None
            samples.copy_samples(session, batch(listed.ids[:1], at, fault=fault, every_s=240))
        grading.grade_hour(session, hour, hour)
    with database.read() as session:
        state = session.get_one(MarketListingState, listed.ids[0])
    assert state.in_uptime == pytest.approx(7 / 24)
    assert (state.in_hours, state.in_coverage) == (7.0, 1.0)
    assert (state.gates, state.grade) == (["low_uptime"], "D")


def test_partitions__past_their_days__are_thinned_to_targets_and_then_dropped(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        samples.copy_samples(session, batch(listed.ids, NOON))
    later = NOON + timedelta(days=9)
    with database.write() as session:
        assert parts.thin_past(session, 7, listed.ids[:1], later) >= 1
        assert parts.thin_past(session, 7, listed.ids[:1], later) == 0
        assert session.scalars(select(MarketSample.listing_id)).all() == [listed.ids[0]]
        assert parts.drop_past(session, {parts.SAMPLES: 90}, NOON + timedelta(days=92)) >= 1
        assert session.scalars(select(MarketSample.listing_id)).all() == []


def test_partitions__of_another_table__are_refused(database: Database) -> None:
    with pytest.raises(Exception, match="has no partitions"), database.write() as session:
        session.execute(text("select market_drop_parts('account', now())"))


def test_the_widest_figures_that_a_book_may_have__are_shown_and_rolled_up(
    database: Database, listed: Listed
) -> None:
    for minute, mid in enumerate((MOST_NUMBER, LEAST_NUMBER, MOST_NUMBER)):
        at = NOON + timedelta(minutes=minute)
        sample = batch(listed.ids, at)
        mids, rates = sample.measures.mid.copy(), sample.measures.usd_per_quote.copy()
        mids[0] = rates[0] = mid
        sample = replace(sample, measures=replace(sample.measures, mid=mids, usd_per_quote=rates))
        with database.write() as session:
            samples.write(session, sample, at)
    with database.write() as session:
        assert rollups.roll(session, NOON, NOON + timedelta(minutes=10)) == 2
