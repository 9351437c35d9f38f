"""Each call with a key is counted once, whatever becomes of it, and over processes and restarts
(docs/rules.md#calls-per-day).
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.exc import DBAPIError, ProgrammingError

from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.kernel.quota import Quota, ceilings
from api.kernel.tokens import token_hash
from core.db.engine import Bounds, Database
from core.identity.calls import KeyCall, count_call
from tests.integration.api.conftest import KEY, Clock, TestClient, bearer, connect
from tests.integration.api.probe import PATH

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WRITERS = 64


@pytest.fixture
def key_hash(client: TestClient, deps: Deps) -> bytes:
    return token_hash(deps.pepper, str(connect(client)["api_key"]))


def count(database: Database, key_hash: bytes, ceiling: int, now: datetime = NOW) -> KeyCall | None:
    with database.statements() as connection:
        return count_call(connection, key_hash, now, {"free": ceiling})


@pytest.mark.slow
@pytest.mark.parametrize("ceiling", [1_000, 50])
def test_64_writers_on_one_counter__lose_no_update_and_pass_no_ceiling(
    database_url: str, key_hash: bytes, ceiling: int
) -> None:
    replicas = [Database(database_url, bounds=Bounds(pool_size=16, overflow=16)) for _ in range(2)]
    with ThreadPoolExecutor(WRITERS) as pool:
        found = list(
            pool.map(lambda n: count(replicas[n % 2], key_hash, ceiling), range(4 * WRITERS))
        )
    for replica in replicas:
        replica.close()
    numbers = [one.number for one in found if one is not None]
    served = min(ceiling, 4 * WRITERS)
    assert sorted(n for n in numbers if n is not None) == list(range(1, served + 1))
    assert numbers.count(None) == 4 * WRITERS - served


def test_a_count__goes_on_after_a_restart_and_begins_anew_at_midnight(
    database_url: str, key_hash: bytes
) -> None:
    numbers = []
    for now in (
        NOW,
        NOW,
        NOW.replace(hour=23, minute=59, second=59),
        NOW.replace(hour=0) + timedelta(days=1),
    ):
        with closing(Database(database_url)) as process:
            found = count(process, key_hash, 10, now)
            assert found is not None
            numbers.append(found.number)
    assert numbers == [1, 2, 3, 1]


def test_a_call_that_the_ceiling_refuses__is_not_counted(
    database: Database, key_hash: bytes
) -> None:
    numbers = [
        found.number
        for found in (count(database, key_hash, ceiling) for ceiling in (2, 2, 2, 2, 3, 0))
        if found is not None
    ]
    assert numbers == [1, 2, None, None, 3, None]


def test_an_unknown_key__is_nobodys(database: Database) -> None:
    assert count(database, b"x" * 32, 10) is None


def test_ceilings__go_by_plan() -> None:
    assert ceilings(Limits()) == {"free": 2_000, "plus": 5_000, "pro": 10_000}


def test_the_headers__say_what_is_left_and_when_it_comes_back() -> None:
    names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
    assert [Quota(5, 5, NOW).headers()[name] for name in names] == ["5", "0", "1795305600"]
    assert Quota(5, None, NOW).headers()["X-RateLimit-Remaining"] == "0"


def test_every_answer_to_a_key__carries_the_ceiling(client: TestClient, clock: Clock) -> None:
    agent = {KEY: str(connect(client)["api_key"])}
    calls = [
        ("POST", PATH, {"do": "refuse"}, {}, 409),
        ("POST", PATH, {"secret": "x"}, {}, 400),
        ("POST", PATH, {"n": "x"}, {}, 400),
        ("POST", PATH, {"do": "outside"}, {}, 503),
        ("POST", "/auth/owner/logout", {}, {}, 401),
        ("POST", PATH, {}, bearer("garbage"), 401),
        ("POST", "/mandate-wallet/mandates", {}, {}, 403),
        ("GET", "/mandate-wallet/mandates/m_aaaaaaaaaa", None, {}, 404),
    ]
    for number, (method, path, body, more, status) in enumerate(calls, start=1):
        answer = client.request(method, path, json=body, headers=agent | more)
        assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (
            status,
            str(2_000 - number),
        ), answer.text


# The connection that lone statements are sent on


def test_a_statements_error__is_sqlalchemys_and_shows_no_parameter(database: Database) -> None:
    with pytest.raises(ProgrammingError) as raised, database.statements() as connection:
        connection.exec_driver_sql("select * from nowhere where x = %s", ("hunter2",))
    assert "hunter2" not in str(raised.value)


def test_a_connection_that_the_server_ended__is_replaced_for_the_next_call(
    database: Database, key_hash: bytes
) -> None:
    with pytest.raises(DBAPIError), database.statements() as connection:
        connection.exec_driver_sql("select pg_terminate_backend(pg_backend_pid())")
    found = count(database, key_hash, 10)
    assert found is not None and found.number == 1


def test_a_connection_that_rested_and_was_ended_meanwhile__costs_no_call(
    database_url: str, database: Database, key_hash: bytes
) -> None:
    with closing(Database(database_url, application_name="resting")) as process:
        assert count(process, key_hash, 10) is not None
        with database.write() as session:
            session.connection().exec_driver_sql(
                "select pg_terminate_backend(pid) from pg_stat_activity where "
                "application_name='resting'"
            )
        found = count(process, key_hash, 10)
        assert found is not None and found.number == 2


def test_modes__end_with_their_use(database: Database) -> None:
    with database.statements() as connection:
        connection.exec_driver_sql("create temporary table t (n int)")
    with database.read() as session:
        assert (
            session.connection().exec_driver_sql("show transaction_isolation").scalar_one()
            == "repeatable read"
        )
    with database.write() as session:
        shown = [
            session.connection().exec_driver_sql(f"show {name}").scalar_one()
            for name in ("transaction_isolation", "transaction_read_only")
        ]
    assert shown == ["read committed", "off"]
