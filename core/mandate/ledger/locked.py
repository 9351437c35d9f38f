"""Ledgers of mandates held under their locks: opened together, grown in memory, saved together.

Used by the mandate ledger alone.

    open: lock mandates, then heads  ->  read_needs  ->  grow (touches no database)  ->  keep_undo, insert rows, save

Laws
- Every writer takes the mandates' rows first and their heads second, each by rising id in one
  statement. So nobody deadlocks.
- What new rows need of the database is read before they grow: while rows are copied nothing else
  can be read.
- A ledger in memory belongs to one call. An object of the session's that somebody holds is read
  again under the lock and set as the rows are, so that a savepoint that is rolled back leaves no
  trace.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnClause,
    Numeric,
    Text,
    any_,
    case,
    cast,
    column,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm.util import identity_key

from core.canonical import canonical_json, canonical_plain
from core.db.arrays import table_of
from core.db.engine import WriteSession
from core.ledger.chain import plain_payload
from core.mandate.ledger import weeks as mandate_weeks
from core.mandate.ledger.columns import (
    AMOUNTS,
    PROJECTED,
    head_columns,
    line_of,
    projections,
    state_columns,
)
from core.mandate.ledger.topics import notify_rows
from core.mandate.ledger.weeks import Weeks
from core.mandate.rows import load_rows, mandate_facts, standing_reports
from core.mandate.rules.cash import priced
from core.mandate.rules.fold import apply, fold
from core.mandate.rules.record import genesis_hash, row_body, row_hash
from core.mandate.rules.reports import ReportsByTx, is_paired
from core.mandate.rules.rows import LedgerRow, NewRow
from core.mandate.rules.state import (
    EMPTY_STATE,
    MandateFacts,
    MandateState,
    StateVersionError,
    WentOut,
    changes_to_json,
    state_from_json,
    state_to_json,
    went_out_after,
)
from core.mandate.tables import Mandate, MandateHead, MandateUndo

FIRST_INCARNATION = 1
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_MOVED: tuple[ColumnClause[Any], ...] = (
    column("mandate_id", BigInteger),
    column("seq", BigInteger),
    column("row_hash", Text),
    column("status", Text),
    column("paused", Boolean),
    *(column(name, Numeric) for name in AMOUNTS),
    column("state", JSONB),
)
_OF_MANDATE = (
    Mandate.id,
    Mandate.public_id,
    Mandate.owner_id,
    Mandate.market_mode,
    Mandate.budget_usdc_e6,
    Mandate.rules,
    Mandate.status,
    Mandate.vault_address,
    Mandate.signed_at,
    Mandate.ended_at,
    Mandate.ends_in_block,
    Mandate.created_at,
)
_OF_HEAD = (
    MandateHead.mandate_id,
    MandateHead.seq,
    MandateHead.row_hash,
    MandateHead.state,
    MandateHead.updated_at,
)


class _Written:
    """Payloads as they are stored and hashed.

    Thousands of ledgers may get the same one, which is then checked and written once.
    """

    def __init__(self) -> None:
        # by identity; the first field keeps it in use
        self._known: dict[int, tuple[Mapping[str, Any], dict[str, Any], bytes]] = {}

    def of(self, payload: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The payload as the database gives it back, and its canonical JSON.

        Errors: InvalidParameterError.
        """
        known = self._known.get(id(payload))
        if known is None:
            plain = plain_payload(payload)
            known = self._known[id(payload)] = (payload, plain, canonical_json(plain))
        return known[1], known[2]


@dataclass(slots=True)
class OpenLedger:
    """A locked ledger.

    `seq` and `row_hash` are its last row's; `state`, `reports` and `weeks` move with every row that
    is added.

    `created_at` never goes back from row to row.

    `fresh` holds the rows that this call adds, `payloads` their payloads as canonical JSON,
    `went_out` those by which money went out where no adapter values it; `projected` what the
    mandate's row says of the state; `stored` the state that the head's row holds, None when another
    version of the fold wrote it.
    """

    mandate_id: int
    owner_id: int
    facts: MandateFacts
    projected: Mapping[str, Any]
    seq: int
    row_hash: str
    state: MandateState
    stored: MandateState | None
    written: _Written
    created_at: datetime = BEFORE_ALL
    reports: ReportsByTx = field(default_factory=ReportsByTx)
    weeks: Weeks = field(default_factory=Weeks)
    fresh: list[LedgerRow] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    went_out: tuple[WentOut, ...] = ()

    def grow(
        self,
        rows: Sequence[NewRow],
        standing: Collection[str],
        incarnations: Mapping[str, int],
        now: datetime,
    ) -> list[bool]:
        """Add the rows whose fact is not written yet and fold them; which of them were new.

        What they need is there (`read_needs`).
        """
        is_new, written = [], set(standing)
        for row in rows:
            is_new.append(row.base_key not in written)
            if is_new[-1]:
                written.add(row.base_key)
                incarnation = incarnations.get(row.base_key, FIRST_INCARNATION - 1) + 1
                self._fold(self.add(priced(row, self.state, self.facts), incarnation, None, now))
        return is_new

    def _fold(self, added: LedgerRow) -> None:
        self.weeks.grow(self.state, added, self.facts, self.reports)
        earlier = self.reports.of(added)
        before, self.state = self.state, apply(self.state, added, self.facts, earlier)
        self.reports.add(added)
        out_usdc_e6 = self.state.unvalued_out_usdc_e6
        self.went_out = went_out_after(
            self.went_out,
            added,
            before_usdc_e6=before.unvalued_out_usdc_e6,
            out_usdc_e6=out_usdc_e6,
        )

    def add(
        self, row: NewRow, incarnation: int, reverses_id: int | None, now: datetime
    ) -> LedgerRow:
        """Chain a row to the last one.

        Its id is 0, which no hash and no fold reads: the database gives it one.
        """
        payload, written = self.written.of(row.payload)
        self.created_at = max(self.created_at, now.astimezone(UTC))
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
            "author": row.author,
            "id": 0,
            "mandate_id": self.mandate_id,
            "seq": self.seq + 1,
            "incarnation": incarnation,
            "reverses_id": reverses_id,
            "created_at": self.created_at,
            "prev_hash": self.row_hash,
            "row_hash": "",
        }
        added = LedgerRow(**fields)
        hashed = row_hash(self.row_hash, canonical_plain(row_body(added)))
        # nobody has seen the row yet; making it twice is what a long COPY would mostly do
        object.__setattr__(added, "row_hash", hashed)
        self.fresh.append(added)
        self.payloads.append(written)
        self.seq, self.row_hash = self.seq + 1, hashed
        return self.fresh[-1]

    def lines(self) -> Iterator[str]:
        """The fresh rows as COPY takes them."""
        for row, payload in zip(self.fresh, self.payloads, strict=True):
            yield line_of(row, payload)


# Opening


def open_ledgers(session: WriteSession, mandate_ids: Sequence[int]) -> list[OpenLedger]:
    """Several ledgers, locked in the order of their ids, which are given rising.

    One of an unknown mandate is left out.
    """
    mandates = _locked(session, Mandate, Mandate.id, mandate_ids, _OF_MANDATE)
    heads = {
        head.mandate_id: head
        for head in _locked(session, MandateHead, MandateHead.mandate_id, mandate_ids, _OF_HEAD)
    }
    missing = [_empty_head(mandate) for mandate in mandates if mandate.id not in heads]
    if missing:
        session.execute(upsert(MandateHead).on_conflict_do_nothing(), missing)
        ids = [head["mandate_id"] for head in missing]
        heads |= {
            head.mandate_id: head
            for head in _locked(session, MandateHead, MandateHead.mandate_id, ids, _OF_HEAD)
        }
    written = _Written()
    return [_ledger(session, mandate, heads[mandate.id], written) for mandate in mandates]


def _locked(
    session: WriteSession, table: type[Any], key: Any, ids: Sequence[int], columns: Sequence[Any]
) -> Sequence[Any]:
    """Rows by rising id, held until the transaction ends.

    As objects, read again, only where the session holds one of them.
    """
    is_held = not _held(session, table).isdisjoint(ids)
    query = select(table) if is_held else select(*columns)
    query = (
        query.where(key == any_(cast(list(ids), ARRAY(BigInteger))))
        .order_by(key)
        .with_for_update(key_share=True)
    )
    if is_held:
        return session.scalars(query.execution_options(populate_existing=True)).all()
    return session.execute(query).all()


def _held(session: WriteSession, table: type[Any]) -> set[int]:
    """The ids of that table's objects that the session holds: none in the indexer, few
    elsewhere.
    """
    return {key[1][0] for key in session.identity_map.keys() if key[0] is table}  # noqa: SIM118 (not a dict: it cannot be iterated)


def _ledger(session: WriteSession, mandate: Any, head: Any, written: _Written) -> OpenLedger:
    facts = mandate_facts(mandate)
    try:
        state = stored = state_from_json(head.state)
    except StateVersionError:
        state, stored = fold(load_rows(session, mandate.id), facts), None
    projected = {name: getattr(mandate, name) for name in PROJECTED}
    last = head.seq, "0x" + head.row_hash.hex()
    ledger = OpenLedger(
        mandate.id, mandate.owner_id, facts, projected, *last, state, stored, written
    )
    if head.seq:
        ledger.created_at = head.updated_at.astimezone(UTC)
    return ledger


def _empty_head(mandate: Any) -> dict[str, Any]:
    genesis = bytes.fromhex(genesis_hash(mandate.public_id)[2:])
    return {
        "mandate_id": mandate.id,
        "seq": 0,
        "row_hash": genesis,
        "updated_at": mandate.created_at,
        **head_columns(EMPTY_STATE),
    }


def read_needs(
    session: WriteSession, ledgers: Sequence[OpenLedger], new: Mapping[int, Sequence[NewRow]]
) -> None:
    """Read what `new`, by mandate the rows that are not written yet, need: what was reported of
    their transactions, and the checkpoints of ledgers where one comes late, or whose head another
    version of the fold wrote.
    """
    flagged = {ledger.mandate_id for ledger in ledgers if ledger.state.flagged_trades_count}
    asked = {
        (id_, row.tx_hash.lower())
        for id_, rows in new.items()
        for row in rows
        if row.tx_hash is not None and (id_ in flagged or is_paired(row))
    }
    reports = standing_reports(session, asked, flagged)
    late = [
        ledger
        for ledger in ledgers
        if ledger.stored is None or _comes_late(ledger, new[ledger.mandate_id])
    ]
    kept = mandate_weeks.load(session, [ledger.mandate_id for ledger in late]) if late else {}
    for ledger in ledgers:
        ledger.reports = ReportsByTx(reports.get(ledger.mandate_id, ()))
    for ledger in late:
        checkpoints = kept[ledger.mandate_id]
        if checkpoints is None:  # another version of the fold wrote them: all are made again
            checkpoints = ledger.weeks.changed = mandate_weeks.folded(
                load_rows(session, ledger.mandate_id), ledger.facts
            )
        ledger.weeks.kept = checkpoints


def _comes_late(ledger: OpenLedger, rows: Sequence[NewRow]) -> bool:
    newest = ledger.state.last_row_at
    for row in rows:
        at = row.occurred_at.astimezone(UTC)
        if newest is not None and mandate_weeks.is_late(newest, at):
            return True
        newest = at if newest is None else max(newest, at)
    return False


# Saving


def keep_undo(session: WriteSession, ledgers: Sequence[OpenLedger]) -> None:
    """Before `save`: keep what the heads say as what a rollback goes back to, when all fresh rows
    are of one block.
    """
    blocks = {(row.block_hash, row.block_number) for ledger in ledgers for row in ledger.fresh}
    if len(blocks) != 1:
        return
    block_hash, number = blocks.pop()
    if block_hash is not None and number is not None:
        ids = cast([ledger.mandate_id for ledger in ledgers if ledger.fresh], ARRAY(BigInteger))
        before = select(
            MandateHead.mandate_id,
            MandateHead.seq + 1,
            literal(number, BigInteger),
            MandateHead.state,
        )
        names = ["mandate_id", "seq", "block_number", "state"]
        session.execute(
            insert(MandateUndo).from_select(
                names, before.where(MandateHead.mandate_id == any_(ids))
            )
        )


def save(session: WriteSession, ledgers: Sequence[OpenLedger], now: datetime) -> None:
    """Bring heads, projections and checkpoints of the ledgers that grew to their states, each in
    one statement; listeners are notified at the commit.
    """
    grown = [ledger for ledger in ledgers if ledger.fresh]
    if not grown:
        return
    notify_rows(session, ((ledger.mandate_id, ledger.owner_id) for ledger in grown))
    _save_heads(session, grown, now)
    _save_projections(session, grown, now)
    session.flush()
    mandate_weeks.save(session, {ledger.mandate_id: ledger.weeks.changed for ledger in grown})


def _save_heads(session: WriteSession, ledgers: Sequence[OpenLedger], now: datetime) -> None:
    """Of a state only what changed is written: most rows move few of its fields.

    One text of all is encoded in a third of the time.
    """
    encoded = msgspec.json.encode([_moved(ledger) for ledger in ledgers]).decode()
    listed = func.jsonb_to_recordset(cast(literal(encoded, Text), JSONB))
    moved = listed.table_valued(*_MOVED).render_derived("moved", with_types=True)
    is_whole = moved.c.state.has_key("version")
    values: dict[str, Any] = {name: moved.c[name] for name in ("seq", "status", "paused", *AMOUNTS)}
    values["state"] = case((is_whole, moved.c.state), else_=MandateHead.state.concat(moved.c.state))
    updated_at = func.greatest(MandateHead.updated_at, now)
    values |= {"row_hash": func.decode(moved.c.row_hash, "hex"), "updated_at": updated_at}
    statement = (
        update(MandateHead).where(MandateHead.mandate_id == moved.c.mandate_id).values(values)
    )
    session.execute(statement.execution_options(synchronize_session=False))
    held = _held(session, MandateHead)
    for ledger in ledgers:
        if ledger.mandate_id in held:
            place = {"seq": ledger.seq, "row_hash": bytes.fromhex(ledger.row_hash[2:])}
            _refresh_held(
                session,
                MandateHead,
                ledger.mandate_id,
                place | head_columns(ledger.state) | {"updated_at": ledger.created_at},
            )


def _moved(ledger: OpenLedger) -> dict[str, Any]:
    state = (
        state_to_json(ledger.state)
        if ledger.stored is None
        else changes_to_json(ledger.stored, ledger.state)
    )
    return {
        "mandate_id": ledger.mandate_id,
        "seq": ledger.seq,
        "row_hash": ledger.row_hash[2:],
        **state_columns(ledger.state),
        "state": state,
    }


def _save_projections(session: WriteSession, ledgers: Sequence[OpenLedger], now: datetime) -> None:
    wanted = [(ledger, projections(ledger.projected["status"], ledger.state)) for ledger in ledgers]
    changed = [
        (ledger.mandate_id, values)
        for ledger, values in wanted
        if any(ledger.projected[name] != value for name, value in values.items())
    ]
    if not changed:
        return
    columns = {
        name: (kind, [values[name] for _, values in changed]) for name, kind in PROJECTED.items()
    }
    moved = table_of(
        "moved", {"mandate_id": (BigInteger, [mandate_id for mandate_id, _ in changed])} | columns
    )
    fresh = {name: moved.c[name] for name in PROJECTED} | {"updated_at": now}
    statement = update(Mandate).where(Mandate.id == moved.c.mandate_id).values(fresh)
    session.execute(statement.execution_options(synchronize_session=False))
    for mandate_id, values in changed:
        _refresh_held(session, Mandate, mandate_id, values | {"updated_at": now})


def _refresh_held(
    session: WriteSession, table: type[Any], mandate_id: int, values: Mapping[str, Any]
) -> None:
    """Set an object that the session holds as its row is now.

    A savepoint that is rolled back takes it back with the row.
    """
    held = session.identity_map.get(identity_key(table, mandate_id))
    if held is not None:
        for name, value in values.items():
            setattr(held, name, value)
