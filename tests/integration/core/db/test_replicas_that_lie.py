"""Replicas that hang or lie: the primary answers, soon."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url, text

from core.db import embedded
from core.db.engine import Bounds, Database, ReadSession
from core.db.outage import SAID, OutageError, OutageKind
from core.db.replicas import ANSWER_S, ForeignReplicaError, ReplicaPlace
from core.health import views

WAIT_S = 0.05


def is_replicas(session: ReadSession) -> bool:
    return bool(session.execute(text("select pg_is_in_recovery()")).scalar_one())


def dsn_of(url: str) -> str:
    return url.replace("postgresql+psycopg", "postgresql")


@pytest.fixture(scope="module")
def foreign_url(runs: Path) -> Iterator[str]:
    """A replica of another database, whose place in the log is far ahead of ours."""
    folder = runs / f"foreign-{uuid4().hex[:8]}"  # pytest closes its own folders to other accounts
    made = embedded.start(folder)
    with psycopg.connect(dsn_of(made.url), autocommit=True) as connection:
        connection.execute("alter system set wal_level = replica")
    made.stop()
    made = embedded.start(folder)
    with psycopg.connect(dsn_of(made.url), autocommit=True) as connection:
        for _ in range(300):
            connection.execute("select txid_current(), pg_switch_wal()")
    made.stop()
    signal = folder / "cluster" / "standby.signal"
    signal.touch()
    signal.chmod(0o666)
    made = embedded.start(folder)
    yield made.url
    embedded.remove(folder)


def test_a_replica_of_another_database__is_not_read_whatever_place_it_claims(
    database_url: str, foreign_url: str
) -> None:
    claims = "select pg_last_wal_replay_lsn()::text, pg_is_in_recovery()"
    with psycopg.connect(dsn_of(foreign_url)) as connection:
        at, is_replica = connection.execute(claims).fetchone() or ("", False)
    assert is_replica
    with closing(Database(database_url, replica=ReplicaPlace(foreign_url, WAIT_S, 30))) as database:
        ahead = text("select cast(:at as pg_lsn) > pg_current_wal_lsn()")
        with database.read() as session:
            assert session.scalar(ahead, {"at": at})
        assert not database.reading(is_replicas)
        assert database.replicas is not None
        with pytest.raises(ForeignReplicaError, match="follows another database"):
            database.replicas.lag_s()


def test_a_standby_where_the_primary_was__is_an_outage_and_is_connected_to_no_longer(
    foreign_url: str,
) -> None:
    """After a failover the name leads to the new primary, and an old connection to the old one."""

    def backend() -> int:
        with database.read() as session:
            assert views.outage(session) is OutageKind.READ_ONLY
            return int(session.execute(text("select pg_backend_pid()")).scalar_one())

    bounds = Bounds(pool_size=1, overflow=0, pool_wait_s=1)
    with closing(Database(foreign_url, bounds=bounds)) as database:
        found = {backend()}
        for _ in range(2):
            with pytest.raises(OutageError, match="standby"), database.write() as session:
                session.execute(text("create table written ()"))
            found.add(backend())
    SAID.end()
    assert len(found) == 3


class Freezing:
    """Stands before a server and lets bytes pass until `freeze`; then it is connected and silent."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._passes = threading.Event()
        self._passes.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._kept: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        self._passes.clear()

    def thaw(self) -> None:
        self._passes.set()

    def close(self) -> None:
        self._passes.set()
        for one in (self._listener, *self._kept):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._path)
            self._kept += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, to: socket.socket) -> None:
        try:
            while sent := source.recv(65_536):
                self._passes.wait()
                to.sendall(sent)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture
def freezing(foreign_url: str) -> Iterator[Freezing]:
    made = Freezing(f"{make_url(foreign_url).query['host']}/{embedded.SOCKET_NAME}")
    yield made
    made.close()


def test_a_replica_that_hangs__costs_one_read_its_bound_and_the_others_nothing(
    database_url: str, foreign_url: str, freezing: Freezing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a server that would do: it is taken for one of ours."""
    url = f"postgresql+psycopg://{embedded.ROLE}@127.0.0.1:{freezing.port}/{embedded.DATABASE}"
    with closing(Database(database_url, replica=ReplicaPlace(url, WAIT_S, 30))) as database:
        replicas = database.replicas
        assert replicas is not None
        with closing(Database(foreign_url)) as other, other.read() as session:
            whose = session.scalar(text("select system_identifier::text from pg_control_system()"))
        monkeypatch.setattr(replicas, "_identity", whose)
        assert database.reading(is_replicas)
        freezing.freeze()
        began = time.monotonic()
        assert not database.reading(is_replicas)
        assert time.monotonic() - began < WAIT_S + ANSWER_S + 1
        monkeypatch.setattr(replicas, "_rests_until", 0.0)  # its second is over
        looking = threading.Thread(target=database.reading, args=(is_replicas,))
        looking.start()  # it waits for a new connection
        while not replicas._looking.locked():
            assert looking.is_alive()
        began = time.monotonic()
        assert not database.reading(is_replicas)
        assert looking.is_alive()
        freezing.thaw()
        looking.join(10)
        monkeypatch.setattr(replicas, "_rests_until", 0.0)
        assert database.reading(is_replicas)


def test_a_replica_that_comes_back__is_read_by_the_first_that_looks(
    database_url: str, foreign_url: str, freezing: Freezing, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql+psycopg://{embedded.ROLE}@127.0.0.1:{freezing.port}/{embedded.DATABASE}"
    with closing(Database(database_url, replica=ReplicaPlace(url, WAIT_S, 30))) as database:
        replicas = database.replicas
        assert replicas is not None
        with closing(Database(foreign_url)) as other, other.read() as session:
            whose = session.scalar(text("select system_identifier::text from pg_control_system()"))
        monkeypatch.setattr(replicas, "_identity", whose)
        lent = [replicas.lend() for _ in range(5)]  # several that rest
        for one in lent:
            assert one is not None
            one.close()
        for end in freezing._kept:
            end.shutdown(socket.SHUT_RDWR)
        assert not database.reading(is_replicas)
        monkeypatch.setattr(replicas, "_rests_until", 0.0)
        assert database.reading(is_replicas)
