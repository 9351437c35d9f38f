"""USDC lent through one ERC-4626 vault, the pool: the position is shares of it.

The deployment fixes what leaving costs (0), how fast a position's value may grow (20 % a year) and
what a working mandate may lose when it enters or leaves (0.5 %).
Source: contracts/adapters/Erc4626Adapter.sol.
"""

from core.chain.abi import function
from core.mandate.venues.registry import Creation, Exit, Venue

EXIT_FEE_BPS, MAX_GROWTH_BPS, MAX_LOSS_BPS = 0, 2_000, 50

VENUE = Venue(
    name="erc4626",
    contract="Erc4626Adapter",
    creation=Creation(
        ("factory", "test_pool", EXIT_FEE_BPS, MAX_GROWTH_BPS, MAX_LOSS_BPS),
        (
            ("USDC", "usdc"),
            ("FACTORY", "factory"),
            ("pool", "test_pool"),
            ("exitFeeBps", EXIT_FEE_BPS),
            ("maxGrowthBps", MAX_GROWTH_BPS),
            ("maxLossBps", MAX_LOSS_BPS),
        ),
    ),
    exit=Exit("redeem(uint256,uint256)", lambda units: (units, 0)),
    spread_bps=MAX_LOSS_BPS,
    is_test=True,
)


def deposit(amount_usdc: int, min_shares: int) -> str:
    return function(VENUE.contract, "deposit").encode(amount_usdc, min_shares)


def redeem(shares: int, min_usdc: int) -> str:
    return function(VENUE.contract, "redeem").encode(shares, min_usdc)


def release() -> str:
    return function(VENUE.contract, "release").encode()
