"""Whether a payment may be sent to settle: each that reverts is a transaction at our cost, so it is
judged before every try.

Laws
- It is in time and the facilitator calls it valid now, whatever it was called before.
- What the payer holds covers it beside all that is promised: other payments that are claimed, in
  time and not on the chain yet.
- After three failed settlements within an hour nothing more of this payer is sent, and what is
  under way may fail as well.
- A contract wallet can be valid when it is asked and not when it pays: at our gas it has one
  payment under way, and after one that reverted it pays nothing here for BARRED.
- The payer's lock is held for statements of the database alone, never while a node is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from x402.schemas import PaymentPayload, PaymentRequirements

from api.kernel.operation import Refusal
from api.kernel.sale import MeteredRead
from api.payments.offer import unpaid
from api.payments.payment_config import DearGasError, PaymentConfig
from api.payments.sent import SignedAuthorization, require_in_time
from api.payments.verdicts import sentence_of
from core.db.engine import WriteSession
from core.hexes import hex_of
from core.payments import queries as payments
from core.payments import settlements
from core.payments.queries import Tally
from core.times import instant_text

MAX_PROMISED: Final = 8  # payments of one payer that are under way at once
MAX_FAILURES: Final = 3
WINDOW: Final = timedelta(hours=1)
BARRED: Final = timedelta(days=30)
CHEAPER_S: Final = 60  # after that gas may have become cheaper
RETRY_S: Final = 5  # after that a settlement under way has mostly ended


@dataclass(frozen=True, slots=True)
class JudgedPayment:
    """One payment under its lock. `session` stays on one connection; each step commits it."""

    session: WriteSession
    read: MeteredRead
    payment_config: PaymentConfig
    payload: PaymentPayload
    offer: PaymentRequirements
    signed: SignedAuthorization

    @property
    def identity(self) -> payments.Identity:
        return self.signed.identity


def require_valid(payment: JudgedPayment) -> None:
    """Nobody asks a node about a payer whose payments are not sent anyway.

    Errors: Refusal payment_invalid, temporarily_unavailable while gas is dear; FacilitatorError,
    errors of chain reads.
    """
    require_in_time(payment.read, payment.signed)
    _require_few_failures(payment)
    payment.session.commit()
    try:
        verdict = payment.payment_config.verify(payment.payload, payment.offer)
    except DearGasError as error:
        raise too_dear(payment, error) from error
    if not verdict.is_valid:
        raise _invalid(payment, sentence_of(verdict.invalid_reason))


def too_dear(payment: JudgedPayment, error: DearGasError) -> Refusal:
    again = payment.read.now + timedelta(seconds=CHEAPER_S)
    detail = (
        f"Gas costs {error.asked_wei} wei per unit right now, more than the {error.most_wei} "
        "that settling this payment is worth; nothing was sent and nothing charged. Pay with "
        "credits, or send this again later."
    )
    return Refusal(
        "temporarily_unavailable",
        detail,
        retry_at=again,
        next_calls=("credits.balance", "credits.prices"),
    )


def _invalid(payment: JudgedPayment, sentence: str) -> Refusal:
    """A facilitator rarely says that the money is not there, so it is looked for here."""
    wanted = payment.signed.authorization
    held = payment.read.deps.chain.usdc_balance(wanted.payer)
    if held < wanted.amount:
        sentence += f", and {wanted.payer} holds {held} base units but needs {wanted.amount}"
    return unpaid(
        payment.read, "payment_invalid", f"The payment was refused: {sentence}; sign a new one."
    )


@dataclass(frozen=True, slots=True)
class PayerBalance:
    """What a payer holds (base units), and what of it was promised then.

    Read from the chain before the payer is locked.

    `under_way`: amounts of its payments that were claimed and not used. `has_code`: it is a
    contract, or delegates to one (EIP-7702).
    """

    held: int
    under_way: Sequence[int]
    tally: Tally
    has_code: bool


def balance_of(payment: JudgedPayment) -> PayerBalance:
    """No lock is held and no transaction open while the node is asked.

    Errors: those of all reads.
    """
    chain, payer = payment.read.deps.chain, payment.signed.authorization.payer
    promised = payments.promised(
        payment.session, payment.identity, int(payment.read.now.timestamp())
    )
    payment.session.commit()
    by_nonce = {hex_of(nonce): amount for nonce, amount in promised.amounts.items()}
    has_code = bool(chain.code_at(payer))
    with chain.rpc.pinned():
        held, used = chain.usdc_held(payer, list(by_nonce), chain.newest().hash)
    return PayerBalance(
        held,
        [amount for nonce, amount in by_nonce.items() if nonce not in used],
        promised.tally,
        has_code,
    )


def require_covered(payment: JudgedPayment, balance: PayerBalance) -> None:
    """Judge the payer, alone until the transaction ends. Errors: Refusal payment_invalid.

    What was claimed since the balance was looked at counts as promised, whatever has become of it.
    """
    payer, wanted = payment.signed.authorization.payer, payment.signed.authorization.amount
    tally = payments.count_claim(payment.session, payment.identity, wanted)
    most = _most_under_way(payment, balance, _require_few_failures(payment))
    under_way = len(balance.under_way) + tally.claims - balance.tally.claims
    if under_way >= most:
        detail = (
            f"The payment was refused: {payer} has {under_way} payments under way, and {most} "
            "is the limit; send it again once one has ended."
        )
        raise _later(payment, detail, timedelta(seconds=RETRY_S))
    promised = sum(balance.under_way) + tally.claimed_usdc_e6 - balance.tally.claimed_usdc_e6
    if balance.held < wanted + promised:
        detail = (
            f"The payment was refused: {payer} holds {balance.held} base units, {promised} of "
            f"them for payments under way, {wanted} are needed; send this payment again once "
            "those have ended."
        )
        raise _later(payment, detail, timedelta(seconds=RETRY_S))


def _most_under_way(payment: JudgedPayment, balance: PayerBalance, failed: int) -> int:
    """Each of them may fail as well.

    A contract's may do so whatever it says when it is asked, so that it has one.
    """
    if payment.payment_config.gas is not None and balance.has_code:
        return 1
    return MAX_FAILURES - failed if failed else MAX_PROMISED


def _require_few_failures(payment: JudgedPayment) -> int:
    """How many settlements failed within the hour. Errors: Refusal payment_invalid."""
    now, payer = payment.read.now, payment.signed.authorization.payer
    reverts = settlements.reverts(payment.session, payment.identity, now - WINDOW, now - BARRED)
    barred = reverts.barred
    if barred is not None and payment.payment_config.gas is not None:
        detail = (
            f"The payment was refused: {payer} is a contract that accepted a payment when it "
            "was checked and then reverted it on chain; pay from another account, with "
            f"credits, or from {instant_text(barred + BARRED)} on."
        )
        raise _later(payment, detail, barred + BARRED - now)
    failed = payments.failures(payment.session, payment.identity, now - WINDOW)
    counts = ((failed.count, failed.since), (reverts.count, reverts.first))
    count, since = max(counts, key=lambda one: one[0])
    if since is not None and count >= MAX_FAILURES:
        detail = (
            f"The payment was refused: {count} settlements of {payer} failed within an hour; pay "
            "from another account or later."
        )
        raise _later(payment, detail, since + WINDOW - now)
    return count


def _later(payment: JudgedPayment, detail: str, wait: timedelta) -> Refusal:
    refusal = unpaid(payment.read, "payment_invalid", detail)
    refusal.retry_at = payment.read.now + wait
    return refusal
