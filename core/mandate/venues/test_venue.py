"""The test venue: one position at a price that its operator sets, without a spread.

Source: contracts/adapters/TestVenueAdapter.sol.
"""

from core.chain.abi import function
from core.mandate.venues.registry import Creation, Exit, Venue

VENUE = Venue(
    name="test_venue",
    contract="TestVenueAdapter",
    title="Test venue",
    does="Buys and sells units at a price that the test operator sets.",
    creation=Creation(("usdc", "test_venue"), (("USDC", "usdc"), ("venue", "test_venue"))),
    exit=Exit("sell(uint256)"),
    spread_bps=0,
    is_test=True,
)


def buy(amount_usdc: int) -> str:
    return function(VENUE.contract, "buy").encode(amount_usdc)


def sell(units: int) -> str:
    return function(VENUE.contract, "sell").encode(units)


def set_price(price_e6: int) -> str:
    """Of the venue itself. USDC base units for 1e6 units of the position."""
    return function("TestVenue", "setPrice").encode(price_e6)
