"""A database that an older fold filled, two weeks a ledger: it is folded again."""

import json
from datetime import timedelta
from typing import Any

from sqlalchemy import text

from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.state import STATE_VERSION
from core.money import UsdcE6
from tests.integration.core.rows import BLOCK_A, CHAIN, NOW, add_mandate, signed

LATER = NOW + timedelta(days=400)
PAYMENTS = 4
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


def states(database: Database, mandate: int) -> dict[str, dict[str, Any]]:
    with database.read() as session:
        return {row.at: row.state for row in session.execute(text(STATES), {"id": mandate})}


def filled_by_an_older_fold(database: Database) -> int:
    """A ledger over two weeks: all payments reported in the first, half of them shown by the chain
    in the second. The older fold counted each as a fee of the network.
    """
    with database.write() as session:
        mandate = add_mandate(session)
        rows = [signed(), *(fee(number, ReportedBy.AGENT, 1) for number in range(PAYMENTS))]
        rows += [fee(number, ReportedBy.CHAIN, 8) for number in range(PAYMENTS // 2)]
        mandate_ledger.append_many(session, mandate, rows, LATER)
        wrong = {"version": STATE_VERSION - 1, "fees_network_usdc_e6": 2 * PAYMENTS * 1_000_000}
        for table in ("mandate_head", "mandate_week"):
            changed = {"changed": json.dumps(wrong), "id": mandate}
            session.execute(text(SET.format(table=table)), changed)
    return mandate


def test_a_ledger_of_an_older_fold__is_folded_again_when_it_is_read(database: Database) -> None:
    mandate = filled_by_an_older_fold(database)
    with database.read() as session:
        state = mandate_ledger.load_head(session, mandate)
    assert (state.fees_network_usdc_e6, state.fees_usdc_e6) == (0, PAYMENTS * 1_000_000)


def test_one_more_row_of_such_a_ledger__counts_once_and_heals_its_weeks(database: Database) -> None:
    mandate = filled_by_an_older_fold(database)
    with database.write() as session:
        mandate_ledger.append(session, mandate, fee(PAYMENTS, ReportedBy.AGENT, 2), LATER)
        mandate_ledger.append(session, mandate, fee(PAYMENTS - 1, ReportedBy.CHAIN, 3), LATER)
    with database.read() as session:
        assert mandate_ledger.verify(session, mandate) == []
        head = mandate_ledger.load_head(session, mandate)
    assert head.fees_usdc_e6 == (PAYMENTS + 1) * 1_000_000
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}


def test_what_an_older_fold_left__is_no_fault_and_is_folded_again_at_the_next_start(
    database: Database,
) -> None:
    """The auditor once wrote it down as findings of every upgrade: one more row healed the head,
    and never the weeks.
    """
    mandate = filled_by_an_older_fold(database)
    with database.read() as session:
        assert mandate_ledger.older_ledgers(session) == [mandate]
        assert mandate_ledger.verify(session, mandate) == []
    with database.write() as session:
        mandate_ledger.refold(session, mandate)
    assert {state["version"] for state in states(database, mandate).values()} == {STATE_VERSION}
    with database.read() as session:
        assert mandate_ledger.older_ledgers(session) == []
        assert mandate_ledger.verify(session, mandate) == []
