"""All SQL of the operator's own orders. Nothing here commits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db import locks
from core.db.engine import WriteSession
from core.db.locks import LockClass
from core.hexes import address_of, bytes_of, hex_of
from core.money import UsdcE6
from core.perps.rules.operator_orders import (
    ClaimedOutcome,
    CountedOrder,
    OrderState,
    OrderType,
    expiry_of,
    next_nonce_ms,
    operator_cloid,
)
from core.perps.rules.orders import OrderAnswer, Side, VenueOrder
from core.perps.tables import PerpsOperatorOrder
from core.times import next_day, start_of_day


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedOrder(CountedOrder):
    """An order. What the venue did not say of fills is None."""

    id: int
    account: str
    cloid: str
    nonce_ms: int
    order: VenueOrder
    kind: OrderType
    avg_px_e8: int | None
    total_sz_e8: int | None
    oid: int | None
    venue_words: str | None
    reported: ClaimedOutcome | None
    signal_seq: int | None


def lock_account(session: WriteSession, account: str) -> None:
    """Nobody else moves an order of the account until the transaction ends."""
    locks.named(LockClass.OPERATOR_ORDER, (account.lower(),)).wait(session)


def prepare(
    session: WriteSession,
    account: str,
    order: VenueOrder,
    *,
    kind: OrderType,
    largest_usdc_e6: UsdcE6,
    by_id: int,
    now: datetime,
) -> PreparedOrder:
    """The caller holds the account's lock."""
    newest = select(func.max(PerpsOperatorOrder.nonce_ms)).where(_of(account))
    nonce_ms = next_nonce_ms(session.scalar(newest), now)
    values = {
        "by_id": by_id,
        "account": bytes_of(account),
        "cloid": bytes_of(operator_cloid(account, nonce_ms)),
        "nonce_ms": nonce_ms,
        "asset": order.asset,
        "coin": order.coin,
        "side": order.side.value,
        "kind": kind.value,
        "size_e8": order.size_e8,
        "limit_px_e8": order.limit_px_e8,
        "reduce_only": order.reduce_only,
        "largest_usdc_e6": largest_usdc_e6,
        "placed_at": now,
        "expires_at": expiry_of(now),
        "state": OrderState.PREPARED.value,
    }
    statement = insert(PerpsOperatorOrder).values(values).returning(PerpsOperatorOrder)
    return _prepared(session.scalars(statement).one())


def find_prepared(session: Session, account: str, cloid: str) -> PreparedOrder | None:
    query = select(PerpsOperatorOrder).where(
        _of(account), PerpsOperatorOrder.cloid == bytes_of(cloid)
    )
    row = session.scalar(query.execution_options(populate_existing=True))
    return None if row is None else _prepared(row)


def placed_today(session: Session, account: str, now: datetime) -> Sequence[PreparedOrder]:
    """Of the UTC day, the oldest first."""
    query = select(PerpsOperatorOrder).where(
        _of(account),
        PerpsOperatorOrder.placed_at >= start_of_day(now),
        PerpsOperatorOrder.placed_at < next_day(now),
    )
    return [_prepared(row) for row in session.scalars(query.order_by(PerpsOperatorOrder.id))]


def settle(
    session: WriteSession,
    order_id: int,
    state: OrderState,
    fill: OrderAnswer | None,
    now: datetime,
) -> PreparedOrder:
    """As the venue answered now. `fill`: None leaves fills unknown. Of a refusal the venue's first
    words are kept: later ones are the short name that it gives to an order which it looks up.
    """
    values: dict[str, Any] = {"state": state.value, "asked_at": now}
    if fill is not None:
        values |= {"avg_px_e8": fill.avg_px_e8, "total_sz_e8": fill.total_sz_e8, "oid": fill.oid}
        words = func.coalesce(PerpsOperatorOrder.venue_words, fill.venue_words)
        values["venue_words"] = words if state is OrderState.REJECTED else None
    return _changed(session, order_id, values)


def raise_largest(session: WriteSession, order_id: int, largest_usdc_e6: UsdcE6) -> PreparedOrder:
    return _changed(session, order_id, {"largest_usdc_e6": largest_usdc_e6})


def report(
    session: WriteSession,
    order_id: int,
    claimed: ClaimedOutcome,
    signal_seq: int | None,
    now: datetime,
) -> PreparedOrder:
    values = {"reported": claimed.value, "signal_seq": signal_seq, "reported_at": now}
    return _changed(session, order_id, values)


def _changed(session: WriteSession, order_id: int, values: dict[str, Any]) -> PreparedOrder:
    statement = update(PerpsOperatorOrder).where(PerpsOperatorOrder.id == order_id).values(values)
    statement = statement.returning(PerpsOperatorOrder)
    row = session.scalars(statement, execution_options={"populate_existing": True}).one()
    return _prepared(row)


def _of(account: str) -> ColumnElement[bool]:
    return PerpsOperatorOrder.account == bytes_of(account)


def _prepared(row: PerpsOperatorOrder) -> PreparedOrder:
    kind = OrderType(row.kind)
    return PreparedOrder(
        id=row.id,
        account=address_of(row.account),
        cloid=hex_of(row.cloid),
        nonce_ms=row.nonce_ms,
        order=VenueOrder(
            asset=row.asset,
            coin=row.coin,
            side=Side(row.side),
            size_e8=row.size_e8,
            limit_px_e8=row.limit_px_e8,
            reduce_only=row.reduce_only,
            rests=kind is OrderType.LIMIT,
        ),
        kind=kind,
        largest_usdc_e6=UsdcE6(row.largest_usdc_e6),
        reduce_only=row.reduce_only,
        placed_at=row.placed_at,
        expires_at=row.expires_at,
        state=OrderState(row.state),
        asked_at=row.asked_at,
        avg_px_e8=row.avg_px_e8,
        total_sz_e8=row.total_sz_e8,
        oid=row.oid,
        venue_words=row.venue_words,
        reported=None if row.reported is None else ClaimedOutcome(row.reported),
        signal_seq=row.signal_seq,
    )
