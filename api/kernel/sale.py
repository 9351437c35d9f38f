"""A read that costs something, before it is paid (api/payments takes the payment)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.kernel.caller import Caller
from api.kernel.idempotency import IdempotencySlot
from api.kernel.one_sale import OneSale
from api.kernel.operation import Deps, Operation
from core.credits.rules.prices import Price


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
