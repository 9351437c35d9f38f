"""What an operation that is paid for names: its price, and how it is charged."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from api.kernel.operation import Command, Settle
from api.kernel.outcome import Outcome
from api.kernel.sale import MeteredRead
from api.payments import metering
from core.credits.rules.prices import PRICES, Price

CommandT = TypeVar("CommandT", bound=Command, contravariant=True)


@dataclass(frozen=True, slots=True)
class Metered(Generic[CommandT]):
    """`name`: of the price in core.credits.rules.prices. `is_there` is that of Sold."""

    name: str
    is_there: Callable[[CommandT], bool]

    @property
    def price(self) -> Price:
        return PRICES[self.name]

    def charged(self, read: MeteredRead, outcome: Outcome) -> Outcome | Settle:
        return metering.charged(read, outcome)
