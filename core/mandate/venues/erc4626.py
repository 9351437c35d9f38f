"""USDC lent through one ERC-4626 vault, the pool: the position is shares of it.

The deployment fixes what leaving costs (0), how fast a position's value may grow (20 % a year) and
what a working mandate may lose when it enters or leaves (0.5 %).
Source: contracts/adapters/Erc4626Adapter.sol.
"""

from core.mandate.venues.registry import Creation, Exit, Venue

EXIT_FEE_BPS, MAX_GROWTH_BPS, MAX_LOSS_BPS = 0, 2_000, 50

VENUE = Venue(
    name="erc4626",
    contract="Erc4626Adapter",
    title="Lending pool (ERC-4626)",
    does="Lends USDC to one pool and redeems it; the position counts towards the worth.",
    creation=Creation(
        ("factory", "test_pool", EXIT_FEE_BPS, MAX_GROWTH_BPS, MAX_LOSS_BPS),
        (
            ("USDC", "usdc"),
            ("FACTORY", "factory"),
            ("maxLossBps", MAX_LOSS_BPS),
            ("pool", "test_pool"),
            ("exitFeeBps", EXIT_FEE_BPS),
            ("maxGrowthBps", MAX_GROWTH_BPS),
        ),
        chosen=("pool", "exitFeeBps", "maxGrowthBps", "maxLossBps"),
    ),
    exit=Exit("redeem(uint256,uint256)", takes_minimum=True),
    spread_bps=MAX_LOSS_BPS,
    can_release=True,
    is_test=True,
)
