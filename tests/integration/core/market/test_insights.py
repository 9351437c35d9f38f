"""Cards of the detectors over rows (docs/shadow-fund.md#insights)."""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import select, text

from api.areas.feeds import views as feeds
from api.areas.feeds.rules import FeedKey
from core.db.engine import Database
from core.market import insights, parts, queries, samples, shadow_views, usual
from core.market.facts import DataSource
from core.market.queries import KnownListing
from core.market.rules.insights import MakerUsual
from core.market.tables import MarketInsight, MarketTransferEvent
from tests.integration.core.market.conftest import NOON, batch, market

MINUTE = timedelta(minutes=1)


def closing(
    of: KnownListing, native_base: str, at: datetime, *, was_open: bool | None = True
) -> MarketTransferEvent:
    return MarketTransferEvent(
        exchange="mexc",
        native_base=native_base,
        chain="eip155:1",
        asset_id=of.asset_id,
        direction="withdraw",
        was_open=was_open,
        is_open=False,
        at=at,
    )


class Venue:
    """Twelve coins at mexc, each with a book of 100,000 dollars a side and a spread of 10 bps."""

    def __init__(self, database: Database) -> None:
        self.database = database
        with database.write() as session:
            parts.ensure_ahead(session, NOON)
            coins = [market("mexc", f"T{n:02}") for n in range(12)]
            queries.learn_markets(session, "mexc", coins, DataSource.SIMULATED, NOON)
            known = sorted(queries.known_listings(session, "mexc"), key=lambda one: one.base)
        self.known = known
        self.ids = tuple(one.listing_id for one in known)

    def look(self, at: datetime, spread: float = 10.0, depth: float = 100_000.0) -> None:
        one = batch(self.ids, at)
        count = len(self.ids)
        measures = replace(
            one.measures,
            spread_bps=np.full(count, spread),
            bid_2_usd=np.full(count, depth),
            ask_2_usd=np.full(count, depth),
        )
        with self.database.write() as session:
            samples.write(session, replace(one, measures=measures), at)

    def close(self, first: int, count: int, at: datetime, *, was_open: bool | None = True) -> None:
        with self.database.write() as session:
            for one in self.known[first : first + count]:
                session.add(closing(one, one.base, at, was_open=was_open))
                session.execute(
                    text("""
insert into network_status (exchange, native_base, chain, asset_id, can_deposit, can_withdraw, is_native,
                            deposit_since, withdraw_since, scans, seen_at)
values ('mexc', :base, 'eip155:1', :asset, true, false, false, :at, :at, 1, :at) on conflict do nothing
"""),
                    {"base": one.base, "asset": one.asset_id, "at": at},
                )

    def step(self, now: datetime, usual_depth: float = 300_000.0) -> insights.InsightsRun:
        usual = {one: MakerUsual(10.0, 1.0, usual_depth) for one in self.ids}
        with self.database.write() as session:
            rows = insights.rows(session, now)
            said = insights.candidates(rows, usual)
            found = insights.cards(rows, said, insights.looks(session, said, now), usual)
            return insights.write(session, found, now)

    def cards(self) -> list[tuple[str, str | None, bool]]:
        with self.database.read() as session:
            rows = session.scalars(select(MarketInsight).order_by(MarketInsight.id))
            return [(one.kind, one.token, one.is_suppressed) for one in rows]


@pytest.fixture
def venue(database: Database) -> Venue:
    found = Venue(database)
    found.look(NOON)
    return found


def test_nine_drained_coins__are_nine_cards_and_the_tenth_makes_one_of_them(venue: Venue) -> None:
    venue.close(0, 9, NOON)
    assert venue.step(NOON + MINUTE).cards == 9
    venue.close(9, 1, NOON + MINUTE)
    done = venue.step(NOON + 2 * MINUTE)
    assert (done.cards, done.suppressed) == (1, 9)
    cards = venue.cards()
    assert cards[-1] == ("venue_risk", None, False)
    assert {one[2] for one in cards[:9]} == {True}
    with venue.database.read() as session:
        shown = shadow_views.insights(session, NOON.date(), 50)
    assert [(one.kind, one.evidence["count"]) for one in shown] == [("venue_risk", 10)]


def test_a_coin_under_ten_names__is_one_coin(venue: Venue) -> None:
    venue.close(0, 1, NOON)
    one = venue.known[0]
    with venue.database.write() as session:
        for n in range(12):
            session.add(closing(one, f"{one.base}{n}", NOON))
    assert venue.step(NOON + MINUTE).cards == 1
    assert venue.cards() == [("venue_drain", "T00", False)]


def test_the_same_again__writes_nothing(venue: Venue) -> None:
    venue.close(0, 10, NOON)
    venue.step(NOON + MINUTE)
    venue.step(NOON + 9 * MINUTE)
    with venue.database.read() as session:
        (card,) = session.scalars(select(MarketInsight))
        assert (card.at, card.updated_at) == (NOON + MINUTE, NOON + MINUTE)


def test_what_opened_again__changes_the_card_of_the_venue(venue: Venue) -> None:
    """Its headline stayed the same, and with it `still_closed`, for the rest of the day."""
    venue.close(0, 10, NOON)
    venue.step(NOON + MINUTE)
    with venue.database.write() as session:
        session.execute(
            text("update network_status set can_withdraw = true where native_base = 'T00'")
        )
    venue.step(NOON + 2 * MINUTE)
    with venue.database.read() as session:
        (card,) = session.scalars(select(MarketInsight))
        assert (card.evidence["count"], card.evidence["still_closed"]) == (10, 9)
        assert card.updated_at == NOON + 2 * MINUTE


def test_a_card_of_a_coin__is_suppressed_all_day_once_its_venue_has_one(venue: Venue) -> None:
    morning = NOON - timedelta(hours=23)
    venue.close(0, 10, morning)
    venue.step(NOON)
    later = morning + timedelta(days=1)  # the ten are a day ago; an eleventh is not
    venue.close(10, 1, NOON)
    venue.look(later)
    venue.step(later)
    assert venue.cards() == [("venue_risk", None, False), ("venue_drain", "T10", True)]


@pytest.mark.parametrize(
    ("count", "was_open", "later"),
    [(0, True, MINUTE), (10, None, MINUTE), (1, True, timedelta(days=1))],
)
def test_what_did_not_close_or_did_a_day_ago__makes_no_card(
    venue: Venue, count: int, was_open: bool | None, later: timedelta
) -> None:
    venue.close(0, count, NOON, was_open=was_open)
    venue.look(NOON + later)
    assert venue.step(NOON + later).cards == 0
    assert venue.cards() == []


def test_a_book_of_more_than_an_hour_ago__drains_nothing(venue: Venue) -> None:
    venue.close(0, 1, NOON)
    assert venue.step(NOON + timedelta(hours=1)).cards == 0
    venue.look(NOON + timedelta(hours=1))
    assert venue.step(NOON + timedelta(hours=1)).cards == 1


def test_half_an_hour_of_thin_and_wide_books__is_a_card_each(venue: Venue) -> None:
    for n in range(1, 32):
        venue.look(NOON + n * MINUTE, spread=20.0, depth=39_000.0)
    done = venue.step(NOON + 31 * MINUTE, usual_depth=100_000.0)
    assert done.cards == 12
    assert venue.cards()[0] == ("mm_exit", "T00", False)


def test_usual_makers__are_medians_of_two_hour_rows(venue: Venue) -> None:
    with venue.database.write() as session:
        for n, spread in enumerate((8.0, 10.0, 13.0) * 4):
            session.execute(
                text("""
insert into snap_2h (listing_id, bucket, expected, n, rejected, gaps, spread_p50_bps, depth_2_usd, coverage)
values (:id, :bucket, 120, 120, 0, 0, :spread, :depth, 1)
"""),
                {
                    "id": venue.ids[0],
                    "bucket": NOON - timedelta(hours=2 * n),
                    "spread": spread,
                    "depth": 100.0 * (n % 3 + 1),
                },
            )
        usual.take(session, NOON)
        found = usual.makers(session, NOON)
        session.execute(
            text("delete from snap_2h where bucket < :at"), {"at": NOON - timedelta(hours=21)}
        )
        session.execute(text("delete from market_usual"))
        usual.take(session, NOON)
        of_less_than_a_day = usual.makers(session, NOON)
    assert found == {venue.ids[0]: MakerUsual(10.0, 2.0, 200.0)}
    assert of_less_than_a_day == {}


def test_the_feed__has_a_card_again_when_it_is_suppressed(venue: Venue) -> None:
    venue.close(0, 1, NOON)
    venue.step(NOON + MINUTE)
    with venue.database.read() as session:
        (row,) = feeds.page(session, FeedKey.INSIGHTS, None, 10, NOON + 2 * MINUTE)
    assert (row.data["kind"], row.data["is_suppressed"]) == ("venue_drain", False)
    venue.close(1, 9, NOON + MINUTE)
    venue.step(NOON + 3 * MINUTE)
    with venue.database.read() as session:
        rows = feeds.page(session, FeedKey.INSIGHTS, row.place, 10, NOON + 4 * MINUTE)
    assert [(one.data["kind"], one.data["is_suppressed"]) for one in rows] == [
        ("venue_drain", True),
        ("venue_risk", False),
    ]
