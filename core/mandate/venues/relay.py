"""The relay's positions: the service closes them with its relay key.

It publishes no rules. Source: contracts/adapters/RelayAdapter.sol.
"""

from core.mandate.rules.close_plan import ClosedBy
from core.mandate.venues.registry import Creation, Venue

VENUE = Venue(
    name="relay",
    contract="RelayAdapter",
    creation=Creation(("usdc", "relay"), (("USDC", "usdc"), ("relay", "relay"))),
    closed_by=ClosedBy.RELAY,
)
