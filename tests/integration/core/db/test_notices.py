"""What others hear of a commit: one notice, of what was written for good."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from core.db.engine import Database, WriteSession
from core.db.notices import CHANNEL, EVERYTHING
from core.mandate.ledger import topics
from core.mandate.ledger import writer as mandate_ledger
from tests.integration.core.rows import NOW, add_mandate, note

Listening = psycopg.Connection[Any]


@pytest.fixture
def listening(database_url: str) -> Iterator[Listening]:
    url = database_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"listen {CHANNEL}")
        yield connection


def heard(connection: Listening) -> list[set[str]]:
    """Notices come with the answer to the next statement at the latest."""
    return [set(one.payload.split()) for one in connection.notifies(timeout=0.5)]


def made(database: Database, count: int = 1) -> list[int]:
    with database.write() as session:
        return [add_mandate(session, f"m_{number:0>10}") for number in range(count)]


def test_a_commit__is_one_notice_however_many_calls_wrote_rows(
    database: Database, listening: Listening
) -> None:
    first, second = made(database, 2)
    with database.write() as session:
        mandate_ledger.append(session, first, note(1), NOW)
        mandate_ledger.append(session, first, note(2), NOW)
        with session.begin_nested():
            mandate_ledger.append(session, second, note(3), NOW)
    (notice,) = heard(listening)
    assert {topics.of_mandate(first), topics.of_mandate(second)} < notice
    assert len(notice) == 4


def test_a_history_by_copy__is_one_notice(database: Database, listening: Listening) -> None:
    (mandate_id,) = made(database)
    with database.write() as session:
        rows = [note(number) for number in range(2_000)]
        mandate_ledger.append_ledgers(session, {mandate_id: rows}, NOW)
    (notice,) = heard(listening)
    assert topics.of_mandate(mandate_id) in notice


@pytest.mark.slow
def test_more_mandates_than_a_notice_holds__are_everything(
    database: Database, listening: Listening
) -> None:
    mandates = made(database, 800)
    with database.write() as session:
        mandate_ledger.append_ledgers(session, {one: [note(1)] for one in mandates}, NOW)
    assert heard(listening) == [{EVERYTHING}]


def test_what_is_rolled_back_or_stood_already__is_no_notice(
    database: Database, listening: Listening
) -> None:
    (mandate_id,) = made(database)
    session = WriteSession(database.engine, expire_on_commit=False)
    mandate_ledger.append(session, mandate_id, note(1), NOW)
    session.rollback()
    session.commit()
    assert heard(listening) == []
    mandate_ledger.append(session, mandate_id, note(1), NOW)
    session.commit()
    assert len(heard(listening)) == 1
    mandate_ledger.append(session, mandate_id, note(1), NOW)
    session.commit()
    session.close()
    assert heard(listening) == []
