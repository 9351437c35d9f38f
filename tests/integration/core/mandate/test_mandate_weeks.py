"""Checkpoints of a ledger at the start of each week: whatever comes in whatever order, they are the
fold of the rows before.
"""

import random
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from sqlalchemy import update

from core.db.engine import Database, WriteSession
from core.mandate.ledger import weeks as mandate_weeks
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rows import mandate_facts
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.state import EMPTY_STATE
from core.mandate.tables import Mandate, MandateWeek
from tests.integration.core.rows import NOW, add_mandate
from tests.slow import few

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)
LATER = NOW + timedelta(days=400)


@pytest.fixture
def mandate(write: WriteSession) -> Mandate:
    return write.get_one(Mandate, add_mandate(write))


def deposit(key: int, at: datetime, amount: int = 1_000_000, block: int | None = None) -> NewRow:
    number = 1_000 + key if block is None else block
    return NewRow(
        kind=RowKind.DEPOSIT,
        reported_by=ReportedBy.CHAIN,
        occurred_at=at,
        base_key=f"log:{key}",
        amount_usdc_e6=amount,
        cash_delta_usdc_e6=amount,
        chain_id=84532,
        block_number=number,
        block_hash=f"0x{number:064x}",
    )


def cash_before(write: WriteSession, mandate: Mandate, at: datetime) -> int:
    return mandate_ledger.load_before(write, [mandate.id], at)[mandate.id].cash_usdc_e6


def test_before_the_first_row_nothing_then_each_week_has_what_came_before_it(
    write: WriteSession, mandate: Mandate
) -> None:
    rows = [
        deposit(1, MONDAY),
        deposit(2, MONDAY + WEEK - timedelta(seconds=1)),
        deposit(3, MONDAY + WEEK),
        deposit(4, MONDAY + 3 * WEEK),
    ]
    mandate_ledger.append_many(write, mandate.id, rows, LATER)
    cash = [cash_before(write, mandate, MONDAY + n * WEEK) for n in range(-1, 6)]
    assert cash == [0, 0, 2_000_000, 3_000_000, 3_000_000, 4_000_000, 4_000_000]
    assert mandate_ledger.verify(write, mandate.id) == []


def test_row_that_comes_late__counts_in_its_own_week(write: WriteSession, mandate: Mandate) -> None:
    mandate_ledger.append_many(
        write, mandate.id, [deposit(1, MONDAY), deposit(2, MONDAY + 3 * WEEK)], LATER
    )
    mandate_ledger.append(write, mandate.id, deposit(3, MONDAY + WEEK, 5_000_000), LATER)
    mandate_ledger.append(write, mandate.id, deposit(4, MONDAY - WEEK, 7_000_000), LATER)
    cash = [cash_before(write, mandate, MONDAY + n * WEEK) for n in range(-1, 5)]
    assert cash == [0, 7_000_000, 8_000_000, 13_000_000, 13_000_000, 14_000_000]
    assert mandate_ledger.verify(write, mandate.id) == []


def test_verify__names_a_checkpoint_that_a_defect_of_the_writer_left_without_a_late_row(
    write: WriteSession, mandate: Mandate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The auditor grows checkpoints with the same code: what that forgets must show all the same."""

    def forgotten(weeks: mandate_weeks.Weeks, start: datetime, *_: object) -> None:
        weeks.changed[start] = EMPTY_STATE

    monkeypatch.setattr(mandate_weeks.Weeks, "_late", forgotten)
    rows = [deposit(1, MONDAY), deposit(2, MONDAY + 3 * WEEK)]
    mandate_ledger.append_many(write, mandate.id, rows, LATER)
    mandate_ledger.append(write, mandate.id, deposit(3, MONDAY - WEEK), LATER)
    assert mandate_ledger.verify(write, mandate.id) == ["weeks: 2026-01-26 differs from the fold"]


def test_reversed_row__leaves_every_later_week(write: WriteSession, mandate: Mandate) -> None:
    mandate_ledger.append_many(
        write, mandate.id, [deposit(1, MONDAY), deposit(2, MONDAY + WEEK, block=7)], LATER
    )
    mandate_ledger.append(write, mandate.id, deposit(3, MONDAY + 2 * WEEK), LATER)
    mandate_ledger.reverse_blocks(write, [f"0x{7:064x}"], LATER)
    assert [cash_before(write, mandate, MONDAY + n * WEEK) for n in (1, 2, 3)] == [
        1_000_000,
        1_000_000,
        2_000_000,
    ]
    assert mandate_ledger.verify(write, mandate.id) == []


def test_whole_week_reversed_and_filled_again__is_right(
    write: WriteSession, mandate: Mandate
) -> None:
    mandate_ledger.append_many(
        write, mandate.id, [deposit(1, MONDAY), deposit(2, MONDAY + WEEK, block=7)], LATER
    )
    mandate_ledger.reverse_blocks(write, [f"0x{7:064x}"], LATER)
    mandate_ledger.append(write, mandate.id, deposit(3, MONDAY + timedelta(days=1)), LATER)
    mandate_ledger.append(write, mandate.id, deposit(2, MONDAY + WEEK, block=8), LATER)
    assert [cash_before(write, mandate, MONDAY + n * WEEK) for n in (1, 2)] == [
        2_000_000,
        3_000_000,
    ]
    assert mandate_ledger.verify(write, mandate.id) == []


@pytest.mark.parametrize("seed", few(range(12)))
def test_any_order_of_rows_copies_and_reversals__the_checkpoints_are_the_folds(
    write: WriteSession, mandate: Mandate, seed: int
) -> None:
    luck = random.Random(seed)
    for key in range(40):
        row = deposit(
            key,
            MONDAY + timedelta(hours=luck.randrange(-400, 1_600)),
            luck.randrange(1, 10**7),
            block=luck.randrange(1, 9),
        )
        match luck.randrange(6):
            case 0:
                mandate_ledger.reverse_blocks(write, [f"0x{luck.randrange(1, 9):064x}"], LATER)
            case 1:
                mandate_ledger.append_ledgers(
                    write, {mandate.id: [row, deposit(1_000 + key, row.occurred_at + WEEK)]}, LATER
                )
            case _:
                mandate_ledger.append(write, mandate.id, row, LATER)
    rows = mandate_ledger.load_rows(write, mandate.id)
    kept = mandate_weeks.load(write, [mandate.id])[mandate.id]
    assert kept == mandate_weeks.folded(rows, mandate_facts(mandate))
    assert mandate_ledger.verify(write, mandate.id) == []


def test_checkpoint_of_another_version__is_folded_from_the_rows(
    write: WriteSession, mandate: Mandate
) -> None:
    mandate_ledger.append_many(
        write, mandate.id, [deposit(1, MONDAY), deposit(2, MONDAY + WEEK)], LATER
    )
    write.execute(update(MandateWeek).values(state={"version": 0}))
    assert cash_before(write, mandate, MONDAY + WEEK) == 1_000_000
    assert mandate_ledger.verify(write, mandate.id) == []  # to be folded again, which is no fault


def test_late_row_over_checkpoints_of_another_version__folds_them_again(
    write: WriteSession, mandate: Mandate
) -> None:
    rows = [deposit(1, MONDAY), deposit(2, MONDAY + WEEK), deposit(3, MONDAY + 2 * WEEK)]
    mandate_ledger.append_many(write, mandate.id, rows, LATER)
    write.execute(update(MandateWeek).values(state={"version": 0}))
    mandate_ledger.append_ledgers(
        write, {mandate.id: [deposit(4, MONDAY + timedelta(days=1), 5_000_000)]}, LATER
    )
    assert [cash_before(write, mandate, MONDAY + n * WEEK) for n in (1, 2)] == [
        6_000_000,
        7_000_000,
    ]
    assert mandate_ledger.verify(write, mandate.id) == []


def test_more_late_rows_than_a_chunk_over_a_weeks_border__do_not_hang_the_copy(
    database: Database,
) -> None:
    """299 rows fill the first chunk, so that the COPY is open when the second book's row comes late
    and needs its checkpoints.
    """
    with database.write() as session:
        first, second = add_mandate(session), add_mandate(session, "m_bbbbbbbbbb")
    rows = {
        first: [deposit(n, MONDAY + WEEK + timedelta(minutes=n)) for n in range(299)],
        second: [deposit(1, MONDAY + WEEK), deposit(2, MONDAY)],
    }
    written: list[int] = []

    def write_them() -> None:
        with database.write() as session:
            written.append(mandate_ledger.append_ledgers(session, rows, LATER).rows)

    writer = Thread(target=write_them, daemon=True)
    writer.start()
    writer.join(60)
    assert written == [301]
    with database.read() as after:
        assert [fault for ledger in rows for fault in mandate_ledger.verify(after, ledger)] == []
