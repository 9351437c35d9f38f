"""The mandate ledger: one chain a mandate, each fact once, reversals as rows, head and projections
with every row.
"""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import NoResultFound

from core.db.engine import Database, WriteSession
from core.errors import InvalidParameterError
from core.mandate import queries as mandates
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.cash import cancelled_note
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.rows import RowKind
from core.mandate.rules.state import EMPTY_STATE
from core.mandate.tables import Mandate, MandateEvent, MandateHead
from tests.integration.core.rows import (
    BLOCK_A,
    BLOCK_B,
    BUDGET,
    NOW,
    VAULT,
    add_mandate,
    deposited,
    log,
    note,
    signed,
    vault_created,
)

LATER = NOW + timedelta(hours=1)


def test_append__a_fact__is_chained_folded_and_projected(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    answers = mandate_ledger.append_many(
        write, mandate_id, [signed(), vault_created(), deposited()], LATER
    )
    assert [(answer.row.seq, answer.is_new) for answer in answers] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    mandate, head = write.get_one(Mandate, mandate_id), write.get_one(MandateHead, mandate_id)
    assert (mandate.status, mandate.signed_at, mandate.ended_at) == ("working", NOW, None)
    assert mandate.vault_address == bytes.fromhex(VAULT[2:])
    assert (head.seq, head.cash_usdc_e6, head.deposited_usdc_e6, head.status) == (
        3,
        BUDGET,
        BUDGET,
        "working",
    )
    assert mandate_ledger.load_head(write, mandate_id).status is Status.WORKING
    assert mandate_ledger.verify(write, mandate_id) == []


def test_append__returned_row__is_the_row_read_back_but_for_its_id(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    upper = replace(deposited(), tx_hash="0x" + "AB" * 32)
    written = [
        answer.row
        for answer in mandate_ledger.append_many(write, mandate_id, [signed(), upper], LATER)
    ]
    write.expire_all()
    read = [replace(row, id=0) for row in mandate_ledger.load_rows(write, mandate_id)]
    assert read == written
    (second,) = mandate_ledger.load_rows(write, mandate_id, since=1)
    assert replace(second, id=0) == written[1]


@pytest.mark.row("6 one vault log is one row")
def test_append__the_same_fact_again__answers_the_standing_row_and_writes_nothing(
    write: WriteSession,
) -> None:
    mandate_id = add_mandate(write)
    first = mandate_ledger.append(write, mandate_id, deposited(), NOW)
    again = mandate_ledger.append(write, mandate_id, deposited(amount=5), LATER)
    assert (replace(again.row, id=0), again.is_new) == (first.row, False)
    assert len(mandate_ledger.load_rows(write, mandate_id)) == 1
    assert write.get_one(MandateHead, mandate_id).updated_at == NOW


def test_append_many__a_fact_twice_in_one_call__is_written_once(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    first, second = mandate_ledger.append_many(write, mandate_id, [note(1), note(1)], NOW)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.row == second.row
    assert mandate_ledger.verify(write, mandate_id) == []


def test_append__one_by_one_and_at_once__give_the_same_state(write: WriteSession) -> None:
    rows = [signed(), vault_created(), deposited(), note(1)]
    at_once, one_by_one = add_mandate(write), add_mandate(write, "m_bbbbbbbbbb")
    mandate_ledger.append_many(write, at_once, rows, NOW)
    for row in rows:
        mandate_ledger.append(write, one_by_one, row, NOW)
    assert mandate_ledger.load_head(write, at_once) == mandate_ledger.load_head(write, one_by_one)


def test_append__a_float_in_the_payload__is_refused_and_nothing_is_written(
    write: WriteSession,
) -> None:
    mandate_id = add_mandate(write)
    with pytest.raises(InvalidParameterError):
        mandate_ledger.append(write, mandate_id, replace(note(1), payload={"worth": 0.1}), NOW)
    assert mandate_ledger.load_rows(write, mandate_id) == []


def test_append__to_an_unknown_mandate__raises(write: WriteSession) -> None:
    with pytest.raises(NoResultFound):
        mandate_ledger.append(write, 404, note(1), NOW)


def test_load_head__before_the_first_row__is_the_empty_state(write: WriteSession) -> None:
    assert mandate_ledger.load_head(write, add_mandate(write)) == EMPTY_STATE


def test_append__a_note_to_a_cancelled_draft__leaves_it_cancelled(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append(write, mandate_id, cancelled_note(NOW), NOW)
    mandate_ledger.append(write, mandate_id, note(1), NOW)
    mandate = write.get_one(Mandate, mandate_id)
    assert (mandate.status, mandate.ended_at) == ("cancelled", NOW)
    assert mandate_ledger.verify(write, mandate_id) == []


@pytest.mark.slow
def test_append__from_eight_threads__leaves_no_gap(database: Database) -> None:
    with database.write() as session:
        mandate_id = add_mandate(session)

    def write_some(thread: int) -> None:
        for step in range(5):
            with database.write() as session:
                mandate_ledger.append_many(
                    session, mandate_id, [note(thread * 100 + step), note(step)], NOW
                )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_some, range(8)))
    with database.read() as after:
        rows = mandate_ledger.load_rows(after, mandate_id)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        assert {row.base_key for row in rows} == {
            f"report:{thread * 100 + step}" for thread in range(8) for step in range(5)
        }
        assert len(rows) == 40
        assert mandate_ledger.verify(after, mandate_id) == []


def test_append__beside_writers_that_hold_the_mandate_first__does_not_deadlock(
    database: Database,
) -> None:
    with database.write() as session:
        mandate_id = add_mandate(session)

    def write_some(thread: int) -> None:
        for step in range(5):
            with database.write() as session:
                if thread % 2:
                    mandates.lock_mandate(session, mandate_id)
                row = signed() if step == 0 else note(thread * 100 + step)
                mandate_ledger.append(session, mandate_id, row, NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_some, range(4)))
    with database.read() as after:
        assert len(mandate_ledger.load_rows(after, mandate_id)) == 17
        assert mandate_ledger.verify(after, mandate_id) == []


# Reorganisations


def test_reverse_blocks__equals_a_ledger_without_the_block(write: WriteSession) -> None:
    mandate_id, untouched = add_mandate(write), add_mandate(write, "m_bbbbbbbbbb")
    mandate_ledger.append_many(
        write, mandate_id, [signed(), vault_created(), note(1), deposited(), note(2)], NOW
    )
    mandate_ledger.append_many(write, untouched, [signed(), note(1), note(2)], NOW)
    assert mandate_ledger.reverse_blocks(write, [BLOCK_A], LATER) == 2
    assert mandate_ledger.load_head(write, mandate_id) == mandate_ledger.load_head(write, untouched)
    mandate = write.get_one(Mandate, mandate_id)
    assert (mandate.status, mandate.vault_address) == ("signed", None)
    assert mandate_ledger.verify(write, mandate_id) == []


def test_reverse_blocks__writes_compensating_rows_newest_first(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append_many(write, mandate_id, [vault_created(), deposited()], NOW)
    mandate_ledger.reverse_blocks(write, [BLOCK_A], LATER)
    created, funded, *reversals = mandate_ledger.load_rows(write, mandate_id)
    assert [row.reverses_id for row in reversals] == [funded.id, created.id]
    assert [row.cash_delta_usdc_e6 for row in reversals] == [-BUDGET, 0]
    assert reversals[0].payload == {"reversal": True, "reverses_seq": funded.seq, "cause": "reorg"}
    assert (reversals[0].kind, reversals[0].base_key) == (
        funded.kind,
        f"reversal:{funded.base_key}",
    )


def test_reverse_blocks__a_second_time__finds_nothing(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append(write, mandate_id, deposited(), NOW)
    assert [mandate_ledger.reverse_blocks(write, [BLOCK_A], LATER) for _ in range(2)] == [1, 0]


def test_reverse_blocks__reaches_every_ledger_of_the_block(write: WriteSession) -> None:
    ledgers = [add_mandate(write, f"m_{letter * 10}") for letter in "abc"]
    for mandate_id in ledgers:
        mandate_ledger.append_many(write, mandate_id, [vault_created(), deposited()], NOW)
    assert mandate_ledger.reverse_blocks(write, [BLOCK_A], LATER) == 6
    assert [mandate_ledger.load_head(write, mandate_id).cash_usdc_e6 for mandate_id in ledgers] == [
        0,
        0,
        0,
    ]


def test_block_a_then_b_then_a_again__counts_plus_one_minus_one_plus_one(
    write: WriteSession,
) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append(write, mandate_id, deposited(block=BLOCK_A), NOW)
    mandate_ledger.reverse_blocks(write, [BLOCK_A], NOW)
    mandate_ledger.append(write, mandate_id, deposited(block=BLOCK_B), NOW)
    mandate_ledger.reverse_blocks(write, [BLOCK_B], NOW)
    again = mandate_ledger.append(write, mandate_id, deposited(block=BLOCK_A), NOW)
    rows = mandate_ledger.load_rows(write, mandate_id)
    assert [row.cash_delta_usdc_e6 // BUDGET for row in rows] == [1, -1, 1, -1, 1]
    assert [row.incarnation for row in rows] == [1, 1, 2, 2, 3]
    assert (again.is_new, again.row.incarnation) == (True, 3)
    assert mandate_ledger.load_head(write, mandate_id).cash_usdc_e6 == BUDGET
    assert mandate_ledger.reverse_blocks(write, [BLOCK_A], NOW) == 1
    assert mandate_ledger.verify(write, mandate_id) == []


# Proof


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            'update mandate_event set payload = \'{"why": "other"}\' where seq = 2',
            "seq 2: row_hash",
        ),
        ("update mandate_event set cash_delta_usdc_e6 = 1 where seq = 2", "seq 2: row_hash"),
        (
            "update mandate_event set payload = '{\"worth\": 0.5}' where seq = 2",
            "seq 2: its content can't be hashed: $.payload.worth",
        ),
        (
            "update mandate_event set reverses_id = (select max(id) from mandate_event) where seq = 2",
            "seq 2: its content can't be hashed: a reversal names the reversed row",
        ),
        ("delete from mandate_event where seq = 2", "seq 3: expected seq 2"),
        ("delete from mandate_event where seq = 3", "head: seq is 3, the last row's is 2"),
        ("update mandate_head set cash_usdc_e6 = 7", "head: cash_usdc_e6 differs from the fold"),
        ("update mandate set status = 'settled'", "mandate: status differs from the fold"),
    ],
)
def test_verify__after_a_change_behind_the_triggers__names_it(
    write: WriteSession, change: str, named: str
) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append_many(write, mandate_id, [signed(), note(1), note(2)], NOW)
    write.execute(text("set local session_replication_role = replica"))
    write.execute(text(change))
    write.expire_all()
    assert any(fault.startswith(named) for fault in mandate_ledger.verify(write, mandate_id))


@pytest.mark.parametrize("kind", [RowKind.NOTE, RowKind.FEE])
@pytest.mark.slow
def test_verify__takes_no_more_memory_for_a_longer_ledger(
    write: WriteSession, kind: RowKind
) -> None:
    """The auditor does it beside the indexer's loop: an agent's notes, and its fees with a transaction,
    made that process grow.
    """
    peaks = []
    for public_id, rows in (("m_aaaaaaaaaa", 1_000), ("m_bbbbbbbbbb", 4_000)):
        mandate_id = add_mandate(write, public_id)
        payload = {"why": "The price holds. " * 20}
        tx_hash = None if kind is RowKind.NOTE else BLOCK_A
        notes = [
            replace(note(number), kind=kind, tx_hash=tx_hash, payload=payload)
            for number in range(rows)
        ]
        mandate_ledger.append_many(write, mandate_id, notes, NOW)
        write.expire_all()
        tracemalloc.start()
        try:
            assert mandate_ledger.verify(write, mandate_id) == []
            assert mandate_ledger.load_at(write, mandate_id, 1).status is Status.DRAFT
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0], peaks


def test_head_of_another_version__is_folded_again_by_a_read_and_by_the_next_row(
    write: WriteSession,
) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append_many(write, mandate_id, [signed(), vault_created(), deposited()], NOW)
    write.execute(text("update mandate_head set state = '{\"version\": 0}', cash_usdc_e6 = 7"))
    write.expire_all()
    assert mandate_ledger.load_head(write, mandate_id).cash_usdc_e6 == BUDGET
    mandate_ledger.append(write, mandate_id, note(1), LATER)
    assert mandate_ledger.verify(write, mandate_id) == []


def test_amounts__of_uint256_width__come_back_exact(write: WriteSession) -> None:
    mandate_id, widest = add_mandate(write), 2**256 - 1
    row = replace(log(3, deposited().kind, {}, cash=widest), payload={})
    mandate_ledger.append(write, mandate_id, row, NOW)
    write.expire_all()
    amount = write.scalar(select(MandateEvent.amount_usdc_e6))
    total = write.scalar(select(func.sum(MandateEvent.amount_usdc_e6)))
    assert (amount, type(amount), total, type(total)) == (widest, int, widest, int)
