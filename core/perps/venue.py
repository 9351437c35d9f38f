"""The port that accounts at the perpetuals venue are read by; core.perps.hyperliquid_desk implements it."""

from typing import Protocol

from core.perps.rules.leg import AccountReading


class PerpsVenue(Protocol):
    """Read without a key. Bounded in time and in size."""

    @property
    def source(self) -> str:
        """Where readings come from: hyperliquid:mainnet, :testnet or :simulated."""
        ...

    def read_account(self, owner: str, agent: str, dex: str) -> AccountReading:
        """Errors: OutsideError when the venue does not answer, or not as it documents."""
        ...
