"""What a follower's account is worth and what it holds, by its address alone: nothing that a client
sends counts (docs/fund.md#accounts).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.chain.reader import ChainReader
from core.fund.rules.plan import FollowerAccount


class FollowerAccounts(Protocol):
    """Where accounts are read, by their checksummed address."""

    def read(self, address: str) -> FollowerAccount | None:
        """None: it is not known what the account holds. Errors: OutsideError."""
        ...


class NoAccounts:
    """No account is known."""

    def read(self, address: str) -> FollowerAccount | None:
        return None


class SimulatedAccounts:
    """Of a local stack: worth is the test USDC that the address holds on the chain, and nothing trades
    there, so that no address holds a position.
    """

    def __init__(self, chain: ChainReader) -> None:
        self._chain = chain

    def read(self, address: str) -> FollowerAccount | None:
        return FollowerAccount(self._chain.usdc_balance(address), {})


@dataclass(frozen=True, slots=True)
class FundSetup:
    """`credit_bonds`: credits, by account."""

    accounts: FollowerAccounts = field(default_factory=NoAccounts)
    credit_bonds: Mapping[int, int] = field(default_factory=dict)
