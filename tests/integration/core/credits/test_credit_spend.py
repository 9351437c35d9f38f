"""The one statement that spends writes what the book's own writer writes, byte for byte, or
nothing.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text

from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.spend import spend_at_once, spend_values, spending
from core.credits.rules.buckets import Credits, NotEnoughCreditsError
from core.credits.tables import CreditEntry
from core.db.engine import Database, WriteSession
from core.errors import InvalidNumberError, InvalidParameterError
from tests.integration.core.rows import NOW, add_account

NAMES = {"kind": "spend", "base_key": "k", "counter": "sales"}
HELD = st.integers(0, 9)
# what Postgres can store
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=5)


@contextmanager
def undone(database: Database) -> Iterator[WriteSession]:
    with database.write_session() as session:
        yield session
        session.rollback()


def give(session: WriteSession, account: int, welcome: int, earned: int, converted: int) -> None:
    if welcome:
        credit_ledger.grant_welcome(session, account, welcome, NOW)
    if earned:
        credit_ledger.earn(session, account, earned, "earn", {}, NOW)
    if converted:
        credit_ledger.convert(session, account, converted, "convert", {}, NOW)


def last_entry(session: WriteSession, account: int) -> dict[str, Any]:
    """All but its id."""
    query = (
        select(CreditEntry.__table__)
        .where(CreditEntry.account_id == account)
        .order_by(CreditEntry.seq.desc())
        .limit(1)
    )
    entry = session.execute(query).one()._asdict()
    return {name: value for name, value in entry.items() if name != "id"}


def spent_both_ways(
    session: WriteSession, amount: int, payload: dict[str, Any], held: tuple[int, int, int]
) -> list[dict[str, Any] | None]:
    """The entry of the statement, then the writer's on the same account; None where it posts
    nothing.
    """
    account = add_account(session, "agent")
    give(session, account, *held)
    rows: list[dict[str, Any] | None] = []
    for by_statement in (True, False):
        with session.begin_nested() as savepoint:
            rows.append(_spent(session, account, amount, payload, by_statement=by_statement))
            savepoint.rollback()
    return rows


def _spent(
    session: WriteSession, account: int, amount: int, payload: dict[str, Any], *, by_statement: bool
) -> dict[str, Any] | None:
    if by_statement:
        if not spend_at_once(session.connection(), account, amount, NAMES, payload, NOW):
            return None
    else:
        try:
            credit_ledger.spend(session, account, amount, NAMES["base_key"], payload, NOW)
        except NotEnoughCreditsError:
            return None
    assert credit_ledger.verify(session, account) == []
    return last_entry(session, account)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 20),
    st.dictionaries(TEXT, TEXT | st.integers(-9, 9), max_size=3),
    st.tuples(HELD, HELD, HELD),
)
def test_the_statement__of_any_balance__writes_the_writers_row(
    database: Database, amount: int, payload: dict[str, Any], held: tuple[int, int, int]
) -> None:
    with undone(database) as session:
        statements, writers = spent_both_ways(session, amount, payload, held)
        assert statements == writers
        assert (statements is not None) == (amount <= sum(held))


@pytest.fixture
def account(database: Database) -> int:
    with database.write() as session:
        account = add_account(session, "agent")
        give(session, account, 10, 20, 5)
        return account


def balance(database: Database, account: int) -> Credits:
    with database.read() as session:
        assert credit_ledger.verify(session, account) == []
        return credit_ledger.load_balance(session, account)


def alone(database: Database, account: int, amount: int, key: str) -> bool:
    try:
        credit_ledger.spend_alone(database, account, amount, key, {}, NOW)
    except NotEnoughCreditsError:
        return False
    return True


def test_spend_alone__takes_welcome_then_earned_then_converted(
    database: Database, account: int
) -> None:
    credit_ledger.spend_alone(database, account, 32, "buy", {"page": "señal ✓"}, NOW)
    assert balance(database, account) == Credits(converted=3)


def test_spend_alone__the_same_key_again__moves_nothing(database: Database, account: int) -> None:
    assert [alone(database, account, amount, "buy") for amount in (4, 9)] == [True, True]
    assert balance(database, account) == Credits(welcome=6, earned=20, converted=5)


def test_spend_alone__one_more_than_there_is__moves_nothing_and_says_what_there_is(
    database: Database, account: int
) -> None:
    with pytest.raises(NotEnoughCreditsError) as refused:
        credit_ledger.spend_alone(database, account, 36, "buy", {}, NOW)
    assert (refused.value.needed, refused.value.available) == (36, 35)
    credit_ledger.spend_alone(database, account, 35, "buy", {}, NOW)
    assert balance(database, account) == Credits()


def test_spend_alone__without_a_ledger__is_refused(database: Database) -> None:
    with database.write() as session:
        account = add_account(session, "agent")
    assert not alone(database, account, 1, "buy")


@pytest.mark.parametrize("amount", [0, -1])
def test_spend_alone__of_nothing__is_refused(database: Database, account: int, amount: int) -> None:
    with pytest.raises(InvalidNumberError):
        credit_ledger.spend_alone(database, account, amount, "buy", {}, NOW)
    assert balance(database, account).available == 35


def test_spend_alone__with_a_float__writes_nothing(database: Database, account: int) -> None:
    with pytest.raises(InvalidParameterError):
        credit_ledger.spend_alone(database, account, 1, "buy", {"price": 0.5}, NOW)
    assert balance(database, account).available == 35


def test_spend_alone__of_sixteen_at_once_beside_the_writer__spends_no_credit_twice(
    database: Database, account: int
) -> None:
    def spend(number: int) -> bool:
        if number % 4:
            return alone(database, account, 1, f"spend {number}")
        try:
            with database.write() as session:
                return credit_ledger.spend(session, account, 1, f"spend {number}", {}, NOW).is_new
        except NotEnoughCreditsError:
            return False

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(spend, range(64))) == 35
    assert balance(database, account) == Credits()


def test_one_key__of_sixteen_at_once__is_posted_once(database: Database, account: int) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda _: alone(database, account, 3, "buy"), range(16)))
    assert balance(database, account).available == 32


def test_the_statement__commits_by_itself(database: Database, account: int) -> None:
    with database.statements() as connection:
        assert spend_at_once(connection, account, 5, NAMES, {}, NOW)
        assert balance(database, account).available == 30


DUE = "due as (select account_id from head where %(is_due)s)"
AS_A_PART: str = f"""
with waited as (select pg_advisory_xact_lock(1, 2)), {spending("waited", DUE, "exists (select from due)")}
select account_id from head"""


def as_a_part(
    session: WriteSession, account: int, amount: int, payload: Any, *, is_due: bool = True
) -> bool:
    """Spend by a larger statement; whether the account could."""
    values = spend_values(account, amount, credit_ledger.names_of_sale("buy"), payload, NOW)
    return bool(session.connection().exec_driver_sql(AS_A_PART, {**values, "is_due": is_due}).all())


def test_as_a_part_of_a_statement__the_row_is_the_writers(database: Database, account: int) -> None:
    with undone(database) as session:
        rows = []
        payload = {"page": "señal ✓"}
        for is_part in (True, False):
            with session.begin_nested() as savepoint:
                if is_part:
                    assert as_a_part(session, account, 32, payload)
                else:
                    credit_ledger.spend(session, account, 32, "buy", payload, NOW)
                assert credit_ledger.verify(session, account) == []
                rows.append(last_entry(session, account))
                savepoint.rollback()
        assert rows[0] == rows[1]


def test_as_a_part_of_a_statement__a_key_that_stands_moves_nothing(
    database: Database, account: int
) -> None:
    with database.write() as session:
        assert [as_a_part(session, account, amount, {}) for amount in (4, 9)] == [True, False]
    assert balance(database, account) == Credits(welcome=6, earned=20, converted=5)


def test_as_a_part_of_a_statement__one_more_than_there_is_moves_nothing(
    database: Database, account: int
) -> None:
    with database.write() as session:
        assert not as_a_part(session, account, 36, {})
        assert as_a_part(session, account, 35, {}, is_due=False)
    assert balance(database, account) == Credits(welcome=10, earned=20, converted=5)


def test_as_a_part_of_a_statement__a_head_that_moved_while_it_waited_is_read_anew(
    database: Database, account: int
) -> None:
    """The statement's snapshot is older than its lock."""
    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            session.execute(select(func.pg_advisory_xact_lock(1, 2)))
            waiting = pool.submit(_in_its_own, database, account)
            _until_one_waits(database)
            credit_ledger.spend(session, account, 30, "before", {}, NOW)
        assert waiting.result() is False
    assert balance(database, account).available == 5
    with database.read() as session:
        assert credit_ledger.verify(session, account) == []


def _in_its_own(database: Database, account: int) -> bool:
    with database.write() as session:
        return as_a_part(session, account, 6, {})


def _until_one_waits(database: Database) -> None:
    waiting = text("select count(*) from pg_locks where locktype = 'advisory' and not granted")
    while True:
        with database.read() as session:
            if session.scalar(waiting):
                return
