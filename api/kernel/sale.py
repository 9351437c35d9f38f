"""A read that costs something, before it is paid (api/payments takes the payment)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from api.kernel.caller import Caller
from api.kernel.idempotency import IdempotencySlot
from api.kernel.operation import Deps, Operation
from core.credits.rules.prices import Price
from core.db.engine import WriteSession
from core.db.locks import AdvisoryLock


@dataclass(frozen=True, slots=True)
class SentPayment:
    """The payment headers of a call as they came: x402 v2's, and v1's, which is refused.

    `only_asks`: a HEAD, which pays nothing whatever came with it.
    """

    v2: str | None = None
    v1: str | None = None
    only_asks: bool = False


NO_PAYMENT: Final = SentPayment()


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSale:
    """What an answer sells once to an account, whichever call it comes with: no free read covers it
    (docs/rules.md#what-is-sold-once).

    `key`: of the account's credit ledger. `lock`: held while it is paid. `is_paid`: asked under that
    lock. `record` writes that it is, in the transaction that pays: by credits or usdc.
    `is_covered`: this answer costs nothing.
    """

    key: str
    lock: AdvisoryLock
    is_paid: Callable[[Session], bool]
    record: Callable[[WriteSession, str], None]
    is_covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredRead:
    """A read that has a price and an answer, before it is paid.

    `resource` is its URL; `client` the network address as limits count it; `idempotency_key` as it
    was sent; `slot`: of that key, where the caller has one. `sale`: what it sells once.
    """

    operation: Operation
    caller: Caller
    resource: str
    payment: SentPayment
    client: str
    idempotency_key: str | None
    slot: IdempotencySlot | None
    deps: Deps
    now: datetime
    sale: OneSale | None = None

    @property
    def price(self) -> Price:
        """Of an operation that is sold."""
        assert self.operation.sold is not None
        return self.operation.sold.price

    @property
    def amount_usdc_e6(self) -> int | None:
        return self.price.usdc_e6
