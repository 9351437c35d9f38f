"""The feed of states has every change behind the cursor, whoever wrote it and however long the
writing took (docs/feeds.md#reading-on).
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from random import Random

from sqlalchemy import select

from api.areas.feeds import views
from api.areas.feeds.rules import FeedKey
from api.areas.feeds.views import DataFeedRow, FeedPlace
from core.db.engine import Database
from core.market import copying, grading, queries, samples, states
from core.market.facts import DataSource, MarketStatus
from core.market.tables import MarketListingState
from tests.integration.core.market.conftest import NOON, Listed, batch, market

FAR = NOON + timedelta(days=1)  # whoever reads: long after every time that is written here
WAIT_S = 20


def read_on(database: Database, after: FeedPlace | None, limit: int = 500) -> Sequence[DataFeedRow]:
    with database.read() as session:
        return views.page(session, FeedKey.BOARD, after, limit, FAR)


def last_place(database: Database) -> FeedPlace:
    return read_on(database, None)[-1].place


def test_a_change_that_takes_long__is_not_behind_the_cursor_of_who_read_a_later_one(
    database: Database, listed: Listed
) -> None:
    """A batch of one venue waited for a lock, another venue's passed it, and whoever had read that
    one never saw the first.
    """
    bitcoin, ether = listed.ids
    before = last_place(database)

    def write(listing_id: int, now: datetime) -> None:
        with database.write() as session:
            samples.write(session, batch((listing_id,), NOON), now)

    late = NOON + timedelta(seconds=9)
    with ThreadPoolExecutor(1) as other:
        with database.write() as session:
            samples.write(session, batch((bitcoin,), NOON), NOON)
            passing = other.submit(write, ether, late)
            threading.Event().wait(0.3)
            seen = list(read_on(database, before))
        passing.result(WAIT_S)
    seen += read_on(database, seen[-1].place if seen else before)
    assert [row.place.id for row in seen] == [bitcoin, ether]
    assert seen[1].at == late


def test_a_clock_that_is_behind__never_takes_a_state_back_before_the_cursor(
    database: Database, listed: Listed
) -> None:
    """A grade is of when its job began, and a sample that was written meanwhile is of later."""
    with database.write() as session:
        samples.write(session, batch(listed.ids, NOON), NOON + timedelta(minutes=5))
    cursor = last_place(database)
    with database.write() as session:
        assert grading.grade_hour(session, NOON + timedelta(hours=1), NOON) == 2
    assert [row.place.id for row in read_on(database, cursor)] == sorted(listed.ids)


def test_a_pair_that_is_gone__is_told_behind_the_cursor(database: Database, listed: Listed) -> None:
    found = [market("kucoin", base) for base in ("BTC", "ETH", *(f"T{n}" for n in range(20)))]
    for markets in (found, [one for one in found if one.base != "ETH"]):
        cursor = last_place(database)
        with database.write() as session:
            queries.learn_markets(session, "kucoin", markets, DataSource.SIMULATED, NOON)
    assert [row.place.id for row in read_on(database, cursor)] == [listed.ids[1]]


def test_a_pair_that_is_told_as_delisted_again__keeps_the_time_at_which_it_was_first(
    database: Database, listed: Listed
) -> None:
    """Each look at an exchange that goes on listing it moved the end in its token's timeline."""
    told = [market("kucoin", "BTC"), market("kucoin", "ETH", status=MarketStatus.DELISTED)]
    for minute in (1, 2):
        at = NOON + timedelta(minutes=minute)
        with database.write() as session:
            queries.learn_markets(session, "kucoin", told, DataSource.SIMULATED, at)
    with database.read() as session:
        ended = session.get_one(MarketListingState, listed.ids[1]).delisted_at
    assert ended == NOON + timedelta(minutes=1)


def test_turns__are_a_microsecond_apart_at_least(database: Database) -> None:
    with database.write() as session:
        times = [states.take_turn(session, at) for at in (NOON, NOON, NOON - timedelta(hours=1))]
    assert times == [NOON, NOON + timedelta(microseconds=1), NOON + timedelta(microseconds=2)]


def test_a_reader_of_small_pages_beside_many_writers__sees_the_last_change_of_each(
    database: Database, listed: Listed
) -> None:
    """Six writers with clocks that are up to half a minute off; each change is one row of a page."""
    with database.write() as session:
        found = [market("kucoin", f"T{n}") for n in range(6)]
        both = [market("kucoin", base) for base in ("BTC", "ETH")]
        queries.learn_markets(session, "kucoin", [*both, *found], DataSource.SIMULATED, NOON)
        known = queries.known_listings(session, "kucoin")
    ids = [one.listing_id for one in known if one.base.startswith("T")]
    places, ended = list[FeedPlace](), threading.Event()

    def write(listing_id: int) -> None:
        random = Random(listing_id)
        for n in range(15):
            minute = NOON + timedelta(minutes=n)
            with database.write() as session:
                now = minute + timedelta(seconds=random.uniform(-30, 30))
                samples.write(session, batch((listing_id,), minute), now)

    def read() -> None:
        cursor = last_place(database)
        while True:
            was_ended = ended.is_set()
            page = read_on(database, cursor, 2)
            places.extend(row.place for row in page)
            cursor = page[-1].place if page else cursor
            if was_ended and not page:
                return

    with ThreadPoolExecutor(7) as pool:
        reading = pool.submit(read)
        for one in [pool.submit(write, listing_id) for listing_id in ids]:
            one.result(WAIT_S)
        ended.set()
        reading.result(WAIT_S)

    with database.read() as reader:
        last = {
            FeedPlace(copying.unix_us(row.updated_at), row.listing_id)
            for row in reader.scalars(
                select(MarketListingState).where(MarketListingState.listing_id.in_(ids))
            )
        }
    assert last <= set(places)
    assert places == sorted(set(places))
