"""The reserve token: configuration, state, quotes, references, conversions (docs/reserve.md)."""

import secrets
from datetime import datetime
from typing import Final, NoReturn

from api.areas.reserve.schemas import (
    ClaimConversions,
    ClaimedConversions,
    CreditedConversion,
    HeldConversion,
    IssuedRef,
    KnownRef,
    OwnConversions,
    OwnList,
    OwnPurchase,
    OwnPurchases,
    OwnReserve,
    OwnSponsoredBuy,
    RefPath,
    ReserveConfig,
    ReserveContracts,
    ReserveQuote,
    ReserveQuoteQuery,
    ReserveTokenState,
    WhyHeld,
)
from api.areas.reserve.service.offer import offer_now
from api.kernel.caller import AgentCaller, Nobody
from api.kernel.operation import Answer, Call, NextCall, NoInput, Refusal, WriteCall
from api.kernel.pagination import page_of
from core.errors import InvalidNumberError
from core.hexes import hex_of
from core.money import usdc_text
from core.reserve import conversions, queries, rules
from core.reserve.queries import ListPlace, ReserveState
from core.reserve.rules import (
    ConversionStatus,
    ReserveEventKind,
    ReserveFact,
    ReserveLock,
)
from core.reserve.tables import ReserveConversion
from core.sponsored import queries as sponsored
from core.sponsored.queries import SeenBuy
from core.times import utc_text

REF_BYTES: Final = 32
CONVERSIONS_SHOWN: Final = 100
PURCHASES_SHOWN: Final = 50
WHY_HELD: Final[dict[str, WhyHeld]] = {
    ConversionStatus.WAITING: "not_safe",
    ConversionStatus.HELD: "unregistered_ref",
    ConversionStatus.SET_ASIDE: "set_aside",
}
SPONSORED_SHOWN: Final = 50
LOG_BITS, OTHERS_BIT = 22, 62  # of a cursor: logs of a block, blocks, whose row it is


def config(call: Call, caller: Nobody, command: NoInput) -> Answer[ReserveConfig]:
    """Errors: Refusal reserve_not_deployed."""
    contracts, offer = call.deps.contracts, offer_now(call)
    return Answer(
        ReserveConfig(
            network=f"eip155:{call.deps.chain_id}",
            chain_id=call.deps.chain_id,
            contracts=ReserveContracts(
                reserve_token=_token(call),
                usdc=contracts["usdc"],
                sponsored_buy=contracts.get("sponsored_buy"),
            ),
            token_decimals=18,
            buy_percent=rules.BUY_PERCENT,
            usdc_a_credit=usdc_text(rules.USDC_E6_A_CREDIT),
            sponsor_enabled=offer.why_not is None,
            sponsor_reason=offer.why_not,
            sponsor_new_wallets_reason=offer.why_no_new_wallets,
        )
    )


def state(call: Call, caller: Nobody, command: NoInput) -> Answer[ReserveTokenState]:
    """Errors: Refusal reserve_not_deployed, reserve_unknown."""
    found, reading = _state(call), queries.reading(call.db)
    totals = found.totals
    ratio = (
        None
        if reading is None
        else rules.ratio_text(reading.usdc_e6, reading.reserve_e6, reading.owed_e6)
    )
    return Answer(
        ReserveTokenState(
            **_prices(found),
            unlocked_price=usdc_text(rules.redeem_price(totals.reserve_e6, totals.supply)),
            unlocked_at=_unlocked_at(totals.lock, found.at),
            reserve_ratio=ratio,
            ratio_block=None if reading is None else reading.number,
            is_paused=totals.is_paused,
            block=found.block,
            at=utc_text(found.at),
        )
    )


def quote(call: Call, caller: Nobody, command: ReserveQuoteQuery) -> Answer[ReserveQuote]:
    """Errors: InvalidNumberError; Refusal reserve_not_deployed, reserve_unknown."""
    found = _state(call)
    tokens = rules.quote(command.usd, found.totals.reserve_e6, found.totals.supply)
    if not tokens:
        raise InvalidNumberError(
            "usd", usdc_text(command.usd), "it buys less than the smallest part of a token"
        )
    bought = ReserveFact(ReserveEventKind.BOUGHT, tokens=tokens, usdc_e6=command.usd)
    totals = rules.after(found.totals, bought, found.at)
    worth = rules.redeem_value(tokens, totals.unlocked_e6(found.at), totals.supply)
    backing = rules.redeem_value(tokens, totals.reserve_e6, totals.supply)
    return Answer(
        ReserveQuote(
            usd=usdc_text(command.usd),
            tokens=rules.token_text(tokens),
            tokens_base=str(tokens),
            redeem_usdc=usdc_text(worth),
            credits=rules.credits_of(worth),
            unlocked_usdc=usdc_text(backing),
            unlocked_credits=rules.credits_of(backing),
            unlocked_at=_unlocked_at(totals.lock, found.at),
            **_prices(found),
            is_paused=totals.is_paused,
            block=found.block,
            at=utc_text(found.at),
        )
    )


def _prices(found: ReserveState) -> dict[str, str]:
    totals = found.totals
    return {
        "redeem_price": usdc_text(rules.redeem_price(found.unlocked_e6, totals.supply)),
        "buy_price": usdc_text(rules.buy_price(totals.reserve_e6, totals.supply)),
    }


def _unlocked_at(lock: ReserveLock, at: int) -> str | None:
    """The first second at which nothing is locked any more. None: nothing is."""
    return utc_text(-(-lock.until_ns // rules.NANOSECONDS)) if lock.left_e6(at) else None


def _token(call: Call) -> str:
    token = call.deps.contracts.get("reserve_token")
    if token is None:
        raise Refusal("reserve_not_deployed", "This service has no reserve token.")
    return token


def _state(call: Call) -> ReserveState:
    _token(call)
    found = queries.state(call.db)
    if found is None or found.unlocked_e6 < 1 or found.totals.supply < 1:
        raise Refusal(
            "reserve_unknown",
            "Not all of the token's events have been read yet, so its price is unknown; ask "
            "again in a minute, or ask the contract itself.",
        )
    return found


# The caller's own


def me(call: Call, caller: AgentCaller, command: NoInput) -> Answer[OwnReserve]:
    ref = queries.ref_of(call.db, caller.account_id)
    converted = 0 if ref is None else queries.converted_e6(call.db, caller.account_id, ref)
    first = _conversions(call, caller, OwnList(limit=CONVERSIONS_SHOWN))
    bought = _purchases(call, caller, OwnList(limit=PURCHASES_SHOWN))
    handed_in = sponsored.buys_of(call.db, caller.account_id, SPONSORED_SHOWN)
    return Answer(
        OwnReserve(
            account_ref=ref,
            wallet_address=caller.wallet_address,
            carried_usdc=usdc_text(converted % rules.USDC_E6_A_CREDIT),
            held=first.held,
            credited=first.credited,
            next_conversions=first.next_cursor,
            purchases=bought.purchases,
            next_purchases=bought.next_cursor,
            sponsored=[_sponsored(one, call.now) for one in handed_in],
        )
    )


def own_conversions(call: Call, caller: AgentCaller, command: OwnList) -> Answer[OwnConversions]:
    """Errors: InvalidParameterError that names cursor."""
    return Answer(_conversions(call, caller, command))


def own_purchases(call: Call, caller: AgentCaller, command: OwnList) -> Answer[OwnPurchases]:
    """Errors: InvalidParameterError that names cursor."""
    return Answer(_purchases(call, caller, command))


def _conversions(call: Call, caller: AgentCaller, command: OwnList) -> OwnConversions:
    page = page_of(call, "reserve.conversions", command)
    ref, wallet = queries.ref_of(call.db, caller.account_id), caller.wallet_address
    after = _list_place(page.before)
    asked = (caller.account_id, ref, wallet, page.limit + 1, after)
    found = queries.conversions_of(call.db, *asked)
    rows, cursor = page.cut(
        found, lambda row: _place_number(row.holder != wallet, row.number, row.log_index)
    )
    return OwnConversions(
        held=[_held(row, WHY_HELD[row.status], wallet) for row in rows if row.status in WHY_HELD],
        credited=[_credited(row, wallet) for row in rows if row.credited_at is not None],
        next_cursor=cursor,
    )


def _purchases(call: Call, caller: AgentCaller, command: OwnList) -> OwnPurchases:
    page = page_of(call, "reserve.purchases", command)
    wallet = caller.wallet_address
    if wallet is None:
        return OwnPurchases(purchases=[], next_cursor=None)
    found = queries.purchases_of(call.db, wallet, page.limit + 1, _list_place(page.before))
    rows, cursor = page.cut(
        found, lambda row: _place_number(row.party != wallet, row.number, row.log_index)
    )
    return OwnPurchases(
        purchases=[
            OwnPurchase(
                tx_hash=one.tx_hash,
                log_index=one.log_index,
                block=one.number,
                buyer=one.party or "",
                recipient=one.recipient or "",
                usdc=usdc_text(one.usdc_e6),
                tokens=rules.token_text(one.tokens),
                is_own=one.party == wallet,
                at=utc_text(one.at),
            )
            for one in rows
        ],
        next_cursor=cursor,
    )


def _place_number(is_others: bool, number: int, log_index: int) -> int:
    """A ListPlace as a cursor has it: own rows first, then block and log; 8 bytes."""
    return (is_others << OTHERS_BIT) | (number << LOG_BITS) | log_index


def _list_place(place: int | None) -> ListPlace | None:
    if place is None:
        return None
    number = (place & ~(1 << OTHERS_BIT)) >> LOG_BITS
    return ListPlace(bool(place >> OTHERS_BIT), number, place & (1 << LOG_BITS) - 1)


def _sponsored(seen: SeenBuy, now: datetime) -> OwnSponsoredBuy:
    buy = seen.buy
    assert buy.accepted_at is not None, "only those that were handed in are listed"
    standing, (purchase, _) = seen.standing(now), seen.fates
    return OwnSponsoredBuy.of(
        buy,
        state=standing.state,
        is_final=standing.is_final,
        usdc=usdc_text(buy.amount_usdc_e6),
        fee_usdc=usdc_text(buy.fee_usdc_e6),
        tokens=None if purchase.tokens is None else rules.token_text(purchase.tokens),
        tx_hash=purchase.tx_hash,
        next=standing.next,
        handed_in_at=buy.accepted_at,
    )


def _held(row: ReserveConversion, why: WhyHeld, wallet: str | None) -> HeldConversion:
    return HeldConversion.of(
        row,
        block=row.number,
        tokens=rules.token_text(row.tokens),
        usdc=usdc_text(row.usdc_e6),
        why=why,
        is_own=row.holder == wallet,
    )


def _credited(row: ReserveConversion, wallet: str | None) -> CreditedConversion:
    assert row.credited_at is not None, "only credited ones are written so"
    return CreditedConversion.of(
        row,
        block=row.number,
        tokens=rules.token_text(row.tokens),
        usdc=usdc_text(row.usdc_e6),
        credits=row.credits or 0,
        is_own=row.holder == wallet,
    )


def issue_ref(call: WriteCall, caller: AgentCaller, command: NoInput) -> Answer[IssuedRef]:
    """The caller's reference, the same each time."""
    fresh = hex_of(secrets.token_bytes(REF_BYTES))
    return Answer(
        IssuedRef(account_ref=queries.issue_ref(call.db, caller.account_id, fresh, call.now))
    )


def known_ref(call: Call, caller: Nobody, command: RefPath) -> Answer[KnownRef]:
    owner = queries.owner_of_ref(call.db, command.account_ref)
    return Answer(KnownRef(account_ref=command.account_ref, is_known=owner is not None))


def claim(
    call: WriteCall, caller: AgentCaller, command: ClaimConversions
) -> Answer[ClaimedConversions]:
    """Errors: Refusal wallet_not_linked, ref_registered, claimed_by_another, not_your_conversion,
    nothing_to_claim.
    """
    ref, holder = command.account_ref, caller.wallet_address
    if queries.owner_of_ref(call.db, ref) is not None:
        raise Refusal(
            "ref_registered",
            f"account_ref: {ref} is an account's reference; conversions for it are credited "
            "to that account automatically.",
        )
    if holder is None:
        _refuse_unlinked(queries.first_holder(call.db, ref))
    conversions.claim_lock(ref, holder).wait(call.db)
    claimant = queries.claimant_of(call.db, ref, holder)
    if claimant is not None and claimant != caller.account_id:
        raise Refusal(
            "claimed_by_another",
            f"account_ref: another account claimed what {holder} converts for it before this "
            "wallet was yours; convert to your own account_ref.",
        )
    safe = sponsored.safe_number(call.db)
    waits = queries.to_be_credited(call.db, ref, holder, safe)
    if claimant is None and not waits.conversions:
        _refuse_claim(holder, others=queries.first_holder(call.db, ref) is not None)
    queries.add_claim(call.db, ref, holder, caller.account_id, call.now)
    conversions.release_held(call.db, ref, holder)
    return Answer(
        ClaimedConversions(
            account_ref=ref,
            holder=holder,
            conversions=waits.conversions,
            usdc=usdc_text(waits.usdc_e6),
            status=ConversionStatus.WAITING if waits.conversions else ConversionStatus.CREDITED,
            pending=waits.unsafe,
            pending_until_block=waits.until,
        )
    )


def _refuse_unlinked(holder: str | None) -> NoReturn:
    """`holder`: who converted for the reference; None: nobody."""
    who = "the wallet that converted" if holder is None else f"{holder}, which converted"
    link = {} if holder is None else {"wallet_address": holder, "purpose": "link"}
    raise Refusal(
        "wallet_not_linked",
        "account_ref: you have no linked wallet, and conversions are claimed by the account whose linked "
        f"wallet made them. Link {who}: sign the message of POST /auth/wallet/nonce with it, send the "
        "signature to POST /auth/wallet/link, then claim again.",
        next_calls=(
            *((NextCall("identity.nonce", body=link),) if link else ()),
            NextCall("identity.wallet_status"),
        ),
    )


def _refuse_claim(wallet: str, *, others: bool) -> NoReturn:
    if others:
        raise Refusal(
            "not_your_conversion",
            "account_ref: the conversions held for it were made by wallets other than "
            f"{wallet}, the one that you linked; only the account of the wallet that "
            "converted can claim them.",
        )
    raise Refusal(
        "nothing_to_claim",
        f"account_ref: no conversion for it by {wallet}, your linked wallet, is known. A "
        "conversion can be claimed as soon as its block has been read, a few seconds after "
        "it was mined; GET /reserve/me lists it under held.",
        next_calls=(NextCall("reserve.me"), NextCall("reserve.state")),
    )
