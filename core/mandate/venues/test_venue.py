"""The test venue: one position at a price that its operator sets, without a spread.

Source: contracts/adapters/TestVenueAdapter.sol.
"""

from core.chain.abi import function
from core.mandate.venues.registry import Exit, Venue

VENUE = Venue(
    name="test_venue", contract="TestVenueAdapter", exit=Exit("sell(uint256)"), spread_bps=0
)


def buy(amount_usdc: int) -> str:
    return function(VENUE.contract, "buy").encode(amount_usdc)


def sell(units: int) -> str:
    return function(VENUE.contract, "sell").encode(units)


def set_price(price_e6: int) -> str:
    """Of the venue itself. USDC base units for 1e6 units of the position."""
    return function("TestVenue", "setPrice").encode(price_e6)
