"""Venues on the chain of chain_fixtures: an ERC-4626 vault that can fail, and a market of Uniswap's own
code, each with its adapter in the list where one is asked for.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eth_utils.address import to_checksum_address

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from core.mandate.venues import uniswap_v3
from tests.integration.chain_fixtures import ROOT, USDC, DeployedChain
from tests.personas import DEPLOYER

CORE = ROOT / "node_modules" / "@uniswap" / "v3-core" / "artifacts" / "contracts"
LIQUIDITY, PRICE = 4 * 10**17, 2_500 * USDC  # the least that counts; of 1e18 units
AGE_S = 3_600
OBSERVATIONS_SLOT = 8  # of a pool's storage: its first observation, the time in the lowest bits


def with_pool(chain: DeployedChain) -> DeployedChain:
    """`test_pool`, a FaultyPool without money in it, and `erc4626_adapter`."""
    at = chain.contracts
    pool = chain.deploy("FaultyPool", at["usdc"])
    return listed(chain, "erc4626_adapter", "Erc4626Adapter", pool, 0, 2_000, 50, test_pool=pool)


def with_market(chain: DeployedChain, age_s: int = AGE_S) -> DeployedChain:
    """A pool of USDC and a token, which has had its price for `age_s`, with twice the least liquidity and
    room for 1,024 observations: `uniswap_v3_factory`, `test_weth`, and `test_market`, which trades.
    """
    at = chain.contracts
    artifact = json.loads((CORE / "UniswapV3Factory.sol" / "UniswapV3Factory.json").read_text())
    sent = chain.rpc.call(
        "eth_sendRawTransaction", [chain.sign(DEPLOYER, None, artifact["bytecode"])]
    )
    factory = to_checksum_address(chain._mined(sent)["contractAddress"])
    token = chain.deploy("TestToken")
    trader = chain.deploy("TestMarket", factory, at["usdc"], token, uniswap_v3.FEE)
    made = {uniswap_v3.FACTORY: factory, uniswap_v3.TOKEN: token, "test_market": trader}
    found = replace(chain, contracts={**at, **made})
    found.mint(trader, 10**16)
    pool = uniswap_v3.pool_address(found.contracts)
    for to, signature, arguments in (
        (token, "mint(address,uint256)", [trader, 10**25]),
        (trader, "open(uint256,uint128)", [PRICE, 2 * LIQUIDITY]),
    ):
        found.succeed(DEPLOYER, to, call_by_signature(signature, arguments))
    _age(found, pool, age_s)
    for to, signature, arguments in (
        (pool, "increaseObservationCardinalityNext(uint16)", [512]),
        (pool, "increaseObservationCardinalityNext(uint16)", [1_024]),
        # a trade to another tick, in another second, takes the new room
        (trader, "moveTo(uint256)", [PRICE * 1_001 // 1_000]),
        (trader, "moveTo(uint256)", [PRICE]),
    ):
        found.rpc.call("evm_increaseTime", [2])
        found.succeed(DEPLOYER, to, call_by_signature(signature, arguments))
    return found


def with_market_adapter(chain: DeployedChain) -> DeployedChain:
    """The same, and `uniswap_v3_adapter`."""
    found = with_market(chain)
    factory, token = (found.contracts[one] for one in (uniswap_v3.FACTORY, uniswap_v3.TOKEN))
    chosen = (factory, token, uniswap_v3.FEE, uniswap_v3.MAX_LOSS_BPS, LIQUIDITY)
    return listed(found, "uniswap_v3_adapter", "UniswapV3Adapter", *chosen)


def _age(chain: DeployedChain, pool: str, seconds: int) -> None:
    """Nobody waits half an hour for a mean: the pool's first observation is so old."""
    word = int(chain.rpc.call("eth_getStorageAt", [pool, hex(OBSERVATIONS_SLOT), "latest"]), 16)
    slot, aged = f"0x{OBSERVATIONS_SLOT:064x}", f"0x{word - seconds:064x}"
    chain.rpc.call("anvil_setStorageAt", [pool, slot, aged])


def listed(
    chain: DeployedChain, name: str, contract: str, *arguments: Any, **beside: str
) -> DeployedChain:
    """With an adapter of the factory, deployed and listed, and the contracts `beside` it."""
    at: Mapping[str, str] = chain.contracts
    adapter = chain.deploy(contract, at["factory"], *arguments)
    chain.succeed(DEPLOYER, at["factory"], calldata.list_adapter(adapter))
    return replace(chain, contracts={**at, **beside, name: adapter})
