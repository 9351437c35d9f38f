"""The SDK's desk at a local exchange, with troubles that a test chooses."""

from typing import Any

from core.errors import OutsideError
from core.perps.hyperliquid_desk import HyperliquidDesk
from core.perps.rules.orders import OrderAnswer, VenuePosition
from tests.hl_exchange import Exchange


class TroubledDesk(HyperliquidDesk):
    """`down`: names of calls that fail. `loses_answers`: what is relayed arrives, its answer does
    not. `relayed`: how often something was.
    """

    def __init__(self, exchange: Exchange, url: str) -> None:
        super().__init__(url)
        self.exchange = exchange
        self.down = set[str]()
        self.loses_answers = False
        self.relayed = 0

    def positions(self, owner: str, dex: str) -> tuple[VenuePosition, ...]:
        self._require_up("positions")
        return super().positions(owner, dex)

    def find(self, owner: str, cloid: str) -> OrderAnswer | None:
        self._require_up("find")
        return super().find(owner, cloid)

    def relay(self, *args: Any, **named: Any) -> OrderAnswer:
        self._require_up("relay")
        self.relayed += 1
        said = super().relay(*args, **named)
        if self.loses_answers:
            raise OutsideError("the answer was lost")
        return said

    def _require_up(self, name: str) -> None:
        if name in self.down:
            raise OutsideError(f"{name} is down")
