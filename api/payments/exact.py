"""A payment by authorization: claim, commit, settle, commit, serve, commit.

It is charged once and serves once.

    (none) --verify--> claimed --settle--> settled --serve--> served
                          |  ^                ^
                          v  | the next try   | the chain has it after all
                         failed --------------+

Laws
- One call at a time works on a payment: it holds a lock that dies with its connection, so that a
  crash frees it at once.
- Whether a payment has settled is read from the chain, never taken from the facilitator's word, be
  it yes or no.
- A call that comes back with the same payment goes on where the last one ended: it waits for a
  transaction that is under way, and what did not settle is judged again before it is sent again
  (judged.py). Settling twice is no danger to the payer, since the token takes a nonce once. What
  another resource, account or signature is used with is a payment already used, and so is what
  another sender has read in its transaction (sender.py).
- A call that comes back with its idempotency key and another payment is served by the first one,
  once that has settled.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import structlog
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from api.kernel.caller import AgentCaller
from api.kernel.idempotency import IdempotencySlot
from api.kernel.operation import Refusal
from api.kernel.sale import MeteredRead
from api.payments import gas
from api.payments.gas import TX_HASH, Reserved
from api.payments.judged import (
    RETRY_S,
    JudgedPayment,
    balance_of,
    require_covered,
    require_valid,
    too_dear,
)
from api.payments.offer import Till, exact_requirements, receipt_header, unpaid
from api.payments.payment_config import DearGasError, FacilitatorError, NotSentError
from api.payments.sender import is_sent_by, sent_by
from api.payments.sent import SignedAuthorization, authorization_of, require_offered
from api.payments.verdicts import NO_REASON, sentence_of
from core.chain.reader import ChainReader
from core.errors import OutsideError
from core.hexes import bytes_of, hex_of
from core.payments import queries as payments
from core.payments.chain import is_paid, spent_of
from core.payments.rules import Authorization, PaymentState
from core.payments.tables import X402Payment

MAX_FAILURE: Final = 200  # characters of a reason that are kept
# so long a payment that may have been sent keeps others of its idempotency key from being taken
LEASE: Final = timedelta(seconds=60)
PENDING: Final = "settlement_pending"  # the facilitator's word for: sent, outcome not known

log = structlog.get_logger("api")


def pay(till: Till, payload: PaymentPayload) -> dict[str, str]:
    """Take the payment; answers the receipt's header.

    Errors: Refusal payment_invalid, payment_already_used, settlement_pending.
    """
    read, payment_config = till.read, till.payment_config
    offer = exact_requirements(read, payment_config)
    require_offered(read, payload.accepted, offer)
    signed = authorization_of(read, payload, offer)
    payload = _alone_as_signed(payload, offer, signed.signature)
    with _alone(till, signed.identity):
        tx_hash = _settled(
            JudgedPayment(till.session, read, payment_config, payload, offer, signed)
        )
        return _served(till, signed.identity, signed.authorization.payer, tx_hash)


def _served(till: Till, identity: payments.Identity, payer: str, tx_hash: str) -> dict[str, str]:
    if not payments.mark_served(till.session, identity, till.read.now):
        raise already_used(till.read)
    till.serve()
    return receipt_header(
        SettleResponse(
            success=True, transaction=tx_hash, network=till.payment_config.network, payer=payer
        )
    )


def paid_before(
    till: Till, slot: IdempotencySlot, payload: PaymentPayload
) -> dict[str, str] | None:
    """Serve by another payment that was sent with this idempotency key and has settled: whoever
    sent it never heard so, and signed again.

    What was sent now is then not touched. None: no other payment has paid for this call. Errors:
    Refusal settlement_pending while one still may; errors of chain reads.
    """
    authorization = payload.payload.get("authorization")
    sent_now = str(authorization.get("nonce")).lower() if isinstance(authorization, dict) else None
    rows = payments.unserved_of_slot(till.session, slot.digest)
    till.session.commit()
    for row in rows:
        wanted = payments.authorization_of(row)
        if wanted.nonce == sent_now or row.resource != till.read.resource:
            continue
        with _alone(till, (row.asset, row.payer, row.nonce)):
            tx_hash = (
                _hash_of(row) if row.state == PaymentState.SETTLED else _late(till, row, wanted)
            )
            if tx_hash is not None:
                return _served(till, (row.asset, row.payer, row.nonce), wanted.payer, tx_hash)
    return None


def _late(till: Till, row: X402Payment, wanted: Authorization) -> str | None:
    """The transaction that has settled it after all; None: nothing will.

    Errors: Refusal settlement_pending.
    """
    chain, now = till.read.deps.chain, till.read.now
    spent = spent_of(chain, wanted, row.claimed_block)
    if spent is not None and spent.by is not None:
        identity = (row.asset, row.payer, row.nonce)
        payments.mark_settled(till.session, identity, bytes_of(spent.by), now)
        return spent.by
    is_over = row.valid_before is not None and now.timestamp() >= row.valid_before
    if (
        spent is not None
        or is_over
        or row.state == PaymentState.FAILED
        or (row.claimed_at + LEASE <= now and not _is_waiting(chain, row.tx_hash))
    ):
        return None
    detail = (
        "An earlier payment with this Idempotency-Key may still settle, and this one was not "
        "touched; send the same call again, with either payment."
    )
    raise Refusal("settlement_pending", detail, retry_at=now + timedelta(seconds=RETRY_S))


def _is_waiting(chain: ChainReader, tx_hash: bytes | None) -> bool:
    """Whether the chain knows the transaction that was sent, and has not mined it."""
    seen = None if tx_hash is None else chain.transaction(hex_of(tx_hash))
    return seen is not None and seen.get("blockNumber") is None


def _alone_as_signed(
    payload: PaymentPayload, offer: PaymentRequirements, signature: str
) -> PaymentPayload:
    """What was looked at and nothing else: other forms of payment beside it, and extensions, would
    settle by transactions of their own.
    """
    kept = {"authorization": payload.payload["authorization"], "signature": signature}
    return PaymentPayload(
        x402_version=payload.x402_version, payload=kept, accepted=offer, resource=payload.resource
    )


@contextmanager
def _alone(till: Till, identity: payments.Identity) -> Iterator[None]:
    """Errors: Refusal payment_already_used while another call works on the payment."""
    session = till.session
    if not payments.try_lock(session, identity):
        raise already_used(till.read)
    try:
        yield
    finally:
        session.rollback()
        payments.unlock(session, identity)
        session.commit()


def _settled(payment: JudgedPayment) -> str:
    """The hash of the transaction that paid. Errors: Refusal."""
    row = payments.find(payment.session, payment.identity)
    if row is not None:
        _require_same(payment, row)
        if row.state == PaymentState.SETTLED:
            return _hash_of(row)
    gas.account_for_late_ones(payment)
    if row is None:
        return _settle(payment, *_claim(payment))
    found = _on_chain(payment, row.claimed_block) or _judged_again(payment, row)
    return (
        _keep_settled(payment, found)
        if found is not None
        else _settle(payment, row.claimed_block, _reclaim(payment))
    )


def _claim(payment: JudgedPayment) -> tuple[int, Reserved | None]:
    """Judge it, and write the row; answers the height below which it can't have settled, and what
    its gas was reserved by.

    Errors: Refusal payment_invalid, temporarily_unavailable.
    """
    read, signed = payment.read, payment.signed
    height = read.deps.chain.block_number()
    require_valid(payment)
    balance = balance_of(payment)
    require_covered(payment, balance)
    claimed = payments.claim(
        payment.session,
        payment.identity,
        account_id=_account_id(read),
        resource=read.resource,
        price_key=read.price.key,
        amount_usdc_e6=signed.authorization.amount,
        pay_to=bytes_of(signed.authorization.pay_to),
        signature_hash=_signature_hash(signed),
        sent_by=sent_by(read),
        claimed_block=height,
        claimed_at=read.now,
        valid_before=signed.valid_before,
        slot=_slot_of(read),
    )
    if not claimed:
        raise already_used(read)
    reserved = gas.reserve(payment, is_contract=balance.has_code)
    payment.session.commit()
    return height, reserved


def _judged_again(payment: JudgedPayment, row: X402Payment) -> str | None:
    """Whether what did not settle is still valid: None, it is. The hash: it has settled meanwhile.

    Errors: Refusal payment_invalid, the row is failed; settlement_pending while its transaction is
    under way.
    """
    if row.tx_hash is not None and _is_under_way(payment, row.tx_hash):
        raise _pending(payment.read)
    try:
        require_valid(payment)
    except Refusal as refusal:
        found = _on_chain(payment, row.claimed_block)
        if found is None:
            payments.mark_failed(
                payment.session, payment.identity, refusal.detail[:MAX_FAILURE], sent=False
            )
            payment.session.commit()
            raise
        return found
    return None


def _reclaim(payment: JudgedPayment) -> Reserved | None:
    """It is about to be sent again. Errors: Refusal payment_invalid, temporarily_unavailable."""
    balance = balance_of(payment)
    require_covered(payment, balance)
    payments.reclaim(payment.session, payment.identity, _slot_of(payment.read), payment.read.now)
    reserved = gas.reserve(payment, is_contract=balance.has_code)
    payment.session.commit()
    return reserved


def _is_under_way(payment: JudgedPayment, tx_hash: bytes) -> bool:
    """Whether the chain knows the transaction that was sent before, and has not mined it."""
    is_late = int(payment.read.now.timestamp()) >= payment.signed.valid_before
    return not is_late and _is_waiting(payment.read.deps.chain, tx_hash)


def _settle(payment: JudgedPayment, from_block: int, reserved: Reserved | None) -> str:
    """Settle, and ask the chain what came of it.

    Errors: Refusal payment_invalid, settlement_pending, temporarily_unavailable.
    """
    try:
        answer: SettleResponse | None = payment.payment_config.settle(
            payment.payload, payment.offer
        )
    except NotSentError as error:
        log.warning("not_sent", error=str(error))
        raise _not_sent(payment, reserved, error) from error
    except FacilitatorError as error:
        log.warning("facilitator", error=str(error))
        answer = None
    try:
        gas.account_for(payment, reserved, answer)
        found = _by_receipt(payment, answer) or _on_chain(payment, from_block, sent=True)
    except OutsideError as error:
        log.warning("outside", error=str(error))
        raise _pending(payment.read) from error
    if found is not None:
        return _keep_settled(payment, found)
    if answer is None or answer.success or answer.error_reason == PENDING:
        _keep_sent(payment, answer)
        raise _pending(payment.read)
    raise _failed(payment, answer)


def _not_sent(payment: JudgedPayment, reserved: Reserved | None, error: NotSentError) -> Refusal:
    """The same payment may come again: it has cost nobody anything."""
    gas.nothing_sent(payment, reserved)
    payments.mark_failed(payment.session, payment.identity, str(error)[:MAX_FAILURE], sent=False)
    payment.session.commit()
    if isinstance(error, DearGasError):
        return too_dear(payment, error)
    detail = (
        "The payment could not be sent, and nothing was charged; send the same call with the "
        "same payment again."
    )
    return Refusal(
        "temporarily_unavailable", detail, retry_at=payment.read.now + timedelta(seconds=RETRY_S)
    )


def _keep_sent(payment: JudgedPayment, answer: SettleResponse | None) -> None:
    """Keep the transaction that the facilitator sent, so that the next try waits for it."""
    if answer is not None and TX_HASH.fullmatch(answer.transaction):
        payments.mark_sent(payment.session, payment.identity, bytes_of(answer.transaction))
        payment.session.commit()


def _by_receipt(payment: JudgedPayment, answer: SettleResponse | None) -> str | None:
    """The transaction that the facilitator names, if it is the payment."""
    if answer is None or not TX_HASH.fullmatch(answer.transaction):
        return None
    receipt = payment.read.deps.chain.receipt(answer.transaction.lower())
    return (
        receipt.tx_hash
        if receipt is not None and is_paid(receipt, payment.signed.authorization)
        else None
    )


def _on_chain(payment: JudgedPayment, from_block: int, *, sent: bool = False) -> str | None:
    """The transaction that paid, whoever sent it; `sent`: we have just tried to.

    Errors: Refusal payment_invalid when the nonce went into something else.
    """
    chain, wanted = payment.read.deps.chain, payment.signed.authorization
    spent = spent_of(chain, wanted, from_block)
    if spent is None:
        return None
    if spent.by is None:
        payments.mark_failed(
            payment.session, payment.identity, "nonce used for something else", sent=sent
        )
        payment.session.commit()
        raise unpaid(
            payment.read,
            "payment_invalid",
            "The payment's nonce was cancelled or used for something else; sign a new payment.",
        )
    return spent.by


def _keep_settled(payment: JudgedPayment, tx_hash: str) -> str:
    payments.mark_settled(payment.session, payment.identity, bytes_of(tx_hash), payment.read.now)
    payment.session.commit()
    return tx_hash


def _failed(payment: JudgedPayment, answer: SettleResponse) -> Refusal:
    reason = answer.error_reason or NO_REASON
    payments.mark_failed(payment.session, payment.identity, reason[:MAX_FAILURE], sent=True)
    payment.session.commit()
    detail = (
        f"The payment did not settle: {sentence_of(reason)}; nothing was charged. Send it again, "
        "or sign a new one."
    )
    return unpaid(payment.read, "payment_invalid", detail, failed=answer)


def _require_same(payment: JudgedPayment, row: X402Payment) -> None:
    read = payment.read
    same = (row.resource, row.account_id, row.signature_hash) == (
        read.resource,
        _account_id(read),
        _signature_hash(payment.signed),
    )
    if row.state == PaymentState.SERVED or not same:
        raise already_used(read)
    if not is_sent_by(read, row):
        raise unpaid(
            read,
            "payment_already_used",
            "Another sender sent this payment first. If that was you, send it again the same "
            "way: with the same session, the same Idempotency-Key, or without one from the "
            "same network address.",
        )


def already_used(read: MeteredRead) -> Refusal:
    return unpaid(
        read,
        "payment_already_used",
        "This payment has already paid for a call, or is paying for one now; sign a new "
        "payment for this one.",
    )


def _pending(read: MeteredRead) -> Refusal:
    detail = (
        "The payment is being settled and is not on the chain yet; send the same call with the "
        "same payment again."
    )
    return Refusal("settlement_pending", detail, retry_at=read.now + timedelta(seconds=RETRY_S))


def _account_id(read: MeteredRead) -> int | None:
    return read.caller.account_id if isinstance(read.caller, AgentCaller) else None


def _slot_of(read: MeteredRead) -> bytes | None:
    return None if read.slot is None else read.slot.digest


def _signature_hash(signed: SignedAuthorization) -> bytes:
    return hashlib.sha256(signed.signature.encode()).digest()


def _hash_of(row: X402Payment) -> str:
    assert row.tx_hash is not None  # written with the state settled
    return hex_of(row.tx_hash)
