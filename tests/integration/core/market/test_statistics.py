"""The warning statistics of a day: published once, and again when more is known of it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from api.areas.market import jobs
from core.db.engine import Database
from core.market import outcomes, queries, statistics
from core.market.facts import DataSource, NoticeKind, NoticeScope, VenueNotice
from core.market.warning_views import statistics_of
from core.published.rules import PublishedVersion
from tests.each import each
from tests.integration.core.market.conftest import NOON, market
from tests.integration.keeper.test_notes_vault import place_of

HOUR = timedelta(hours=1)


def delist(database: Database, base: str, at: datetime) -> None:
    """The exchange says that it delists the coin; it is read only now."""
    with database.write() as session:
        queries.learn_markets(
            session, "mexc", [market("mexc", base)], DataSource.SIMULATED, NOON - 90 * 24 * HOUR
        )
        notice = VenueNotice(
            exchange="mexc",
            id=f"delist {base}",
            kind=NoticeKind.DELIST,
            scope=NoticeScope.SPOT,
            native_bases=(base,),
            title=f"Delisting of {base}",
            url=None,
            published_at=at,
            effective_at=None,
        )
        assert outcomes.learn_notices(session, [notice], at) == 1


def units(found: PublishedVersion | None) -> tuple[int, str, int] | None:
    """Version, cause and units of the headline."""
    if found is None:
        return None
    return found.version, found.cause, found.figures["B3.1"]["headline"]["units"]


def shown(database: Database, version: int | None = None) -> tuple[int, str, int] | None:
    with database.read() as session:
        return units(statistics_of(session, NOON.date(), version))


def test_what_is_imported_after_a_day_without_outcomes__is_its_second_version(
    database: Database,
) -> None:
    place = place_of(database)
    assert jobs.publish(place, NOON) == {"version": 1, "cause": "first"}
    delist(database, "DUST", NOON - 48 * HOUR)
    assert jobs.publish(place, NOON + HOUR) == {"version": 2, "cause": "late_inputs"}
    assert shown(database) == (2, "late_inputs", 1)
    assert shown(database, 1) == (1, "first", 0)
    assert shown(database, 3) is None


def test_an_outcome_of_after_the_first_empty_version__is_in_the_day_too(database: Database) -> None:
    place = place_of(database)
    jobs.publish(place, NOON)
    delist(database, "DUST", NOON + HOUR / 2)
    assert jobs.publish(place, NOON + HOUR) == {"version": 2, "cause": "late_inputs"}


def test_a_day_with_a_rate__stays_as_of_its_moment(database: Database) -> None:
    place = place_of(database)
    delist(database, "DUST", NOON - 48 * HOUR)
    assert jobs.publish(place, NOON) == {"version": 1, "cause": "first"}
    assert jobs.publish(place, NOON + HOUR) == {}
    delist(database, "LATE", NOON)  # as of noon is what was before it
    assert jobs.publish(place, NOON + 2 * HOUR) == {}
    delist(database, "MISSED", NOON - timedelta(microseconds=1))
    assert jobs.publish(place, NOON + 3 * HOUR) == {"version": 2, "cause": "late_inputs"}
    assert shown(database) == (2, "late_inputs", 2)
    assert shown(database, 1) == (1, "first", 1)


def test_the_next_day__begins_with_its_own_first_version(database: Database) -> None:
    place = place_of(database)
    delist(database, "DUST", NOON - 48 * HOUR)
    jobs.publish(place, NOON)
    assert jobs.publish(place, NOON + 11 * HOUR) == {}
    assert jobs.publish(place, NOON + 12 * HOUR) == {"version": 1, "cause": "first"}
    assert shown(database) == (1, "first", 1)


def test_another_computation_of_the_same_inputs__is_a_correction(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(database)
    delist(database, "DUST", NOON - 48 * HOUR)
    jobs.publish(place, NOON)
    monkeypatch.setattr(statistics, "SERIES", replace(statistics.SERIES, rules="wci_v2"))
    assert jobs.publish(place, NOON + HOUR) == {}  # its figures are the same
    computed = statistics.wci_of

    def doubled(*of: object) -> object:
        return [
            replace(one, headline=replace(one.headline, hits=one.headline.hits + 1))
            for one in computed(*of)  # type: ignore[arg-type]  # as it is called
        ]

    monkeypatch.setattr(statistics, "wci_of", doubled)
    assert jobs.publish(place, NOON + 2 * HOUR) == {"version": 2, "cause": "correction"}


@each("statement", ["update published_day set version = 2", "delete from published_day"])
def test_published_days__are_never_changed(database: Database, statement: str) -> None:
    with database.write() as session:
        with pytest.raises(DBAPIError, match="published_day"):
            session.execute(text(statement))
        session.rollback()
