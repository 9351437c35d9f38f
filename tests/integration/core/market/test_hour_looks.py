"""The depths of the last hour, held between runs: the same as when the whole hour is read."""

from datetime import datetime, timedelta

import pytest

from core.db.engine import Database
from core.market import samples
from core.market.hour_looks import HourDepth, HourLooks
from tests.integration.core.market.conftest import NOON, Listed, batch

MINUTE = timedelta(minutes=1)


def look(
    database: Database, ids: tuple[int, ...], at: datetime, depth: float, every_s: int = 60
) -> None:
    found = batch(ids, at, every_s=every_s)
    found.measures.bid_2_usd[:] = depth
    with database.write() as session:
        samples.copy_samples(session, found)


def read(database: Database, held: HourLooks, now: datetime) -> dict[int, HourDepth]:
    with database.read() as session:
        return dict(held.read(session, now))


def test_each_minute__is_what_a_whole_read_says(database: Database, listed: Listed) -> None:
    held = HourLooks()
    for minute in range(1, 100):
        at = NOON + minute * MINUTE
        look(database, listed.ids, at, 1_000.0 + (minute * 37) % 101)
        assert read(database, held, at) == read(database, HourLooks(), at)
    found = read(database, held, NOON + 99 * MINUTE)[listed.ids[0]]
    last = [1_000.0 + (minute * 37) % 101 for minute in range(40, 100)]
    assert found == HourDepth(max(last), min(last))


def test_what_comes_a_minute_late__is_read_too(database: Database, listed: Listed) -> None:
    held = HourLooks()
    for minute in range(1, 41):
        look(database, listed.ids[:1], NOON + minute * MINUTE, 1_000.0)
        read(database, held, NOON + minute * MINUTE)
    look(database, listed.ids[1:], NOON + 39 * MINUTE, 50.0, every_s=1_800)
    found = read(database, held, NOON + 41 * MINUTE)
    assert found[listed.ids[1]] == HourDepth(50.0, 50.0)


@pytest.mark.parametrize(("minutes", "is_known"), [(29, False), (30, True)])
def test_less_than_half_an_hour__is_not_known(
    database: Database, listed: Listed, minutes: int, is_known: bool
) -> None:
    for minute in range(minutes):
        look(database, listed.ids[:1], NOON + minute * MINUTE, 1_000.0)
    found = read(database, HourLooks(), NOON + 30 * MINUTE)
    assert (listed.ids[0] in found) is is_known


def test_a_clock_that_goes_back__begins_anew(database: Database, listed: Listed) -> None:
    held = HourLooks()
    for minute in range(60):
        look(database, listed.ids[:1], NOON + minute * MINUTE, 1_000.0 + minute)
    read(database, held, NOON + 59 * MINUTE)
    now = NOON + 40 * MINUTE
    assert read(database, held, now) == read(database, HourLooks(), now)


def test_a_run__asks_for_the_newest_minutes_alone(database: Database, listed: Listed) -> None:
    held, asked = HourLooks(), list[int]()
    for minute in range(60):
        look(database, listed.ids, NOON + minute * MINUTE, 1_000.0)
    read(database, held, NOON + 59 * MINUTE)
    look(database, listed.ids, NOON + 60 * MINUTE, 1_000.0)
    asked.append(held.rows_read)
    read(database, held, NOON + 60 * MINUTE)
    asked.append(held.rows_read)
    assert asked == [120, 8]
