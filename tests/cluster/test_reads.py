"""Reads that replicas answer: never older than what was acknowledged, whatever a replica lags."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import text

from core.db.engine import Database, ReadSession
from core.db.replicas import RETRY_S, ReplicaPlace
from core.health.rules import judge_replica
from tests.cluster.cluster import Cluster, ClusterNode
from tests.cluster.faults import paused
from tests.cluster.service import dsn_of
from tests.integration.chaos.crew import until

READS = 200
PAUSED_S, SYNCHRONOUS_S = 10.0, 60.0


@pytest.fixture
def databases(cluster: Cluster) -> Iterator[tuple[Database, Database]]:
    """One that writes, and another process's that reads."""
    cluster.wait_whole()
    place = ReplicaPlace(cluster.read_url, 1.0, 1)
    writer, reader = Database(cluster.url), Database(cluster.url, replica=place)
    with writer.write() as session:
        session.execute(text("drop table if exists seen"))
        session.execute(text("create table seen (number int)"))
    yield writer, reader
    writer.close()
    reader.close()


def answered(session: ReadSession) -> tuple[int, bool]:
    """The newest number, and whether a replica said it."""
    row = session.execute(text("select max(number), pg_is_in_recovery() from seen")).one()
    return row[0], row[1]


def test_what_one_process_wrote__another_reads_at_once_from_a_replica(
    databases: tuple[Database, Database],
) -> None:
    writer, reader = databases
    by_replica = 0
    for number in range(READS):
        with writer.write() as session:
            session.execute(text("insert into seen values (:number)"), {"number": number})
        read, is_replica = reader.reading(answered)
        assert read == number
        by_replica += is_replica
    assert by_replica > READS // 2


@contextmanager
def not_replaying(cluster: Cluster, node: ClusterNode) -> Iterator[None]:
    """A replica replays nothing of what it receives; its Patroni, which would go on, is asleep."""
    with (
        paused([node.patroni.pid or 0]),
        psycopg.connect(
            host=node.address,
            port=5432,
            user="postgres",
            password=cluster.passwords["SUPERUSER"],
            dbname="postgres",
            autocommit=True,
        ) as connection,
    ):
        connection.execute("select pg_wal_replay_pause()")
        asked = "select pg_get_wal_replay_pause_state()"
        assert until(lambda: connection.execute(asked).fetchone() == ("paused",), PAUSED_S)
        try:
            yield
        finally:
            connection.execute("select pg_wal_replay_resume()")


def test_a_replica_that_lags__is_not_read_and_is_said_until_it_has_caught_up(
    cluster: Cluster, databases: tuple[Database, Database]
) -> None:
    writer, _ = databases
    assert until(lambda: cluster.synchronous() is not None, SYNCHRONOUS_S)
    others = (cluster.primary(), cluster.synchronous())
    node = next(one for one in cluster.nodes if one not in others)
    reader = Database(cluster.url, replica=ReplicaPlace(cluster.url_of(node), 0.5, 1))
    assert reader.replicas is not None
    with not_replaying(cluster, node):
        for number in range(3):
            with writer.write() as session:
                session.execute(text("insert into seen values (:number)"), {"number": number})
            assert reader.reading(answered) == (number, False)
        said = judge_replica(reader.replicas.lag_s(), reader.replicas.most_lag_s)
        assert said is not None
        assert "behind, so the primary answers the reads" in said
    assert until(lambda: reader.reading(answered) == (2, True), 10 * RETRY_S)
    assert judge_replica(reader.replicas.lag_s(), reader.replicas.most_lag_s) is None
    reader.close()


def test_the_pooler__lends_a_connection_for_each_transaction_and_keeps_the_bounds(
    cluster: Cluster,
) -> None:
    pooled = Database(cluster.url, pooled_url=cluster.pooled_url)
    try:
        for _ in itertools.repeat(None, 20):  # beyond the driver's own threshold of preparing
            with pooled.read() as session:
                row = session.execute(
                    text("select current_setting('statement_timeout'), current_setting('TimeZone')")
                ).one()
                assert tuple(row) == ("30s", "UTC")
        with pooled.pinned() as session:
            assert session.execute(text("select inet_server_port()")).scalar_one() == 5432
            assert session.execute(text("select pg_try_advisory_lock(1)")).scalar_one()
            session.commit()
            with psycopg.connect(dsn_of(cluster.url)) as other:
                taken = other.execute("select pg_try_advisory_lock(1)").fetchone()
            assert taken == (False,)
    finally:
        pooled.close()
