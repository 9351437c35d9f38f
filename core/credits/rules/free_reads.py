"""Who shares a day's free reads with whom, so that many accounts of one person read no more than a
few.

    unowned agents     with the unowned agents that registered from the same network address
    owned agents       with the other agents of their owner, and these with the agents of all owners that signed up from the same address

Laws
- An agent reads while its own count and each of its pools have room; its pools never change.
- Every account has a pool, one with standing too (Bronze: three verified claims of the task
  market): a call's key does not say who has standing, and free reads are no reason to ask.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# as api.kernel.client_address calls a caller whose address nobody knows
UNKNOWN_ADDRESS = "unknown"


@dataclass(frozen=True, slots=True)
class ReadPool:
    """`limit`: free reads that its agents have together in a UTC day.

    `says`: who they are, in a refusal.
    """

    name: str
    limit: int
    says: str


@dataclass(frozen=True, slots=True)
class FreeReads:
    """What one agent may read free in a UTC day: `limit` of its own, as long as each of its pools
    has room.
    """

    account_id: int
    limit: int
    pools: tuple[ReadPool, ...]

    @property
    def name(self) -> str:
        """The agent's own count, beside the names of pools."""
        return f"account:{self.account_id}"

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """(name, limit) of all that a read is counted in, the agent's own first."""
        return (self.name, self.limit), *((pool.name, pool.limit) for pool in self.pools)

    @property
    def says(self) -> str:
        """`100 a day, of 300 that the agents of its owner share`."""
        return ", of ".join(
            [
                f"{self.limit} a day",
                *(f"{pool.limit} that {pool.says} share" for pool in self.pools),
            ]
        )

    def shared_left(self, shared: Mapping[str, int]) -> int:
        """`shared`: what each pool has taken today, by name; one that is left out has taken
        nothing.
        """
        return max(0, min(pool.limit - shared.get(pool.name, 0) for pool in self.pools))

    def left(self, taken: int, shared: Mapping[str, int]) -> int:
        """What the agent may still read free today. `taken`: by itself."""
        return max(0, min(self.limit - taken, self.shared_left(shared)))


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Free reads of a UTC day, by what shares them."""

    of_owner: int
    of_address: int
    of_owners_address: int


def pools_of(owner_id: int | None, address: str | None, limits: PoolLimits) -> tuple[ReadPool, ...]:
    """The pools of an agent, one at least.

    `address`: the network address that its owner signed up from, or, without one, that it
    registered from, as limits count addresses (IPv6 by /64). None: not known; such an owner's
    agents share with nobody else.
    """
    if owner_id is None:
        says = "the unowned agents registered from its network address"
        return (ReadPool(f"address:{address or UNKNOWN_ADDRESS}", limits.of_address, says),)
    of_owner = ReadPool(f"owner:{owner_id}", limits.of_owner, "the agents of its owner")
    if address is None:
        return (of_owner,)
    return of_owner, ReadPool(
        f"owners:{address}",
        limits.of_owners_address,
        "the agents of all owners of one network address",
    )
