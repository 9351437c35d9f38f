"""Who shares a day's free reads with whom, so that many accounts of one person read no more than a few.

    owned agents       with the other agents of their owner
    unowned agents     with the unowned agents that registered from the same network address

Laws
- An agent reads while its own count and its pool's both have room; its pool never changes.
- An account with standing (Bronze: three verified claims of the task market) needs no pool. Nothing records such claims yet, so that no
  account has standing, and every one has a pool.
"""

from dataclasses import dataclass

UNKNOWN_ADDRESS = "unknown"  # as api.kernel.client_address calls a caller whose address nobody knows


@dataclass(frozen=True, slots=True)
class Pool:
    """`limit`: free reads that its agents have together in a UTC day. `says`: who they are, in a refusal."""

    name: str
    limit: int
    says: str


@dataclass(frozen=True, slots=True)
class FreeReads:
    """What one agent may read free in a UTC day: `limit` of its own, as long as its pool has room."""

    account_id: int
    limit: int
    pool: Pool

    @property
    def name(self) -> str:
        """The agent's own count, beside the names of pools."""
        return f"account:{self.account_id}"

    def left(self, taken: int, shared: int) -> int:
        """`taken` by the agent and `shared` by its pool today."""
        return max(0, min(self.limit - taken, self.pool.limit - shared))


def pool_of(owner_id: int | None, registered_from: str | None, *, of_owner: int, of_address: int) -> Pool:
    """The pool of an agent. `registered_from`: as limits count addresses, IPv6 by /64; None: not known."""
    if owner_id is not None:
        return Pool(f"owner:{owner_id}", of_owner, "the agents of its owner")
    return Pool(f"address:{registered_from or UNKNOWN_ADDRESS}", of_address, "the agents registered from its network address")
