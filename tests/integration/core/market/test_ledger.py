"""The ledger of warnings: dated by the database, chained, and refused when it is tampered with."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from api.client.verify.warnings_check import check_warnings
from core.db.engine import Database
from core.market.ledger import export, writer
from core.market.ledger.writer import HistoryRefusedError, NewWarning, PastWarning
from tests.integration.core.market.conftest import NOON, Listed


def warning(listed: Listed, kind: str = "depth_collapse", **more: Any) -> NewWarning:
    values: dict[str, Any] = {
        "exchange": "kucoin",
        "asset_id": listed.assets[0],
        "token": "BTC",
        "listing_id": listed.ids[0],
        "type": kind,
        "severity": "critical",
        "is_predictive": True,
        "evidence": {"depth_highest_1h_usd": "1000"},
        "rule_version": "warnings_v1",
    }
    return NewWarning(**values | more)


def assert_sound(session: Session) -> None:
    """As anybody checks it, and with as many warnings standing as its rows leave open."""
    served = [line.encode() for line in export.lines(session, 0, 1_000)]
    found, figures = check_warnings(served, [])
    assert (found.is_whole, figures["open"]) == (True, len(writer.standing(session)))


def test_warning__issued__stands_once_at_the_database_s_time(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        assert writer.write(session, [warning(listed)], []).issued == 1
    with database.write() as session:
        assert writer.write(session, [warning(listed)], []).issued == 0
        age = session.scalar(text("select clock_timestamp() - at from warning_event"))
        assert_sound(session)
        assert len(writer.standing(session)) == 1
    assert timedelta(0) <= age < timedelta(minutes=1)


def test_warning__raised_within_a_day_of_its_end__is_the_same_again(
    database: Database, listed: Listed
) -> None:
    with database.write() as session:
        writer.write(session, [warning(listed)], [])
        first = writer.standing(session)
        assert writer.write(session, [], first).cleared == 1
        assert writer.standing(session) == []
        again = writer.write(session, [warning(listed)], [])
        assert (again.issued, again.reopened) == (0, 1)
        assert writer.standing(session) == first
        assert_sound(session)


def test_history__imported__is_in_the_order_of_its_times_and_marked(
    database: Database, listed: Listed
) -> None:
    past = [
        PastWarning(warning(listed), NOON - timedelta(days=3), NOON - timedelta(days=2)),
        PastWarning(warning(listed, "grade_drop"), NOON - timedelta(days=5), None),
    ]
    with database.write() as session:
        assert writer.import_history(session, past) == 3
        assert_sound(session)
        rows = session.execute(
            text("select action, type, is_imported from warning_event order by seq")
        ).all()
        assert [one.type for one in writer.standing(session)] == ["grade_drop"]
    assert [tuple(row) for row in rows] == [
        ("issued", "grade_drop", True),
        ("issued", "depth_collapse", True),
        ("cleared", "depth_collapse", True),
    ]


def test_history__into_a_ledger_with_rows__is_refused(database: Database, listed: Listed) -> None:
    with database.write() as session:
        writer.write(session, [warning(listed)], [])
        with pytest.raises(HistoryRefusedError):
            writer.import_history(session, [PastWarning(warning(listed), NOON, None)])


COLUMNS = (
    "action, exchange, asset_id, token, type, severity, is_predictive, at, evidence, rule_version, "
    "is_imported, prev_hash, row_hash, seq"
)


@pytest.mark.parametrize(
    ("at", "is_imported", "seq", "prev", "why"),
    [
        ("now() - interval '1 hour'", False, 2, "row_hash", "does not continue"),
        ("now() + interval '1 hour'", False, 2, "row_hash", "dated when it is written"),
        ("clock_timestamp()", True, 2, "row_hash", "imported before any other row"),
        ("clock_timestamp()", False, 2, "prev_hash", "does not continue"),
        ("clock_timestamp()", False, 3, "row_hash", "does not follow"),
    ],
)
def test_row__that_is_dated_back_or_not_chained__is_refused_by_the_database(  # each case a column
    database: Database, listed: Listed, at: str, is_imported: bool, seq: int, prev: str, why: str
) -> None:
    with database.write() as session:
        writer.write(session, [warning(listed)], [])
    forged = (
        f"insert into warning_event ({COLUMNS}) select action, exchange, asset_id, token, 'grade_drop', "
        f"severity, is_predictive, {at}, evidence, rule_version, {is_imported}, {prev}, row_hash, {seq} "
        "from warning_event where seq = 1"
    )
    with pytest.raises(DBAPIError, match=why), database.write() as session:
        session.execute(text(forged))
