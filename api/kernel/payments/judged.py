"""Whether a payment may be sent to settle: each that reverts is a transaction at our cost, so it is judged before every try.

Laws
- It is in time and the facilitator calls it valid now, whatever it was called before.
- What the payer holds covers it beside all that is promised: other payments that are claimed, in time and not on the chain yet.
- After three failed settlements within an hour nothing more of this payer is sent: a contract wallet can be valid when it is
  asked and not when it pays.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from x402.schemas import PaymentPayload, PaymentRequirements

from api.kernel.operation import Refusal
from api.kernel.payments.offer import MeteredRead, unpaid
from api.kernel.payments.rails import Rails
from api.kernel.payments.sent import SignedAuthorization, require_in_time
from core.chain.abi import hex_text
from core.db.engine import WriteSession
from core.db.repositories import payments

MAX_PROMISED: Final = 32  # payments of one payer that are under way at once
MAX_FAILURES: Final = 3
WINDOW: Final = timedelta(hours=1)
RETRY_S: Final = 5  # after that a settlement under way has mostly ended


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment under its lock. `session` stays on one connection; each step commits it."""

    session: WriteSession
    read: MeteredRead
    rails: Rails
    payload: PaymentPayload
    offer: PaymentRequirements
    signed: SignedAuthorization

    @property
    def identity(self) -> payments.Identity:
        return self.signed.identity


def require_valid(payment: Payment) -> None:
    """Errors: Refusal payment_invalid; FacilitatorError, errors of chain reads."""
    require_in_time(payment.read, payment.signed)
    verdict = payment.rails.verify(payment.payload, payment.offer)
    if not verdict.is_valid:
        raise _invalid(payment, verdict.invalid_reason or "no reason given")


def _invalid(payment: Payment, reason: str) -> Refusal:
    """A facilitator rarely says that the money is not there, so it is looked for here."""
    wanted = payment.signed.authorization
    held = payment.read.deps.chain.usdc_balance(wanted.payer)
    if held < wanted.amount:
        reason += f", and {wanted.payer} holds {held} base units, {wanted.amount} are needed"
    return unpaid(payment.read, "payment_invalid", f"The payment was refused: {reason}; sign a new one.")


def require_covered(payment: Payment) -> None:
    """Judge the payer, alone until the transaction ends. Errors: Refusal payment_invalid; errors of chain reads."""
    payments.lock_payer(payment.session, payment.identity)
    _require_few_failures(payment)
    read, wanted = payment.read, payment.signed.authorization
    promised = payments.promised(payment.session, payment.identity, int(read.now.timestamp()))
    if len(promised) < MAX_PROMISED and read.deps.chain.usdc_balance(wanted.payer) >= wanted.amount + sum(promised.values()):
        return
    nonces = {hex_text(nonce): amount for nonce, amount in promised.items()}
    used = read.deps.chain.used_authorizations(wanted.payer, list(nonces))
    left = [amount for nonce, amount in nonces.items() if nonce not in used]
    held = read.deps.chain.usdc_balance(wanted.payer)  # read last: what a nonce was used for is gone from it
    if len(left) >= MAX_PROMISED or held < wanted.amount + sum(left):
        detail = (
            f"The payment was refused: {wanted.payer} holds {held} base units, {sum(left)} of them for payments under way, "
            f"{wanted.amount} are needed; send this payment again when those have ended."
        )
        raise _later(payment, detail, timedelta(seconds=RETRY_S))


def _require_few_failures(payment: Payment) -> None:
    failed = payments.failures(payment.session, payment.identity, payment.read.now - WINDOW)
    if failed.since is not None and failed.count >= MAX_FAILURES:
        payer = payment.signed.authorization.payer
        detail = f"The payment was refused: {failed.count} settlements of {payer} failed within an hour; pay from another account or later."
        raise _later(payment, detail, failed.since + WINDOW - payment.read.now)


def _later(payment: Payment, detail: str, wait: timedelta) -> Refusal:
    refusal = unpaid(payment.read, "payment_invalid", detail)
    refusal.retry_at = payment.read.now + wait
    return refusal
