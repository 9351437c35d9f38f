"""Priority targets joined with what their accounts are subscribed to: which of them are active.
Nothing here writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, case, func, select
from sqlalchemy.orm import Session

from core.listings.tables import ExchangeListing
from core.market.board_views import OpenOfAsset, standing_of
from core.market.rules.warnings import WarningSeverity
from core.market.tables import MarketListingState
from core.subscriptions.rules import Tier
from core.subscriptions.tables import Subscription
from core.targets.rules import TargetLimits, TargetState
from core.targets.tables import PriorityTarget


@dataclass(frozen=True, slots=True)
class TargetCount:
    active: int
    paused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTarget:
    """`captures_used`: today. `scanned`: what the last look found; None: the pair was never looked at.
    `outlook`: the worst severity of the warnings that are open; None: none is.
    """

    listing_id: int
    token_id: str
    exchange: str
    base: str
    quote: str
    is_simulated: bool
    state: TargetState
    microburst_hf_captures: int
    captures_used: int
    added_at: datetime
    scanned: MarketListingState | None
    outlook: WarningSeverity | None


def active(session: Session, now: datetime, limits: TargetLimits) -> frozenset[int]:
    """The listings that some subscriber has scanned each minute now."""
    judged = _judged(now, limits).subquery()
    return frozenset(session.scalars(select(judged.c.listing_id).where(judged.c.is_active)))


def active_of(
    session: Session, account_id: int, now: datetime, limits: TargetLimits
) -> frozenset[int]:
    """The same of one account."""
    judged = _judged(now, limits, account_id).subquery()
    return frozenset(session.scalars(select(judged.c.listing_id).where(judged.c.is_active)))


def captured(
    session: Session, listing_id: int, now: datetime, limits: TargetLimits
) -> Sequence[int]:
    """The active targets of this listing whose accounts have Tier 2, for
    core.targets.queries.take_captures.
    """
    judged = _judged(now, limits).subquery()
    of_tier_2 = judged.c.is_active & (judged.c.tier == Tier.TIER_2.value)
    query = select(judged.c.id).where(judged.c.listing_id == listing_id, of_tier_2)
    return session.scalars(query.order_by(judged.c.id)).all()


def count_of(session: Session, account_id: int, now: datetime, limits: TargetLimits) -> TargetCount:
    judged = _judged(now, limits, account_id).subquery()
    query = select(func.count().filter(judged.c.is_active), func.count())
    active_ones, all_ones = session.execute(query.select_from(judged)).one()
    return TargetCount(active_ones, all_ones - active_ones)


def targets_of(
    session: Session, account_id: int, now: datetime, limits: TargetLimits
) -> Sequence[ShownTarget]:
    """All of an account, the oldest first."""
    judged = _judged(now, limits, account_id).subquery()
    query = (
        select(PriorityTarget, ExchangeListing, judged.c.is_active, MarketListingState)
        .join(judged, judged.c.id == PriorityTarget.id)
        .join(ExchangeListing, ExchangeListing.id == PriorityTarget.listing_id)
        .outerjoin(MarketListingState, MarketListingState.listing_id == PriorityTarget.listing_id)
        .order_by(PriorityTarget.added_at, PriorityTarget.id)
    )
    rows = session.execute(query).all()
    open_ones = standing_of(session, {row[3].asset_id for row in rows if row[3] is not None})
    return [
        ShownTarget(
            listing_id=listing.id,
            token_id=listing.token_id,
            exchange=listing.exchange,
            base=listing.base,
            quote=listing.quote,
            is_simulated=listing.is_simulated,
            state=TargetState.ACTIVE if is_active else TargetState.PAUSED,
            microburst_hf_captures=target.microburst_hf_captures,
            captures_used=target.captures_used if target.captures_day == now.date() else 0,
            added_at=target.added_at,
            scanned=state,
            outlook=None if state is None else _outlook(state, open_ones),
        )
        for target, listing, is_active, state in rows
    ]


def _outlook(
    state: MarketListingState, open_ones: Mapping[int, Sequence[OpenOfAsset]]
) -> WarningSeverity | None:
    mine = [one for one in open_ones.get(state.asset_id, ()) if one.exchange == state.exchange]
    severities = {WarningSeverity(one.severity) for one in mine}
    return max(severities, key=list(WarningSeverity).index, default=None)


def _judged(now: datetime, limits: TargetLimits, account_id: int | None = None) -> Select[Any]:
    """id, listing_id, tier and is_active of targets; `account_id` None: of everybody's."""
    tier = case(
        (Subscription.tier_2_until > now, Tier.TIER_2.value),
        (Subscription.until > now, Tier.TIER_1.value),
        else_=Tier.FREE.value,
    )
    most = case(
        (Subscription.tier_2_until > now, limits.most(Tier.TIER_2)),
        (Subscription.until > now, limits.most(Tier.TIER_1)),
        else_=0,
    )
    place = func.row_number().over(
        partition_by=PriorityTarget.account_id,
        order_by=(PriorityTarget.added_at, PriorityTarget.id),
    )
    query = select(
        PriorityTarget.id,
        PriorityTarget.listing_id,
        tier.label("tier"),
        (place <= most).label("is_active"),
    ).outerjoin(Subscription, Subscription.account_id == PriorityTarget.account_id)
    return query if account_id is None else query.where(PriorityTarget.account_id == account_id)
