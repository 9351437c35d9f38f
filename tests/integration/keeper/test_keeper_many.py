"""Many vaults: what a tick asks Postgres and the chain, in which order, and that stops wait for
none of it.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import event, text

from core.chain.nodes import Nodes
from core.db.engine import Database
from core.db.leadership import Leadership
from core.keeper import views as watched_rows
from core.keeper.intents import Intent
from core.mandate.chain.reader import VaultReader
from keeper import tick as ticks
from keeper.observe import Observer
from keeper.tick import Tick
from tests.bench.many_vaults import CHAIN_ID, FACTORY, fill, node

AT_FLOOR = 950_000_000
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


class Told:
    """A sender that notes what it is asked, beside how many vaults had been read by then."""

    def __init__(self, read: list[str]) -> None:
        self.read = read
        self.rushed: list[tuple[int, int]] = []

    def advance(self, live: list[Intent], now: datetime, *, is_stood_down: bool) -> list[Intent]:
        return live

    def rush(self, live: list[Intent], now: datetime, *, is_stood_down: bool) -> list[Intent]:
        self.rushed.append((len(self.read), len(live)))
        return live


@pytest.mark.slow
def test_first_look__is_in_batches_nearest_first_and_each_batchs_stops_go_before_the_next_is_read(
    database: Database, database_url: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(ticks, "VAULTS_A_BATCH", 100)
    fill(database, 300, 300)
    with database.write() as session:
        session.execute(
            text("update vault_mark set worth_usdc_e6 = 951000000 where block_number <= 150")
        )
        session.execute(text("delete from vault_mark where block_number > 290"))
    signs: list[int] = []
    read: list[str] = []
    with node() as url:
        rpc = Nodes([url])
        observer = Observer(VaultReader(rpc, {"factory": FACTORY}), CHAIN_ID, 3_600)
        real = observer.readings

        def readings(watched: Any, *arguments: Any) -> Any:
            read.extend(vault.vault for vault in watched)
            return tuple(fallen(reading) for reading in real(watched, *arguments))

        def fallen(reading: Any) -> Any:
            number = reading.public_id.removeprefix("m_")
            return (
                ticks.replace(reading, worth_usdc_e6=AT_FLOOR)
                if int(number) in (10, 299)
                else reading
            )

        monkeypatch.setattr(observer, "readings", readings)
        leadership = Leadership(database_url, "keeper", "test")
        assert leadership.try_take(datetime.now(UTC))
        told = Told(read)
        tick = Tick(
            database=database, observer=observer, leadership=leadership, sender=told, own=None,
                sign=lambda: signs.append(len(read))
        )  # fmt: skip
        report = tick.run(datetime.now(UTC))
        leadership.release()
        rpc.close()
    assert (report.vaults, signs) == (300, [100, 200, 300, 300]), (
        "each batch, and what the other nodes say"
    )
    assert [count for count, _ in told.rushed] == [100], (
        "both were near or unknown: the first batch has them"
    )
    with database.read() as session:
        known = {
            vault.vault: vault.last_written
            for vault in watched_rows.watched_vaults(session, CHAIN_ID, datetime.now(UTC))
        }
    assert len(known) == 300
