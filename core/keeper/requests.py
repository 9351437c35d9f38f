"""The outbox: what the API asks the keeper to send, and what became of it.

Laws
- A key is one request for ever: asking again with the same key changes nothing and answers the
  first request.
- A request is of a kind that the chain carries out once, however often it is sent: the keeper may
  sign it again at another nonce.
- Rows are never changed. The state of a request is the state of its newest intent; `queued` while
  it has none.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ScalarSelect, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.keeper import queue as outbox_queue
from core.keeper.queue import RequestPayer
from core.keeper.rules import QUEUED, REFUSED_KEY, IntentState, Purse
from core.keeper.tables import KeeperIntent, KeeperTx, Outbox


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """`to` is an address, `role` whose key signs; `reason` is JSON without secrets. Its call data is
    built by the keeper, by kind.
    """

    key: str
    chain_id: int
    kind: str
    role: str
    to: str
    reason: dict[str, Any]
    purse: str = Purse.CUSTODY
    most_wei: int | None = None  # that it may ever cost; None: what the day's budget has
    gas_scopes: tuple[str, ...] | None = None  # of the sponsor's purse: in what its gas counts


@dataclass(frozen=True, slots=True)
class RequestState:
    """`state`: queued, or the newest intent's (planned, signed, broadcast, mined, safe, done,
    reverted, refused ...).

    `tx_hash`: of the newest attempt, 0x lower case; None before anything was signed. `refused`: why
    it could not be sent when it was last tried, in the chain's words or the keeper's.
    """

    key: str
    state: str
    tx_hash: str | None
    refused: str | None = None


def ask(
    session: WriteSession, request: NewRequest, now: datetime, payer: RequestPayer | None = None
) -> int:
    """Write the request down and queue it; the id of the first one with this key.

    The caller has counted the requests of a `payer` (outbox_queue.count_in); one of nobody's is
    counted here.
    """
    values = {
        "key": request.key,
        "chain_id": request.chain_id,
        "kind": request.kind,
        "role": request.role,
        "to": bytes.fromhex(request.to[2:]),
        "reason": request.reason,
        "created_at": now,
    }
    statement = (
        insert(Outbox)
        .values(**values)
        .on_conflict_do_nothing(index_elements=[Outbox.key])
        .returning(Outbox.id)
    )
    added = session.execute(statement).scalar_one_or_none()
    if added is None:
        return session.execute(select(Outbox.id).where(Outbox.key == request.key)).scalar_one()
    own = (request.purse, request.most_wei, request.gas_scopes)
    outbox_queue.add(session, added, request.chain_id, payer, now, *own)
    if payer is None:
        outbox_queue.count_in_uncapped(session, request.purse)
    return added


def states_of(session: Session, keys: Collection[str]) -> dict[str, RequestState]:
    """What became of these requests, by key; a key that nobody asked with is left out."""
    newest = (
        select(
            Outbox.key,
            KeeperIntent.state,
            KeeperTx.hash,
            _refused(),
        )
        .ext(distinct_on(Outbox.id))
        .join(KeeperIntent, KeeperIntent.outbox_id == Outbox.id, isouter=True)
        .join(KeeperTx, KeeperTx.intent_id == KeeperIntent.id, isouter=True)
        .where(Outbox.key.in_(keys))
        .order_by(Outbox.id, KeeperIntent.id.desc(), KeeperTx.id.desc())
    )
    return {
        key: RequestState(
            key, state or QUEUED, None if tx_hash is None else "0x" + tx_hash.hex(), refused
        )
        for key, state, tx_hash, refused in session.execute(newest)
    }


def _refused() -> ScalarSelect[str | None]:
    """Of the newest intent that says why it was not sent."""
    tried = aliased(KeeperIntent)
    why = tried.reason[REFUSED_KEY].as_string()
    query = select(why).where(tried.outbox_id == Outbox.id, why.is_not(None))
    return query.order_by(tried.id.desc()).limit(1).scalar_subquery()


def reverted_since(session: Session, keys: Collection[str], since: datetime) -> set[str]:
    """Those of these requests that ended then or later, in a transaction that failed on chain."""
    query = select(Outbox.key).join(KeeperIntent, KeeperIntent.outbox_id == Outbox.id)
    failed = (KeeperIntent.state == IntentState.REVERTED, KeeperIntent.updated_at >= since)
    return set(session.scalars(query.where(Outbox.key.in_(keys), *failed)))
