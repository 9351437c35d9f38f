"""The mandate ledger under rollbacks, pairs of rows and failed savepoints: whatever comes in
whatever order, the head is the fold.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.errors import NumericValueOutOfRange
from sqlalchemy import delete, event, func, select, update

from core.db.engine import Database, WriteSession
from core.errors import InvalidParameterError
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.fold import fold
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateFacts, PositionRules, state_from_json
from core.mandate.tables import Mandate, MandateHead, MandateUndo
from tests.integration.core.rows import BUDGET, add_mandate
from tests.slow import few

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
LATER = datetime(2027, 3, 1, tzinfo=UTC)
FACTS = MandateFacts(
    market_mode=MarketMode.TESTNET, budget_usdc_e6=BUDGET, positions=PositionRules()
)
USDC = 1_000_000
VENUE = "0x00000000000000000000000000000000000000C1"
PAYMENTS = 200


def block(number: int) -> str:
    return f"0x{number:064x}"


def row(
    kind: RowKind, number: int, *, by: ReportedBy, at: datetime, block_number: int | None = None
) -> NewRow:
    """A row of transaction `number`: a fee of 1 USDC, a deposit of 1 USDC, a refusal, or a move of 1
    USDC, which its agent reports with flags, and with another amount where the number is odd.
    """
    is_chain = by is ReportedBy.CHAIN
    executed = {"target": VENUE, "spent": "1.000000", "received": "0.000000", "nonce": number}
    flags = {"codes": ["over_per_tx_cap", "target_missing"][number % 3 :], "detail": {}}
    said: dict[str, Any] = {
        RowKind.FEE: {"fee_kind": "x402"},
        RowKind.NOTE: {"refusal": {"reason": "OverPerTxCap"}},
        RowKind.MOVE: {"executed": executed} if is_chain else {"violation": flags},
    }.get(kind, {})
    return NewRow(
        kind=kind,
        reported_by=by,
        occurred_at=at,
        base_key=f"{by}:{kind}:{number}",
        amount_usdc_e6=None
        if kind is RowKind.NOTE
        else USDC + (not is_chain and kind is RowKind.MOVE and number % 2),
        cash_delta_usdc_e6={RowKind.DEPOSIT: USDC, RowKind.MOVE: -USDC}.get(kind, 0) * is_chain,
        chain_id=84532,
        tx_hash=block(number),
        block_number=block_number if is_chain else None,
        block_hash=block(block_number) if is_chain and block_number is not None else None,
        payload=said | ({"reverted": True} if kind is RowKind.NOTE and is_chain else {}),
    )


def payments(seed: int) -> list[NewRow]:
    """Each payment told by the agent and by the chain, in any order, whoever comes first."""
    order = [
        (number, by) for number in range(PAYMENTS) for by in (ReportedBy.AGENT, ReportedBy.CHAIN)
    ]
    random.Random(seed).shuffle(order)
    return [
        row(
            RowKind.FEE,
            number,
            by=by,
            at=MONDAY + timedelta(minutes=index),
            block_number=index // 7,
        )
        for index, (number, by) in enumerate(order)
    ]


def fees(session: WriteSession, mandate_id: int) -> int:
    return mandate_ledger.load_head(session, mandate_id).fees_usdc_e6


def undo_faults(session: WriteSession, mandate_id: int) -> list[int]:
    """The seqs whose kept state is not the fold of the rows before them that count now."""
    rows = mandate_ledger.load_rows(session, mandate_id)
    gone = {one.reverses_id for one in rows}
    kept = session.scalars(select(MandateUndo).where(MandateUndo.mandate_id == mandate_id))
    return [
        one.seq
        for one in kept
        if state_from_json(one.state)
        != fold(
            [r for r in rows if r.seq < one.seq and r.id not in gone and not r.reverses_id], FACTS
        )
    ]


# Pairs


@pytest.mark.parametrize("seed", few([1, 2], plain=1))
@pytest.mark.parametrize("at_once", few([9, 1, 400], plain=1))
def test_two_hundred_payments_in_any_order__count_each_once_however_they_are_appended(
    write: WriteSession, seed: int, at_once: int
) -> None:
    mandate_id, rows = add_mandate(write), payments(seed)
    for index in range(0, len(rows), at_once):
        mandate_ledger.append_ledgers(write, {mandate_id: rows[index : index + at_once]}, LATER)
    assert fees(write, mandate_id) == PAYMENTS * USDC
    assert mandate_ledger.verify(write, mandate_id) == []


def test_a_payment_that_is_reversed__leaves_its_report_and_comes_back_for_it(
    write: WriteSession,
) -> None:
    mandate_id, proof = (
        add_mandate(write),
        row(RowKind.FEE, 1, by=ReportedBy.CHAIN, at=MONDAY, block_number=5),
    )
    told = []
    mandate_ledger.append(
        write,
        mandate_id,
        replace(row(RowKind.FEE, 1, by=ReportedBy.AGENT, at=MONDAY), amount_usdc_e6=3 * USDC),
        LATER,
    )
    for step in (
        lambda: mandate_ledger.append(write, mandate_id, proof, LATER),
        lambda: mandate_ledger.reverse_blocks(write, [block(5)], LATER),
        lambda: mandate_ledger.append(write, mandate_id, proof, LATER),
    ):
        step()
        told.append(fees(write, mandate_id))
    assert told == [USDC, 3 * USDC, USDC]


def test_a_late_proof__is_paired_in_every_later_week_and_only_there(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    weeks = [MONDAY + timedelta(days=7 * n) for n in range(4)]
    mandate_ledger.append(
        write, mandate_id, row(RowKind.FEE, 1, by=ReportedBy.AGENT, at=weeks[2]), LATER
    )
    mandate_ledger.append(
        write,
        mandate_id,
        row(RowKind.DEPOSIT, 2, by=ReportedBy.CHAIN, at=weeks[3], block_number=3),
        LATER,
    )
    mandate_ledger.append(
        write,
        mandate_id,
        row(RowKind.FEE, 1, by=ReportedBy.CHAIN, at=weeks[1], block_number=1),
        LATER,
    )
    before = [
        mandate_ledger.load_before(write, [mandate_id], at)[mandate_id].fees_usdc_e6 for at in weeks
    ]
    assert (before, fees(write, mandate_id)) == ([0, 0, USDC, USDC], USDC)
    assert mandate_ledger.verify(write, mandate_id) == []


# Rollbacks


@pytest.mark.parametrize("seed", few(range(10)))
def test_any_mix_of_rows_and_rollbacks__head_weeks_and_kept_states_are_the_folds(
    write: WriteSession, seed: int
) -> None:
    luck, ledgers = random.Random(seed), [add_mandate(write, f"m_{letter * 10}") for letter in "ab"]
    for step in range(60):
        at, number = MONDAY + timedelta(hours=luck.randrange(-100, 500)), luck.randrange(1, 12)
        kind, by = (
            luck.choice([RowKind.FEE, RowKind.NOTE, RowKind.DEPOSIT, RowKind.MOVE, RowKind.MOVE]),
            luck.choice([ReportedBy.AGENT, ReportedBy.CHAIN]),
        )
        one = row(
            kind,
            luck.randrange(8),
            by=ReportedBy.CHAIN if kind is RowKind.DEPOSIT else by,
            at=at,
            block_number=number,
        )
        match luck.randrange(6):
            case 0:
                first = luck.randrange(1, 12)
                mandate_ledger.reverse_blocks(
                    write,
                    [block(n) for n in range(first + luck.randrange(3), first - 1, -1)],
                    LATER,
                )
            case 1:
                mandate_ledger.append_ledgers(write, {ledger: [one] for ledger in ledgers}, LATER)
            case 2 if step % 3 == 0:
                mandate_ledger.forget_final(write, luck.randrange(1, 12))
            case _:
                mandate_ledger.append(write, luck.choice(ledgers), one, LATER)
    assert [fault for ledger in ledgers for fault in mandate_ledger.verify(write, ledger)] == []
    assert [seq for ledger in ledgers for seq in undo_faults(write, ledger)] == []


def grown_at_the_tip(session: WriteSession, rows: int) -> int:
    """A ledger with that many rows, the last one in a block of its own."""
    mandate_id = add_mandate(session, f"m_{rows:010d}")
    at = [MONDAY + timedelta(seconds=n) for n in range(rows)]
    old = [
        row(RowKind.DEPOSIT, n, by=ReportedBy.CHAIN, at=at[n], block_number=1_000 + n % 2)
        for n in range(rows - 1)
    ]
    mandate_ledger.append_ledgers(session, {mandate_id: old}, LATER)
    mandate_ledger.append_ledgers(
        session,
        {mandate_id: [row(RowKind.DEPOSIT, rows, by=ReportedBy.CHAIN, at=at[-1], block_number=9)]},
        LATER,
    )
    return mandate_id


def rows_read(session: WriteSession, block_number: int) -> int:
    """How many rows the database hands over for one rollback."""
    read = list[int]()

    def count(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        read.append(cursor.rowcount if statement.lstrip().lower().startswith("select") else 0)

    connection = session.connection()
    event.listen(connection, "after_cursor_execute", count)
    mandate_ledger.reverse_blocks(session, [block(block_number)], LATER)
    event.remove(connection, "after_cursor_execute", count)
    return sum(read)


@pytest.mark.slow
def test_a_rollback__reads_as_much_of_a_long_ledger_as_of_a_short_one(database: Database) -> None:
    read = []
    for rows in (10, 1_000):
        with database.write() as session:
            mandate_id = grown_at_the_tip(session, rows)
            read.append(rows_read(session, 9))
            assert mandate_ledger.verify(session, mandate_id) == []
            session.execute(delete(MandateUndo))
    assert read[0] == read[1]


def test_a_rollback__sends_as_many_statements_for_many_ledgers_as_for_one(
    write: WriteSession,
) -> None:
    counts = []
    for number, count in ((1, 1), (2, 30)):
        ledgers = [add_mandate(write, f"m_{number}{n:09d}") for n in range(count)]
        rows = {
            ledger: [row(RowKind.DEPOSIT, 1, by=ReportedBy.CHAIN, at=MONDAY, block_number=number)]
            for ledger in ledgers
        }
        mandate_ledger.append_ledgers(write, rows, LATER)
        sent: list[str] = []
        connection = write.connection()

        def note(_: Any, cursor: Any, statement: str, *rest: Any, sent: list[str] = sent) -> None:
            sent.append(statement)

        event.listen(connection, "before_cursor_execute", note)
        assert mandate_ledger.reverse_blocks(write, [block(number)], LATER) == count
        event.remove(connection, "before_cursor_execute", note)
        counts.append(len(sent))
    assert counts[0] == counts[1]


def test_a_kept_state_of_another_version__is_passed_over(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    for number in (1, 2):
        one = row(RowKind.DEPOSIT, number, by=ReportedBy.CHAIN, at=MONDAY, block_number=number)
        mandate_ledger.append(write, mandate_id, one, LATER)
    write.execute(update(MandateUndo).values(state={"version": 0}))
    mandate_ledger.reverse_blocks(write, [block(2)], LATER)
    assert mandate_ledger.load_head(write, mandate_id).cash_usdc_e6 == USDC
    assert mandate_ledger.verify(write, mandate_id) == []


def test_final_blocks__nothing_is_kept_to_go_back_behind_them(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    for number in (1, 2, 3):
        one = row(RowKind.DEPOSIT, number, by=ReportedBy.CHAIN, at=MONDAY, block_number=number)
        mandate_ledger.append(write, mandate_id, one, LATER)
    mandate_ledger.forget_final(write, 2)
    assert write.scalars(select(MandateUndo.block_number)).all() == [3]


# Savepoints


def bad(number: int) -> NewRow:
    """A row that the database refuses: an amount that no column holds."""
    return replace(
        row(RowKind.DEPOSIT, number, by=ReportedBy.CHAIN, at=MONDAY, block_number=4),
        amount_usdc_e6=10**90,
    )


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_a_failed_append_in_a_savepoint__then_without_the_bad_row__is_as_if_it_were_the_first(
    write: WriteSession, is_held: bool, late: bool
) -> None:
    ledgers = [add_mandate(write, f"m_{letter * 10}") for letter in "ab"]
    for ledger in ledgers:
        mandate_ledger.append(
            write,
            ledger,
            row(RowKind.FEE, 1, by=ReportedBy.AGENT, at=MONDAY + timedelta(days=8)),
            LATER,
        )
    held: Sequence[Any] = (
        [write.get_one(table, ledger) for table in (Mandate, MandateHead) for ledger in ledgers]
        if is_held
        else []
    )
    if not is_held:
        write.expunge_all()
    at = MONDAY if late else MONDAY + timedelta(days=15)
    vault = {"vault_created": {"vault": "0x" + "5A" * 20, "agent": None}}
    good = [
        replace(row(RowKind.NOTE, 7, by=ReportedBy.CHAIN, at=at, block_number=4), payload=vault),
        row(RowKind.FEE, 1, by=ReportedBy.CHAIN, at=at, block_number=4),
        row(RowKind.DEPOSIT, 3, by=ReportedBy.CHAIN, at=at, block_number=4),
    ]
    for failing in (
        [*good, bad(9)],
        [*good, replace(good[2], base_key="float", payload={"worth": 0.1})],
    ):
        with pytest.raises((NumericValueOutOfRange, InvalidParameterError)), write.begin_nested():
            mandate_ledger.append_ledgers(write, {ledgers[0]: good, ledgers[1]: failing}, LATER)
    assert mandate_ledger.append_ledgers(write, dict.fromkeys(ledgers, good), LATER).rows == 6
    states = [mandate_ledger.load_head(write, ledger) for ledger in ledgers]
    assert [(state.fees_usdc_e6, state.cash_usdc_e6) for state in states] == [(USDC, USDC)] * 2
    assert [fault for ledger in ledgers for fault in mandate_ledger.verify(write, ledger)] == []
    assert len(held) == 4 * is_held


def test_an_append_that_succeeded_in_a_savepoint_that_is_rolled_back__leaves_held_objects_as_the_rows(
    write: WriteSession,
) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append(
        write, mandate_id, row(RowKind.FEE, 1, by=ReportedBy.AGENT, at=MONDAY), LATER
    )
    mandate, head = write.get_one(Mandate, mandate_id), write.get_one(MandateHead, mandate_id)
    created = {"vault_created": {"vault": "0x" + "5A" * 20, "agent": None}}
    nested = write.begin_nested()
    one = replace(
        row(RowKind.NOTE, 7, by=ReportedBy.CHAIN, at=MONDAY, block_number=4), payload=created
    )
    mandate_ledger.append_ledgers(write, {mandate_id: [one]}, LATER)
    assert (mandate.status, head.seq) == ("signed", 2)
    nested.rollback()
    assert (mandate.status, mandate.vault_address, head.seq) == ("draft", None, 1)
    assert write.scalar(select(func.count()).select_from(MandateUndo)) == 0
    assert mandate_ledger.verify(write, mandate_id) == []
