"""What a follower's account is worth and what it holds, by its address alone: nothing that a client
sends counts (docs/fund.md#accounts).
"""

from typing import Protocol

from sqlalchemy.orm import Session

from core.chain.reader import ChainReader
from core.fund.planning import positions_of
from core.fund.rules.plan import FollowerAccount
from core.hexes import bytes_of


class FollowerAccounts(Protocol):
    """Where accounts are read, by their checksummed address."""

    def read(self, session: Session, address: str) -> FollowerAccount | None:
        """None: it is not known what the account holds. Errors: OutsideError."""
        ...


class NoAccounts:
    """No account is known."""

    def read(self, session: Session, address: str) -> FollowerAccount | None:
        return None


class SimulatedAccounts:
    """Of a local stack: worth is the test USDC that the address holds on the chain, positions are
    those of the simulated book, where margin is never taken from that USDC.
    """

    def __init__(self, chain: ChainReader) -> None:
        self._chain = chain

    def read(self, session: Session, address: str) -> FollowerAccount | None:
        nav = self._chain.usdc_balance(address)
        return FollowerAccount(nav, positions_of(session, bytes_of(address)))
