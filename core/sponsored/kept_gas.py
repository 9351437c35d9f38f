"""What the node says, of gas above all, asked once for everybody who asks within a few seconds.

    --|--- the node is asked ---|------------- KEEP_S ------------|--> asked again
      whoever comes here waits    whoever comes here gets the same

Law: one question in KEEP_S, so that a node that takes longer has a few at once and never one for each
caller. Who waits for one gets its answer or its error, and asks none of their own; an error is not
kept.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Final, Generic, TypeVar

from core.chain.reader import ChainReader
from core.sponsored.prices import EthPrices
from core.sponsored.readings import gas_by_size
from core.sponsored.rules import GasPrice

KEEP_S: Final = 5
MOST_AT_ONCE: Final = 4  # questions to a node that takes longer than KEEP_S
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GasReading:
    """`by_size`: of each size of a transaction that is known. `as_of`: when the node was asked."""

    by_size: Mapping[int, GasPrice]
    as_of: datetime


class SharedReading(Generic[T]):
    """Of one process. `ask` puts the same question at each call."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="shared-reading")
        self._flight: Future[T] | None = None
        self._asked_at: datetime | None = None

    def of(self, ask: Callable[[], T], now: datetime) -> T:
        """At most KEEP_S old, exclusive. Errors: OutsideError, as the node's question gave it."""
        with self._lock:
            flight, at = self._flight, self._asked_at
            # a clock that was set back makes nothing last longer
            is_fresh = at is not None and 0 <= (now - at).total_seconds() < KEEP_S
            if flight is None or not is_fresh or (flight.done() and flight.exception() is not None):
                flight = self._pool.submit(ask)
                self._flight, self._asked_at = flight, now
        return flight.result()


class SharedGasReading(SharedReading[GasReading]):
    """`sizes` are the same at each call."""

    def read(self, chain: ChainReader, sizes: Collection[int], now: datetime) -> GasReading:
        """As `of`. Errors: RpcError."""
        return self.of(lambda: GasReading(gas_by_size(chain, sizes), now), now)


@dataclass(frozen=True, slots=True)
class KeptReadings:
    """Of one process. `takes_fees`: whether USDC moves to the reserve token's treasury."""

    gas: SharedGasReading = field(default_factory=SharedGasReading)
    takes_fees: SharedReading[bool] = field(default_factory=SharedReading)
    eth_price: EthPrices = field(default_factory=EthPrices)
