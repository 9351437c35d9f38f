"""What settling with a key of ours may cost: reserved before anything is sent, corrected by the
receipt.

    claim + reserve --commit--> send --> the receipt's cost, or nothing sent: 0 --> what was reserved beyond it is free again
                                   '--> not known: all of it stays used for that day, until the receipt is found

Laws
- One row a UTC day, changed by one statement: the budget holds for all calls and all processes
  together.
- Unknown is never zero: what has no receipt counts with the most that it can cost.
- A facilitator pays its own gas: with one, nothing here applies.
"""

import re
from dataclasses import dataclass
from typing import Final

import structlog
from x402.schemas import SettleResponse

from api.kernel.caller import Nobody
from api.kernel.operation import Refusal
from api.payments.judged import JudgedPayment
from core.hexes import bytes_of
from core.payments import settlements
from core.payments.chain import cost_of
from core.payments.rules import Cost
from core.payments.settlements import DailyGasBudget
from core.times import instant_text, next_day

TX_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
NEXT: Final = ("credits.balance", "credits.prices")
NEXT_OF_NOBODY: Final = ("identity.connect", "credits.prices")  # a balance is read with a key
MOST_OPEN: Final = 8  # settlements of one payer that are looked for in a call

log = structlog.get_logger("api")


@dataclass(frozen=True, slots=True)
class Reserved:
    """A settlement that may be sent."""

    id: int
    is_contract: bool


def reserve(payment: JudgedPayment, *, is_contract: bool) -> Reserved | None:
    """Take what the settlement may cost out of the day's budget, with the row of the payment; None:
    it costs us nothing.

    Errors: Refusal temporarily_unavailable, until the next UTC day.
    """
    gas = payment.payment_config.gas
    if gas is None:
        return None
    budget = DailyGasBudget(gas.wei_per_day, gas.contract_wei_per_day)
    most = gas.most_wei(payment.signed.authorization.amount)
    found = settlements.reserve(
        payment.session,
        payment.identity,
        most,
        budget,
        is_contract=is_contract,
        settler=getattr(payment.payment_config.settler, "address", None),
        now=payment.read.now,
    )
    if found is None:
        raise _used_up(payment, budget, most)
    return Reserved(found, is_contract)


def _used_up(payment: JudgedPayment, budget: DailyGasBudget, most: int) -> Refusal:
    now = payment.read.now
    used, again = settlements.used_on(payment.session, now.date()), next_day(now)
    is_all = used.all_wei + most > budget.all_wei
    log.error(
        "gas_budget_used_up",
        used_wei=used.all_wei,
        contract_wei=used.contract_wei,
        of_contracts=not is_all,
    )
    holds = payment.signed.valid_before > again.timestamp()
    later = f"send this payment again from {instant_text(again)} on"
    if not holds:
        later = (
            f"sign a new payment from {instant_text(again)} on, since this one expires before then"
        )
    whose, instead = ("", "") if is_all else (" of contract wallets", "an account without code, ")
    detail = (
        f"Today's gas for settling payments{whose} is used up; nothing was sent and nothing "
        f"charged. Pay with {instead}free reads, credits or a vault, which still work, or "
        f"{later}."
    )
    next_calls = NEXT_OF_NOBODY if isinstance(payment.read.caller, Nobody) else NEXT
    return Refusal(
        "temporarily_unavailable",
        detail,
        retry_at=again,
        next_calls=next_calls,
        block={"retry_safe": holds},
    )


def nothing_sent(payment: JudgedPayment, reserved: Reserved | None) -> None:
    """All that was reserved is free again."""
    if reserved is not None:
        settlements.close(
            payment.session, reserved.id, Cost(0, is_reverted=False, bars_payer=False)
        )
        payment.session.commit()


def account_for(
    payment: JudgedPayment, reserved: Reserved | None, answer: SettleResponse | None
) -> None:
    """What the settler's answer says of the cost.

    Errors: those of all reads; the settlement then counts with what was reserved.
    """
    if reserved is None or answer is None:
        return
    if not answer.transaction and not answer.success:
        nothing_sent(payment, reserved)
    elif TX_HASH.fullmatch(answer.transaction):
        settlements.name_transaction(payment.session, reserved.id, bytes_of(answer.transaction))
        payment.session.commit()
        account_for_late_ones(payment)


def account_for_late_ones(payment: JudgedPayment) -> None:
    """Of all that this payer made us send, what is mined meanwhile; the keeper's job `settlements`
    sees to the rest. Errors: those of all reads.
    """
    if payment.payment_config.gas is None:
        return
    chain = payment.read.deps.chain
    sent = settlements.open_of(payment.session, payment.identity, MOST_OPEN)
    payment.session.commit()  # no transaction is open while a node is asked
    for one in sent:
        cost = cost_of(chain, one)
        if (
            cost is not None
            and settlements.close(payment.session, one.id, cost)
            and cost.is_reverted
        ):
            log.warning(
                "settlement_reverted",
                payer=one.wanted.payer,
                cost_wei=cost.wei,
                bars_payer=cost.bars_payer,
            )
        payment.session.commit()
