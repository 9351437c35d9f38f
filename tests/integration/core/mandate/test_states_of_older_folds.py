"""A database that an older fold filled, two weeks a book: the migrations keep what still holds, and the rest is folded again."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from core.db import migrate
from core.db.engine import Database
from core.mandate.ledger import refold as mandate_refold
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.ledger import Kind, NewRow, ReportedBy, stop_row
from core.mandate.rules.state import STATE_VERSION
from core.money import UsdcE6
from tests.integration.core.rows import BLOCK_A, CHAIN, NOW, add_mandate, signed

WEEK, LATER = timedelta(days=7), NOW + timedelta(days=400)
HELD = 64  # payments, or refusals, that a state of version 3 remembered
AS_BEFORE_0004 = """
drop table mandate_undo; drop table owed_note; drop table keeper_ended; drop table replaced_terms;
drop table signed_resource; drop index ix_x402_payment_open;
alter table x402_payment drop column valid_before; alter table x402_payment drop column failures;
drop index ix_vault_mark_vault_id; drop index ix_mandate_unvaulted; alter table vault drop column is_of_replaced_terms;
alter table mandate drop column ends_in_block;
drop index uq_owner_alert_of_agent; alter table custodial_transfer drop column generation;
drop table outbox_queue; drop table outbox_count; drop table gas_day; alter table keeper_tx drop column cost_wei;
drop table x402_settlement; drop table x402_gas_day; drop table x402_payer; drop table guard_signature;
drop table free_read_pool; drop index ix_custodial_wallet_key_version_account_id; drop index ix_transfer_report_watched;
alter table account drop column generation, drop column recovered_generation, drop column wallet_generation, drop column wallet_payable_at;
update alembic_version set version_num = '0003'
"""
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
    where: dict[str, Any] = {"block_number": 7, "block_hash": BLOCK_A, "log_index": number} if is_chain else {}
    return NewRow(
        kind=Kind.FEE,
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
    """A book over two weeks: all payments reported in the first, half of them shown by the chain in the second."""
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
    seen = [{"tx_hash": tx(n), "fee_class": "x402", "amount_usdc_e6": 1_000_000, "by_agent": True} for n in range(payments)][-HELD:]
    changed = json.dumps({"version": 3, "seen_fees": seen, "seen_refusals": [], **wrong})
    with database.write() as session:
        for table in ("mandate_head", "mandate_week"):
            session.execute(text(SET.format(table=table)), {"changed": changed, "id": mandate})


def rewind(database: Database) -> None:
    """To the tables of migration 0003."""
    with database.write() as session:
        for statement in AS_BEFORE_0004.split(";"):
            session.execute(text(statement))


@pytest.mark.parametrize("payments", [2, 42])
def test_a_book_that_told_of_no_more_than_was_remembered__keeps_its_states_in_head_and_weeks(
    database: Database, database_url: str, payments: int
) -> None:
    mandate = fill(database, "m_aaaaaaaaaa", payments)
    before = states(database, mandate)
    assert len(before) == 3
    make_older(database, mandate, payments)
    rewind(database)
    migrate.upgrade(database_url)
    assert states(database, mandate) == before


def test_a_book_that_told_of_more__is_folded_again_when_it_is_read(database: Database, database_url: str) -> None:
    payments = HELD + 1
    mandate = fill(database, "m_aaaaaaaaaa", payments)
    make_older(database, mandate, payments, fees_network_usdc_e6=2 * payments * 1_000_000)
    rewind(database)
    migrate.upgrade(database_url)
    assert {state["version"] for state in states(database, mandate).values()} == {3}
    with database.read() as session:
        state = mandate_ledger.load_head(session, mandate)
    assert (state.fees_network_usdc_e6, state.fees_usdc_e6) == (0, payments * 1_000_000)


@pytest.mark.parametrize("payments", [10, HELD + 1])
def test_a_row_that_comes_late_over_the_weeks_border__counts_once_in_either_book(
    database: Database, database_url: str, payments: int
) -> None:
    mandate = fill(database, "m_aaaaaaaaaa", payments)
    make_older(database, mandate, payments)
    rewind(database)
    migrate.upgrade(database_url)
    with database.write() as session:
        mandate_ledger.append(session, mandate, fee(payments, ReportedBy.AGENT, 2), LATER)
        mandate_ledger.append(session, mandate, fee(payments - 1, ReportedBy.CHAIN, 3), LATER)
    with database.read() as session:
        assert mandate_ledger.verify(session, mandate) == []
        assert mandate_ledger.load_head(session, mandate).fees_usdc_e6 == (payments + 1) * 1_000_000
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}


def test_what_the_migration_leaves__is_no_fault_and_is_folded_again_at_the_next_start(database: Database, database_url: str) -> None:
    """The auditor once wrote it down as findings of every upgrade: one more row healed the head, and never the weeks."""
    mandate = fill(database, "m_aaaaaaaaaa", HELD + 1)
    make_older(database, mandate, HELD + 1)
    rewind(database)
    migrate.upgrade(database_url)
    with database.read() as session:
        assert mandate_refold.older_books(session) == [mandate]
        assert mandate_ledger.verify(session, mandate) == []
    with database.write() as session:
        mandate_refold.refold(session, mandate)
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}
    with database.read() as session:
        assert (mandate_refold.older_books(session), mandate_ledger.verify(session, mandate)) == ([], [])


def test_one_more_row_of_such_a_book__heals_its_weeks_as_well(database: Database, database_url: str) -> None:
    mandate = fill(database, "m_aaaaaaaaaa", HELD + 1)
    make_older(database, mandate, HELD + 1)
    rewind(database)
    migrate.upgrade(database_url)
    with database.write() as session:
        mandate_ledger.append(session, mandate, fee(HELD + 1, ReportedBy.AGENT, 9), LATER)
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}


# Version 4: the record alone could end signed terms


def test_terms_that_the_record_alone_had_stopped__are_signed_again_in_ledger_and_list(database: Database, database_url: str) -> None:
    with database.write() as session:
        mandate = add_mandate(session)
        mandate_ledger.append_many(session, mandate, [signed(), stop_row(by=ReportedBy.AGENT, reason="agent", now=NOW)], NOW)
        said = json.dumps({"version": 4, "status": "stopped"})
        for table in ("mandate_head", "mandate_week"):
            session.execute(text(SET.format(table=table)), {"changed": said, "id": mandate})
        session.execute(text("update mandate set status = 'stopped', ended_at = :now where id = :id"), {"now": NOW, "id": mandate})
    rewind(database)
    migrate.upgrade(database_url)
    with database.write() as session:
        assert mandate_refold.older_books(session) == [mandate]
        mandate_refold.refold(session, mandate)
    with database.read() as session:
        row = session.execute(text("select status, ended_at from mandate where id = :id"), {"id": mandate}).one()
        assert (row.status, row.ended_at, mandate_ledger.verify(session, mandate)) == ("signed", None, [])
