"""Reads of a mandate's ledger: always a part of it, by an index, so that the work grows with what
is asked and not with the ledger.

Laws
- `standing` rows are those that count: neither reversed nor reversals. Other reads return both, and
  the domain leaves them out (core.mandate.rules.fold.effective).
- Rows come oldest first, unless a name says otherwise.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    DateTime,
    Row,
    Select,
    Text,
    TextClause,
    and_,
    any_,
    bindparam,
    cast,
    func,
    or_,
    select,
    text,
    union,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA
from sqlalchemy.orm import Session, aliased

from core.db.arrays import table_of
from core.db.base import Uint256
from core.hexes import bytes_of, hex_of
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.rows import LedgerRow, RefusalReason, ReportedBy, RowAuthor, RowKind
from core.mandate.rules.state import MandateFacts, PositionRules, position_rules
from core.mandate.rules.terms import rules_from_json
from core.mandate.tables import CONTROL_ROWS, REPORTED_ACTIONS, Mandate, MandateEvent, MandateHead
from core.money import UsdcE6


def ledger_row(event: MandateEvent) -> LedgerRow:
    """A row of the ledger, read as an object."""
    return row_of(_columns_of(event))


def row_of(columns: Sequence[Any]) -> LedgerRow:
    """The same, read as the table's columns in their order."""
    (
        id_, mandate_id, seq, kind, reported_by, base_key, incarnation, reverses_id, amount, cash_delta,
        chain_id, tx_hash, log_index, block_number, block_hash, payload, author, occurred_at, created_at,
        prev_hash, row_hash,
    ) = columns  # fmt: skip
    return LedgerRow(
        id=id_,
        mandate_id=mandate_id,
        seq=seq,
        kind=_KINDS[kind],
        reported_by=_REPORTERS[reported_by],
        base_key=base_key,
        incarnation=incarnation,
        reverses_id=reverses_id,
        amount_usdc_e6=None if amount is None else UsdcE6(int(amount)),
        cash_delta_usdc_e6=int(cash_delta),
        chain_id=chain_id,
        tx_hash=_hex(tx_hash),
        log_index=log_index,
        block_number=block_number,
        block_hash=_hex(block_hash),
        payload=payload,
        author=None if author is None else RowAuthor(**author),
        occurred_at=occurred_at,
        created_at=created_at,
        prev_hash="0x" + prev_hash.hex(),
        row_hash="0x" + row_hash.hex(),
    )


_columns_of = attrgetter(*(column.name for column in MandateEvent.__table__.columns))
_KINDS: Final = {kind.value: kind for kind in RowKind}
_REPORTERS: Final = {by.value: by for by in ReportedBy}


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
    before = _LAST_SEQ if before_seq is None else before_seq
    return _read(_BEFORE, session, mandate_id=mandate_id, before_seq=before, limit=limit)


def newest_signed_row(session: Session, mandate_id: int, by: ReportedBy) -> LedgerRow | None:
    """The last row that an author of the mandate signed."""
    found = _read(_SIGNED, session, mandate_id=mandate_id, reported_by=by.value)
    return found[0] if found else None


def standing_since(
    session: Session, mandate_id: int, after: datetime, kinds: Iterable[RowKind]
) -> list[LedgerRow]:
    """Rows of some kinds that happened after `after` (exclusive) and count; oldest first."""
    named = [kind.value for kind in kinds]
    return _read(_SINCE, session, mandate_id=mandate_id, after=after, kinds=named)


def counted_since(
    session: Session, head: MandateHead, seq: int, row_hash: bytes
) -> list[LedgerRow] | None:
    """The rows after `seq` up to the head's that a number is made of: all but notes that
    move nothing and break no rule.

    None when the row `seq` is not that of this hash, when a later one reverses another, or when there
    are more than MOST_GROWN: what is asked for is then read anew, by its time.
    """
    if seq == head.seq:
        return [] if row_hash == head.row_hash else None
    if head.seq - seq > MOST_GROWN:
        return None
    found = _read(_GROWN, session, mandate_id=head.mandate_id, after_seq=seq, until_seq=head.seq)
    if not found or (found[0].seq, found[0].row_hash) != (seq, hex_of(row_hash)):
        return None
    rows = found[1:]
    return None if any(row.reverses_id is not None for row in rows) else rows


def load_rows(session: Session, mandate_id: int, since: int | None = None) -> list[LedgerRow]:
    """The rows after seq `since` (exclusive; all when None), oldest first, reversed ones and
    reversals included.
    """
    query = select(MandateEvent.__table__).where(
        MandateEvent.mandate_id == mandate_id, MandateEvent.seq > (since or 0)
    )
    return [row_of(row) for row in session.execute(query.order_by(MandateEvent.seq))]


def ledger_rows_of_tx(session: Session, mandate_id: int, tx_hash: str) -> list[LedgerRow]:
    return _read(_OF_TX, session, mandate_id=mandate_id, tx_hash=bytes_of(tx_hash))


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


def counted_between(
    session: Session,
    mandate_ids: Collection[int],
    start: datetime,
    end: datetime,
    until_seq: int | None = None,
) -> dict[int, list[LedgerRow]]:
    """By mandate the rows that happened in [start, end), up to one (inclusive), and that a number is
    made of: all but notes that move nothing and break no rule.
    """
    found: dict[int, list[LedgerRow]] = {mandate_id: [] for mandate_id in mandate_ids}
    last = _LAST_SEQ if until_seq is None else until_seq
    asked = {"mandate_ids": [*mandate_ids], "start": start, "end": end, "until_seq": last}
    for row in session.execute(_COUNTED, asked):
        read = row_of(row)
        found[read.mandate_id].append(read)
    return found


def standing_newest(
    session: Session, mandate_id: int, start: datetime, end: datetime, limit: int | None
) -> list[LedgerRow]:
    """The rows that happened last in [start, end), newest first; all of them without a limit."""
    return _read(_NEWEST, session, mandate_id=mandate_id, start=start, end=end, limit=limit)


def standing_page(
    session: Session, mandate_id: int, first_seq: int, before_seq: int
) -> list[LedgerRow]:
    """The rows of [first_seq, before_seq), every other row of their transactions, and the control
    rows.
    """
    return _read(_PAGE, session, mandate_id=mandate_id, first_seq=first_seq, before_seq=before_seq)


def standing_of_txs(
    session: Session, mandate_id: int, tx_hashes: Collection[str]
) -> list[LedgerRow]:
    """Every row of these transactions."""
    if not tx_hashes:
        return []
    return _read(_OF_TXS, session, mandate_id=mandate_id, tx_hashes=[*map(bytes_of, tx_hashes)])


def standing_reports(
    session: Session, transactions: Collection[tuple[int, str]], flagged: Collection[int]
) -> dict[int, list[LedgerRow]]:
    """By mandate the fees and notes of these transactions, (mandate id, tx hash): those that later
    rows of them may repeat. `flagged`: mandates with flagged trades, of which every row is read.
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
        .where(
            or_(
                MandateEvent.kind.in_([RowKind.FEE.value, RowKind.NOTE.value]),
                MandateEvent.mandate_id == any_(cast([*flagged], ARRAY(BigInteger))),
            ),
            standing(),
        )
    )
    for row in session.execute(query.order_by(MandateEvent.mandate_id, MandateEvent.seq)):
        found[row.mandate_id].append(row_of(row))
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
        found.setdefault(row.mandate_id, []).append(row_of(row))
    return found


def standing_of_logs(session: Session, mandate_id: int, since: tuple[int, int]) -> list[LedgerRow]:
    """The rows of a ledger that report one log, from that (height, log index) on, in the order of
    the chain; without the factory's notes, which are every ledger's.
    """
    number, log_index = since
    height, index = MandateEvent.block_number, MandateEvent.log_index
    query = select(MandateEvent.__table__).where(
        MandateEvent.mandate_id == mandate_id,
        index.is_not(None),
        or_(height > number, and_(height == number, index >= log_index)),
        MandateEvent.payload["factory"].is_(None),
        standing(),
    )
    return [row_of(row) for row in session.execute(query.order_by(height, index))]


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
        found[row.mandate_id].append(row_of(row))
    return found


def control_rows(session: Session, mandate_id: int) -> list[LedgerRow]:
    """The rows that pause, resume or end a mandate: few, whatever the length of the ledger."""
    return _read(_CONTROL, session, mandate_id=mandate_id)


def reported_above(
    session: Session, mandate_id: int, above_usdc_e6: int, limit: int
) -> list[LedgerRow]:
    """The newest moves and buys that the agent reported above an amount (exclusive), oldest
    first.
    """
    found = _read(_ABOVE, session, mandate_id=mandate_id, above=above_usdc_e6, limit=limit)
    return found[::-1]


def reported_refusal_seq(session: Session, mandate_id: int, tx_hash: str) -> int | None:
    """The seq of the agent's own, un-reversed refusal report of that transaction."""
    query = select(MandateEvent.seq).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.base_key == f"refusal:{tx_hash.lower()}",
        standing(),
    )
    return session.scalar(query.order_by(MandateEvent.seq.desc()).limit(1))


# The statements of one ledger, which many calls run each second

_EVENT: Final = MandateEvent.__table__
_OF_LEDGER: Final = _EVENT.c.mandate_id == bindparam("mandate_id", type_=BigInteger)
_LAST_SEQ: Final = 2**63 - 1
MOST_GROWN: Final = 1_000  # rows of any kind
_LIMIT: Final = bindparam("limit", type_=BigInteger)


def _of_ledger(*wanted: ColumnElement[bool] | TextClause) -> Select[Any]:
    return select(_EVENT).where(_OF_LEDGER, *wanted)


def _page_of_steps() -> Select[Any]:
    first, before = (bindparam(name, type_=BigInteger) for name in ("first_seq", "before_seq"))
    page = _OF_LEDGER & (_EVENT.c.seq >= first) & (_EVENT.c.seq < before)
    wanted = union(
        select(_EVENT.c.id).where(page),
        select(_EVENT.c.id).where(
            _OF_LEDGER, _EVENT.c.tx_hash == _any_of(select(_EVENT.c.tx_hash).where(page))
        ),
        select(_EVENT.c.id).where(_OF_LEDGER, text(f"({CONTROL_ROWS})")),
    )
    return select(_EVENT).where(_EVENT.c.id == _any_of(wanted), standing())


_BEFORE: Final = (
    _of_ledger(_EVENT.c.seq < bindparam("before_seq", type_=BigInteger))
    .order_by(_EVENT.c.seq.desc())
    .limit(_LIMIT)
)
_SIGNED: Final = (
    _of_ledger(
        _EVENT.c.reported_by == bindparam("reported_by", type_=Text), _EVENT.c.author.is_not(None)
    )
    .order_by(_EVENT.c.seq.desc())
    .limit(1)
)
_SINCE: Final = _of_ledger(
    _EVENT.c.occurred_at > bindparam("after", type_=DateTime(timezone=True)),
    _EVENT.c.kind == any_(bindparam("kinds", type_=ARRAY(Text))),
    standing(),
).order_by(_EVENT.c.seq)
_UNTIL: Final = _EVENT.c.seq <= bindparam("until_seq", type_=BigInteger)
_IS_COUNTED: Final = or_(
    _EVENT.c.kind != RowKind.NOTE.value,
    _EVENT.c.cash_delta_usdc_e6 != 0,  # of what an unwind or a target brought in
    func.jsonb_exists(_EVENT.c.payload, "executed"),
    func.jsonb_exists(_EVENT.c.payload, "violation"),
)
_IN_TIME: Final = and_(
    _EVENT.c.occurred_at >= bindparam("start", type_=DateTime(timezone=True)),
    _EVENT.c.occurred_at < bindparam("end", type_=DateTime(timezone=True)),
)


def _standing_until() -> ColumnElement[bool]:
    """As `standing` was at the row `until_seq`: a later reversal takes nothing from it."""
    reversal = aliased(_EVENT)
    reversed_by = select(reversal.c.id).where(
        reversal.c.reverses_id == _EVENT.c.id,
        reversal.c.seq <= bindparam("until_seq", type_=BigInteger),
    )
    return _EVENT.c.reverses_id.is_(None) & reversed_by.correlate(_EVENT).scalar_subquery().is_(
        None
    )


_COUNTED: Final = (
    select(_EVENT)
    .where(
        _EVENT.c.mandate_id == any_(bindparam("mandate_ids", type_=ARRAY(BigInteger))),
        _IN_TIME,
        _UNTIL,
        _IS_COUNTED,
        _standing_until(),
    )
    .order_by(_EVENT.c.seq)
)
_NEWEST: Final = (
    _of_ledger(_IN_TIME, standing())
    .order_by(_EVENT.c.occurred_at.desc(), _EVENT.c.seq.desc())
    .limit(_LIMIT)
)
_AFTER_SEQ: Final = bindparam("after_seq", type_=BigInteger)
_GROWN: Final = _of_ledger(
    _EVENT.c.seq >= _AFTER_SEQ,
    _UNTIL,
    or_(_EVENT.c.seq == _AFTER_SEQ, _IS_COUNTED, _EVENT.c.reverses_id.is_not(None)),
).order_by(_EVENT.c.seq)
_OF_TX: Final = _of_ledger(_EVENT.c.tx_hash == bindparam("tx_hash", type_=BYTEA)).order_by(
    _EVENT.c.seq
)
_OF_TXS: Final = _of_ledger(
    _EVENT.c.tx_hash == any_(bindparam("tx_hashes", type_=ARRAY(BYTEA))), standing()
).order_by(_EVENT.c.seq)
_PAGE: Final = _page_of_steps().order_by(_EVENT.c.seq)
_CONTROL: Final = _of_ledger(text(f"({CONTROL_ROWS})"), standing()).order_by(_EVENT.c.seq)
_ABOVE: Final = (
    _of_ledger(
        text(f"({REPORTED_ACTIONS})"),
        _EVENT.c.amount_usdc_e6 > bindparam("above", type_=Uint256),
        standing(),
    )
    .order_by(_EVENT.c.seq.desc())
    .limit(_LIMIT)
)


def _read(statement: Select[Any], session: Session, **values: Any) -> list[LedgerRow]:
    return [row_of(row) for row in session.execute(statement, values)]
