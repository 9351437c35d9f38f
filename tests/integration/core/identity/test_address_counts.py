"""Calls of a network address, counted by several processes whose clocks differ a little."""

from datetime import UTC, datetime, timedelta

from core.db.engine import Database
from core.identity.calls import count_address

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
WINDOW = timedelta(seconds=60)
MOST = 30


def number_at(database: Database, later_s: float) -> tuple[int, float]:
    """The number of a call by a clock, and when its window began, as seconds after NOW."""
    now = NOW + timedelta(seconds=later_s)
    with database.statements() as connection:
        number, since = count_address(connection, "notes", "203.0.113.9", now, WINDOW, MOST)
    return number, (since - NOW).total_seconds()


def test_calls_of_a_window__are_counted_whichever_clock_is_behind(database: Database) -> None:
    seen = [number_at(database, later_s) for later_s in (0, -0.2, 0.1, -59.999, 59.999)]
    assert seen == [(number, 0) for number in (1, 2, 3, 4, 5)]


def test_a_window__is_over_after_60_s_or_once_the_clock_was_set_back_by_as_much(
    database: Database,
) -> None:
    assert [number_at(database, later_s) for later_s in (0, 60, 60, 0)] == [
        (1, 0),
        (1, 60),
        (2, 60),
        (1, 0),
    ]


def test_calls_beyond_the_most__are_one_more_than_it(database: Database) -> None:
    assert [number_at(database, 0)[0] for _ in range(MOST + 2)] == [*range(1, 32), 31]
