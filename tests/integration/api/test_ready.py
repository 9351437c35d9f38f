"""/health/ready on a real database: which trouble of which part makes it 503, and what it says to
do.
"""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, text
from starlette.testclient import TestClient

from api.kernel.operation import Access, Deps
from api.main import create_app
from core.db.engine import Database
from core.db.replicas import ForeignReplicaError, ReplicaPlace, Replicas
from tests.integration.api.conftest import Clock, FewAnswersChain, ask_anew
from tests.integration.api.in_process import AppClient

CURSOR_HASH = b"\x11" * 32
FINAL_HASH = "0x" + "ab" * 32


def beat(database: Database, clock: Clock, name: str, **status: Any) -> None:
    """The loop of that name leads and says so now."""
    said = json.dumps({"state": "following"} | status)
    with database.write() as session:
        session.execute(
            text(
                "insert into leader values (:name, 1, 'x', 1, :now, :now, cast(:said as jsonb)) "
                "on conflict (name) do update set beat_at = excluded.beat_at, status = "
                "excluded.status"
            ),
            {"name": name, "now": clock.now, "said": said},
        )


def commit(database: Database, clock: Clock, number: int, age_s: int = 0) -> None:
    """The indexer commits that block now; it was mined `age_s` before."""
    mined_at = int(clock.now.timestamp()) - age_s
    with database.write() as session:
        for statement in (
            "delete from chain_cursor where name = 'tip'",
            "delete from chain_block",
            "insert into chain_cursor values ('tip', 84532, :number, :hash, 1, :now)",
            "insert into chain_block values (84532, :hash, :number, :hash, :mined_at, true, :now)",
        ):
            session.execute(
                text(statement),
                {"number": number, "hash": CURSOR_HASH, "now": clock.now, "mined_at": mined_at},
            )


@pytest.fixture
def beating(database: Database, clock: Clock) -> None:
    """All three lead; the indexer has committed block 100, which is the chain's head."""
    beat(database, clock, "indexer")
    beat(database, clock, "keeper")
    beat(database, clock, "scanner")
    commit(database, clock, 100)


def pass_with_beats(database: Database, clock: Clock, seconds: int) -> None:
    clock.pass_(seconds=seconds)
    beat(database, clock, "indexer")
    beat(database, clock, "keeper")
    beat(database, clock, "scanner")


def ready(client: TestClient) -> tuple[int, dict[str, Any]]:
    answer = ask_anew(client)
    return answer.status_code, answer.json()["parts"]


def seconds(clock: Clock) -> int:
    return int(clock.now.timestamp())


def test_parts_that_never_ran__are_down_and_say_what_to_start(client: TestClient) -> None:
    status, parts = ready(client)
    assert status == 503
    assert {name: part["status"] for name, part in parts.items()} == {
        "database": "ok",
        "migrations": "ok",
        "indexer": "down",
        "keeper": "down",
        "scanner": "degraded",
        "chain": "ok",
    }
    assert (
        parts["indexer"]["note"]
        == "It has never run on this database; start `python -m indexer.main`."
    )


@pytest.mark.usefixtures("beating")
def test_all_parts_beating__is_ready_and_shows_lag_in_seconds_and_blocks(
    client: TestClient, database: Database, clock: Clock, chain: FewAnswersChain
) -> None:
    commit(database, clock, 98, age_s=5)
    clock.pass_(seconds=9)
    answer = ask_anew(client)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert answer.json()["parts"]["indexer"] == {
        "status": "ok",
        "lag_s": 14,
        "lag_blocks": 2,
        "note": None,
    }


@pytest.mark.usefixtures("beating")
@pytest.mark.parametrize("silent_s", [14, 15])
def test_a_leader_that_is_silent_for_15_s__is_down(
    client: TestClient, clock: Clock, silent_s: int
) -> None:
    clock.pass_(seconds=silent_s)
    status, parts = ready(client)
    expected = (503, "down") if silent_s == 15 else (200, "ok")
    assert (status, parts["indexer"]["status"]) == (status, parts["keeper"]["status"]) == expected
    if silent_s == 15:
        assert parts["indexer"]["note"].startswith(
            "No indexer leads: no heartbeat for 15 s; check its log and start"
        )


@pytest.mark.usefixtures("beating")
@pytest.mark.parametrize(("waited_s", "expected"), [(29, 200), (30, 503)])
def test_a_stall__is_down_30_s_after_the_chain_had_the_next_block(
    client: TestClient,
    database: Database,
    clock: Clock,
    chain: FewAnswersChain,
    waited_s: int,
    expected: int,
) -> None:
    pass_with_beats(database, clock, 40)  # the chain itself was silent so long
    chain.height, chain.mined[101] = 103, seconds(clock)
    pass_with_beats(database, clock, waited_s)
    chain.mined_at = seconds(clock)
    status, parts = ready(client)
    assert status == expected
    assert (parts["indexer"]["lag_s"], parts["indexer"]["lag_blocks"]) == (40 + waited_s, 3)
    if expected == 503:
        assert parts["indexer"]["note"].startswith(
            "It is stalled: the chain is at block 103, and it has committed nothing after "
            "block 100 for 30 s. Its log names"
        )


@pytest.mark.usefixtures("beating")
def test_a_stall_on_a_chain_whose_clock_runs_ahead__is_seen(
    client: TestClient, database: Database, clock: Clock, chain: FewAnswersChain
) -> None:
    chain.height, chain.mined_at = 101, seconds(clock) + 86_400
    pass_with_beats(database, clock, 30)
    assert ready(client)[1]["indexer"]["status"] == "down"


@pytest.mark.usefixtures("beating")
@pytest.mark.parametrize(
    ("age_s", "status", "word"),
    [(19, 200, "ok"), (20, 200, "degraded"), (119, 200, "degraded"), (120, 503, "down")],
)
def test_what_is_served_grows_old__degraded_first_and_down_from_120_s(
    client: TestClient, database: Database, clock: Clock, age_s: int, status: int, word: str
) -> None:
    commit(database, clock, 97, age_s=age_s)
    found, parts = ready(client)
    assert (
        found,
        parts["indexer"]["status"],
        parts["indexer"]["lag_s"],
        parts["indexer"]["lag_blocks"],
    ) == (status, word, age_s, 3)
    assert (parts["indexer"]["note"] is None) == (word == "ok")


@pytest.mark.usefixtures("beating")
@pytest.mark.parametrize(("behind", "word"), [(5, "ok"), (6, "degraded")])
def test_more_than_five_blocks_behind__is_degraded(
    client: TestClient, chain: FewAnswersChain, behind: int, word: str
) -> None:
    chain.height = 100 + behind
    assert ready(client)[1]["indexer"]["status"] == word


@pytest.mark.usefixtures("beating")
def test_an_indexer_halted_below_finalized__is_down_and_names_the_block(
    client: TestClient, database: Database, clock: Clock
) -> None:
    beat(
        database,
        clock,
        "indexer",
        state="degraded",
        halted_below={"number": 64, "hash": FINAL_HASH},
    )
    status, parts = ready(client)
    assert (status, parts["indexer"]["status"]) == (503, "down")
    assert parts["indexer"]["note"].startswith(
        f"It halted: the chain no longer holds block 64 {FINAL_HASH}, which was final. "
        "Compare two nodes"
    )


@pytest.mark.usefixtures("beating")
def test_an_indexer_whose_last_round_failed__is_degraded(
    client: TestClient, database: Database, clock: Clock
) -> None:
    beat(database, clock, "indexer", state="degraded")
    status, parts = ready(client)
    assert (status, parts["indexer"]["status"]) == (200, "degraded")
    assert parts["indexer"]["note"] == "Its last round failed and it is retrying; its log says why."


def test_an_indexer_that_committed_nothing_yet__is_degraded(
    client: TestClient, database: Database, clock: Clock
) -> None:
    beat(database, clock, "indexer", state="starting")
    part = ready(client)[1]["indexer"]
    assert (part["status"], part["lag_s"], part["lag_blocks"]) == ("degraded", None, None)


@pytest.mark.usefixtures("beating")
@pytest.mark.parametrize(("is_local", "silent_s", "status", "word"), [
    (True, 29, 200, "ok"),
    (True, 30, 200, "degraded"),
    (True, 86_400, 200, "degraded"),
    (False, 30, 200, "degraded"),
    (False, 299, 200, "degraded"),
    (False, 300, 503, "down"),
])  # fmt: skip
def test_a_chain_that_mines_nothing__is_the_chains_trouble(
    deps: Deps,
    database: Database,
    clock: Clock,
    is_local: bool,
    silent_s: int,
    status: int,
    word: str,
) -> None:
    with AppClient(
        create_app(deps.with_part(Access, replace(deps.parts.of(Access), is_local=is_local)))
    ) as client:
        pass_with_beats(database, clock, silent_s)
        found, parts = ready(client)
    assert (found, parts["chain"]["status"], parts["indexer"]["status"]) == (status, word, "ok")
    assert parts["chain"]["lag_s"] == parts["indexer"]["lag_s"] == silent_s
    if word != "ok":
        assert parts["chain"]["note"].startswith(
            "The local chain has mined no block"
            if is_local
            else "The chain has no block newer than"
        )


@pytest.mark.usefixtures("beating")
def test_a_node_that_is_gone__is_down_beside_parts_that_are_not(
    client: TestClient, chain: FewAnswersChain
) -> None:
    chain.is_down = True
    status, parts = ready(client)
    assert (
        status,
        parts["chain"]["status"],
        parts["database"]["status"],
        parts["indexer"]["status"],
    ) == (503, "down", "ok", "ok")
    assert (parts["indexer"]["lag_s"], parts["indexer"]["lag_blocks"]) == (0, None)


def test_a_node_of_another_chain__is_down_and_says_which(
    client: TestClient, chain: FewAnswersChain
) -> None:
    chain.id = 1
    part = ready(client)[1]["chain"]
    assert (part["status"], part["note"]) == (
        "down",
        "The node is on chain 1, not 84532; check RPC_URLS and CHAIN_ID.",
    )


def test_a_database_without_migrations__says_so(client: TestClient, database: Database) -> None:
    with database.write() as session:
        session.execute(text("drop table alembic_version"))
        session.execute(text("drop table leader"))
    parts = ready(client)[1]
    assert (
        parts["migrations"]["status"],
        parts["indexer"]["status"],
        parts["database"]["status"],
    ) == ("down", "down", "ok")


def test_a_block_committed_in_the_meantime__ends_a_stall(
    client: TestClient, database: Database, clock: Clock, chain: FewAnswersChain
) -> None:
    beat(database, clock, "keeper")
    beat(database, clock, "scanner")
    commit(database, clock, 100)
    chain.height = 101
    pass_with_beats(database, clock, 60)
    chain.mined_at = seconds(clock)
    chain.mined[101] = seconds(clock) - 60
    assert ready(client)[0] == 503
    clock.now += timedelta(seconds=1)
    commit(database, clock, 101, age_s=1)
    assert ready(client)[0] == 200


@pytest.mark.usefixtures("beating")
def test_a_replica_in_trouble__is_said_and_stops_nothing(deps: Deps, database_url: str) -> None:
    nowhere = ReplicaPlace("postgresql+psycopg://127.0.0.1:1/none", 0, 30)
    with_replica = Database(database_url, replica=nowhere)
    with AppClient(create_app(replace(deps, database=with_replica))) as client:
        status, parts = ready(client)
    assert (status, parts["database"]["status"]) == (200, "degraded")
    assert parts["database"]["note"].startswith("No replica answers at DATABASE_READ_URL")


@pytest.mark.usefixtures("beating")
def test_a_replica_of_another_database__is_said_and_stops_nothing(
    deps: Deps, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_foreign(replicas: Replicas) -> float:
        raise ForeignReplicaError("of another")

    monkeypatch.setattr(Replicas, "lag_s", is_foreign)
    with_replica = Database(database_url, replica=ReplicaPlace(database_url, 0, 30))
    with AppClient(create_app(replace(deps, database=with_replica))) as client:
        status, parts = ready(client)
    assert (status, parts["database"]["status"]) == (200, "degraded")
    assert parts["database"]["note"].startswith("The replica at DATABASE_READ_URL follows another")


@pytest.mark.usefixtures("beating")
def test_a_replica__takes_no_writes_and_is_no_outage(
    deps: Deps, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lent(replicas: Replicas) -> Connection:
        connection = replicas._engine.connect()
        connection.exec_driver_sql("set default_transaction_read_only = on")
        connection.commit()
        return connection

    monkeypatch.setattr(Replicas, "lag_s", lambda _: 0)
    monkeypatch.setattr(Replicas, "lend", lent)
    with_replica = Database(database_url, replica=ReplicaPlace(database_url, 0, 30))
    with AppClient(create_app(replace(deps, database=with_replica))) as client:
        status, parts = ready(client)
    assert (status, parts["database"]["status"]) == (200, "ok")


@pytest.mark.usefixtures("beating")
def test_callers_without_a_credential__share_what_is_a_second_old(
    client: TestClient, database: Database, clock: Clock
) -> None:
    """A read of every part is several statements and a question to the node."""
    assert ask_anew(client).headers["Cache-Control"] == "public, max-age=1"
    with database.write() as session:
        session.execute(text("delete from leader"))
    assert client.get("/health/ready").status_code == 200
    clock.pass_(seconds=1)
    assert client.get("/health/ready").status_code == 503
    beat(database, clock, "indexer")
    beat(database, clock, "keeper")
    assert client.get("/health/ready").status_code == 503
    clock.pass_(seconds=1)
    assert client.get("/health/ready").status_code == 200


def test_a_database_that_takes_no_writes__is_named(
    client: TestClient, database: Database, clock: Clock, beating: None
) -> None:
    name = database.engine.url.database
    assert ready(client)[1]["database"]["status"] == "ok"
    with database.write() as session:
        session.execute(text(f'alter database "{name}" set default_transaction_read_only = on'))
    database.engine.dispose()  # sessions that are open have the old value
    clock.pass_(seconds=2)
    status, parts = ready(client)
    assert (status, parts["database"]["status"]) == (503, "down")
    assert "it is read-only" in parts["database"]["note"]
    assert parts["migrations"]["status"] == "ok"  # which can be read
