"""What sponsored buys of a UTC day count in: an account, its owner, the buyer's wallet, the network
address that they came from (core.keeper.gas.sponsored_scopes).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from core.blocks.queries import not_orphaned
from core.keeper import gas as gas_days
from core.keeper import requests as outbox
from core.keeper.gas import GasBudgets, NoGas, kind_of
from core.limits import CallerLimits
from core.sponsored.queries import is_confirmed
from core.sponsored.rules import GOOD_S, MOST_BUYS, MOST_FAILURES, Use
from core.sponsored.sending import key_of
from core.sponsored.tables import SponsoredBuy, SponsoredUse
from core.times import next_day

SOON = timedelta(minutes=1)  # by then gas that is kept for other buys may be given back

# from when a buy is handed in: its authorizations are good for half of it, and what failed is safe soon
ENDS_WITHIN: Final = timedelta(seconds=2 * GOOD_S)


def sponsor_budgets(limits: CallerLimits) -> GasBudgets:
    """No part is more than the whole."""
    total_wei = limits.sponsor_gas_wei_per_day
    return GasBudgets(
        total_wei=total_wei,
        owner_wei=min(total_wei, limits.sponsor_gas_wei_per_owner_per_day),
        account_wei=min(total_wei, limits.sponsor_gas_wei_per_account_per_day),
        address_wei=min(total_wei, limits.sponsor_gas_wei_per_address_per_day),
        new_buyers_wei=min(total_wei, limits.sponsor_gas_wei_of_new_buyers_per_day),
    )


def without_room(
    session: Session, limits: CallerLimits, scope: str, wei: int, now: datetime
) -> NoGas | None:
    """What is left of a scope's gas today, where that is less than `wei`; None: there is room."""
    (budget,) = sponsor_budgets(limits).of_sponsored([scope]).values()
    spent, reserved = gas_days.used_wei(session, gas_days.day_of(now), scope)
    if spent + reserved + wei <= budget:
        return None
    return NoGas(
        scope=scope, budget_wei=budget, spent_wei=spent, reserved_wei=reserved, needed_wei=wei
    )


def free_again_at(no_gas: NoGas, now: datetime) -> datetime:
    """Gas that is kept for buys under way is given back within minutes, what is spent is not."""
    return next_day(now) if no_gas.is_used_up else now + SOON


def accepted_since(session: Session, scopes: Collection[str], since: datetime) -> Counter[str]:
    """By scope of MOST_BUYS: how many buys were accepted since then."""
    row, scopes = SponsoredBuy, _bounded(scopes, MOST_BUYS)
    each = (
        select(func.unnest(row.gas_scopes).label("scope"))
        .where(row.accepted_at >= since, row.gas_scopes.overlap(list(scopes)))
        .subquery()
    )
    query = (
        select(each.c.scope, func.count()).where(each.c.scope.in_(scopes)).group_by(each.c.scope)
    )
    return Counter({str(scope): int(count) for scope, count in session.execute(query)})


def failed_since(session: Session, scopes: Collection[str], since: datetime) -> Counter[str]:
    """By scope of MOST_FAILURES: how many requests ended since then in a transaction that failed on
    chain, whenever their buys were accepted.
    """
    row, scopes = SponsoredBuy, _bounded(scopes, MOST_FAILURES)
    query = select(row.id, row.requests, row.gas_scopes).where(
        row.accepted_at >= since - ENDS_WITHIN, row.gas_scopes.overlap(list(scopes))
    )
    of_key = {
        key_of(buy_id, number): own
        for buy_id, requests, own in session.execute(query)
        for number in range(1, requests + 1)
    }
    failed = outbox.reverted_since(session, of_key.keys(), since) if of_key else set[str]()
    return Counter(scope for key in failed for scope in of_key[key] or () if scope in scopes)


def _bounded(scopes: Collection[str], most: Mapping[str, int]) -> list[str]:
    """Those that have a most: each buy counts in that of all, and what all bought is not read."""
    return [scope for scope in scopes if kind_of(scope) in most]


def one_too_many(counts: Mapping[str, int], most: Mapping[str, int]) -> str | None:
    """A scope that has reached the most of its kind; None: none has."""
    return next(
        (scope for scope, count in counts.items() if count >= most.get(kind_of(scope), count + 1)),
        None,
    )


def failed_too_often(session: Session, scopes: Collection[str], since: datetime) -> bool:
    """Whether nothing more is sent for these until the day ends."""
    return one_too_many(failed_since(session, scopes, since), MOST_FAILURES) is not None


def has_paid_before(session: Session, chain_id: int, buyer: str) -> bool:
    """Whether a sponsored buy of the wallet was paid, fee and purchase, and both are confirmed."""
    row = SponsoredBuy
    own = (row.chain_id == chain_id, row.buyer == buyer, row.accepted_at.is_not(None))
    paid = [
        exists().where(
            SponsoredUse.chain_id == chain_id,
            SponsoredUse.nonce == nonce,
            SponsoredUse.use == Use.PAID,
            not_orphaned(SponsoredUse.chain_id, SponsoredUse.block_hash),
            is_confirmed(SponsoredUse),
        )
        for nonce in (row.buy_nonce, row.fee_nonce)
    ]
    return bool(session.scalar(select(exists().where(*own, *paid))))
