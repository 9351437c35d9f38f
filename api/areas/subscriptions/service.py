"""Tiers are previewed, bought and shown (docs/subscriptions.md)."""

import base64
import hmac
from binascii import Error as NotBase64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from api.areas.reports.queries import asked_since
from api.areas.safety.checks import require_unlocked
from api.areas.subscriptions.schemas import (
    NextTier,
    PreviewTier,
    ReportUsage,
    SubscribeTier,
    SubscriptionAccount,
    TargetUsage,
    TierBought,
    TierPeriod,
    TierPreview,
)
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, NextCall, NoInput, Refusal, WriteCall
from api.kernel.quota import ceiling_of
from api.kernel.refusals import lacks_credits
from api.shared.tiers import most_reports
from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import NotEnoughCreditsError
from core.errors import InvalidParameterError
from core.subscriptions import queries as subscriptions
from core.subscriptions.queries import PriceChangedError, TierOrder, TierPurchase
from core.subscriptions.rules import PREVIEW_KEPT, HeldTiers, Tier, TierQuote, quote
from core.targets import views as targets
from core.targets.limits import target_limits
from core.times import instant_text, instant_text_or_none, start_of_day

PURCHASES_SHOWN: Final = 20
PLACE_BYTES, MAC_BYTES = 14, 14
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Previews


@dataclass(frozen=True, slots=True)
class _PreviewId:
    """What a preview's id says: when it was made, of what, after how many purchases."""

    at: datetime
    tier: Tier
    months: int
    purchases: int

    def written(self, account_id: int, secret: bytes) -> str:
        raw = b"".join(
            (
                ((self.at - _EPOCH) // _MICROSECOND).to_bytes(8),
                self.tier.to_bytes(1),
                self.months.to_bytes(1),
                self.purchases.to_bytes(4),
            )
        )
        return base64.urlsafe_b64encode(raw + _mac(secret, account_id, raw)).decode().rstrip("=")


def _read_preview(sent: str, account_id: int, secret: bytes) -> _PreviewId:
    """Errors: InvalidParameterError of an id that this account was not given."""
    try:
        raw = base64.b64decode(sent + "=" * (-len(sent) % 4), b"-_", validate=True)
    except (NotBase64, ValueError):  # ValueError: not ASCII
        raw = b""
    place, mac = raw[:PLACE_BYTES], raw[PLACE_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret, account_id, place)):
        raise InvalidParameterError(
            "preview_id", "send the preview_id of a preview of yours, or leave it out"
        )
    return _PreviewId(
        _EPOCH + int.from_bytes(place[:8]) * _MICROSECOND,
        Tier(place[8]),
        place[9],
        int.from_bytes(place[10:]),
    )


def _mac(secret: bytes, account_id: int, place: bytes) -> bytes:
    bound = f"subscription preview:{account_id}:".encode() + place
    return hmac.digest(secret, bound, "sha256")[:MAC_BYTES]


def preview(call: WriteCall, caller: AgentCaller, command: PreviewTier) -> Answer[TierPreview]:
    held = subscriptions.held_of(call.db, caller.account_id)
    priced = quote(held, Tier(command.tier), command.months, call.now)
    balance = credit_ledger.load_balance(call.db, caller.account_id)
    named = _PreviewId(call.now, Tier(command.tier), command.months, held.purchases)
    return Answer(
        TierPreview(
            **dict(_period(priced)),
            preview_id=named.written(caller.account_id, call.deps.pepper),
            expires_at=instant_text(call.now + PREVIEW_KEPT),
            available_credits=balance.available,
            shortfall_credits=max(0, priced.price_credits - balance.available),
        )
    )


# Purchases


def subscribe(call: WriteCall, caller: AgentCaller, command: SubscribeTier) -> Answer[TierBought]:
    """Errors: InvalidParameterError; Refusal account_locked, preview_expired, price_changed,
    credit_insufficient.
    """
    require_unlocked(call, caller.account_id)
    order = _order(call, caller, command)
    try:
        bought = subscriptions.buy(call.db, caller.account_id, order, call.now)
    except PriceChangedError as error:
        raise _price_changed(command, error.price_credits) from error
    except NotEnoughCreditsError as error:
        raise _cannot_pay(command, error) from error
    tier = subscriptions.tier_of(call.db, caller.account_id, call.now)
    return Answer(
        TierBought(
            **dict(_period(bought)),
            ok=True,
            made_at=instant_text(bought.made_at),
            current_tier=tier.value,
            calls_per_day=ceiling_of(tier, call.deps.limits),
        )
    )


def _order(call: WriteCall, caller: AgentCaller, command: SubscribeTier) -> TierOrder:
    """Errors: InvalidParameterError; Refusal preview_expired."""
    tier = Tier(command.tier)
    if command.preview_id is None:
        return TierOrder(
            tier=tier,
            months=command.months,
            priced_at=call.now,
            most_credits=command.max_credits,
        )
    named = _read_preview(command.preview_id, caller.account_id, call.deps.pepper)
    if (named.tier, named.months) != (tier, command.months):
        raise InvalidParameterError(
            "preview_id",
            f"it is of tier {named.tier.value} for {named.months} months; send the same tier and "
            "months",
        )
    has_bought = subscriptions.find_purchase(call.db, caller.account_id, command.preview_id)
    if has_bought is None and call.now > named.at + PREVIEW_KEPT:
        raise Refusal(
            "preview_expired",
            f"The preview was good until {instant_text(named.at + PREVIEW_KEPT)}; preview again.",
            next_calls=(_preview_call(command),),
        )
    return TierOrder(
        tier=tier,
        months=command.months,
        priced_at=named.at,
        most_credits=command.max_credits,
        preview=command.preview_id,
        preview_purchases=named.purchases,
    )


def _price_changed(command: SubscribeTier, price: int) -> Refusal:
    agreed = (
        "what was previewed"
        if command.max_credits is None or price <= command.max_credits
        else f"max_credits {command.max_credits}"
    )
    return Refusal(
        "price_changed",
        f"The price is now {price} credits, not {agreed}; nothing was charged. Preview again.",
        next_calls=(_preview_call(command),),
    )


def _preview_call(command: PreviewTier) -> NextCall:
    body = {"tier": command.tier, "months": command.months}
    return NextCall("subscriptions.preview", body=body)


def _cannot_pay(command: SubscribeTier, error: NotEnoughCreditsError) -> Refusal:
    needed, available = error.needed, error.available
    return lacks_credits(
        f"{Tier(command.tier).says} costs {needed} credits; you have {available}. Credit is earned "
        "by reviewed work or converted from the reserve token, never bought.",
        needed,
        available,
    )


# The account


def account(call: Call, caller: AgentCaller, command: NoInput) -> Answer[SubscriptionAccount]:
    held = subscriptions.held_of(call.db, caller.account_id)
    tier = held.tier_at(call.now)
    limits = target_limits(call.deps.limits)
    counted = targets.count_of(call.db, caller.account_id, call.now, limits)
    bought = subscriptions.purchases_of(call.db, caller.account_id, PURCHASES_SHOWN)
    return Answer(
        SubscriptionAccount(
            status="none" if held.until is None else "active" if tier else "expired",
            tier=tier.value,
            tier_until=instant_text_or_none(_ends(held, tier)),
            until=instant_text_or_none(held.until),
            next=_next(held, tier),
            calls_per_day=ceiling_of(tier, call.deps.limits),
            targets=TargetUsage(
                active=counted.active, paused=counted.paused, limit=limits.most(tier)
            ),
            reports=ReportUsage(
                today=asked_since(call.db, caller.account_id, start_of_day(call.now)),
                limit=most_reports(tier, call.deps.limits),
            ),
            purchases=[_period(one) for one in bought],
        )
    )


def _ends(held: HeldTiers, tier: Tier) -> datetime | None:
    if tier is Tier.FREE:
        return None
    return held.tier_2_until if tier is Tier.TIER_2 else held.until


def _next(held: HeldTiers, tier: Tier) -> NextTier | None:
    """Tier 1 after Tier 2, where it was bought."""
    ends = held.tier_2_until
    if tier is not Tier.TIER_2 or ends is None or ends == held.until:
        return None
    return NextTier(tier=Tier.TIER_1.value, starts_at=instant_text(ends))


def _period(one: TierQuote | TierPurchase) -> TierPeriod:
    return TierPeriod.of(one, tier=one.tier.value)
