"""A database that an older fold filled, two weeks a ledger: it is folded again."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from sqlalchemy import text

from core.db import migrate
from core.db.engine import Database
from core.mandate.ledger import refold as mandate_refold
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.ledger import NewRow, ReportedBy, RowKind, stop_row
from core.mandate.rules.state import STATE_VERSION
from core.money import UsdcE6
from tests.integration.core.rows import BLOCK_A, CHAIN, NOW, add_mandate, signed

WEEK, LATER = timedelta(days=7), NOW + timedelta(days=400)
HELD = 64  # payments, or refusals, that a state of version 3 remembered
STATES = """
select 'head' as at, state from mandate_head where mandate_id = :id
union all select starts_at::text, state from mandate_week where mandate_id = :id
"""
SET = "update {table} set state = state || cast(:changed as jsonb) where mandate_id = :id"


def tx(number: int) -> str:
    return "0x" + f"{number:064x}"


def fee(number: int, by: ReportedBy, days: float) -> NewRow:
    """One payment of 1 USDC, as its agent reports it or as the chain shows it."""
    is_chain = by is ReportedBy.CHAIN
    where: dict[str, Any] = (
        {"block_number": 7, "block_hash": BLOCK_A, "log_index": number} if is_chain else {}
    )
    return NewRow(
        kind=RowKind.FEE,
        reported_by=by,
        occurred_at=NOW + timedelta(days=days),
        base_key=f"{by.value}:fee:{number}",
        amount_usdc_e6=UsdcE6(1_000_000),
        chain_id=CHAIN,
        tx_hash=tx(number),
        payload={"fee_kind": "x402"},
        **where,
    )


def fill(database: Database, public_id: str, payments: int) -> int:
    """A ledger over two weeks: all payments reported in the first, half of them shown by the chain
    in the second.
    """
    with database.write() as session:
        mandate = add_mandate(session, public_id)
        rows = [signed(), *(fee(number, ReportedBy.AGENT, 1) for number in range(payments))]
        rows += [fee(number, ReportedBy.CHAIN, 8) for number in range(payments // 2)]
        mandate_ledger.append_many(session, mandate, rows, LATER)
        return mandate


def states(database: Database, mandate: int) -> dict[str, dict[str, Any]]:
    with database.read() as session:
        return {row.at: row.state for row in session.execute(text(STATES), {"id": mandate})}


def make_older(database: Database, mandate: int, payments: int, **wrong: Any) -> None:
    """The states as the fold of version 3 wrote them. `wrong`: what it counted otherwise."""
    seen = [
        {"tx_hash": tx(n), "fee_class": "x402", "amount_usdc_e6": 1_000_000, "by_agent": True}
        for n in range(payments)
    ][-HELD:]
    changed = json.dumps({"version": 3, "seen_fees": seen, "seen_refusals": [], **wrong})
    with database.write() as session:
        for table in ("mandate_head", "mandate_week"):
            session.execute(text(SET.format(table=table)), {"changed": changed, "id": mandate})


COLUMNS = (
    "select table_name, column_name from information_schema.columns where table_schema = 'public'"
)
# in the order of their foreign keys
FILLED = ("account", "mandate", "mandate_event", "mandate_head", "mandate_week")


def rewind(database_url: str) -> None:
    """The same rows in a database of migration 0003."""
    with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
        rows = {
            table: connection.execute(f"select to_jsonb(one) from {table} one").fetchall()
            for table in FILLED
        }
        connection.execute("drop schema public cascade")
        connection.execute("create schema public")
    migrate.upgrade(database_url, "0003")
    with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
        known = connection.execute(COLUMNS).fetchall()
        for table in FILLED:
            columns = ", ".join(f'"{column}"' for of, column in known if of == table)
            for (row,) in rows[table]:
                one = f"jsonb_populate_record(null::{table}, %s)"
                connection.execute(
                    f"insert into {table} ({columns}) overriding system value select {columns} "
                    f"from {one}",
                    (Jsonb(row),),
                )
            if (table, "id") in known:
                connection.execute(
                    f"select setval(pg_get_serial_sequence('{table}', 'id'), 1000000)"
                )


@pytest.mark.slow
def test_a_ledger_that_told_of_more__is_folded_again_when_it_is_read(
    database: Database, database_url: str
) -> None:
    payments = HELD + 1
    mandate = fill(database, "m_aaaaaaaaaa", payments)
    make_older(database, mandate, payments, fees_network_usdc_e6=2 * payments * 1_000_000)
    rewind(database_url)
    migrate.upgrade(database_url)
    assert {state["version"] for state in states(database, mandate).values()} == {3}
    with database.read() as session:
        state = mandate_ledger.load_head(session, mandate)
    assert (state.fees_network_usdc_e6, state.fees_usdc_e6) == (0, payments * 1_000_000)


@pytest.mark.parametrize("payments", [10, HELD + 1])
@pytest.mark.slow
def test_a_row_that_comes_late_over_the_weeks_border__counts_once_in_either_ledger(
    database: Database, database_url: str, payments: int
) -> None:
    mandate = fill(database, "m_aaaaaaaaaa", payments)
    make_older(database, mandate, payments)
    rewind(database_url)
    migrate.upgrade(database_url)
    with database.write() as session:
        mandate_ledger.append(session, mandate, fee(payments, ReportedBy.AGENT, 2), LATER)
        mandate_ledger.append(session, mandate, fee(payments - 1, ReportedBy.CHAIN, 3), LATER)
    with database.read() as session:
        assert mandate_ledger.verify(session, mandate) == []
        assert mandate_ledger.load_head(session, mandate).fees_usdc_e6 == (payments + 1) * 1_000_000
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}


@pytest.mark.slow
def test_what_the_migration_leaves__is_no_fault_and_is_folded_again_at_the_next_start(
    database: Database, database_url: str
) -> None:
    """The auditor once wrote it down as findings of every upgrade: one more row healed the head,
    and never the weeks.
    """
    mandate = fill(database, "m_aaaaaaaaaa", HELD + 1)
    make_older(database, mandate, HELD + 1)
    rewind(database_url)
    migrate.upgrade(database_url)
    with database.read() as session:
        assert mandate_refold.older_ledgers(session) == [mandate]
        assert mandate_ledger.verify(session, mandate) == []
    with database.write() as session:
        mandate_refold.refold(session, mandate)
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}
    with database.read() as session:
        assert (mandate_refold.older_ledgers(session), mandate_ledger.verify(session, mandate)) == (
            [],
            [],
        )


@pytest.mark.slow
def test_one_more_row_of_such_a_ledger__heals_its_weeks_as_well(
    database: Database, database_url: str
) -> None:
    mandate = fill(database, "m_aaaaaaaaaa", HELD + 1)
    make_older(database, mandate, HELD + 1)
    rewind(database_url)
    migrate.upgrade(database_url)
    with database.write() as session:
        mandate_ledger.append(session, mandate, fee(HELD + 1, ReportedBy.AGENT, 9), LATER)
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}


# Version 4: the record alone could end signed terms


@pytest.mark.slow
def test_terms_that_the_record_alone_had_stopped__are_signed_again_in_ledger_and_list(
    database: Database, database_url: str
) -> None:
    with database.write() as session:
        mandate = add_mandate(session)
        mandate_ledger.append_many(
            session,
            mandate,
            [signed(), stop_row(by=ReportedBy.AGENT, reason="agent", now=NOW)],
            NOW,
        )
        said = json.dumps({"version": 4, "status": "stopped"})
        for table in ("mandate_head", "mandate_week"):
            session.execute(text(SET.format(table=table)), {"changed": said, "id": mandate})
        session.execute(
            text("update mandate set status = 'stopped', ended_at = :now where id = :id"),
            {"now": NOW, "id": mandate},
        )
    rewind(database_url)
    migrate.upgrade(database_url)
    with database.write() as session:
        assert mandate_refold.older_ledgers(session) == [mandate]
        mandate_refold.refold(session, mandate)
    with database.read() as session:
        row = session.execute(
            text("select status, ended_at from mandate where id = :id"), {"id": mandate}
        ).one()
        assert (row.status, row.ended_at, mandate_ledger.verify(session, mandate)) == (
            "signed",
            None,
            [],
        )


# Version 6: a flag counted whatever the chain said of its report


@pytest.mark.slow
def test_flags_of_a_false_report__are_taken_back_when_the_ledger_is_folded_again(
    database: Database, database_url: str
) -> None:
    false = NewRow(
        kind=RowKind.BUY,
        reported_by=ReportedBy.AGENT,
        occurred_at=NOW,
        base_key="report:1",
        amount_usdc_e6=UsdcE6(150_000_000),
        tx_hash=tx(1),
        payload={"violation": {"codes": ["over_per_tx_cap"], "detail": {}}},
    )
    executed = replace(
        fee(1, ReportedBy.CHAIN, 0),
        kind=RowKind.MOVE,
        cash_delta_usdc_e6=-1_000_000,
        payload={"executed": {"target": "0xC1", "spent": "1.000000", "received": "0.000000"}},
    )
    with database.write() as session:
        mandate = add_mandate(session)
        mandate_ledger.append_many(session, mandate, [signed(), false, executed], NOW)
        said = json.dumps({"version": 6, "violation_codes": ["over_per_tx_cap"]})
        for table in ("mandate_head", "mandate_week"):
            session.execute(text(SET.format(table=table)), {"changed": said, "id": mandate})
    rewind(database_url)
    migrate.upgrade(database_url)
    with database.write() as session:
        assert mandate_refold.older_ledgers(session) == [mandate]
        mandate_refold.refold(session, mandate)
    with database.read() as session:
        state = mandate_ledger.load_head(session, mandate)
        assert (state.violation_codes, state.flagged_trades_count) == ((), 1)
        assert mandate_ledger.verify(session, mandate) == []
