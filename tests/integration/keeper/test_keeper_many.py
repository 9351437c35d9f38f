"""Many vaults: what a tick asks Postgres and the chain, in which order, and that stops wait for
none of it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from sqlalchemy import event, text

from core.chain.nodes import Nodes
from core.db.engine import Database
from core.db.leadership import Leadership
from core.keeper import views as watched_rows
from keeper import read
from keeper.state import VaultReading
from tests.bench.many_vaults import CHAIN_ID, fill, node, tick_of

SENT = """
insert into keeper_intent (chain_id, subject, vault, kind, role, state, "to", data, decided_block, trigger_block_number,
    trigger_block_hash, reason, epoch, created_at, updated_at)
select chain_id, 'sent', address, 'mark', 'keeper', 'done', address, '', n, n, terms_digest,
    '{"worth_usdc": "1000.000000"}', 1, now(), now()
from vault, generate_series(1, 20) n
"""  # twenty marks of each vault


def plan_of(database: Database, now: datetime) -> str:
    """How Postgres reads the watched vaults."""
    asked: list[tuple[str, Any]] = []
    with database.read() as session:
        event.listen(
            session.connection(),
            "before_cursor_execute",
            lambda c, cursor, sql, args, context, many: asked.append((sql, args)),
        )
        watched_rows.watched_vaults(session, CHAIN_ID, now)
        sql, arguments = asked[-1]
        return "\n".join(
            row[0]
            for row in session.connection().exec_driver_sql("explain analyze " + sql, arguments)
        )


@pytest.mark.slow
def test_watched_vaults__reads_of_a_hundred_judgements_a_vault_only_the_newest(
    database: Database,
) -> None:
    fill(database, 1_000, 100_000)
    with database.write() as session:
        session.execute(text(SENT))
        session.execute(text("analyze keeper_intent"))
    plan = plan_of(database, datetime.now(UTC))
    assert "Seq Scan on vault_mark" not in plan, plan
    assert "ix_vault_mark_vault_id" in plan, plan
    assert "Seq Scan on keeper_intent" not in plan, plan


class Stops:
    """Notes which vaults are due, beside how many signs of the tick there were."""

    def __init__(self) -> None:
        self.signs = 0
        self.sent: list[tuple[int, set[str]]] = []

    def sign(self) -> None:
        self.signs += 1

    def send(self, due: Sequence[VaultReading]) -> None:
        self.sent.append((self.signs, {one.watched.public_id for one in due}))

    def follow(self) -> None:
        pass

    def write(self) -> None:
        pass


@pytest.mark.slow
def test_first_look__is_in_parts_most_at_risk_first_and_each_parts_stops_go_before_the_next_is_judged(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 vaults of the same worth, of which two have a floor above it."""
    monkeypatch.setattr(read, "VAULTS_A_CALL", 100)
    fill(database, 300, 300)
    with database.write() as session:
        doubled = (
            "update mandate set budget_usdc_e6 = 2000000000 where public_id in ('m_10', 'm_299')"
        )
        session.execute(text(doubled))
        session.execute(text("delete from vault_mark where block_number in (9, 298)"))
    stops = Stops()
    with node() as url:
        rpc = Nodes([url])
        leadership = Leadership(database_url, "keeper", "test")
        assert leadership.try_take(datetime.now(UTC))
        tick = tick_of(database, rpc, leadership)
        tick.watch.stops, tick.watch.sign = cast("Any", stops), stops.sign
        report = tick.run(datetime.now(UTC))
        leadership.release()
        calls = rpc.stats()[0].calls
        rpc.close()
    assert (report.vaults, report.actions, stops.signs) == (300, 2, 3)
    assert stops.sent == [(0, {"m_10", "m_299"})], "both were unread: the first part has them"
    assert calls == 3 + 3, "a head, two views of the factory, and three parts"


STRANGERS = """
insert into vault (chain_id, address, created_block_hash, created_number, created_at, factory, terms_digest, public_id, owner)
select chain_id, substring(sha256(address) for 20), created_block_hash, 1, 1700000000, factory, sha256(terms_digest),
    'x' || public_id, owner from vault
"""
DUST = "select vault_address from mandate where budget_usdc_e6 = 1000000"


@pytest.mark.slow
def test_thousands_of_dust_vaults_at_their_floors_and_of_strangers__delay_no_customers_stop(
    database: Database, database_url: str
) -> None:
    """40 customers with 1,000 USDC each, of which two fell; whose terms we did not issue is not
    looked at.
    """
    fill(database, 3_040, 3_040)
    with database.write() as session:
        for statement in (
            STRANGERS,
            "update mandate set budget_usdc_e6 = 1000000 where substring(public_id, 3)::int > 40",
            f"update vault_mark set worth_usdc_e6 = 950000, floor_usdc_e6 = 950000 where vault in ({DUST})",
            "update mandate set budget_usdc_e6 = 2000000000 where public_id in ('m_7', 'm_31')",
        ):
            session.execute(text(statement))
    stops = Stops()
    with node() as url:
        rpc = Nodes([url])
        leadership = Leadership(database_url, "keeper", "test")
        assert leadership.try_take(datetime.now(UTC))
        tick = tick_of(database, rpc, leadership)
        tick.watch.stops, tick.watch.sign = cast("Any", stops), stops.sign
        report = tick.run(datetime.now(UTC))
        leadership.release()
        rpc.close()
    assert report.vaults == 3_040
    assert stops.sent[0] == (0, {"m_7", "m_31"}), "the first part has them"
