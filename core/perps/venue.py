"""The ports to the perpetuals venue, which core.perps.hyperliquid_desk implements."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from core.perps.rules.leg import AccountReading
from core.perps.rules.operator_orders import OperatorCaps
from core.perps.rules.orders import OrderAnswer, VenueMarket, VenueOrder, VenuePosition

Sign = Callable[[str], str]  # a 0x digest into a 0x signature of 65 bytes r, s, v


class PerpsVenue(Protocol):
    """Read without a key. Bounded in time and in size."""

    @property
    def source(self) -> str:
        """Where readings come from: hyperliquid:mainnet, :testnet or :simulated."""
        ...

    def read_account(self, owner: str, agent: str, dex: str) -> AccountReading:
        """Errors: OutsideError when the venue does not answer, or not as it documents."""
        ...


class PerpsDesk(Protocol):
    """Where orders are sent. Errors of all: OutsideError, as of PerpsVenue."""

    @property
    def source(self) -> str: ...

    def takes_key(self, owner: str, agent: str) -> bool:
        """Whether the venue takes orders of the agent's key for the owner's account."""
        ...

    def positions(self, owner: str, dex: str) -> tuple[VenuePosition, ...]:
        """The account's open positions."""
        ...

    def markets(self, coins: Collection[str], dex: str) -> Mapping[str, VenueMarket]:
        """By coin; one whose market can't be read is left out."""
        ...

    def find(self, owner: str, cloid: str) -> OrderAnswer | None:
        """What became of an order; None: the venue does not know it."""
        ...

    def send(
        self,
        order: VenueOrder,
        cloid: str,
        *,
        placed_at: datetime,
        expires_at: datetime,
        sign: Sign,
    ) -> OrderAnswer:
        """Send once. An error says nothing of whether the order arrived."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSign:
    """What a key signs for an order: EIP-712 typed data, and its digest, 0x and 64 hex digits."""

    digest: str
    typed_data: Mapping[str, Any]


class RelayDesk(PerpsDesk, Protocol):
    """A desk for orders that somebody else signs. The signature covers order, cloid, nonce and
    expiry, and the venue takes a nonce once: the same order relayed again is never a second one.
    """

    def to_sign(
        self, order: VenueOrder, cloid: str, *, nonce_ms: int, expires_at: datetime
    ) -> ToSign:
        """Asks nothing of the venue."""
        ...

    def relay(
        self,
        order: VenueOrder,
        cloid: str,
        *,
        nonce_ms: int,
        expires_at: datetime,
        signature: str,
    ) -> OrderAnswer:
        """`signature`: 65 bytes r, s, v. Errors: OutsideError, as of `send`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDesk:
    """Where the operator's own orders go: its one account, and what its orders may open."""

    venue: RelayDesk
    account: str  # checksummed
    caps: OperatorCaps
    allowance_bps: int
