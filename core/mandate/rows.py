"""Reads of a mandate's ledger: always a part of it, by an index, so that the work grows with what
is asked and not with the ledger.

Laws
- `standing` rows are those that count: neither reversed nor reversals. Other reads return both, and
  the domain leaves them out (core.mandate.rules.ledger.effective).
- Rows come oldest first, unless a name says otherwise.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Row,
    Select,
    and_,
    any_,
    bindparam,
    cast,
    exists,
    func,
    or_,
    select,
    text,
    union,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA
from sqlalchemy.orm import Session, aliased

from core.db.arrays import table_of
from core.mandate.rules.ledger import LedgerRow, MandateFacts, ReportedBy, RowAuthor, RowKind
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.refusals import RefusalReason
from core.mandate.rules.terms import rules_from_json
from core.mandate.rules.unvalued import PositionRules, position_rules
from core.mandate.tables import CONTROL_ROWS, REPORTED_ACTIONS, Mandate, MandateEvent
from core.money import UsdcE6


def ledger_row(row: MandateEvent | Row[Any]) -> LedgerRow:
    """A row of the ledger, read as an object or as the table's columns."""
    return LedgerRow(
        id=row.id,
        mandate_id=row.mandate_id,
        seq=row.seq,
        kind=RowKind(row.kind),
        reported_by=ReportedBy(row.reported_by),
        base_key=row.base_key,
        incarnation=row.incarnation,
        reverses_id=row.reverses_id,
        amount_usdc_e6=None if row.amount_usdc_e6 is None else UsdcE6(int(row.amount_usdc_e6)),
        cash_delta_usdc_e6=int(row.cash_delta_usdc_e6),
        chain_id=row.chain_id,
        tx_hash=_hex(row.tx_hash),
        log_index=row.log_index,
        block_number=row.block_number,
        block_hash=_hex(row.block_hash),
        payload=row.payload,
        author=None if row.author is None else RowAuthor(**row.author),
        occurred_at=row.occurred_at,
        created_at=row.created_at,
        prev_hash="0x" + row.prev_hash.hex(),
        row_hash="0x" + row.row_hash.hex(),
    )


def mandate_facts(mandate: Mandate | Row[Any]) -> MandateFacts:
    """What the fold of its ledger needs of the mandate's own row."""
    return MandateFacts(
        market_mode=MarketMode(mandate.market_mode),
        budget_usdc_e6=int(mandate.budget_usdc_e6),
        positions=_positions(tuple(tuple(rule.items()) for rule in mandate.rules)),
    )


@lru_cache(maxsize=1_024)
def _positions(rules: tuple[tuple[tuple[str, Any], ...], ...]) -> PositionRules:
    """Few lists of rules are in use at a time, and a block may open thousands of ledgers."""
    return position_rules(rules_from_json(map(dict, rules)))


def _hex(value: bytes | None) -> str | None:
    return None if value is None else "0x" + value.hex()


def ledger_rows_before(
    session: Session, mandate_id: int, before_seq: int | None, limit: int
) -> list[LedgerRow]:
    """A page of the ledger, newest first."""
    query = select(MandateEvent).where(MandateEvent.mandate_id == mandate_id)
    if before_seq is not None:
        query = query.where(MandateEvent.seq < before_seq)
    return [
        ledger_row(row)
        for row in session.scalars(query.order_by(MandateEvent.seq.desc()).limit(limit))
    ]


def newest_signed_row(session: Session, mandate_id: int, by: ReportedBy) -> LedgerRow | None:
    """The last row that an author of the mandate signed."""
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.reported_by == by.value,
        MandateEvent.author.is_not(None),
    )
    row = session.scalars(query.order_by(MandateEvent.seq.desc()).limit(1)).one_or_none()
    return None if row is None else ledger_row(row)


def standing_since(
    session: Session, mandate_id: int, after: datetime, kinds: Iterable[RowKind]
) -> list[LedgerRow]:
    """Rows of some kinds that happened after `after` (exclusive) and count; oldest first."""
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.occurred_at > after,
        MandateEvent.kind.in_([kind.value for kind in kinds]),
        standing(),
    )
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq))]


def ledger_rows_of_tx(session: Session, mandate_id: int, tx_hash: str) -> list[LedgerRow]:
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.tx_hash == bytes.fromhex(tx_hash.removeprefix("0x")),
    )
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq))]


def count_refusal_notes(session: Session, mandate_id: int, since: datetime) -> int:
    """Refusals that the agent's calls wrote from `since` on (inclusive): those that it reported,
    and the guard's.

    They occur when they are written, and the index knows when rows occurred: of a long ledger only
    the day is read.
    """
    query = select(func.count()).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.kind == RowKind.NOTE.value,
        MandateEvent.reported_by == ReportedBy.AGENT.value,
        or_(
            MandateEvent.payload["refusal"]["check"].astext == "reported",
            MandateEvent.payload["refusal"]["reason"].astext == RefusalReason.SERVER_GUARD.value,
        ),
        MandateEvent.occurred_at >= since,
    )
    return session.scalar(query) or 0


# Rows that count


@cache
def standing() -> ColumnElement[bool]:
    """A subquery for each row that is left: as a join, a planner without statistics would read the
    whole ledger.
    """
    reversal = aliased(MandateEvent)
    reversed_by = (
        select(reversal.id)
        .where(reversal.reverses_id == MandateEvent.id)
        .correlate(MandateEvent)
        .scalar_subquery()
    )
    return MandateEvent.reverses_id.is_(None) & reversed_by.is_(None)


def _any_of(wanted: Select[Any] | CompoundSelect[Any]) -> ColumnElement[Any]:
    """`ANY (ARRAY (...))`: evaluated first and then looked up by an index, whatever the planner
    thinks of its size.
    """
    return func.any(func.array(wanted.scalar_subquery()))


def standing_between(
    session: Session, mandate_ids: Collection[int], start: datetime, end: datetime
) -> dict[int, list[LedgerRow]]:
    """By mandate the rows that happened in [start, end)."""
    query = select(MandateEvent).where(
        MandateEvent.mandate_id.in_(mandate_ids),
        MandateEvent.occurred_at >= start,
        MandateEvent.occurred_at < end,
        standing(),
    )
    found: dict[int, list[LedgerRow]] = {mandate_id: [] for mandate_id in mandate_ids}
    for row in session.scalars(query.order_by(MandateEvent.seq)):
        found[row.mandate_id].append(ledger_row(row))
    return found


def standing_page(
    session: Session, mandate_id: int, first_seq: int, before_seq: int
) -> list[LedgerRow]:
    """The rows of [first_seq, before_seq), every other row of their transactions, and the control
    rows.
    """
    bound = {"mandate_id": mandate_id, "first_seq": first_seq, "before_seq": before_seq}
    return [ledger_row(row) for row in session.execute(_page_query(), bound)]


@cache
def _page_query() -> Select[Any]:
    """Put together once: that takes longer than to run it."""
    first, before = (bindparam(name, type_=BigInteger) for name in ("first_seq", "before_seq"))
    of_ledger = MandateEvent.mandate_id == bindparam("mandate_id", type_=BigInteger)
    page = of_ledger & (MandateEvent.seq >= first) & (MandateEvent.seq < before)
    wanted = union(
        select(MandateEvent.id).where(page),
        select(MandateEvent.id).where(
            of_ledger, MandateEvent.tx_hash == _any_of(select(MandateEvent.tx_hash).where(page))
        ),
        select(MandateEvent.id).where(of_ledger, text(f"({CONTROL_ROWS})")),
    )
    query = select(MandateEvent.__table__).where(MandateEvent.id == _any_of(wanted), standing())
    return query.order_by(MandateEvent.seq)


def standing_of_txs(
    session: Session, mandate_id: int, tx_hashes: Collection[str]
) -> list[LedgerRow]:
    """Every row of these transactions."""
    if not tx_hashes:
        return []
    wanted = cast(
        [bytes.fromhex(tx_hash.removeprefix("0x")) for tx_hash in tx_hashes], ARRAY(BYTEA)
    )
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id, MandateEvent.tx_hash == any_(wanted), standing()
    )
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq))]


def standing_told(
    session: Session, transactions: Collection[tuple[int, str]]
) -> dict[int, list[LedgerRow]]:
    """By mandate the fees and notes of these transactions, (mandate id, tx hash): those that later
    rows of them may tell again.
    """
    found: dict[int, list[LedgerRow]] = {mandate_id: [] for mandate_id, _ in transactions}
    if not transactions:
        return found
    ids, hashes = (
        [mandate_id for mandate_id, _ in transactions],
        [bytes.fromhex(tx_hash[2:]) for _, tx_hash in transactions],
    )
    asked = table_of("asked", {"mandate_id": (BigInteger, ids), "tx_hash": (BYTEA, hashes)})
    ours = and_(
        MandateEvent.mandate_id == asked.c.mandate_id, MandateEvent.tx_hash == asked.c.tx_hash
    )
    query = (
        select(MandateEvent.__table__)
        .join(asked, ours)
        .where(MandateEvent.kind.in_([RowKind.FEE.value, RowKind.NOTE.value]), standing())
    )
    for row in session.execute(query.order_by(MandateEvent.mandate_id, MandateEvent.seq)):
        found[row.mandate_id].append(ledger_row(row))
    return found


def mandates_in_blocks(session: Session, block_hashes: Collection[bytes]) -> list[int]:
    """The mandates with a row of these blocks, rising."""
    return sorted(
        session.scalars(
            select(MandateEvent.mandate_id).where(_of_blocks(block_hashes), standing()).distinct()
        )
    )


def _of_blocks(block_hashes: Collection[bytes]) -> ColumnElement[bool]:
    return MandateEvent.block_hash.is_not(None) & (
        MandateEvent.block_hash == any_(cast(list(block_hashes), ARRAY(BYTEA)))
    )


def standing_of_blocks(
    session: Session, block_hashes: Collection[bytes]
) -> dict[int, list[LedgerRow]]:
    """By mandate every row of these blocks; of mandates that have one."""
    query = select(MandateEvent.__table__).where(_of_blocks(block_hashes), standing())
    found: dict[int, list[LedgerRow]] = {}
    for row in session.execute(query.order_by(MandateEvent.mandate_id, MandateEvent.seq)):
        found.setdefault(row.mandate_id, []).append(ledger_row(row))
    return found


def rows_from(session: Session, seqs: Mapping[int, int]) -> dict[int, list[LedgerRow]]:
    """By mandate its rows from that seq on (inclusive), oldest first, reversed ones and reversals
    included.

    Each ledger is read by its own index scan (LATERAL): a join might read the whole table.
    """
    asked = table_of(
        "asked", {"mandate_id": (BigInteger, [*seqs]), "first_seq": (BigInteger, [*seqs.values()])}
    )
    event = MandateEvent.__table__
    since = (
        select(event)
        .where(event.c.mandate_id == asked.c.mandate_id, event.c.seq >= asked.c.first_seq)
        .order_by(event.c.seq)
    )
    found: dict[int, list[LedgerRow]] = {mandate_id: [] for mandate_id in seqs}
    for row in session.execute(select(since.lateral("since")).select_from(asked)):
        found[row.mandate_id].append(ledger_row(row))
    return found


def control_rows(session: Session, mandate_id: int) -> list[LedgerRow]:
    """The rows that pause, resume or end a mandate: few, whatever the length of the ledger."""
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id, text(f"({CONTROL_ROWS})"), standing()
    )
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq))]


def reported_above(
    session: Session, mandate_id: int, above_usdc_e6: int, limit: int
) -> list[LedgerRow]:
    """The newest moves and buys that the agent reported above an amount (exclusive), oldest
    first.
    """
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id,
        text(f"({REPORTED_ACTIONS})"),
        MandateEvent.amount_usdc_e6 > above_usdc_e6,
        standing(),
    )
    return [
        ledger_row(row)
        for row in session.scalars(query.order_by(MandateEvent.seq.desc()).limit(limit))
    ][::-1]


def reported_refusal_seq(session: Session, mandate_id: int, tx_hash: str) -> int | None:
    """The seq of the agent's own, un-reversed refusal report of that transaction."""
    reversal = aliased(MandateEvent)
    query = (
        select(MandateEvent.seq)
        .where(
            MandateEvent.mandate_id == mandate_id,
            MandateEvent.base_key == f"refusal:{tx_hash.lower()}",
        )
        .where(
            MandateEvent.reverses_id.is_(None),
            ~exists().where(reversal.reverses_id == MandateEvent.id),
        )
        .order_by(MandateEvent.seq.desc())
        .limit(1)
    )
    return session.scalar(query)
