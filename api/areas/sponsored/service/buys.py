"""Sponsored buys: quote and documents, both signatures, and what became of them
(docs/sponsored-buys.md).

    prepare: pool, gas and balance at one block -> a row with random nonces -> two documents
    buy:     lock the wallet -> quote, signatures, code, balance again -> the row's signatures and one row of the outbox
    keeper:  sends both in one transaction by the sponsor's key; the indexer writes down what the chain says of each

Laws
- Nothing is written before both signatures are the buyer's own, over these very documents.
- Handing in is one transaction: a buy is accepted and asked to be sent, or neither.
- What is shown of a transfer is what the indexer wrote.
"""

import base64
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from api.areas.sponsored.schemas import (
    BuyById,
    BuyTransfer,
    GasQuote,
    HandInBuy,
    PrepareBuy,
    PreparedBuy,
    SponsoredBuyState,
)
from api.areas.sponsored.service import day_limits
from api.areas.sponsored.service.asked import require_amount, require_buyer, require_plain
from api.areas.sponsored.service.gas import eth_price, gas_price
from api.areas.sponsored.service.next_calls import (
    OWN_BUYS,
    OWN_GAS,
    asked_again,
    first_quote,
    quoted_again,
    state_of_buy,
)
from api.areas.sponsored.service.signed import require_same, require_signed
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from api.shared.sessions import lock_caller
from core.hexes import hex_of
from core.keeper import requests as outbox
from core.money import UsdcE6, usdc_text
from core.reserve import queries as reserve_token
from core.reserve import rules as reserve
from core.sponsored import documents, queries, sending
from core.sponsored.prices import EthInUsdc
from core.sponsored.queries import SeenBuy
from core.sponsored.readings import PoolDisputedError, PoolNow, pool_now, takes_fees
from core.sponsored.rules import (
    BUY_GAS,
    GOOD_S,
    LEAST_USDC_E6,
    NO_FEE,
    QUOTE_S,
    UNSIGNED_BUY_BYTES,
    BuyPart,
    BuyState,
    GasPrice,
    TransferFate,
    Use,
    cost_wei,
    covered_wei,
    fee_after_credit,
    fee_usdc_e6,
    is_apart,
    is_away,
    least_tokens_down,
)
from core.sponsored.tables import SponsoredBuy
from core.times import instant_text

ID_BYTES = 10
RECORD_S = 5  # within about so long the record has what a block holds


def prepare(call: WriteCall, caller: AgentCaller, command: PrepareBuy) -> Answer[PreparedBuy]:
    """Errors: Refusal below_minimum, invalid_parameter, buyer_has_code, insufficient_usdc,
    sponsor_unavailable, gas_price_unknown.
    """
    require_amount(command)
    token, batch = _contracts(call)
    pool = _pool(call, token)
    _require_takes_fees(call, pool, token)
    require_buyer(call, caller, command)
    recipient = command.recipient or command.buyer
    if recipient.lower() in (token.lower(), "0x" + "00" * 20):
        raise Refusal(
            "invalid_parameter",
            "recipient: write the address of whoever gets the tokens; neither the zero address nor "
            "the token itself can hold them.",
            next_calls=(asked_again(command, recipient=command.buyer),),
        )
    eth = eth_price(call)
    price = gas_price(call.deps.chain, UNSIGNED_BUY_BYTES)
    _require_sponsor(call, cost_wei(BUY_GAS, price))
    whole_fee = fee_usdc_e6(covered_wei(price), eth.usdc_e6_per_eth)
    if whole_fee is None:
        _refuse_sponsor("gas is dearer than a sponsored buy may cost")
    scopes = day_limits.scopes_of(call, caller, command.buyer)
    day_limits.require_gas_today(call, scopes, covered_wei(price))
    owed = queries.owed_usdc_e6(call.db, call.deps.chain_id, command.buyer)
    fee, credit = fee_after_credit(whole_fee, owed)
    _require_balance(
        call,
        command.buyer,
        (command.usd, fee, fee),
        pool.block_hash,
        lambda usd: asked_again(command, usd=usd),
    )
    made = _quote(call, caller, command, pool, (token, batch, recipient), (fee, credit), price)
    call.db.add(made)
    return Answer(_prepared(call, made, price, eth))


def buy(call: WriteCall, caller: AgentCaller, command: HandInBuy) -> Answer[SponsoredBuyState]:
    """Errors: Refusal not_found, quote_expired, signature_invalid, already_handed_in,
    buyer_has_code, insufficient_usdc, sponsor_unavailable, rate_limited.
    """
    lock_caller(call, caller)
    found = queries.lock_buy(call.db, command.id)
    if found is None or found.account_id != caller.account_id:
        _refuse_unknown(caller, command.id)
    if found.accepted_at is not None:
        require_same(found, command)
        return Answer(_state(call, _seen(call, caller, found.id)), 202)
    if call.now >= found.expires_at:
        _refuse_late(call, caller, found)
    require_signed(call, found, command)
    queries.lock_buyer(call.db, found.buyer, caller.owner_id)
    scopes = day_limits.scopes_of(call, caller, found.buyer)
    day_limits.require_place_today(call, found, scopes)
    token, batch = _contracts(call)
    pool = _pool(call, token)
    if (found.reserve_token, found.batch, found.treasury) != (token, batch, pool.treasury):
        raise Refusal(
            "quote_expired",
            "id: the contract or its treasury has changed since the quote, so the fee would "
            "not be accepted; prepare another.",
            next_calls=(quoted_again(found),),
        )
    require_plain(call, caller, found.buyer, found.amount_usdc_e6)
    _require_sponsor(call, found.covers_wei)
    part = _part_left(call, caller, found)
    if part is BuyPart.BOTH:
        _require_takes_fees(call, pool, token)
    if found.credit_usdc_e6 > queries.owed_usdc_e6(call.db, call.deps.chain_id, found.buyer):
        raise Refusal(
            "quote_expired",
            "id: another buy has meanwhile used the fees owed to the buyer, which lowered "
            "this fee; prepare another.",
            next_calls=(quoted_again(found),),
        )
    _require_balance(
        call,
        found.buyer,
        (
            found.amount_usdc_e6,
            found.fee_usdc_e6 if part is BuyPart.BOTH else UsdcE6(0),
            found.fee_usdc_e6,
        ),
        pool.block_hash,
        lambda usd: quoted_again(found, usd=usd),
    )
    if part is BuyPart.BOTH:
        _require_price(found, pool)
    found.purchase_signature = command.purchase_signature
    found.fee_signature = command.fee_signature
    found.accepted_at, found.gas_scopes, found.requests = call.now, list(scopes), 1
    call.db.flush()
    seen = _seen(call, caller, found.id)
    outbox_id = sending.ask(call.db, seen.buy, part, 1, call.now)
    day_limits.keep_gas(call, seen.buy, outbox_id, scopes)
    return Answer(_state(call, seen), 202)


def read(call: ReadCall, caller: AgentCaller, command: BuyById) -> Answer[SponsoredBuyState]:
    """Errors: Refusal not_found."""
    return Answer(_state(call, _seen(call, caller, command.id)))


# What is quoted


def _quote(
    call: WriteCall,
    caller: AgentCaller,
    command: PrepareBuy,
    pool: PoolNow,
    places: tuple[str, str, str],
    fees: tuple[UsdcE6, UsdcE6],
    price: GasPrice,
) -> SponsoredBuy:
    token, batch, recipient = places
    tokens = reserve.quote(command.usd, pool.reserve_usdc_e6, pool.supply)
    least = least_tokens_down(tokens, command.max_rise_bps)
    salt, chain_id = hex_of(secrets.token_bytes(32)), call.deps.chain_id
    of_buy = documents.buy_nonce(
        chain_id, token, command.buyer, recipient, command.usd, least, salt
    )
    return SponsoredBuy(
        id="sb_" + base64.b32encode(secrets.token_bytes(ID_BYTES)).decode().lower(),
        chain_id=chain_id,
        account_id=caller.account_id,
        buyer=command.buyer,
        recipient=recipient,
        reserve_token=token,
        batch=batch,
        treasury=pool.treasury,
        amount_usdc_e6=command.usd,
        fee_usdc_e6=fees[0],
        credit_usdc_e6=fees[1],
        tokens=tokens,
        min_tokens=least,
        salt=salt,
        buy_nonce=of_buy,
        fee_nonce=documents.fee_nonce(chain_id, batch, of_buy, fees[0]),
        covers_wei=covered_wei(price),
        valid_before=int(call.now.timestamp()) + GOOD_S,
        expires_at=call.now + timedelta(seconds=QUOTE_S),
        created_at=call.now,
    )


def _prepared(call: Call, made: SponsoredBuy, price: GasPrice, eth: EthInUsdc) -> PreparedBuy:
    usdc = call.deps.contracts["usdc"]
    return PreparedBuy.of(
        made,
        amount_usdc=usdc_text(made.amount_usdc_e6),
        fee_usdc=usdc_text(made.fee_usdc_e6),
        credit_usdc=usdc_text(made.credit_usdc_e6),
        total_usdc=usdc_text(made.amount_usdc_e6 + made.fee_usdc_e6),
        tokens=reserve.token_text(made.tokens),
        tokens_base=str(made.tokens),
        min_tokens=reserve.token_text(made.min_tokens),
        min_tokens_base=str(made.min_tokens),
        purchase=documents.purchase_document(usdc, made).typed_data,
        fee=documents.fee_document(usdc, made).typed_data,
        gas=GasQuote(
            base_fee_wei=str(price.base_fee_wei),
            priority_fee_wei=str(price.priority_fee_wei),
            layer_1_fee_wei=str(price.layer_1_wei),
            gas=BUY_GAS,
            covers_wei=str(made.covers_wei),
            eth_usd=usdc_text(eth.usdc_e6_per_eth),
            source=eth.source,
            eth_as_of=None if eth.as_of is None else instant_text(eth.as_of),
        ),
        valid_before=_second_text(made.valid_before),
    )


def _second_text(at: int) -> str:
    return instant_text(datetime.fromtimestamp(at, UTC))


# What is refused


def _contracts(call: Call) -> tuple[str, str]:
    """(reserve token, batch contract)."""
    found = call.deps.contracts
    if "reserve_token" not in found or "sponsored_buy" not in found:
        _refuse_sponsor("the deployment has no contract for them")
    return found["reserve_token"], found["sponsored_buy"]


def _pool(call: Call, token: str) -> PoolNow:
    """At the newest block. Errors: RpcError; Refusal sponsor_unavailable."""
    try:
        pool = pool_now(call.deps.chain, token)
    except PoolDisputedError:
        _refuse_sponsor("nodes disagree about the pool, or about the payee of the fee")
    recorded = reserve_token.state(call.db)
    if recorded is None or recorded.totals.treasury is None:
        _refuse_sponsor("the record does not name the payee of the fee yet")
    if recorded.totals.treasury != pool.treasury:
        _refuse_sponsor("node and record disagree about the payee of the fee")
    recorded_pool = recorded.totals.reserve_e6, recorded.totals.supply
    if is_apart((pool.reserve_usdc_e6, pool.supply), recorded_pool):
        _refuse_sponsor("node and record disagree about the price; the record may lag")
    if pool.is_paused:
        _refuse_sponsor("the token has paused buying")
    return pool


def _require_takes_fees(call: Call, pool: PoolNow, token: str) -> None:
    if not takes_fees(call.deps.chain, call.deps.contracts["usdc"], token, pool.treasury):
        _refuse_sponsor(NO_FEE)


def _refuse_sponsor(why: str) -> NoReturn:
    raise Refusal(
        "sponsor_unavailable",
        f"Sponsored buys are not accepted right now: {why}. Nothing was sent; ask again "
        "later, or buy with your own gas. GET /reserve/config says in sponsor_enabled when "
        "they are.",
        next_calls=(OWN_GAS,),
    )


def _require_sponsor(call: Call, wei: int) -> None:
    """The keeper showed itself a moment ago, with ETH for this."""
    sign = queries.sponsor(call.db, call.deps.chain_id)
    if sign is None or is_away(sign.at, call.now):
        _refuse_sponsor("no keeper with a sponsor's key is running")
    if sign.balance_wei < wei:
        _refuse_sponsor("the sponsor is short of ETH")


def _require_price(found: SponsoredBuy, pool: PoolNow) -> None:
    """The price never falls, so what mints too little now never mints enough again.

    Asked last: a purchase that was submitted alone raises the price too, and is reported as such.
    """
    tokens = reserve.quote(found.amount_usdc_e6, pool.reserve_usdc_e6, pool.supply)
    if tokens < found.min_tokens:
        raise Refusal(
            "quote_expired",
            "id: the price has risen since the quote: the purchase would mint "
            f"{reserve.token_text(tokens)} tokens now, but at least "
            f"{reserve.token_text(found.min_tokens)} were signed for. Prepare another, with "
            "a larger max_rise_bps where others buy often. Nothing was sent.",
            next_calls=(state_of_buy(found), quoted_again(found)),
        )


def _require_balance(
    call: Call,
    buyer: str,
    asked: tuple[UsdcE6, UsdcE6, UsdcE6],
    at: str,
    quote: Callable[[UsdcE6], NextCall],
) -> None:
    """At that block, without what other buys of the wallet may still take.

    `asked`: net amount, the fee that is still to be taken, and about what another quote's would be.
    `quote`: the call that asks for a quote of so much.
    """
    amount, fee, next_fee = asked
    held = call.deps.chain.usdc_balance(buyer, at)
    pledged = queries.pledged_usdc_e6(call.db, call.deps.chain_id, buyer, int(call.now.timestamp()))
    free = max(0, held - pledged)
    if free < amount + fee:
        affordable = UsdcE6(free - next_fee)
        is_enough = affordable >= LEAST_USDC_E6
        less = (
            f"or prepare one of {usdc_text(affordable)} or less"
            if is_enough
            else f"which is too little for the smallest buy of {usdc_text(LEAST_USDC_E6)} and its "
            "fee"
        )
        raise Refusal(
            "insufficient_usdc",
            f"buyer: it holds {usdc_text(held)} USDC, {usdc_text(pledged)} of it pledged to buys under "
            f"way; this one takes {usdc_text(amount + fee)} with its fee of {usdc_text(fee)}. Send "
            f"{usdc_text(amount + fee - free)} USDC to {buyer} and ask again, {less}.",
            remaining=usdc_text(free),
            next_calls=(quote(affordable if is_enough else amount),),
        )


def _part_left(call: Call, caller: AgentCaller, found: SponsoredBuy) -> BuyPart:
    """What is to be sent: where somebody submitted the fee before, the purchase alone.

    Errors: Refusal quote_expired, sponsor_unavailable.
    """
    used = call.deps.chain.used_authorizations(found.buyer, [found.buy_nonce, found.fee_nonce])
    if not used:
        return BuyPart.BOTH
    fee = _seen(call, caller, found.id).fee
    if used == {found.fee_nonce} and fee is None:
        retry_at = call.now + timedelta(seconds=RECORD_S)
        raise Refusal(
            "sponsor_unavailable",
            "id: its fee was submitted alone a moment ago, and the record does not show yet what it paid. "
            "The service sent nothing; hand both in again in a few seconds, before "
            f"{instant_text(found.expires_at)}, and the purchase is sent by itself.",
            retry_at=retry_at,
            next_calls=(state_of_buy(found),),
        )
    if used == {found.fee_nonce} and fee is not None and fee.use is Use.PAID:
        return BuyPart.PURCHASE
    raise Refusal(
        "quote_expired",
        "id: one of its two authorizations has already been used or cancelled; read which "
        "one, and prepare another for what is left.",
        next_calls=(state_of_buy(found), quoted_again(found)),
    )


def _refuse_late(call: Call, caller: AgentCaller, found: SponsoredBuy) -> NoReturn:
    seen, until = _seen(call, caller, found.id), instant_text(found.expires_at)
    if seen.purchase is None and seen.fee is None:
        raise Refusal(
            "quote_expired",
            f"id: the quote was good until {until}, and the service sent nothing for it; prepare another.",
            next_calls=(quoted_again(found),),
        )
    raise Refusal(
        "quote_expired",
        f"id: the quote was good until {until}, and the service sent nothing for it, but one "
        "of its authorizations was submitted or cancelled; read which one, and prepare "
        "another for what is left.",
        next_calls=(state_of_buy(found), quoted_again(found)),
    )


def _refuse_unknown(caller: AgentCaller, buy_id: str) -> NoReturn:
    own = caller.wallet_address
    raise Refusal(
        "not_found",
        f"id: you have no sponsored buy {buy_id}; a quote that was not handed in is dropped a day after "
        "its end. Prepare one first.",
        next_calls=(OWN_BUYS, *(() if own is None else (first_quote(own, LEAST_USDC_E6),))),
    )


# What is shown


def _seen(call: Call, caller: AgentCaller, buy_id: str) -> SeenBuy:
    found = queries.find(call.db, caller.account_id, buy_id)
    if found is None:
        _refuse_unknown(caller, buy_id)
    return found


def _state(call: Call, seen: SeenBuy) -> SponsoredBuyState:
    made = seen.buy
    purchase, fee = seen.fates
    standing, request = seen.standing(call.now), None
    if made.accepted_at is not None:
        key = sending.key_of(made.id, made.requests)
        request = outbox.states_of(call.db, [key]).get(key)
    is_owed = standing.state is BuyState.FEE_OWED and standing.is_final
    return SponsoredBuyState.of(
        standing,
        id=made.id,
        sending=None if request is None else request.state,
        transfers=[
            _transfer("purchase", made.amount_usdc_e6, made.reserve_token, purchase),
            _transfer("fee", made.fee_usdc_e6, made.treasury, fee),
        ],
        owed_usdc=usdc_text(made.fee_usdc_e6 if is_owed else 0),
        expires_at=made.expires_at,
        valid_before=_second_text(made.valid_before),
    )


def _transfer(kind: str, amount: UsdcE6, to: str, found: TransferFate) -> BuyTransfer:
    return BuyTransfer.of(
        found,
        kind=kind,
        amount_usdc=usdc_text(amount),
        to_address=to,
        state=found.leg,
        tokens=None if found.tokens is None else reserve.token_text(found.tokens),
    )
