"""USDC swapped into one token in one Uniswap v3 pool: the position is units of the token.

The deployment fixes the pool's fee (0.05 %), what a working mandate may lose when it buys or sells
(1 %), and the liquidity below which nothing is valued: enough for mandates of 400,000 USDC at the
test market's price (docs/venues-onchain.md).
Source: contracts/adapters/UniswapV3Adapter.sol.
"""

from collections.abc import Mapping

from eth_utils.address import to_canonical_address, to_checksum_address
from eth_utils.crypto import keccak

from core.mandate.venues.registry import Creation, Exit, Venue

FACTORY, TOKEN = "uniswap_v3_factory", "test_weth"
FEE, MAX_LOSS_BPS, MIN_LIQUIDITY = 500, 100, 4 * 10**17
# keccak256 of the creation code of a pool of v3-core 1.0.1
POOL_CODE_HASH = bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54")


def pool_address(at: Mapping[str, str]) -> str:
    """Where Uniswap's factory has the pool of the two tokens and the fee: `fee` of the mapping, else
    FEE.
    """
    tokens = sorted(to_canonical_address(at[name]).rjust(32, b"\0") for name in ("usdc", TOKEN))
    salt = keccak(b"".join(tokens) + int(at.get("fee", FEE)).to_bytes(32, "big"))
    made = keccak(b"\xff" + to_canonical_address(at[FACTORY]) + salt + POOL_CODE_HASH)
    return str(to_checksum_address(made[12:]))


def is_usdc_token0(at: Mapping[str, str]) -> int:
    return int(int(at["usdc"], 16) < int(at[TOKEN], 16))


VENUE = Venue(
    name="uniswap_v3",
    contract="UniswapV3Adapter",
    title="Uniswap v3",
    does="Swaps USDC into the token of one pool and back; the position counts at the "
    "lower of two mean prices.",
    creation=Creation(
        ("factory", FACTORY, TOKEN, FEE, MAX_LOSS_BPS, MIN_LIQUIDITY),
        (
            ("USDC", "usdc"),
            ("FACTORY", "factory"),
            ("maxLossBps", MAX_LOSS_BPS),
            ("IS_USDC_TOKEN0", is_usdc_token0),
            ("token", TOKEN),
            ("pool", pool_address),
            ("minLiquidity", MIN_LIQUIDITY),
        ),
        chosen=("uniswapFactory", "token", "fee", "maxLossBps", "minLiquidity"),
    ),
    exit=Exit("sell(uint256,uint256)", takes_minimum=True),
    spread_bps=MAX_LOSS_BPS,
    can_release=True,
    is_test=True,
)
