"""The mandate book: the only writer of mandate_event, mandate_head and the projections on mandate.

    lock mandate, then head  ->  leave out what stands already  ->  price, chain, fold  ->  insert  ->  save head and projections

Laws
- Every writer takes the mandate's row first and its head second; several mandates by rising id. So nobody deadlocks.
- A row whose fact stands already is not written again: the standing row is the answer.
- A reversal is a row; what it reversed may come back as the next incarnation (block A, then B, then A again: +1 -1 +1).
- Projections (status, vault_address, signed_at, ended_at) follow the fold in the same call.
- Nothing here commits.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from core.books import mandate_weeks
from core.books.chain import KnownKeys, facts_of, known_keys, lock_head, plain_payload
from core.books.mandate_copy import COPIED, line_of
from core.books.mandate_weeks import Weeks
from core.db.copying import copy_lines
from core.db.engine import WriteSession
from core.db.repositories.mandate_rows import ledger_row, mandate_facts
from core.db.tables.mandate import Mandate, MandateEvent, MandateHead
from core.domain.canonical import canonical_json
from core.domain.mandate.ledger import (
    EMPTY_STATE,
    LedgerRow,
    MandateFacts,
    MandateState,
    NewRow,
    ReportedBy,
    StateVersionError,
    apply,
    effective,
    fold,
    priced,
    state_from_json,
    state_to_json,
)
from core.domain.mandate.lifecycle import Status
from core.domain.mandate.record import canonical_row_with, chain_faults, genesis_hash, row_hash
from core.domain.mandate.unvalued import WentOut, went_out_after

FIRST_INCARNATION = 1


@dataclass(frozen=True, slots=True)
class Appended:
    """The row that now stands for the fact; `is_new` when this call wrote it."""

    row: LedgerRow
    is_new: bool


@dataclass(frozen=True, slots=True)
class Grown:
    """What `append_books` did: how many rows were new, and by which of them money went out where no adapter values it."""

    rows: int
    went_out: tuple[WentOut, ...]


@dataclass(slots=True)
class _Book:
    """A locked book: `state` and `weeks` move with every row that is added, `fresh` holds the rows that this call adds, `payloads`
    their payloads as canonical JSON, `went_out` those by which money went out where no adapter values it."""

    mandate: Mandate
    head: MandateHead
    facts: MandateFacts
    state: MandateState
    weeks: Weeks
    fresh: list[LedgerRow] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    went_out: tuple[WentOut, ...] = ()


def append(session: WriteSession, mandate_id: int, row: NewRow, now: datetime) -> Appended:
    """Append one row. Errors: NoResultFound for an unknown mandate, InvalidParameterError for a payload that is not JSON."""
    return append_many(session, mandate_id, [row], now)[0]


def append_many(session: WriteSession, mandate_id: int, rows: Sequence[NewRow], now: datetime) -> list[Appended]:
    """Append rows in their order, with one insert; the answers are in the same order. Errors: as `append`."""
    book = _open(session, mandate_id)
    known = facts_of(session, MandateEvent, MandateEvent.mandate_id == mandate_id, {row.base_key for row in rows})
    standing = {key: ledger_row(event) for key, event in known.standing.items()}
    is_new = _grow(book, rows, standing.keys(), known.incarnations, now)
    inserted = {row.base_key: row for row in _insert(session, book)}
    if book.fresh:
        _save(session, book, now)
    return [Appended(inserted.get(row.base_key) or standing[row.base_key], new) for row, new in zip(rows, is_new, strict=True)]


def append_books(session: WriteSession, books: Mapping[int, Sequence[NewRow]], now: datetime) -> Grown:
    """Append rows to several books at once, by COPY. Errors: as `append`."""
    opened = _open_many(session, sorted(books))
    keys = {mandate_id: [row.base_key for row in rows] for mandate_id, rows in books.items()}
    known = known_keys(session, MandateEvent, MandateEvent.mandate_id, keys)
    count = copy_lines(session, MandateEvent.__tablename__, COPIED, _lines(opened, books, known, now))
    for book in opened:
        if book.fresh:
            _move_head(book)
            _set_totals(book, now)
    session.flush()
    mandate_weeks.save(session, {book.mandate.id: book.weeks.changed for book in opened})
    return Grown(count, tuple(went for book in opened for went in book.went_out))


def _lines(opened: Sequence[_Book], books: Mapping[int, Sequence[NewRow]], known: Mapping[int, KnownKeys], now: datetime) -> Iterator[str]:
    """Each book's new rows as COPY takes them, added as they are asked for."""
    for book in opened:
        facts = known[book.mandate.id]
        _grow(book, books[book.mandate.id], facts.standing, facts.incarnations, now)
        for row, payload in zip(book.fresh, book.payloads, strict=True):
            yield line_of(row, payload)


def reverse_block(session: WriteSession, block_hash: str, now: datetime) -> int:
    """Reverse every standing row of an orphaned block, in every book that has one; the number of rows reversed."""
    of_block = MandateEvent.block_hash == _bytes(block_hash)
    mandates = select(MandateEvent.mandate_id).where(of_block).distinct().order_by(MandateEvent.mandate_id)
    return sum(_reverse_in(session, mandate_id, block_hash, now) for mandate_id in session.scalars(mandates).all())


def refold(session: WriteSession, mandate_id: int, now: datetime) -> MandateState:
    """Fold the whole book again into head and projections: after a change of the fold, or to repair them."""
    book = _open(session, mandate_id)
    rows = load_rows(session, mandate_id)
    book.state = fold(rows, book.facts)
    _save(session, book, now)
    mandate_weeks.refold(session, mandate_id, rows, book.facts)
    return book.state


def verify(session: Session, mandate_id: int) -> list[str]:
    """What is wrong with a book, its head or its projections; empty means sound. Errors: NoResultFound."""
    mandate = session.scalars(select(Mandate).where(Mandate.id == mandate_id)).one()
    head = session.get(MandateHead, mandate_id)
    rows = load_rows(session, mandate_id)
    faults = chain_faults(rows, mandate.public_id) + mandate_weeks.faults(session, mandate_id, rows, mandate_facts(mandate))
    if head is None:
        return [*faults, "the book has rows and no head"] if rows else faults
    return faults + _head_faults(mandate, head, rows)


def load_rows(session: Session, mandate_id: int, since: int | None = None) -> list[LedgerRow]:
    """The rows after seq `since` (exclusive; all when None), oldest first, reversed ones and reversals included."""
    query = select(MandateEvent).where(MandateEvent.mandate_id == mandate_id, MandateEvent.seq > (since or 0))
    return [ledger_row(event) for event in session.scalars(query.order_by(MandateEvent.seq))]


def load_head(session: Session, mandate_id: int) -> MandateState:
    """The fold of the book as the head row holds it; EMPTY_STATE before the first row."""
    head = session.get(MandateHead, mandate_id)
    return EMPTY_STATE if head is None else _state(session, head)


def load_heads(session: Session, mandate_ids: Collection[int]) -> dict[int, MandateState]:
    """The same of many books, by mandate, in one SELECT; of none without asking."""
    if not mandate_ids:
        return {}
    heads = session.scalars(select(MandateHead).where(MandateHead.mandate_id.in_(mandate_ids)))
    return dict.fromkeys(mandate_ids, EMPTY_STATE) | {head.mandate_id: _state(session, head) for head in heads}


def last_seq(session: Session, mandate_id: int) -> int:
    """The newest row's seq; 0 before the first."""
    head = session.get(MandateHead, mandate_id)
    return 0 if head is None else head.seq


def load_before(session: Session, mandate_ids: Collection[int], at: datetime) -> dict[int, MandateState]:
    """By mandate the fold of the rows that happened before `at`, which begins a week (Monday 00:00:00 UTC)."""
    kept = mandate_weeks.states_before(session, mandate_ids, at)
    states = load_heads(session, [mandate_id for mandate_id in mandate_ids if mandate_id not in kept])
    for mandate_id, state in kept.items():
        try:
            states[mandate_id] = state_from_json(state)
        except StateVersionError:
            rows = [row for row in effective(load_rows(session, mandate_id)) if row.occurred_at < at]
            states[mandate_id] = fold(rows, mandate_facts(session.get_one(Mandate, mandate_id)))
    return states


def load_at(session: Session, mandate_id: int, block_number: int) -> MandateState:
    """The fold of the book without what stands in higher blocks; a row and its reversal are of the same block."""
    mandate = session.get_one(Mandate, mandate_id)
    rows = [row for row in load_rows(session, mandate_id) if row.block_number is None or row.block_number <= block_number]
    return fold(rows, mandate_facts(mandate))


# Opening


def _open(session: WriteSession, mandate_id: int) -> _Book:
    query = select(Mandate).where(Mandate.id == mandate_id).with_for_update(key_share=True)
    mandate = session.scalars(query.execution_options(populate_existing=True)).one()
    empty = _empty_head(mandate)
    head = lock_head(session, MandateHead, {"mandate_id": empty.pop("mandate_id")}, empty)
    return _Book(mandate, head, mandate_facts(mandate), _state(session, head), Weeks(session, mandate.id))


def _state(session: Session, head: MandateHead) -> MandateState:
    """The head's state; folded again when another version of the fold wrote it."""
    try:
        return state_from_json(head.state)
    except StateVersionError:
        return fold(load_rows(session, head.mandate_id), mandate_facts(session.get_one(Mandate, head.mandate_id)))


def _open_many(session: WriteSession, mandate_ids: Sequence[int]) -> list[_Book]:
    """Several books, locked in the order of their ids: all mandates first, then all heads."""
    query = select(Mandate).where(Mandate.id.in_(mandate_ids)).order_by(Mandate.id).with_for_update(key_share=True)
    mandates = session.scalars(query.execution_options(populate_existing=True)).all()
    empty = [_empty_head(mandate) for mandate in mandates]
    if empty:
        session.execute(upsert(MandateHead).on_conflict_do_nothing(), empty)
    locked = select(MandateHead).where(MandateHead.mandate_id.in_(mandate_ids)).order_by(MandateHead.mandate_id).with_for_update()
    heads = {head.mandate_id: head for head in session.scalars(locked.execution_options(populate_existing=True))}
    states = [(mandate, heads[mandate.id]) for mandate in mandates]
    return [_Book(mandate, head, mandate_facts(mandate), _state(session, head), Weeks(session, mandate.id)) for mandate, head in states]


def _empty_head(mandate: Mandate) -> dict[str, Any]:
    genesis = _bytes(genesis_hash(mandate.public_id))
    return {"mandate_id": mandate.id, "seq": 0, "row_hash": genesis, "updated_at": mandate.created_at, **_columns(EMPTY_STATE)}


# Growing


def _grow(book: _Book, rows: Sequence[NewRow], standing: Collection[str], incarnations: Mapping[str, int], now: datetime) -> list[bool]:
    """Add the rows whose fact does not stand yet and fold them; which of them were new."""
    is_new, stands = [], set(standing)
    for row in rows:
        is_new.append(row.base_key not in stands)
        if is_new[-1]:
            stands.add(row.base_key)
            incarnation = incarnations.get(row.base_key, FIRST_INCARNATION - 1) + 1
            added = _add(book, priced(row, book.state, book.facts), incarnation, None, now)
            book.weeks.grow(book.state, added, book.facts)
            before, book.state = book.state, apply(book.state, added, book.facts)
            out_usdc_e6 = book.state.unvalued_out_usdc_e6
            book.went_out = went_out_after(book.went_out, added, before_usdc_e6=before.unvalued_out_usdc_e6, out_usdc_e6=out_usdc_e6)
    return is_new


def _add(book: _Book, row: NewRow, incarnation: int, reverses_id: int | None, now: datetime) -> LedgerRow:
    """Chain a row to the last one. It gets its id when it is inserted; until then 0, which no hash and no fold reads."""
    prev_hash = book.fresh[-1].row_hash if book.fresh else "0x" + book.head.row_hash.hex()
    payload = plain_payload(row.payload)
    written = canonical_json(payload)
    fields: dict[str, Any] = {
        "kind": row.kind,
        "reported_by": row.reported_by,
        "occurred_at": row.occurred_at.astimezone(UTC),
        "base_key": row.base_key,
        "amount_usdc_e6": row.amount_usdc_e6,
        "cash_delta_usdc_e6": row.cash_delta_usdc_e6,
        "chain_id": row.chain_id,
        "tx_hash": row.tx_hash and row.tx_hash.lower(),
        "log_index": row.log_index,
        "block_number": row.block_number,
        "block_hash": row.block_hash and row.block_hash.lower(),
        "payload": payload,
        "id": 0,
        "mandate_id": book.mandate.id,
        "seq": book.head.seq + len(book.fresh) + 1,
        "incarnation": incarnation,
        "reverses_id": reverses_id,
        "created_at": now.astimezone(UTC),
        "prev_hash": prev_hash,
    }
    hashed = row_hash(prev_hash, canonical_row_with(LedgerRow(**fields, row_hash=""), written))
    book.fresh.append(LedgerRow(**fields, row_hash=hashed))
    book.payloads.append(written)
    return book.fresh[-1]


def _insert(session: WriteSession, book: _Book) -> list[LedgerRow]:
    """Insert the fresh rows at once and move the head to the last; the same rows with their ids."""
    if not book.fresh:
        return []
    _move_head(book)
    statement = insert(MandateEvent).returning(MandateEvent.seq, MandateEvent.id)
    ids = {inserted.seq: inserted.id for inserted in session.execute(statement, [_event(row) for row in book.fresh])}
    return [replace(row, id=ids[row.seq]) for row in book.fresh]


def _move_head(book: _Book) -> None:
    book.head.seq, book.head.row_hash = book.fresh[-1].seq, _bytes32(book.fresh[-1].row_hash)


def _event(row: LedgerRow) -> dict[str, Any]:
    hashes = {name: _bytes(getattr(row, name)) for name in ("tx_hash", "block_hash", "prev_hash", "row_hash")}
    columns = {name: getattr(row, name) for name in LedgerRow.__dataclass_fields__ if name != "id"}
    return columns | hashes | {"kind": row.kind.value, "reported_by": row.reported_by.value}


def _save(session: WriteSession, book: _Book, now: datetime) -> None:
    _set_totals(book, now)
    session.flush()
    mandate_weeks.save(session, {book.mandate.id: book.weeks.changed})


def _set_totals(book: _Book, now: datetime) -> None:
    """Bring the head's totals and the mandate's projections to the state."""
    for name, value in {"updated_at": now, **_columns(book.state)}.items():
        setattr(book.head, name, value)
    projections = _projections(book.mandate, book.state)
    if any(getattr(book.mandate, name) != value for name, value in projections.items()):
        for name, value in {**projections, "updated_at": now}.items():
            setattr(book.mandate, name, value)


# Reversing


def _reverse_in(session: WriteSession, mandate_id: int, block_hash: str, now: datetime) -> int:
    """Reverse one book's rows of the block, newest first, and fold what is left."""
    book = _open(session, mandate_id)
    reversals = select(MandateEvent.reverses_id).where(MandateEvent.mandate_id == mandate_id, MandateEvent.reverses_id.is_not(None))
    standing = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.block_hash == _bytes(block_hash),
        MandateEvent.reverses_id.is_(None),
        MandateEvent.id.not_in(reversals),
    )
    rows = [ledger_row(event) for event in session.scalars(standing.order_by(MandateEvent.seq.desc()))]
    for row in rows:
        _add(book, _compensation(row, now), row.incarnation, row.id, now)
    if rows:
        _insert(session, book)
        whole = load_rows(session, mandate_id)
        book.state = fold(whole, book.facts)
        _save(session, book, now)
        mandate_weeks.refold(session, mandate_id, whole, book.facts, since=min(row.occurred_at for row in rows))
    return len(rows)


def _compensation(row: LedgerRow, now: datetime) -> NewRow:
    """The row that takes `row` back: same kind and place on the chain, told by the chain, now."""
    return NewRow(
        kind=row.kind,
        reported_by=ReportedBy.CHAIN,
        occurred_at=now,
        base_key=f"reversal:{row.base_key}",
        amount_usdc_e6=row.amount_usdc_e6,
        cash_delta_usdc_e6=-row.cash_delta_usdc_e6,
        chain_id=row.chain_id,
        tx_hash=row.tx_hash,
        log_index=row.log_index,
        block_number=row.block_number,
        block_hash=row.block_hash,
        payload={"reversal": True, "reverses_seq": row.seq, "cause": "reorg"},
    )


# Projections


def _columns(state: MandateState) -> dict[str, Any]:
    """The head's columns that follow the state."""
    return {
        "status": state.status.value,
        "paused": state.paused,
        "cash_usdc_e6": state.cash_usdc_e6,
        "deposited_usdc_e6": state.deposited_usdc_e6,
        "spent_usdc_e6": state.spent_usdc_e6,
        "received_usdc_e6": state.received_usdc_e6,
        "withdrawn_usdc_e6": state.withdrawn_usdc_e6,
        "paid_out_usdc_e6": state.paid_out_usdc_e6,
        "state": state_to_json(state),
    }


def _projections(mandate: Mandate, state: MandateState) -> dict[str, Any]:
    """The mandate's columns that follow the state. A draft is cancelled without a row: its book says draft for ever."""
    if state.status is Status.DRAFT and mandate.status == Status.CANCELLED.value:
        return {}
    return {
        "status": state.status.value,
        "vault_address": _bytes(state.vault_address),
        "signed_at": state.signed_at,
        "ended_at": state.ended_at,
    }


def _head_faults(mandate: Mandate, head: MandateHead, rows: Sequence[LedgerRow]) -> list[str]:
    seq, last_hash = (rows[-1].seq, rows[-1].row_hash) if rows else (0, genesis_hash(mandate.public_id))
    faults = [] if head.seq == seq else [f"head: seq is {head.seq}, the last row's is {seq}"]
    if head.row_hash != _bytes(last_hash):
        faults.append(f"head: row_hash is 0x{head.row_hash.hex()}, the last row's is {last_hash}")
    state = fold(rows, mandate_facts(mandate))
    faults += [f"head: {name} is not the fold's" for name, value in _columns(state).items() if getattr(head, name) != value]
    projections = _projections(mandate, state) if rows else {}
    return faults + [f"mandate: {name} is not the fold's" for name, value in projections.items() if getattr(mandate, name) != value]


def _bytes32(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else _bytes32(text)
