"""The relay's positions: the service closes them with its relay key.

It publishes no rules. Source: contracts/adapters/RelayAdapter.sol.
"""

from core.mandate.rules.close_plan import ClosedBy
from core.mandate.venues.registry import Venue

VENUE = Venue(name="relay", contract="RelayAdapter", closed_by=ClosedBy.RELAY)
