"""The market of test chains: Uniswap's factory from its package, and a pool of USDC and the test
token with 1,024 observations, which the adapter's constructor asks for.

On the devnet the pool has 50 million USDC and 20,000 of the token at all prices, and an hour behind
it. Elsewhere it has none of either: whoever sends some to the test market provides it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ape import chain, project
from ape.api import AccountAPI
from ape.contracts import ContractContainer, ContractInstance
from ethpm_types import ContractType

from scripts._deployments import ROOT

PACKAGE = ROOT / "node_modules" / "@uniswap" / "v3-core" / "artifacts" / "contracts"
PRICE = 2_500_000_000  # USDC base units for 1e18 of the token
LIQUIDITY = 10**18
USDC_E6, TOKEN_WEI = 10**16, 10**25  # far more than it takes to move the price a hundredfold
OBSERVATIONS = (512, 1_024)  # in two transactions, of 11 million gas each
OBSERVATIONS_SLOT = 8  # of a pool's storage: the first observation, its time in the lowest bits
AGE_S = 3_600
MOVE_GAS = 500_000  # in a later block than the estimate's, a trade writes an observation more


def uniswap(contract: str) -> ContractContainer:
    """A contract of Uniswap's package, as Ape deploys and calls it."""
    file = PACKAGE / f"{contract}.sol" / f"{contract}.json"
    artifact: dict[str, Any] = json.loads(Path(file).read_text())
    made = {
        "contractName": contract,
        "abi": artifact["abi"],
        "deploymentBytecode": {"bytecode": artifact["bytecode"]},
    }
    return ContractContainer(ContractType.model_validate(made))


def open_market(at: Mapping[str, str], signer: AccountAPI, *, on_devnet: bool) -> None:
    """What is left of it to do: an interrupted run is taken up where it ended."""
    market = project.TestMarket.at(at["test_market"])
    pool = uniswap("UniswapV3Pool").at(market.pool())
    if pool.slot0().sqrtPriceX96 == 0:
        if on_devnet:
            project.MockUSDC.at(at["usdc"]).mint(market.address, USDC_E6, sender=signer)
            project.TestToken.at(at["test_weth"]).mint(market.address, TOKEN_WEI, sender=signer)
        market.open(PRICE, LIQUIDITY if on_devnet else 0, sender=signer)
        if on_devnet:
            _age(pool)
    for length in OBSERVATIONS:
        if pool.slot0().observationCardinalityNext < length:
            pool.increaseObservationCardinalityNext(length, sender=signer)
    if pool.slot0().observationCardinality < OBSERVATIONS[-1]:
        # the pool counts a longer ring from its next observation on, which another price brings
        market.moveTo(PRICE + PRICE // 1_000, sender=signer, gas_limit=MOVE_GAS)
        market.moveTo(PRICE, sender=signer, gas_limit=MOVE_GAS)


def _age(pool: ContractInstance) -> None:
    """A mean of half an hour cannot wait for half an hour: the pool's first price is an hour old."""
    ask = chain.provider.make_request
    word = int(ask("eth_getStorageAt", [pool.address, hex(OBSERVATIONS_SLOT), "latest"]), 16)
    aged = f"0x{word - AGE_S:064x}"
    ask("anvil_setStorageAt", [pool.address, f"0x{OBSERVATIONS_SLOT:064x}", aged])
