"""The mandate ledger: the only writer of mandate_event, mandate_head and the projections on
mandate.

    lock mandate, then head  ->  leave out what is written  ->  price, chain, fold  ->  COPY  ->  save head and projections

Laws
- Every writer takes the mandate's row first and its head second; several mandates by rising id. So
  nobody deadlocks.
- A row whose fact is written already is not written again: the standing row is the answer.
- A reversal is a row; what it reversed may come back as the next incarnation (block A, then B, then
  A again: +1 -1 +1).
- Projections (status, vault_address, signed_at, ended_at) follow the fold in the same call.
- A call that failed in a savepoint left nothing behind: the same call without what failed is as if
  it were the first.
- Nothing here commits.

Ledgers whose state an older fold wrote, folded again: after an upgrade their heads say what
today's fold says, and so do their weeks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Integer, Select, any_, bindparam, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from core.db.copying import copy_lines
from core.db.engine import WriteSession
from core.errors import MandateError
from core.hexes import bytes_of
from core.ledger.chain import facts_of, known_keys
from core.mandate.ledger import weeks as mandate_weeks
from core.mandate.ledger.columns import COPIED, head_columns, projections, state_columns
from core.mandate.ledger.locked import (
    keep_undo,
    open_ledgers,
    read_needs,
    save,
)
from core.mandate.ledger.reversal import forget_final, reverse_blocks, reverse_logs
from core.mandate.rows import ledger_row, load_rows, mandate_facts, row_of
from core.mandate.rules.fold import apply, effective, fold, fold_on
from core.mandate.rules.record import chain_faults, genesis_hash
from core.mandate.rules.reports import ReportsByTx
from core.mandate.rules.rows import LedgerRow, NewRow
from core.mandate.rules.state import (
    EMPTY_STATE,
    STATE_VERSION,
    MandateFacts,
    MandateState,
    StateVersionError,
    WentOut,
    state_from_json,
)
from core.mandate.tables import Mandate, MandateEvent, MandateHead

ROWS_AT_ONCE: Final = 500  # in memory, of a ledger that is read as a whole
# what a row raises that somebody wrote behind the ledger's back
UNREADABLE: Final = (
    MandateError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)

__all__ = [
    "Appended",
    "Grown",
    "append",
    "append_ledgers",
    "append_many",
    "forget_final",
    "last_seq",
    "load_at",
    "load_before",
    "load_head",
    "load_heads",
    "load_rows",
    "reverse_blocks",
    "reverse_logs",
    "verify",
]


@dataclass(frozen=True, slots=True)
class Appended:
    """The row that now holds the fact; `is_new` when this call wrote it."""

    row: LedgerRow
    is_new: bool


@dataclass(frozen=True, slots=True)
class Grown:
    """What `append_ledgers` did: how many rows were new, and by which of them money went out where
    no adapter values it.
    """

    rows: int
    went_out: tuple[WentOut, ...]


def append(session: WriteSession, mandate_id: int, row: NewRow, now: datetime) -> Appended:
    """Append one row.

    Errors: NoResultFound for an unknown mandate, InvalidParameterError for a payload that is not
    JSON.
    """
    return append_many(session, mandate_id, [row], now)[0]


def append_many(
    session: WriteSession, mandate_id: int, rows: Sequence[NewRow], now: datetime
) -> list[Appended]:
    """Append rows in their order; the answers are in the same order, new rows without their id.

    Errors: as `append`.
    """
    opened = open_ledgers(session, [mandate_id])
    if not opened:
        raise NoResultFound(f"no mandate {mandate_id}")
    ledger = opened[0]
    known = facts_of(
        session, MandateEvent, MandateEvent.mandate_id == mandate_id, {row.base_key for row in rows}
    )
    standing = {key: ledger_row(event) for key, event in known.standing.items()}
    read_needs(session, opened, {mandate_id: [row for row in rows if row.base_key not in standing]})
    is_new = ledger.grow(rows, standing.keys(), known.incarnations, now)
    keep_undo(session, opened)
    copy_lines(session, MandateEvent.__tablename__, COPIED, ledger.lines())
    save(session, opened, now)
    rows_now = standing | {row.base_key: row for row in ledger.fresh}
    return [Appended(rows_now[row.base_key], new) for row, new in zip(rows, is_new, strict=True)]


def append_ledgers(
    session: WriteSession, ledgers: Mapping[int, Sequence[NewRow]], now: datetime
) -> Grown:
    """Append rows to several ledgers at once, by COPY.

    Errors: as `append`; an unknown mandate's rows are left out.
    """
    opened = open_ledgers(session, sorted(ledgers))
    keys = {mandate_id: [row.base_key for row in rows] for mandate_id, rows in ledgers.items()}
    known = known_keys(session, MandateEvent, MandateEvent.mandate_id, keys)
    new = {
        mandate_id: [row for row in rows if row.base_key not in known[mandate_id].standing]
        for mandate_id, rows in ledgers.items()
    }
    read_needs(session, opened, new)

    def lines() -> Iterator[str]:
        """Each ledger's new rows, added as the COPY asks for them; nothing is read any more."""
        for ledger in opened:
            facts = known[ledger.mandate_id]
            ledger.grow(new[ledger.mandate_id], facts.standing, facts.incarnations, now)
            yield from ledger.lines()

    count = copy_lines(session, MandateEvent.__tablename__, COPIED, lines())
    keep_undo(session, opened)
    save(session, opened, now)
    return Grown(count, tuple(went for ledger in opened for went in ledger.went_out))


def verify(session: Session, mandate_id: int) -> list[str]:
    """What is wrong with a ledger, its head or its projections; empty means sound. ROWS_AT_ONCE of its
    rows are in memory at a time; of the others their numbers, and what they report of fees and
    refusals. For a row that cannot be read at all, only that is reported.

    The checkpoints are grown as a writer grows them, and the newest is folded from its definition beside
    that: every row that came late is in it, so a defect of the growing shows.

    Errors: NoResultFound.
    """
    mandate = session.scalars(select(Mandate).where(Mandate.id == mandate_id)).one()
    head = session.get(MandateHead, mandate_id)
    folded = _Folded(mandate_facts(mandate), _reversed_ids(session, mandate_id))
    try:
        with _in_turn(session, mandate_id) as rows:
            faults = chain_faults(folded.through(rows), mandate.public_id)
        if wanted := folded.weeks.changed:
            newest = max(wanted)
            is_before = MandateEvent.occurred_at < newest
            wanted[newest] = _fold_of(session, mandate, folded.reversed_ids, is_before)
    except UNREADABLE as error:
        seq = 0 if folded.last is None else folded.last.seq
        return [f"seq {seq}, or the row after it: cannot be read: {type(error).__name__}"]
    faults += mandate_weeks.faults(session, mandate_id, wanted)
    if head is None:
        return faults if folded.last is None else [*faults, "the ledger has rows and no head"]
    return faults + _head_faults(mandate, head, folded)


@dataclass(slots=True)
class _Folded:
    """The fold of a ledger whose rows pass by, and its checkpoints. `reversed_ids`: rows that do not count."""

    facts: MandateFacts
    reversed_ids: frozenset[int]
    state: MandateState = EMPTY_STATE
    reports: ReportsByTx = field(default_factory=ReportsByTx)
    weeks: mandate_weeks.Weeks = field(default_factory=mandate_weeks.Weeks)
    last: LedgerRow | None = None

    def through(self, rows: Iterable[LedgerRow]) -> Iterator[LedgerRow]:
        for row in rows:
            self.last = row
            if _counts(row, self.reversed_ids):
                self.weeks.grow(self.state, row, self.facts, self.reports)
                self.state = apply(self.state, row, self.facts, self.reports.of(row))
                self.reports.add(row)
            yield row


def _counts(row: LedgerRow, reversed_ids: frozenset[int]) -> bool:
    """As `effective` has it, of a row whose ledger is not at hand."""
    return row.reverses_id is None and row.id not in reversed_ids


@contextmanager
def _in_turn(
    session: Session, mandate_id: int, *wanted: ColumnElement[bool]
) -> Iterator[Iterator[LedgerRow]]:
    """Every row, or those `wanted`, oldest first, few of them in memory. The cursor is closed with the
    block, also where a row in the middle raises.
    """
    query = select(MandateEvent.__table__).where(MandateEvent.mandate_id == mandate_id, *wanted)
    query = query.order_by(MandateEvent.seq).execution_options(yield_per=ROWS_AT_ONCE)
    with session.execute(query) as found:
        yield map(row_of, found)


def _reversed_ids(
    session: Session, mandate_id: int, *wanted: ColumnElement[bool]
) -> frozenset[int]:
    """What every row, or those `wanted`, reverse."""
    of_ledger = MandateEvent.mandate_id == mandate_id, MandateEvent.reverses_id.is_not(None)
    query = select(MandateEvent.reverses_id).where(*of_ledger, *wanted)
    return frozenset(session.scalars(query))


def load_head(session: Session, mandate_id: int) -> MandateState:
    """The fold of the ledger as the head row holds it; EMPTY_STATE before the first row."""
    head = session.get(MandateHead, mandate_id)
    return EMPTY_STATE if head is None else _state(session, head)


def load_heads(session: Session, mandate_ids: Collection[int]) -> dict[int, MandateState]:
    """The same of many ledgers, by mandate, in one SELECT; of none without asking."""
    if not mandate_ids:
        return {}
    if len(mandate_ids) == 1:  # a read of one mandate has its head loaded
        (mandate_id,) = mandate_ids
        return {mandate_id: load_head(session, mandate_id)}
    heads = session.scalars(_heads(), {"mandate_ids": list(mandate_ids)})
    return dict.fromkeys(mandate_ids, EMPTY_STATE) | {
        head.mandate_id: _state(session, head) for head in heads
    }


@cache
def _heads() -> Select[MandateHead]:
    wanted = any_(bindparam("mandate_ids", type_=ARRAY(BigInteger)))
    return select(MandateHead).where(MandateHead.mandate_id == wanted)


def last_seq(session: Session, mandate_id: int) -> int:
    """The newest row's seq; 0 before the first."""
    head = session.get(MandateHead, mandate_id)
    return 0 if head is None else head.seq


def load_before(
    session: Session, mandate_ids: Collection[int], at: datetime
) -> dict[int, MandateState]:
    """By mandate the fold of the rows that happened before `at`, which begins a week (Monday
    00:00:00 UTC).
    """
    kept = mandate_weeks.states_before(session, mandate_ids, at)
    states = load_heads(
        session, [mandate_id for mandate_id in mandate_ids if mandate_id not in kept]
    )
    for mandate_id, state in kept.items():
        try:
            states[mandate_id] = state_from_json(state)
        except StateVersionError:
            rows = [
                row for row in effective(load_rows(session, mandate_id)) if row.occurred_at < at
            ]
            states[mandate_id] = fold(rows, mandate_facts(session.get_one(Mandate, mandate_id)))
    return states


def load_at(session: Session, mandate_id: int, block_number: int) -> MandateState:
    """The fold of the ledger without what is in higher blocks; a row and its reversal are of
    the same block.
    """
    at = MandateEvent.block_number
    is_wanted = or_(at.is_(None), at <= block_number)
    reversed_ids = _reversed_ids(session, mandate_id, is_wanted)
    return _fold_of(session, session.get_one(Mandate, mandate_id), reversed_ids, is_wanted)


def _fold_of(
    session: Session,
    mandate: Mandate,
    reversed_ids: frozenset[int],
    is_wanted: ColumnElement[bool],
) -> MandateState:
    """The fold of the rows that are wanted and count, few of them in memory."""
    with _in_turn(session, mandate.id, is_wanted) as rows:
        counted = (row for row in rows if _counts(row, reversed_ids))
        return fold_on(EMPTY_STATE, counted, mandate_facts(mandate), ReportsByTx())


def _state(session: Session, head: MandateHead) -> MandateState:
    """The head's state; folded again when another version of the fold wrote it."""
    try:
        return state_from_json(head.state)
    except StateVersionError:
        return fold(
            load_rows(session, head.mandate_id),
            mandate_facts(session.get_one(Mandate, head.mandate_id)),
        )


def _head_faults(mandate: Mandate, head: MandateHead, folded: _Folded) -> list[str]:
    last = folded.last
    seq, last_hash = (
        (0, genesis_hash(mandate.public_id)) if last is None else (last.seq, last.row_hash)
    )
    faults = [] if head.seq == seq else [f"head: seq is {head.seq}, the last row's is {seq}"]
    if head.row_hash != bytes_of(last_hash):
        faults.append(f"head: row_hash is 0x{head.row_hash.hex()}, the last row's is {last_hash}")
    faults += [
        f"head: {name} differs from the fold"
        for name, value in state_columns(folded.state).items()
        if getattr(head, name) != value
    ]
    if not _is_state(head.state, folded.state):
        faults.append("head: state differs from the fold")
    projected = {} if last is None else projections(mandate.status, folded.state)
    return faults + [
        f"mandate: {name} differs from the fold"
        for name, value in projected.items()
        if getattr(mandate, name) != value
    ]


def _is_state(raw: Mapping[str, Any], state: MandateState) -> bool:
    """Whether it reads as that state, or is another version's: whoever reads it folds the rows again."""
    try:
        return state_from_json(raw) == state
    except StateVersionError:
        return True
    except (KeyError, ValueError):
        return False


def older_ledgers(session: Session) -> list[int]:
    """The mandates whose head an older version of the fold wrote.

    Reads every head: once a process.
    """
    version = MandateHead.state["version"].astext.cast(Integer)
    return list(
        session.scalars(
            select(MandateHead.mandate_id)
            .where(version < STATE_VERSION)
            .order_by(MandateHead.mandate_id)
        )
    )


def refold(session: WriteSession, mandate_id: int) -> None:
    """One ledger, from its rows. Does not commit. Errors: NoResultFound."""
    mandate = session.scalars(
        select(Mandate).where(Mandate.id == mandate_id).with_for_update(key_share=True)
    ).one()
    head = session.scalars(
        select(MandateHead)
        .where(MandateHead.mandate_id == mandate_id)
        .with_for_update(key_share=True)
    ).one()
    rows, facts = load_rows(session, mandate_id), mandate_facts(mandate)
    state = fold(rows, facts)
    for name, value in head_columns(state).items():
        setattr(head, name, value)
    for name, value in projections(mandate.status, state).items():
        setattr(mandate, name, value)
    mandate_weeks.save(session, {mandate_id: mandate_weeks.folded(rows, facts)})
