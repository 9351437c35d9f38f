"""How the agents of a farm, or honest ones, come in: what the service may know them by.

address   the network address that they call from
owner     a wallet that has signed in, from the same address
funder    the wallet that first sent USDC to the agent's own
day       on which they registered
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class CameFrom(StrEnum):
    """What an address is like, as the service sees it."""

    PUBLIC = "public"  # each in a network of its own
    ONE_SUBSCRIBER = "one subscriber"  # networks of /64 out of the /56 of one subscriber
    PRIVATE = "private"
    LOOPBACK = "loopback"
    UNKNOWN = "unknown"  # the connection has no address

    def address(self, n: int) -> str:
        match self:
            case CameFrom.PUBLIC:
                return f"{60 + n % 30}.{20 + n % 200}.{1 + n // 200}.7"
            case CameFrom.ONE_SUBSCRIBER:
                return f"2a01:cb08:8000:ab{n % 256:02x}::7"
            case CameFrom.PRIVATE:
                return f"10.7.{n // 250}.{1 + n % 250}"
            case CameFrom.LOOPBACK:
                return f"127.0.{n // 250}.{1 + n % 250}"
            case CameFrom.UNKNOWN:
                return "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """How some agents come in: the nth has the address, owner and funder of n modulo how many there
    are; 0: none. Those beyond `members` less `unowned` have no owner. They register over `days`.
    """

    members: int
    addresses: int
    owners: int
    funders: int
    unowned: int = 0
    days: int = 1
    came_from: CameFrom = CameFrom.PUBLIC
    in_one_transaction: bool = False

    def has_owner(self, n: int) -> bool:
        return bool(self.owners) and n < self.members - self.unowned

    def signs(self, n: int) -> frozenset[str]:
        """What the nth may be known by."""
        address = 0 if self.came_from is not CameFrom.PUBLIC else n % self.addresses
        signs = {f"address {address}"}
        signs |= {f"owner {n % self.owners}"} if self.has_owner(n) else {f"agent {n}"}
        return frozenset(signs | ({f"funder {n % self.funders}"} if self.funders else set()))

    @property
    def groups(self) -> int:
        """Those that share no sign, also through others. Addresses of one subscriber are one."""
        groups = list[frozenset[str]]()
        for n in range(self.members):
            joined = [one for one in groups if one & self.signs(n)]
            groups = [one for one in groups if one not in joined]
            groups.append(self.signs(n).union(*joined))
        return len(groups)

    @property
    def cost(self) -> str:
        where = "" if self.came_from is CameFrom.PUBLIC else f" ({self.came_from})"
        return f"{self.members}/{self.addresses}/{self.owners}/{self.funders}{where}"


ALONE: Final = Crew(members=1, addresses=1, owners=1, funders=1)
UNOWNED: Final = Crew(members=1, addresses=1, owners=0, funders=0)
STRANGE: Final = Crew(members=8, addresses=8, owners=8, funders=8, days=4)
SIX: Final = Crew(members=6, addresses=1, owners=6, funders=0)
THREE: Final = Crew(members=3, addresses=1, owners=3, funders=0)
TWELVE: Final = Crew(members=12, addresses=4, owners=12, funders=0)
SPREAD: Final = Crew(members=10, addresses=10, owners=10, funders=10, days=5)
_UNOWNED: Final = Crew(members=10, addresses=10, owners=0, funders=0)

# Who shares some signs and not others.
SHARED: Final = {
    "spread_six": replace(SPREAD, members=6, addresses=6, owners=6, funders=6),
    "same_day": replace(SPREAD, days=1),
    "slow_six": replace(SIX, days=6),
    "one_owner": replace(SIX, owners=1),
    "half_owned": Crew(members=10, addresses=1, owners=6, funders=0, unowned=4),
    "no_owner": _UNOWNED,
    "owners_of_ten_funders": replace(SPREAD, addresses=1),
    "ten_funders": replace(_UNOWNED, addresses=1, funders=10),
    "one_funder": replace(_UNOWNED, funders=1, in_one_transaction=True),
    "owners_of_one_funder": replace(SPREAD, funders=1, in_one_transaction=True),
    "one_subscriber": replace(_UNOWNED, came_from=CameFrom.ONE_SUBSCRIBER),
    "loopback": replace(SIX, came_from=CameFrom.LOOPBACK),
    "private": replace(SIX, came_from=CameFrom.PRIVATE),
    "unknown": replace(SIX, came_from=CameFrom.UNKNOWN),
}
