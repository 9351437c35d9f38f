"""How a metered read is paid: one function decides and charges, last, when the answer is ready
(docs/rules.md#paid-reads).

    a free read of today's -> credits -> a payment in USDC -> 402

Laws
- A read that was refused or failed does not come here: it costs nothing.
- Free reads are counted for the agent and its pools in one statement
  (core.credits.rules.free_reads, core.credits.queries).
- A payment is not looked at while a free read or credits cover the call; it can be used for another
  one.
- One call is charged at most once. With an Idempotency-Key the first answer is kept in the
  transaction that charges, and a repeated call gets it again, uncharged. While a payment for it is
  settled, the key is held, and no other payment is looked at.
- What is sold once to an account (OneSale) has no free reads, and is charged once whatever calls ask
  for it, and however they pay: under its lock it is asked whether it is paid.
- HEAD has no body to sell: it is answered as a call that pays nothing (RFC 9110, 9.3.2).
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Final

from sqlalchemy import Connection
from x402.schemas import PaymentPayload

from api.kernel import idempotency
from api.kernel.caller import AgentCaller
from api.kernel.limits import Limits
from api.kernel.operation import Refusal, Settle
from api.kernel.outcome import Outcome
from api.kernel.refusals import credit_counts
from api.kernel.sale import MeteredRead, OneSale
from api.kernel.scopes import SPEND_SCOPE
from api.payments import exact, vault
from api.payments.offer import CREDITS, EXACT, VAULT, Till, takes_usdc, unpaid
from api.payments.payment_config import PaymentConfig
from api.payments.sent import payload_of
from core.credits import queries as credits
from core.credits.ledger import writer as credit_ledger
from core.credits.queries import ReadsUsedUp
from core.credits.rules.buckets import NotEnoughCreditsError
from core.credits.rules.free_reads import FreeReads, PoolLimits, pools_of
from core.db.engine import WriteSession
from core.kept import Kept
from core.times import next_day

FREE_HEADER = "X-Free-Reads-Remaining"
CREDITS_HEADER = "X-Credits-Charged"
NOTHING_CHARGED: Final[Mapping[str, str]] = {CREDITS_HEADER: "0"}
SOLD_AGAIN_S: Final = 2
MOST_USED_UP: Final = 100_000  # agents and pools of a day

Pay = Callable[[Till, PaymentPayload], dict[str, str]]

_SCHEMES: Final[Mapping[str, Pay]] = {EXACT: exact.pay, VAULT: vault.pay}


class UsedUp(Kept[tuple[date, str, int], bool]):
    """Which counts of free reads have reached their limit: until the UTC day ends that stays so, and
    nobody asks again.
    """

    def __init__(self) -> None:
        super().__init__(MOST_USED_UP)


@dataclass(frozen=True, slots=True)
class _Shortfall:
    """Why neither a free read nor credits cover the call.

    `available` None: the caller has no credits at all.
    """

    needed: int
    available: int | None = None
    free: FreeReads | None = None


def charged(read: MeteredRead, outcome: Outcome) -> Outcome | Settle:
    """The outcome once it is paid, with headers that say how; what is left to do, where a payment
    was sent for it.

    Errors: Refusal payment_required, credit_insufficient, payment_invalid, payment_already_used,
    settlement_pending, agent_key_scope, idempotency_in_flight, idempotency_key_reused;
    FacilitatorError and errors of chain reads.
    """
    if read.payment.only_asks:
        raise _unpaid(read, _Shortfall(read.price.credits or 0))
    if read.sale is not None and read.slot is None:
        with read.deps.database.write() as session:
            paid: dict[str, str] | _Shortfall = _sold_once(read, read.sale, session)
        if not isinstance(paid, _Shortfall):
            return _with(outcome, paid)
    elif read.slot is None:
        paid = _charged_alone(read)
        if not isinstance(paid, _Shortfall):
            return _with(outcome, paid)
    else:
        with read.deps.database.write() as session:
            kept = idempotency.claim(session, read.slot)
            if kept is not None:
                return replace(kept, media_type=outcome.media_type)
            # first, since what pays holds rows that other calls wait for
            read.slot.keep(session, outcome, read.now)
            paid = (
                _sold_once(read, read.sale, session)
                if read.sale is not None
                else _free_read(read, lambda: nullcontext(session.connection()))
                or _by_credits(read, partial(credit_ledger.spend, session))
            )
            if not isinstance(paid, _Shortfall):
                return _with(outcome, paid)
            session.rollback()
    return _payment(read, paid, outcome)


def _charged_alone(read: MeteredRead) -> dict[str, str] | _Shortfall:
    """A call without an Idempotency-Key has nothing else to write."""
    free = _free_read(read, read.deps.database.statements)
    if free:
        return free
    with read.deps.database.write() as session:
        paid = _by_credits(read, partial(credit_ledger.spend, session))
        if isinstance(paid, _Shortfall):
            session.rollback()  # a refusal writes nothing
        return paid


def _sold_once(
    read: MeteredRead, sale: OneSale, session: WriteSession
) -> dict[str, str] | _Shortfall:
    """By credits, where nothing has paid for it yet."""
    sale.lock.wait(session)
    if sale.is_paid(session):
        return dict(NOTHING_CHARGED)
    paid = _by_credits(read, partial(credit_ledger.spend, session), sale.key)
    if isinstance(paid, _Shortfall):
        return paid
    sale.record(session, CREDITS)
    return {CREDITS_HEADER: paid[CREDITS_HEADER]}


def _with(outcome: Outcome, headers: Mapping[str, str]) -> Outcome:
    return replace(outcome, headers={**outcome.headers, **headers})


def _free_read(
    read: MeteredRead, connect: Callable[[], AbstractContextManager[Connection]]
) -> dict[str, str] | None:
    """Take one of the agent's free reads; None: the caller is no agent, or today's are used up, its
    own or a pool's.
    """
    if not isinstance(read.caller, AgentCaller):
        return None
    free, day = free_reads_of(read.caller, read.deps.limits), read.now.date()
    used_up = read.deps.parts.of(UsedUp)
    if any(used_up.find((day, name, limit)) for name, limit in free.counts):
        return None
    with connect() as connection:
        left = credits.take_free_read(connection, free, day)
    if isinstance(left, ReadsUsedUp):
        used_up.keep((day, left.name, left.limit), True)
        return None
    return {FREE_HEADER: str(left), CREDITS_HEADER: "0"}


def free_reads_of(caller: AgentCaller, limits: Limits) -> FreeReads:
    """What the agent has free in a UTC day, and the pools that it has it from."""
    of_pools = PoolLimits(
        of_owner=limits.free_reads_per_owner_per_day,
        of_address=limits.free_reads_per_address_per_day,
        of_owners_address=limits.free_reads_per_owners_address_per_day,
    )
    return FreeReads(
        caller.account_id,
        limits.free_reads_per_day,
        pools_of(caller.owner_id, caller.came_from, of_pools),
    )


def _by_credits(
    read: MeteredRead, spend: Callable[..., object], key: str | None = None
) -> dict[str, str] | _Shortfall:
    """`spend` is the ledger's, with what it writes on; `key`: of the posting, of what is sold once.

    Errors: Refusal agent_key_scope.
    """
    needed = read.price.credits or 0
    if not isinstance(read.caller, AgentCaller):
        return _Shortfall(needed)
    require_spend(read.caller)
    payload = {"price": read.price.key, "resource": read.resource}
    try:
        spend(read.caller.account_id, needed, key or f"read:{uuid.uuid4().hex}", payload, read.now)
    except NotEnoughCreditsError as error:
        return _Shortfall(
            error.needed, error.available, free_reads_of(read.caller, read.deps.limits)
        )
    return {FREE_HEADER: "0", CREDITS_HEADER: str(needed)}


def require_spend(caller: AgentCaller) -> None:
    """Free reads need the scope read alone; what costs something needs spend too. Errors: Refusal
    agent_key_scope.
    """
    if caller.scopes is not None and SPEND_SCOPE not in caller.scopes:
        detail = (
            "No free read covers this call and this key lacks the scope spend; its owner can "
            "grant it."
        )
        raise Refusal(
            "agent_key_scope",
            detail,
            missing=SPEND_SCOPE,
            extra={"error": "agent_key_scope", "scope": SPEND_SCOPE},
            next_calls=(),
        )


def _payment(read: MeteredRead, shortfall: _Shortfall, outcome: Outcome) -> Settle:
    """Takes the payment that was sent, once it is called. Errors: Refusal, of what was sent."""
    payment_config = read.deps.parts.find(PaymentConfig)
    if read.payment.v2 is None or payment_config is None:
        raise _unpaid(read, shortfall)
    payload = payload_of(read, read.payment.v2)
    pay = _SCHEMES.get(payload.accepted.scheme)
    if pay is None:
        detail = (
            f"PAYMENT-SIGNATURE: the scheme is {payload.accepted.scheme[:20]}; pay with one of "
            f"{', '.join(_SCHEMES)}."
        )
        raise unpaid(read, "payment_invalid", detail)
    return partial(_settle, read, payment_config, payload, pay, outcome)


def _settle(
    read: MeteredRead,
    payment_config: PaymentConfig,
    payload: PaymentPayload,
    pay: Pay,
    outcome: Outcome,
) -> Outcome:
    """One connection for all of it: what it holds, the slot and the payment, ends with it."""
    with read.deps.database.pinned() as session, _for_sale(read, session) as is_paid:
        if is_paid:
            return _with(outcome, NOTHING_CHARGED)
        till = Till(session, read, payment_config, outcome)
        if read.slot is None:
            return _with(outcome, pay(till, payload))
        with idempotency.held(session, read.slot) as kept:
            if kept is not None:
                return replace(kept, media_type=outcome.media_type)
            return _with(outcome, exact.paid_before(till, read.slot, payload) or pay(till, payload))


@contextmanager
def _for_sale(read: MeteredRead, session: WriteSession) -> Iterator[bool]:
    """Whether what is sold once is paid already; nobody else pays for it meanwhile.

    Errors: Refusal settlement_pending while another call does.
    """
    sale = read.sale
    if sale is None:
        yield False
        return
    if not sale.lock.try_hold(session):
        detail = "Another call of yours is paying for this; send the same call again in a moment."
        raise Refusal(
            "settlement_pending", detail, retry_at=read.now + timedelta(seconds=SOLD_AGAIN_S)
        )
    try:
        session.commit()
        is_paid = sale.is_paid(session)
        session.commit()
        yield is_paid
    finally:
        session.rollback()
        sale.lock.release(session)
        session.commit()


def _unpaid(read: MeteredRead, shortfall: _Shortfall) -> Refusal:
    if read.payment.v1 is not None:
        detail = (
            "X-PAYMENT is x402 version 1; this service speaks version 2: answer PAYMENT-REQUIRED "
            "with PAYMENT-SIGNATURE."
        )
        return unpaid(read, "payment_invalid", detail)
    if read.sale is not None and shortfall.available is not None:
        return not_enough(read, shortfall.needed, shortfall.available)
    if shortfall.available is None or shortfall.free is None:
        detail = (
            f"This read costs {_text(shortfall.needed)} with an agent's "
            f"key{', or a payment described in accepts' if takes_usdc(read) else ''}; a "
            "registered agent has free reads every day."
        )
        return unpaid(read, "payment_required", detail)
    return _credit_insufficient(read, shortfall.needed, shortfall.available, shortfall.free)


def not_enough(read: MeteredRead, needed: int, available: int) -> Refusal:
    """The 402 of what no free read covers."""
    detail = (
        f"This costs {_text(needed)}, once; you have {available}. Earn or convert "
        f"credits{', or pay as described in accepts' if takes_usdc(read) else ''}."
    )
    return unpaid(read, "credit_insufficient", detail, block=credit_counts(needed, available))


def _text(amount: int) -> str:
    return "1 credit" if amount == 1 else f"{amount} credits"


def _credit_insufficient(
    read: MeteredRead, needed: int, available: int, free: FreeReads
) -> Refusal:
    again = next_day(read.now)
    detail = (
        f"Today's free reads are used up and this read costs {_text(needed)}; you have "
        f"{available}. {'Pay as described in accepts, or read' if takes_usdc(read) else 'Read'} "
        f"again from {again:%Y-%m-%dT%H:%M:%SZ} on: an agent has {free.says}."
    )
    refusal = unpaid(read, "credit_insufficient", detail, block=credit_counts(needed, available))
    refusal.retry_at = again
    return refusal
