"""Blocks taken back from the mandates' ledgers: compensating rows, and the fold of what is left.

Used by the mandate ledger alone.

    seq       1 2 3 ... 897 | 898  899  900 | 901 902            901, 902: reversals of 900 and 898
    undo             state before 898         replayed: 899 on top of it

Laws
- What is left is folded from the newest kept state before the first reversed row
  (core.mandate.tables.MandateUndo): the cost grows with what happened since, not with the ledger.
  Without such a state the whole ledger is folded.
- A state that was kept after a reversed row is wrong from now on, and goes.
- Checkpoints of weeks that lie wholly before the reversed rows stay as they are; later ones are
  made again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, and_, delete, select
from sqlalchemy.orm import Session

from core.db.arrays import table_of
from core.db.copying import copy_lines
from core.db.engine import WriteSession
from core.mandate.ledger import weeks as mandate_weeks
from core.mandate.ledger.columns import COPIED
from core.mandate.ledger.locked import OpenLedger, open_ledgers, save
from core.mandate.ledger.weeks import Checkpoints, start_of
from core.mandate.rows import (
    mandates_in_blocks,
    rows_from,
    standing_of_blocks,
    standing_of_logs,
    standing_reports,
)
from core.mandate.rules.fold import fold_on
from core.mandate.rules.reports import ReportsByTx, is_paired
from core.mandate.rules.rows import LedgerRow, reversal_row
from core.mandate.rules.state import (
    EMPTY_STATE,
    MandateFacts,
    MandateState,
    StateVersionError,
    state_from_json,
)
from core.mandate.tables import MandateEvent, MandateUndo

WHOLE_LEDGERS_AT_ONCE = 20
FIRST_SEQ = 1


@dataclass(frozen=True, slots=True)
class _Replay:
    """What is left of a ledger: a state, the rows that count after it, oldest first, and earlier
    rows that report their transactions.
    """

    start: MandateState
    rows: Sequence[LedgerRow]
    earlier: Sequence[LedgerRow]
    facts: MandateFacts

    def state(self) -> MandateState:
        return fold_on(self.start, self.rows, self.facts, ReportsByTx(self.earlier))

    def state_before(self, at: datetime) -> MandateState:
        """`at` must not be before what `start` already counts."""
        return fold_on(
            self.start,
            (row for row in self.rows if row.occurred_at < at),
            self.facts,
            ReportsByTx(self.earlier),
        )


def reverse_blocks(session: WriteSession, block_hashes: Sequence[str], now: datetime) -> int:
    """Reverse every standing row of orphaned blocks, given newest first, in every ledger that has
    one; the number of rows reversed.
    """
    hashes = [bytes.fromhex(block_hash[2:]) for block_hash in block_hashes]
    ledgers = open_ledgers(session, mandates_in_blocks(session, hashes))
    # A statement of its own: it sees what was committed while the locks were waited for.
    found = standing_of_blocks(session, hashes)
    place = {block_hash.lower(): index for index, block_hash in enumerate(block_hashes)}
    return _reverse(
        session,
        ledgers,
        {
            mandate_id: sorted(rows, key=lambda row: (place[row.block_hash or ""], -row.seq))
            for mandate_id, rows in found.items()
        },
        now,
    )


def reverse_logs(
    session: WriteSession, mandate_id: int, since: tuple[int, int], now: datetime
) -> list[LedgerRow]:
    """Reverse one ledger's standing rows of logs from that place on, (height, log index), newest
    first: some of them were not the chain's. The rows.
    """
    ledgers = open_ledgers(session, [mandate_id])
    found = standing_of_logs(session, mandate_id, since)
    _reverse(session, ledgers, {mandate_id: found[::-1]} if found else {}, now)
    return found


def _reverse(
    session: WriteSession,
    ledgers: Sequence[OpenLedger],
    reversed_rows: Mapping[int, Sequence[LedgerRow]],
    now: datetime,
) -> int:
    """By mandate the rows, in the order in which they are taken back."""
    if not reversed_rows:
        return 0
    for ledger in ledgers:
        for row in reversed_rows.get(ledger.mandate_id, ()):
            ledger.add(reversal_row(row, now), row.incarnation, row.id, now)
    touched = [ledger for ledger in ledgers if ledger.fresh]
    weeks = _fold_again(session, touched, reversed_rows)
    copy_lines(
        session,
        MandateEvent.__tablename__,
        COPIED,
        (line for ledger in touched for line in ledger.lines()),
    )
    save(session, touched, now)
    mandate_weeks.drop(session, weeks)
    _forget_after(session, reversed_rows)
    return sum(map(len, reversed_rows.values()))


def _fold_again(
    session: WriteSession,
    ledgers: Sequence[OpenLedger],
    reversed_rows: Mapping[int, Sequence[LedgerRow]],
) -> list[tuple[int, datetime]]:
    """Set each ledger's state and changed checkpoints to what is left; the weeks, (mandate id,
    start), that are left without a row.
    """
    since = {
        ledger.mandate_id: min(row.occurred_at for row in reversed_rows[ledger.mandate_id])
        for ledger in ledgers
    }
    first = _first({id_: reversed_rows[id_] for id_ in since})
    kept = mandate_weeks.kept_since(session, since)
    undo = {
        id_: found for id_, found in _undo(session, first).items() if _reaches(found[1], since[id_])
    }
    whole = [ledger for ledger in ledgers if ledger.mandate_id not in undo]
    emptied = _replay_ledgers(
        session,
        [ledger for ledger in ledgers if ledger.mandate_id in undo],
        undo,
        reversed_rows,
        kept,
        since,
    )
    for index in range(0, len(whole), WHOLE_LEDGERS_AT_ONCE):
        some = whole[index : index + WHOLE_LEDGERS_AT_ONCE]
        from_first = {ledger.mandate_id: (FIRST_SEQ, EMPTY_STATE) for ledger in some}
        emptied += _replay_ledgers(session, some, from_first, reversed_rows, kept, since)
    return emptied


def _reaches(start: MandateState, since: datetime) -> bool:
    """Whether the checkpoints that change can be made from that state: it counts nothing of a later
    week than the first reversed row's.
    """
    return start.last_row_at is None or start_of(start.last_row_at) <= start_of(since)


def _replay_ledgers(
    session: WriteSession,
    ledgers: Sequence[OpenLedger],
    starts: Mapping[int, tuple[int, MandateState]],
    reversed_rows: Mapping[int, Sequence[LedgerRow]],
    kept: Mapping[int, set[datetime]],
    since: Mapping[int, datetime],
) -> list[tuple[int, datetime]]:
    """`starts`: by mandate (the first seq that is replayed, the state before it)."""
    if not ledgers:
        return []
    rows = rows_from(session, {id_: seq for id_, (seq, _) in starts.items()})
    left = {
        ledger.mandate_id: _left(rows[ledger.mandate_id], reversed_rows[ledger.mandate_id])
        for ledger in ledgers
    }
    flagged = {id_ for id_, (_, start) in starts.items() if start.flagged_trades_count}
    reports = standing_reports(
        session,
        {
            (id_, row.tx_hash)
            for id_, ones in left.items()
            for row in ones
            if row.tx_hash and (id_ in flagged or is_paired(row))
        },
        flagged,
    )
    emptied = []
    for ledger in ledgers:
        seq, start = starts[ledger.mandate_id]
        earlier = [row for row in reports.get(ledger.mandate_id, ()) if row.seq < seq]
        replay = _Replay(start, left[ledger.mandate_id], earlier, ledger.facts)
        ledger.state = replay.state()
        wanted, ledger.weeks.changed = _weeks(replay, since[ledger.mandate_id])
        emptied += [(ledger.mandate_id, at) for at in kept[ledger.mandate_id] - wanted]
    return emptied


def _left(rows: Sequence[LedgerRow], reversed_now: Sequence[LedgerRow]) -> list[LedgerRow]:
    gone = {row.reverses_id for row in rows if row.reverses_id is not None} | {
        row.id for row in reversed_now
    }
    return [row for row in rows if row.reverses_id is None and row.id not in gone]


def _weeks(replay: _Replay, since: datetime) -> tuple[set[datetime], Checkpoints]:
    """From the week of `since` on: the weeks that have a row, and the checkpoints that the reversal
    may have changed.
    """
    first, newest = start_of(since), replay.start.last_row_at
    wanted = {at for at in (start_of(row.occurred_at) for row in replay.rows) if at >= first}
    if newest is None or start_of(newest) < first:
        return wanted, {at: replay.state_before(at) for at in sorted(wanted)}
    return wanted | {first}, {at: replay.state_before(at) for at in sorted(wanted) if at > first}


# What is kept to go back to


def _first(reversed_rows: Mapping[int, Sequence[LedgerRow]]) -> dict[int, int]:
    return {id_: min(row.seq for row in rows) for id_, rows in reversed_rows.items()}


def _asked(first: Mapping[int, int]) -> Any:
    return table_of(
        "asked", {"mandate_id": (BigInteger, [*first]), "seq": (BigInteger, [*first.values()])}
    )


def _undo(session: Session, first: Mapping[int, int]) -> dict[int, tuple[int, MandateState]]:
    """By mandate the newest kept state before its row `first`, as (the seq that it is before, the
    state).
    """
    asked = _asked(first)
    newest = select(MandateUndo.__table__).where(
        MandateUndo.mandate_id == asked.c.mandate_id, MandateUndo.seq <= asked.c.seq
    )
    found = {}
    for row in session.execute(
        select(newest.order_by(MandateUndo.seq.desc()).limit(1).lateral("newest")).select_from(
            asked
        )
    ):
        try:
            found[row.mandate_id] = (row.seq, state_from_json(row.state))
        except StateVersionError:
            continue
    return found


def _forget_after(session: WriteSession, reversed_rows: Mapping[int, Sequence[LedgerRow]]) -> None:
    """Let go of the states that count a row that is reversed now."""
    asked = _asked(_first(reversed_rows))
    wrong = and_(MandateUndo.mandate_id == asked.c.mandate_id, MandateUndo.seq >= asked.c.seq)
    session.execute(delete(MandateUndo).where(wrong).execution_options(synchronize_session=False))


def forget_final(session: WriteSession, block_number: int) -> None:
    """Blocks up to that height are final: nobody goes back behind them."""
    session.execute(
        delete(MandateUndo)
        .where(MandateUndo.block_number <= block_number)
        .execution_options(synchronize_session=False)
    )
