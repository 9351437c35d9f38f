"""The transfer ledger of agent wallets: the only writer of transfer_entry, transfer_head and
transfer_balance.

An amount is in one of four states: idle, reserved, in transit, delivered. An entry moves signed
amounts between them, for one chain and asset; a balance is the sum of its entries and may be
negative (docs/transfers.md#the-four-states).

Laws
- A fact (base_key) is written once per account; after its reversal it may come back as the next
  incarnation.
- A reversal is an entry with the deltas negated and `reverses_id`.
- Balances follow in the same call. Nothing here commits.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Numeric,
    Row,
    Select,
    Text,
    and_,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session, aliased

from core.canonical import canonical_plain, chain_hash
from core.db.arrays import Columns, table_of
from core.db.copying import copy_lines
from core.db.engine import WriteSession
from core.ledger.chain import KnownKeys, genesis, known_keys, plain_payload
from core.transfers.ledger.rows import COPIED, STATES, NewTransfer, body_of, line_of
from core.transfers.rules import FourStates
from core.transfers.tables import TransferBalance, TransferEntry, TransferHead

LEDGER = "transfer"
__all__ = [
    "NewTransfer",
    "load_balance",
    "load_balances",
    "load_sum",
    "lock_balance",
    "lock_ledgers",
    "post",
    "post_ledgers",
    "reverse",
    "reverse_deposits",
    "reverse_facts",
]

DEPOSIT = "deposit"  # kind of an entry that the chain showed and nobody reported


@dataclass(frozen=True, slots=True)
class Posted:
    """The entry that holds the fact; `is_new` when this call wrote it."""

    id: int
    seq: int
    incarnation: int
    is_new: bool


# by account, chain and asset what entries add to the four states
_Sums = dict[tuple[int, int, str], list[int]]


@dataclass(slots=True)
class _Tip:
    """A locked head, moved in memory."""

    account_id: int
    seq: int
    row_hash: bytes

    def link(
        self,
        transfer: NewTransfer,
        incarnation: int,
        reverses_id: int | None,
        created_at: datetime,
        sums: _Sums,
    ) -> dict[str, Any]:
        """The transfer as the row of the ledger's next entry; what it moves is added to `sums`."""
        deltas = {f"{state}_delta_e6": getattr(transfer.deltas, f"{state}_e6") for state in STATES}
        row: dict[str, Any] = {
            "account_id": self.account_id,
            "seq": self.seq + 1,
            "kind": transfer.kind,
            "base_key": transfer.base_key,
            "incarnation": incarnation,
            "reverses_id": reverses_id,
            "chain_id": transfer.chain_id,
            "asset": transfer.asset,
            **deltas,
            "tx_hash": None if transfer.tx_hash is None else bytes.fromhex(transfer.tx_hash[2:]),
            "reported_by": transfer.reported_by,
            "payload": plain_payload(transfer.payload),
            "created_at": created_at,
            "prev_hash": self.row_hash,
        }
        row["row_hash"] = chain_hash(self.row_hash, canonical_plain(body_of(row)))
        self.seq, self.row_hash = row["seq"], row["row_hash"]
        total = sums.setdefault(
            (self.account_id, transfer.chain_id, transfer.asset), [0] * len(STATES)
        )
        for index, delta in enumerate(deltas.values()):
            total[index] += delta
        return row


def post(session: WriteSession, account_id: int, transfer: NewTransfer, now: datetime) -> Posted:
    """Post a fact unless it is written already.

    Errors: InvalidParameterError for a payload that is not JSON.
    """
    tips = _lock_many(session, [account_id], now)
    count = _write_new(session, tips, {account_id: [transfer]}, now)
    columns = (TransferEntry.id, TransferEntry.seq, TransferEntry.incarnation)
    query = select(*columns).where(
        TransferEntry.account_id == account_id, TransferEntry.base_key == transfer.base_key
    )
    return Posted(
        *session.execute(query.order_by(TransferEntry.seq.desc()).limit(1)).one(), is_new=count == 1
    )


def post_ledgers(
    session: WriteSession, ledgers: Mapping[int, Sequence[NewTransfer]], now: datetime
) -> int:
    """Post facts to several accounts' ledgers at once; the number that were new.

    Errors: as `post`.

    Heads are locked by rising account id.
    """
    tips = _lock_many(session, sorted(ledgers), now)
    return _write_new(session, tips, ledgers, now)


def _write_new(
    session: WriteSession,
    tips: Sequence[_Tip],
    ledgers: Mapping[int, Sequence[NewTransfer]],
    now: datetime,
) -> int:
    """Write what is not known to stand; how many entries."""
    keys = {id_: [one.base_key for one in some] for id_, some in ledgers.items()}
    known = known_keys(session, TransferEntry, TransferEntry.account_id, keys)
    sums: _Sums = {}
    rows = _new_rows(tips, ledgers, known, sums, now.astimezone(UTC))
    return _write(session, tips, sums, rows, now)


def _new_rows(
    tips: Sequence[_Tip],
    ledgers: Mapping[int, Sequence[NewTransfer]],
    known: Mapping[int, KnownKeys],
    sums: _Sums,
    created_at: datetime,
) -> Iterator[dict[str, Any]]:
    """Each ledger's new entries, chained and summed."""
    for head in tips:
        facts = known[head.account_id]
        for transfer in ledgers[head.account_id]:
            if transfer.base_key not in facts.standing:
                facts.standing.add(transfer.base_key)
                yield head.link(
                    transfer,
                    facts.incarnations.get(transfer.base_key, 0) + 1,
                    None,
                    created_at,
                    sums,
                )


def _write(
    session: WriteSession,
    tips: Sequence[_Tip],
    sums: _Sums,
    rows: Iterable[Mapping[str, Any]],
    now: datetime,
) -> int:
    """Write the entries by COPY (history has tens of thousands), then the heads and balances that they
    moved; how many entries.
    """
    count = copy_lines(session, TransferEntry.__tablename__, COPIED, map(line_of, rows))
    if count:
        _save_tips(session, tips, now)
        _add_to_balances(session, sums, now)
    return count


def reverse_facts(
    session: WriteSession,
    chain_id: int,
    facts: Sequence[tuple[str, str]],
    cause: str,
    now: datetime,
) -> int:
    """Reverse every standing entry of these facts, (tx hash, base key), in whosever ledger it
    is; the number reversed.
    """
    if not facts:
        return 0
    columns: Columns = {
        "tx_hash": (BYTEA, [bytes.fromhex(tx_hash[2:]) for tx_hash, _ in facts]),
        "base_key": (Text, [key for _, key in facts]),
    }
    asked = table_of("asked", columns)
    same = and_(
        TransferEntry.tx_hash == asked.c.tx_hash, TransferEntry.base_key == asked.c.base_key
    )
    query = (
        select(TransferEntry.account_id, TransferEntry.base_key)
        .join(asked, same)
        .where(TransferEntry.chain_id == chain_id)
    )
    ledgers: dict[int, list[str]] = {}
    for account_id, key in session.execute(query.distinct()):
        ledgers.setdefault(account_id, []).append(key)
    return reverse(session, ledgers, cause, now)


def reverse_deposits(
    session: WriteSession, account_id: int, chain_id: int, tx_hash: str, cause: str, now: datetime
) -> int:
    """Reverse what the chain by itself showed of a transaction in one account's ledger; the number
    reversed.
    """
    place = (
        TransferEntry.account_id == account_id,
        TransferEntry.chain_id == chain_id,
        TransferEntry.kind == DEPOSIT,
    )
    query = (
        select(TransferEntry.base_key)
        .where(*place, TransferEntry.tx_hash == bytes.fromhex(tx_hash[2:]))
        .distinct()
    )
    return reverse(session, {account_id: session.scalars(query).all()}, cause, now)


def lock_ledgers(session: WriteSession, account_ids: Sequence[int], now: datetime) -> None:
    """Hold several ledgers until the transaction ends, by rising account id."""
    _lock_many(session, account_ids, now)


def reverse(
    session: WriteSession, ledgers: Mapping[int, Collection[str]], cause: str, now: datetime
) -> int:
    """Reverse the standing entries of these facts, base keys by account id, the newest of a ledger
    first; the number reversed.

    Heads are locked by rising account id.
    """
    if not any(ledgers.values()):
        return 0
    tips, sums, created_at = _lock_many(session, sorted(ledgers), now), _Sums(), now.astimezone(UTC)
    standing: dict[int, list[Row[Any]]] = {}
    for entry in session.execute(_standing(ledgers)):
        standing.setdefault(entry.account_id, []).append(entry)
    rows = (
        tip.link(_compensation(entry, cause), entry.incarnation, entry.id, created_at, sums)
        for tip in tips
        for entry in standing.get(tip.account_id, ())
    )
    return _write(session, tips, sums, rows, now)


def _standing(ledgers: Mapping[int, Collection[str]]) -> Select[Any]:
    """The entries of these facts that no entry reverses, a ledger's newest first."""
    pairs = [(account_id, key) for account_id, keys in ledgers.items() for key in keys]
    columns: Columns = {
        "account_id": (BigInteger, [account_id for account_id, _ in pairs]),
        "base_key": (Text, [key for _, key in pairs]),
    }
    asked, entry, reversal = (
        table_of("asked", columns),
        TransferEntry.__table__,
        aliased(TransferEntry),
    )
    same = and_(entry.c.account_id == asked.c.account_id, entry.c.base_key == asked.c.base_key)
    query = select(entry).join(asked, same).outerjoin(reversal, reversal.reverses_id == entry.c.id)
    return query.where(entry.c.reverses_id.is_(None), reversal.id.is_(None)).order_by(
        entry.c.account_id, entry.c.seq.desc()
    )


def _compensation(entry: Row[Any], cause: str) -> NewTransfer:
    return NewTransfer(
        kind=entry.kind,
        base_key=f"reversal:{entry.base_key}",
        chain_id=entry.chain_id,
        asset=entry.asset,
        deltas=FourStates(
            **{f"{state}_e6": int(getattr(entry, f"{state}_delta_e6")) for state in STATES}
        ).negated(),
        reported_by=entry.reported_by,
        tx_hash=None if entry.tx_hash is None else "0x" + entry.tx_hash.hex(),
        payload={"reversal": True, "reverses_seq": entry.seq, "cause": cause},
    )


def lock_balance(
    session: WriteSession, account_id: int, chain_id: int, asset: str, now: datetime
) -> FourStates:
    """As `load_balance`, and no entry of the account is written by another until the transaction
    ends.
    """
    _lock_many(session, [account_id], now)
    return load_balance(session, account_id, chain_id, asset)


def load_balance(session: Session, account_id: int, chain_id: int, asset: str) -> FourStates:
    """The account's balance of an asset on a chain; all zero before the first entry."""
    balance = session.get(TransferBalance, (account_id, chain_id, asset), populate_existing=True)
    return (
        FourStates()
        if balance is None
        else FourStates(**{f"{state}_e6": getattr(balance, f"{state}_e6") for state in STATES})
    )


def load_balances(session: Session, account_id: int) -> dict[tuple[int, str], FourStates]:
    """Every balance of the account, by chain and asset, in their order."""
    query = select(TransferBalance).where(TransferBalance.account_id == account_id)
    rows = session.scalars(query.order_by(TransferBalance.chain_id, TransferBalance.asset))
    return {
        (row.chain_id, row.asset): FourStates(
            **{f"{state}_e6": getattr(row, f"{state}_e6") for state in STATES}
        )
        for row in rows
    }


def load_sum(session: Session, account_id: int, base_keys: Sequence[str]) -> FourStates:
    """What some facts and their reversals come to."""
    keys = [*base_keys, *(f"reversal:{key}" for key in base_keys)]
    sums = [
        func.coalesce(func.sum(getattr(TransferEntry, f"{state}_delta_e6")), 0) for state in STATES
    ]
    mine = (TransferEntry.account_id == account_id, TransferEntry.base_key.in_(keys))
    found = session.execute(select(*sums).where(*mine)).one()
    return FourStates(
        **{f"{state}_e6": int(total) for state, total in zip(STATES, found, strict=True)}
    )


def _lock_many(session: WriteSession, account_ids: Sequence[int], now: datetime) -> list[_Tip]:
    """The heads of several ledgers, locked by rising account id; made when missing."""
    columns = (TransferHead.account_id, TransferHead.seq, TransferHead.row_hash)
    query = (
        select(*columns)
        .where(TransferHead.account_id.in_(account_ids))
        .order_by(TransferHead.account_id)
        .with_for_update()
    )
    found = session.execute(query).all()
    if len(found) < len(account_ids):
        missing = sorted(set(account_ids) - {row.account_id for row in found})
        empty = [
            {"account_id": id_, "seq": 0, "row_hash": genesis(LEDGER, id_), "updated_at": now}
            for id_ in missing
        ]
        session.execute(upsert(TransferHead).values(empty).on_conflict_do_nothing())
        found = session.execute(query).all()
    return [_Tip(*row) for row in found]


def _save_tips(session: WriteSession, tips: Sequence[_Tip], now: datetime) -> None:
    """All heads in one statement."""
    columns: Columns = {
        "account_id": (BigInteger, [tip.account_id for tip in tips]),
        "seq": (BigInteger, [tip.seq for tip in tips]),
        "row_hash": (BYTEA, [tip.row_hash for tip in tips]),
    }
    moved = table_of("moved", columns)
    statement = update(TransferHead).where(TransferHead.account_id == moved.c.account_id)
    values = {"seq": moved.c.seq, "row_hash": moved.c.row_hash, "updated_at": now}
    session.execute(statement.values(values).execution_options(synchronize_session=False))


def _add_to_balances(
    session: WriteSession, sums: Mapping[tuple[int, int, str], Sequence[int]], now: datetime
) -> None:
    """All balances in one statement."""
    if not sums:
        return
    names = [f"{state}_e6" for state in STATES]
    keys = ["account_id", "chain_id", "asset"]
    columns = [*zip(*sums, strict=True), *zip(*sums.values(), strict=True)]
    kinds: list[Any] = [BigInteger, BigInteger, Text, *[Numeric] * len(STATES)]
    added = table_of(
        "added", dict(zip([*keys, *names], zip(kinds, columns, strict=True), strict=True))
    )
    rows = select(*(added.c[name] for name in (*keys, *names)), literal(now))
    statement = upsert(TransferBalance).from_select([*keys, *names, "updated_at"], rows)
    sum_of: dict[str, Any] = {
        name: getattr(TransferBalance, name) + getattr(statement.excluded, name) for name in names
    }
    session.execute(
        statement.on_conflict_do_update(index_elements=keys, set_=sum_of | {"updated_at": now})
    )
