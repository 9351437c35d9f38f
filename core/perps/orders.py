"""All SQL of orders and of the closing of legs. Nothing here commits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.perps.queries import Leg, leg_of
from core.perps.rules.closing import (
    RETRY_S,
    STUCK_TRIES,
    Closing,
    ClosingState,
    ClosingStatus,
    LeftOpen,
    next_try_at,
)
from core.perps.rules.orders import (
    LIFE,
    OrderAnswer,
    OrderOutcome,
    PlacedOrder,
    Side,
    VenueOrder,
    cloid_of,
    require_room,
)
from core.perps.tables import CLOSING, UNANSWERED, PerpsClosing, PerpsLeg, PerpsOrder
from core.perps.views import ended_legs, legs_of_ended
from core.times import next_day, start_of_day


@dataclass(frozen=True, slots=True, kw_only=True)
class SentOrder(PlacedOrder):
    """An order with its place in the mandate; `expires_at`: the venue takes it no later."""

    id: int
    seq: int
    cloid: str
    order: VenueOrder
    expires_at: datetime


# Orders


def place(
    session: WriteSession,
    leg: Leg,
    public_id: str,
    order: VenueOrder,
    *,
    cap_usdc_e6: int,
    now: datetime,
) -> SentOrder:
    """The row of an order that is about to be sent. The caller holds the leg's row.

    `public_id`: the mandate's; `cap_usdc_e6`: its daily cap for orders that open.
    Errors: OverPerpsCapError.
    """
    require_room(order, _placed_today(session, leg.mandate_id, now), cap_usdc_e6, now)
    newest = select(func.max(PerpsOrder.seq)).where(PerpsOrder.mandate_id == leg.mandate_id)
    seq = (session.scalar(newest) or 0) + 1
    values = {
        "leg_id": leg.id,
        "mandate_id": leg.mandate_id,
        "seq": seq,
        "cloid": bytes_of(cloid_of(public_id, seq)),
        "asset": order.asset,
        "coin": order.coin,
        "side": order.side.value,
        "size_e8": order.size_e8,
        "limit_px_e8": order.limit_px_e8,
        "reduce_only": order.reduce_only,
        "placed_at": now,
        "expires_at": now + LIFE,
        "outcome": OrderOutcome.SENDING.value,
    }
    return _sent(session.scalars(insert(PerpsOrder).values(values).returning(PerpsOrder)).one())


def unanswered(session: Session, leg_id: int) -> Sequence[SentOrder]:
    """The leg's orders of which nobody knows what became, the oldest first."""
    query = select(PerpsOrder).where(PerpsOrder.leg_id == leg_id, text(UNANSWERED))
    return [_sent(row) for row in session.scalars(query.order_by(PerpsOrder.seq))]


def answer(session: WriteSession, order_id: int, found: OrderAnswer) -> bool:
    """False: another has written this answer, or a later one."""
    held = select(PerpsOrder.outcome).where(PerpsOrder.id == order_id, text(UNANSWERED))
    before = session.scalar(held.with_for_update())
    if before is None or before == found.outcome:
        return False
    statement = update(PerpsOrder).where(PerpsOrder.id == order_id)
    session.execute(statement.values(outcome=found.outcome.value))
    return True


def _placed_today(session: Session, mandate_id: int, now: datetime) -> Sequence[SentOrder]:
    query = select(PerpsOrder).where(
        PerpsOrder.mandate_id == mandate_id,
        PerpsOrder.placed_at >= start_of_day(now),
        PerpsOrder.placed_at < next_day(now),
    )
    return [_sent(row) for row in session.scalars(query)]


def _sent(row: PerpsOrder) -> SentOrder:
    order = VenueOrder(
        asset=row.asset,
        coin=row.coin,
        side=Side(row.side),
        size_e8=row.size_e8,
        limit_px_e8=row.limit_px_e8,
        reduce_only=row.reduce_only,
    )
    return SentOrder(
        id=row.id,
        seq=row.seq,
        cloid=hex_of(row.cloid),
        order=order,
        notional_usdc_e6=order.notional_usdc_e6,
        reduce_only=order.reduce_only,
        placed_at=row.placed_at,
        expires_at=row.expires_at,
        outcome=OrderOutcome(row.outcome),
    )


# Closings


def begin_closings(session: WriteSession, now: datetime, limit: int) -> None:
    """A closing for each live leg whose mandate has ended."""
    rows = [
        {
            "leg_id": leg_id,
            "status": ClosingStatus.PENDING.value,
            "is_transient": False,
            "is_key_lost": False,
            "rows": 0,
            "tries": 0,
            "next_try_at": now,
        }
        for leg_id in ended_legs(session, now, limit)
    ]
    if rows:
        session.execute(insert(PerpsClosing).values(rows).on_conflict_do_nothing())


def claim_closings(session: WriteSession, now: datetime, limit: int) -> Sequence[Leg]:
    """Pending closings that are due, put off by RETRY_S, so that one whose keeper dies is tried by
    the next.
    """
    due = select(PerpsClosing.leg_id).where(
        text(CLOSING),
        PerpsClosing.next_try_at <= now,
        PerpsClosing.leg_id.in_(legs_of_ended(now)),
    )
    due = due.order_by(PerpsClosing.next_try_at).limit(limit).with_for_update(skip_locked=True)
    statement = update(PerpsClosing).where(PerpsClosing.leg_id.in_(due.scalar_subquery()))
    statement = statement.values(next_try_at=now + timedelta(seconds=RETRY_S))
    claimed = list(session.scalars(statement.returning(PerpsClosing.leg_id)))
    rows = session.scalars(
        select(PerpsLeg).where(PerpsLeg.id.in_(claimed)).order_by(PerpsLeg.id),
        execution_options={"populate_existing": True},
    )
    return [leg_of(row) for row in rows]


def find_closing(session: Session, leg_id: int) -> Closing | None:
    """None: the leg's mandate has not ended, or no keeper has looked since."""
    row = session.get(PerpsClosing, leg_id, populate_existing=True)
    return None if row is None else _closing(row)


def count_stuck(session: Session) -> int:
    """Closings that nothing but the venue has held up for STUCK_TRIES."""
    query = select(func.count()).select_from(PerpsClosing)
    stuck = (text(CLOSING), PerpsClosing.is_transient, PerpsClosing.tries >= STUCK_TRIES)
    return session.scalar(query.where(*stuck)) or 0


def save_closing(
    session: WriteSession,
    leg_id: int,
    found: ClosingState,
    *,
    has_filled: bool,
    now: datetime,
    on_change: Callable[[int], None],
) -> None:
    """What a try found. `on_change`: called with the number (from 1) of the stop-line row, when what
    it says is new. A closing that is over stays as it is.
    """
    query = select(PerpsClosing).where(PerpsClosing.leg_id == leg_id, text(CLOSING))
    row = session.scalar(query.with_for_update().execution_options(populate_existing=True))
    if row is None:
        return
    if _closing(row).found != found:
        row.rows += 1
        on_change(row.rows)
    row.status, row.why = found.status.value, None if found.why is None else found.why.value
    row.is_transient, row.is_key_lost = found.is_transient, found.is_key_lost
    row.tries = 0 if has_filled else row.tries + 1
    row.next_try_at = next_try_at(row.tries, now)
    session.flush()


def _closing(row: PerpsClosing) -> Closing:
    found = ClosingState(
        status=ClosingStatus(row.status),
        is_transient=row.is_transient,
        is_key_lost=row.is_key_lost,
        why=None if row.why is None else LeftOpen(row.why),
    )
    return Closing(status=found.status, found=found if row.rows else None)
