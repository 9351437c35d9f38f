"""The ledger of warnings: one chain of all of them (docs/market-store.md#the-ledger-of-warnings).

    head locked --> the database's clock is read --> rows chained to the one before --> head, standing warnings

Laws
- `at` of a row is the database's clock after the head was locked; no caller chooses it, and the
  database refuses any other. So the order of rows is the order of their times.
- History is imported once, into an empty ledger, and each of its rows says so.
- One warning is open per (exchange, asset, type). Nothing here commits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from sqlalchemy import delete, func, insert, select, tuple_, update
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.ledger.chain import Link, genesis, link_hash, lock_head, plain_payload
from core.market.rules.warnings import SAME_WITHIN
from core.market.tables import MarketWarning, MarketWarningHead, MarketWarningStanding
from core.times import exact_instant_text

LEDGER: Final = "warnings"
ONE: Final = 1  # the only ledger of its kind, and the only head
ISSUED: Final = "issued"
CLEARED: Final = "cleared"
REOPENED: Final = "reopened"
HASHED: Final = (
    *("seq", "action", "clears_seq", "reopens_seq", "exchange", "asset_id", "token", "listing_id"),
    *("type", "severity", "is_predictive", "at", "evidence", "rule_version", "source_event"),
    "is_imported",
)

WarningKey: TypeAlias = tuple[str, int, str]


class HistoryRefusedError(ValueError):
    """The ledger has rows already, or the history is not in the order of its times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWarning:
    """`source_event`: what it follows from, where that is a row (`outcome:7`)."""

    exchange: str
    asset_id: int
    token: str
    listing_id: int | None
    type: str
    severity: str
    is_predictive: bool
    evidence: Mapping[str, Any]
    rule_version: str
    source_event: str | None = None

    @property
    def key(self) -> WarningKey:
        return self.exchange, self.asset_id, self.type


@dataclass(frozen=True, slots=True)
class PastWarning:
    """A warning of a simulated past; `cleared_at` None: it is current."""

    warning: NewWarning
    issued_at: datetime
    cleared_at: datetime | None


@dataclass(frozen=True, slots=True)
class StandingWarning:
    seq: int
    exchange: str
    asset_id: int
    type: str
    issued_at: datetime

    @property
    def key(self) -> WarningKey:
        return self.exchange, self.asset_id, self.type


@dataclass(frozen=True, slots=True)
class WarningsWritten:
    """`reopened`: raised again within 24 hours of its end, so the same as before."""

    issued: int
    reopened: int
    cleared: int


def write(
    session: WriteSession, raised: Sequence[NewWarning], cleared: Sequence[StandingWarning]
) -> WarningsWritten:
    """Issue what is not open, and clear what is. Whatever is open already, or not any more, is left
    out.
    """
    if not raised and not cleared:
        return WarningsWritten(0, 0, 0)
    head = _lock(session)
    now = session.scalars(select(func.clock_timestamp())).one()
    open_seqs = _open_among(session, [*raised, *cleared])
    chain = _WarningChain(head.seq, head.row_hash)
    fresh = {one.key: one for one in raised if one.key not in open_seqs}
    again = _cleared_lately(session, list(fresh.values()), now)
    issued = [chain.row(ISSUED, one, now) for key, one in fresh.items() if key not in again]
    back = [chain.row(REOPENED, fresh[key], now, seq) for key, (seq, _) in again.items()]
    ended = [one for one in cleared if open_seqs.get(one.key) == one.seq]
    sources = _rows(session, [one.seq for one in ended])
    over = [chain.row(CLEARED, sources[one.seq], now, one.seq) for one in ended]
    if chain.seq != head.seq:
        session.execute(insert(MarketWarning), [*issued, *back, *over])
        shown = [_shown(row, row["seq"], row["at"]) for row in issued]
        shown += [_shown(row, row["reopens_seq"], again[_key(row)][1]) for row in back]
        _stand(session, shown, [one.seq for one in ended])
        _move_head(session, chain)
    return WarningsWritten(len(issued), len(back), len(over))


def import_history(session: WriteSession, past: Iterable[PastWarning]) -> int:
    """Warnings of a simulated past, as imported rows in the order of their times; how many rows.

    Errors: HistoryRefusedError.
    """
    head = _lock(session)
    if head.seq:
        raise HistoryRefusedError("the ledger of warnings is not empty")
    events = [(one.issued_at, 0, number, one) for number, one in enumerate(past)]
    events += [
        (one.cleared_at, 1, number, one)
        for _, _, number, one in events
        if one.cleared_at is not None
    ]
    events.sort(key=lambda event: event[:3])
    chain, seq_of, rows = _WarningChain(0, head.row_hash), dict[int, int](), list[dict[str, Any]]()
    for at, is_end, number, one in events:
        if is_end:
            row = chain.row(CLEARED, one.warning, at, seq_of[number], is_imported=True)
        else:
            row = chain.row(ISSUED, one.warning, at, is_imported=True)
            seq_of[number] = row["seq"]
        rows.append(row)
    if rows:
        session.execute(insert(MarketWarning), rows)
    over = {row["clears_seq"] for row in rows}
    left = [row for row in rows if row["action"] == ISSUED and row["seq"] not in over]
    _stand(session, [_shown(row, row["seq"], row["at"]) for row in left], [])
    _move_head(session, chain)
    return len(rows)


def standing(session: Session) -> list[StandingWarning]:
    """All that are open."""
    query = select(*(getattr(MarketWarningStanding, one.name) for one in fields(StandingWarning)))
    return [StandingWarning(*row) for row in session.execute(query)]


def body_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is hashed of a row: all but the hashes."""
    return {name: row[name] for name in HASHED if name != "at"} | {
        "at": exact_instant_text(row["at"])
    }


def link_of(row: MarketWarning) -> Link:
    body = body_of({name: getattr(row, name) for name in HASHED})
    return Link(row.seq, row.prev_hash, row.row_hash, body)


class _WarningChain:
    """Makes the rows that follow one another from a head on."""

    def __init__(self, seq: int, row_hash: bytes) -> None:
        self.seq, self.row_hash = seq, row_hash

    def row(
        self,
        action: str,
        of: NewWarning,
        at: datetime,
        of_seq: int | None = None,
        *,
        is_imported: bool = False,
    ) -> dict[str, Any]:
        self.seq += 1
        row: dict[str, Any] = asdict(of) | {
            "seq": self.seq,
            "action": action,
            "clears_seq": of_seq if action == CLEARED else None,
            "reopens_seq": of_seq if action == REOPENED else None,
            "at": at.astimezone(UTC),
            "evidence": {} if action == CLEARED else plain_payload(of.evidence),
            "is_imported": is_imported,
            "prev_hash": self.row_hash,
        }
        self.row_hash = row["row_hash"] = link_hash(self.row_hash, body_of(row))
        return row


def _lock(session: WriteSession) -> MarketWarningHead:
    empty = {"seq": 0, "row_hash": genesis(LEDGER, ONE)}
    return lock_head(session, MarketWarningHead, {"id": ONE}, empty)


def _move_head(session: WriteSession, chain: _WarningChain) -> None:
    session.execute(
        update(MarketWarningHead)
        .where(MarketWarningHead.id == ONE)
        .values(seq=chain.seq, row_hash=chain.row_hash)
    )


def _open_among(
    session: Session, of: Sequence[NewWarning | StandingWarning]
) -> dict[WarningKey, int]:
    key = tuple_(
        MarketWarningStanding.exchange, MarketWarningStanding.asset_id, MarketWarningStanding.type
    )
    query = select(MarketWarningStanding).where(key.in_(sorted({one.key for one in of})))
    return {(one.exchange, one.asset_id, one.type): one.seq for one in session.scalars(query)}


def _cleared_lately(
    session: Session, of: Sequence[NewWarning], now: datetime
) -> dict[WarningKey, tuple[int, datetime]]:
    """Those that ended less than 24 hours ago: the row that issued each, and its time."""
    ended, first = aliased(MarketWarning), aliased(MarketWarning)
    key = tuple_(ended.exchange, ended.asset_id, ended.type)
    query = (
        select(ended.exchange, ended.asset_id, ended.type, first.seq, first.at)
        .join(first, first.seq == ended.clears_seq)
        .where(key.in_(sorted({one.key for one in of})), ended.at > now - SAME_WITHIN)
        .where(ended.action == CLEARED)
        .order_by(ended.seq)
    )
    return {(row[0], row[1], row[2]): (row[3], row[4]) for row in session.execute(query)}


def _rows(session: Session, seqs: Sequence[int]) -> dict[int, NewWarning]:
    names = [one.name for one in fields(NewWarning)]
    found = session.scalars(select(MarketWarning).where(MarketWarning.seq.in_(seqs)))
    return {one.seq: NewWarning(**{name: getattr(one, name) for name in names}) for one in found}


def _key(row: Mapping[str, Any]) -> WarningKey:
    return row["exchange"], row["asset_id"], row["type"]


def _shown(row: Mapping[str, Any], seq: int, issued_at: datetime) -> dict[str, Any]:
    names = ("exchange", "asset_id", "token", "listing_id", "type", "severity", "evidence")
    return {name: row[name] for name in names} | {"seq": seq, "issued_at": issued_at}


def _stand(session: WriteSession, shown: Sequence[Mapping[str, Any]], over: Sequence[int]) -> None:
    """Bring the projection in line with rows that were written."""
    if over:
        session.execute(delete(MarketWarningStanding).where(MarketWarningStanding.seq.in_(over)))
    if shown:
        session.execute(insert(MarketWarningStanding), list(shown))
