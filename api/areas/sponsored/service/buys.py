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
from api.areas.sponsored.service.gas import eth_price, gas_price
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, ReadCall, Refusal, WriteCall
from api.kernel.sessions import lock_caller
from core.chain.signatures import recovered_address
from core.hexes import hex_of
from core.keeper import gas
from core.keeper import requests as outbox
from core.money import UsdcE6, usdc_text
from core.reserve import queries as reserve_token
from core.reserve import rules as reserve
from core.sponsored import documents, queries, sending
from core.sponsored.prices import EthPrice
from core.sponsored.queries import SeenBuy, SponsoredBuy
from core.sponsored.readings import PoolDisputedError, PoolNow, pool_now
from core.sponsored.rules import (
    BUY_GAS,
    BUYS_A_DAY,
    FAILURES_A_DAY,
    FEE_PAID_EARLY,
    GOOD_S,
    LEAST_USDC_E6,
    MOST_USDC_E6,
    NEXT_STEPS,
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
    state_of,
)
from core.times import instant_text, next_day, start_of_day

ID_BYTES = 10


def prepare(call: WriteCall, caller: AgentCaller, command: PrepareBuy) -> Answer[PreparedBuy]:
    """Errors: Refusal below_minimum, invalid_parameter, buyer_has_code, insufficient_usdc,
    sponsor_unavailable, gas_price_unknown.
    """
    _require_amount(command.usd)
    token, batch = _contracts(call)
    pool = _pool(call, token)
    _require_plain(call, command.buyer)
    recipient = command.recipient or command.buyer
    if recipient.lower() in (token.lower(), "0x" + "00" * 20):
        raise Refusal(
            "invalid_parameter",
            "recipient: write the address of whoever gets the tokens; neither the zero address nor "
            "the token itself can hold them.",
        )
    eth = eth_price(call)
    price = gas_price(call.deps.chain, UNSIGNED_BUY_BYTES)
    _require_sponsor(call, cost_wei(BUY_GAS, price))
    whole_fee = fee_usdc_e6(covered_wei(price), eth.usdc_e6_per_eth)
    if whole_fee is None:
        _refuse_sponsor("gas is dearer than a sponsored buy may cost")
    heights = queries.heights(call.db, call.deps.chain_id)
    owed = queries.owed_usdc_e6(call.db, call.deps.chain_id, command.buyer, heights)
    fee, credit = fee_after_credit(whole_fee, owed)
    _require_balance(call, command.buyer, UsdcE6(command.usd + fee), pool.block_hash)
    made = _quote(call, caller, command, pool, (token, batch, recipient), (fee, credit), price)
    queries.add_buy(call.db, made)
    return Answer(_prepared(call, made, price, eth))


def buy(call: WriteCall, caller: AgentCaller, command: HandInBuy) -> Answer[SponsoredBuyState]:
    """Errors: Refusal not_found, quote_expired, signature_invalid, already_handed_in,
    buyer_has_code, insufficient_usdc, sponsor_unavailable, rate_limited.
    """
    lock_caller(call, caller)
    found = queries.lock_buy(call.db, command.id)
    if found is None or found.account_id != caller.account_id:
        _refuse_unknown(command.id)
    if found.accepted_at is not None:
        _require_same(found, command)
        return Answer(_state(call, _seen(call, caller, found.id)), 202)
    if call.now >= found.expires_at:
        raise Refusal(
            "quote_expired",
            f"The quote was good until {instant_text(found.expires_at)}, and nothing was paid; "
            "prepare another.",
        )
    _require_signed(call, found, command)
    _require_place_today(call, caller, found.covers_wei)
    queries.lock_buyer(call.db, found.buyer)
    token, batch = _contracts(call)
    pool = _pool(call, token)
    if (found.reserve_token, found.batch, found.treasury) != (token, batch, pool.treasury):
        raise Refusal(
            "quote_expired",
            "The contract or its treasury is another one than when it was quoted, so the fee would "
            "not be taken; prepare another.",
        )
    _require_plain(call, found.buyer)
    _require_sponsor(call, found.covers_wei)
    part = _part_left(call, caller, found)
    heights = queries.heights(call.db, call.deps.chain_id)
    if found.credit_usdc_e6 > queries.owed_usdc_e6(
        call.db, call.deps.chain_id, found.buyer, heights
    ):
        raise Refusal(
            "quote_expired",
            "The fees owed to the buyer, which lowered this fee, were used by another buy meanwhile; "
            "prepare another.",
        )
    fee = found.fee_usdc_e6 if part is BuyPart.BOTH else 0
    total = UsdcE6(found.amount_usdc_e6 + fee)
    _require_balance(call, found.buyer, total, pool.block_hash)
    queries.accept(call.db, found.id, command.purchase_signature, command.fee_signature, call.now)
    seen = _seen(call, caller, found.id)
    sending.ask(call.db, seen.buy, part, 1, call.now)
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
        id=_new_id(),
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


def _new_id() -> str:
    return "sb_" + base64.b32encode(secrets.token_bytes(ID_BYTES)).decode().lower()


def _prepared(call: Call, made: SponsoredBuy, price: GasPrice, eth: EthPrice) -> PreparedBuy:
    usdc = call.deps.contracts["usdc"]
    return PreparedBuy(
        id=made.id,
        amount_usdc=usdc_text(made.amount_usdc_e6),
        fee_usdc=usdc_text(made.fee_usdc_e6),
        credit_usdc=usdc_text(made.credit_usdc_e6),
        total_usdc=usdc_text(made.amount_usdc_e6 + made.fee_usdc_e6),
        treasury=made.treasury,
        recipient=made.recipient,
        batch=made.batch,
        salt=made.salt,
        tokens=str(made.tokens),
        min_tokens=str(made.min_tokens),
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
        ),
        expires_at=instant_text(made.expires_at),
        valid_before=_second_text(made.valid_before),
    )


def _second_text(at: int) -> str:
    return instant_text(datetime.fromtimestamp(at, UTC))


# What is refused


def _require_amount(amount: UsdcE6) -> None:
    least, most = usdc_text(LEAST_USDC_E6), usdc_text(MOST_USDC_E6)
    if amount < LEAST_USDC_E6:
        raise Refusal(
            "below_minimum",
            f"usd: a sponsored buy is of {least} USDC or more, and {usdc_text(amount)} was asked "
            "for; less than that you buy with your own gas.",
        )
    if amount > MOST_USDC_E6:
        raise Refusal("invalid_parameter", f"usd: write at most {most}.")


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
        _refuse_sponsor("nodes disagree about the pool, or whom the fee is paid to")
    recorded = reserve_token.state(call.db)
    if recorded is None or recorded.treasury is None:
        _refuse_sponsor("the record does not name yet whom the fee is paid to")
    if recorded.treasury != pool.treasury:
        _refuse_sponsor("node and record disagree whom the fee is paid to")
    recorded_pool = recorded.reserve_usdc_e6, recorded.supply
    if is_apart((pool.reserve_usdc_e6, pool.supply), recorded_pool):
        _refuse_sponsor("node and record disagree about the price; the record may lag")
    if pool.is_paused:
        _refuse_sponsor("buying is paused at the token")
    return pool


def _refuse_sponsor(why: str) -> NoReturn:
    raise Refusal(
        "sponsor_unavailable",
        f"Sponsored buys are not taken now: {why}. Nothing was paid; ask again later, or buy with "
        "your own gas.",
    )


def _require_sponsor(call: Call, wei: int) -> None:
    """The keeper showed itself a moment ago, with ETH for this."""
    sign = queries.sponsor(call.db, call.deps.chain_id)
    if sign is None or is_away(sign.at, call.now):
        _refuse_sponsor("no keeper with a sponsor's key is at work")
    if sign.balance_wei < wei:
        _refuse_sponsor("the sponsor is short of ETH")


def _require_plain(call: Call, buyer: str) -> None:
    if call.deps.chain.code_at(buyer):
        raise Refusal(
            "buyer_has_code",
            f"buyer: there is code at {buyer} (a contract wallet, or a delegation of EIP-7702), which "
            "may refuse what it signed. Name a wallet with a key alone, or buy with your own gas.",
        )


def _require_balance(call: Call, buyer: str, total: UsdcE6, at: str) -> None:
    """At that block, without what other buys of the wallet may still take."""
    held = call.deps.chain.usdc_balance(buyer, at)
    pledged = queries.pledged_usdc_e6(call.db, call.deps.chain_id, buyer, int(call.now.timestamp()))
    if held - pledged < total:
        raise Refusal(
            "insufficient_usdc",
            f"The buyer holds {usdc_text(held)} USDC, {usdc_text(pledged)} of it pledged to buys under "
            f"way; this one takes {usdc_text(total)} with its fee. Send USDC to {buyer}, or prepare "
            "one of less.",
            remaining=usdc_text(max(0, held - pledged)),
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
        _refuse_sponsor(
            "the fee was submitted alone a moment ago, and the record does not show yet what it paid; "
            "hand both in again in a few seconds"
        )
    if used == {found.fee_nonce} and fee is not None and fee.use is Use.PAID:
        return BuyPart.PURCHASE
    raise Refusal(
        "quote_expired",
        "One of the two authorizations was used or cancelled already; prepare another.",
    )


def _require_signed(call: Call, found: SponsoredBuy, command: HandInBuy) -> None:
    usdc = call.deps.contracts["usdc"]
    for field, signature, document in (
        (
            "purchase_signature",
            command.purchase_signature,
            documents.purchase_document(usdc, found),
        ),
        ("fee_signature", command.fee_signature, documents.fee_document(usdc, found)),
    ):
        if recovered_address(document.digest, signature) != found.buyer:
            raise Refusal(
                "signature_invalid",
                f"{field}: it is not {found.buyer}'s signature of the document that was prepared; "
                "sign it as it is, with the buyer's own key. Nothing was written.",
                next_calls=("sponsored.prepare",),
            )


def _require_same(found: SponsoredBuy, command: HandInBuy) -> None:
    said = (command.purchase_signature.lower(), command.fee_signature.lower())
    if said != (found.purchase_signature, found.fee_signature):
        raise Refusal(
            "already_handed_in",
            "This buy was handed in with other signatures; those stand. Read what became of it.",
        )


def _require_place_today(call: Call, caller: AgentCaller, wei: int) -> None:
    """Errors: Refusal rate_limited."""
    taken = queries.accepted_since(call.db, caller.account_id, start_of_day(call.now))
    if taken >= BUYS_A_DAY:
        raise Refusal(
            "rate_limited",
            f"This account has handed in {BUYS_A_DAY} sponsored buys today; hand in the next from "
            "00:00 UTC on, or buy with your own gas. Nothing was paid.",
            retry_at=next_day(call.now),
            next_calls=("sponsored.prepare",),
        )
    failed = sending.failed_since(call.db, caller.account_id, start_of_day(call.now))
    if failed >= FAILURES_A_DAY:
        raise Refusal(
            "rate_limited",
            f"{failed} transactions for this account's sponsored buys failed on chain today, which the "
            f"service paid for, so nothing is sent for it until {instant_text(next_day(call.now))}. "
            "Cancel no authorization and spend no pledged money; until then buy with your own gas. "
            "Nothing was paid.",
            retry_at=next_day(call.now),
            next_calls=("sponsored.prepare",),
        )
    scope = gas.sponsor_scope(caller.account_id)
    budget = call.deps.limits.sponsor_gas_wei_per_account_per_day
    spent, reserved = gas.used_wei(call.db, gas.day_of(call.now), scope)
    if spent + reserved + wei > budget:
        is_used_up = spent + wei > budget
        raise Refusal(
            "rate_limited",
            f"The gas that the service pays for an account's sponsored buys in a day is used up: of "
            f"{budget} wei {spent} are spent and {reserved} kept for buys under way, and this one may "
            f"cost {wei}. Hand it in again "
            f"{'from 00:00 UTC on' if is_used_up else 'in a minute'}, or buy with your own gas. "
            "Nothing was paid.",
            retry_at=next_day(call.now) if is_used_up else call.now + timedelta(minutes=1),
            next_calls=("sponsored.prepare",),
        )


def _refuse_unknown(buy_id: str) -> NoReturn:
    raise Refusal(
        "not_found",
        f"You have no sponsored buy {buy_id}; prepare one first.",
        next_calls=("sponsored.prepare",),
    )


# What is shown


def _seen(call: Call, caller: AgentCaller, buy_id: str) -> SeenBuy:
    found = queries.find(call.db, caller.account_id, buy_id)
    if found is None:
        _refuse_unknown(buy_id)
    return found


def _state(call: Call, seen: SeenBuy) -> SponsoredBuyState:
    made = seen.buy
    heights = queries.heights(call.db, made.chain_id)
    purchase, fee = seen.fates(heights)
    state, is_final = state_of(purchase, fee)
    request = None
    step = NEXT_STEPS[state, is_final]
    if made.accepted_at is None and seen.purchase is None and seen.fee is None:
        is_final = call.now >= made.expires_at
        state = BuyState.EXPIRED if is_final else BuyState.PREPARED
        step = NEXT_STEPS[state, is_final]
    elif made.accepted_at is None:
        step = FEE_PAID_EARLY if state is BuyState.FEE_PAID else step
    else:
        key = sending.key_of(made.id, made.requests)
        request = outbox.states_of(call.db, [key]).get(key)
    is_owed = state is BuyState.FEE_OWED and is_final
    return SponsoredBuyState(
        id=made.id,
        state=state,
        is_final=is_final,
        sending=None if request is None else request.state,
        transfers=[
            _transfer("purchase", made.amount_usdc_e6, made.reserve_token, purchase),
            _transfer("fee", made.fee_usdc_e6, made.treasury, fee),
        ],
        owed_usdc=usdc_text(made.fee_usdc_e6 if is_owed else 0),
        next=step,
        expires_at=instant_text(made.expires_at),
        valid_before=_second_text(made.valid_before),
    )


def _transfer(kind: str, amount: UsdcE6, to: str, found: TransferFate) -> BuyTransfer:
    return BuyTransfer(
        kind=kind,
        amount_usdc=usdc_text(amount),
        to_address=to,
        state=found.leg,
        is_final=found.is_final,
        why=found.why,
        tx_hash=found.tx_hash,
        tokens=None if found.tokens is None else str(found.tokens),
    )
