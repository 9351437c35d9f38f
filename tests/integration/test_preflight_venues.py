"""What `make preflight` says of the venues that an operator chose: a pool and a market on a real chain."""

from dataclasses import replace
from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from core.chain.abi import call_by_signature
from core.findings import PartFinding
from core.mandate.venues import uniswap_v3
from scripts._deployments import Deployed, Record
from scripts._preflight_venues import chosen_lines, venue_lines
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.venue_fixtures import LIQUIDITY, PRICE, with_market
from tests.personas import DEPLOYER

POOL, MARKET = "cellar_erc4626_adapter", "weth_uniswap_v3_adapter"


def record(chain: DeployedChain, name: str, chosen: dict[str, Any]) -> Record:
    contracts = [Deployed(one, one, at, 1, None, [], "0x") for one, at in chain.contracts.items()]
    contracts.append(Deployed(name, name, to_checksum_address("0x" + "77" * 20), 1, None, [], "0x"))
    return Record(chain.chain_id, "0", contracts, venues={name: chosen})


def said(chain: DeployedChain, name: str, chosen: dict[str, Any]) -> dict[str, PartFinding]:
    """By what each line is about, without the adapter's name."""
    lines = list(venue_lines(chain.reader, record(chain, name, chosen)))
    return {one.what.removeprefix(name).strip(): one for one in lines}


# An ERC-4626 vault


@pytest.fixture
def pool(deployed: DeployedChain) -> str:
    """With 1,000 USDC in it."""
    at = deployed.deploy("FaultyPool", deployed.contracts["usdc"])
    deployed.mint(DEPLOYER.address, 1_000 * USDC)
    for to, signature, arguments in (
        (deployed.contracts["usdc"], "approve(address,uint256)", [at, 1_000 * USDC]),
        (at, "deposit(uint256,address)", [1_000 * USDC, DEPLOYER.address]),
    ):
        deployed.succeed(DEPLOYER, to, call_by_signature(signature, arguments))
    return at


def chosen_pool(pool: str, **changes: Any) -> dict[str, Any]:
    return {"pool": pool, "exitFeeBps": 0, "maxGrowthBps": 2_000, "maxLossBps": 50, **changes}


def set_fault(chain: DeployedChain, pool: str, signature: str, *arguments: Any) -> None:
    chain.succeed(DEPLOYER, pool, call_by_signature(signature, arguments))


def test_pool__in_order__is_right_with_its_code_to_record(
    deployed: DeployedChain, pool: str
) -> None:
    found = said(deployed, POOL, chosen_pool(pool))
    assert all(one.is_right for one in found.values()), found
    assert found["rate"].says == "1 USDC of shares pays 1.000000"
    code = found["code"].says.split()[0]
    assert said(deployed, POOL, chosen_pool(pool, codeHash=code))["code"].is_right


def test_pool__of_other_code_than_recorded__is_wrong(deployed: DeployedChain, pool: str) -> None:
    found = said(deployed, POOL, chosen_pool(pool, codeHash="0x" + "00" * 32))
    assert not found["code"].is_right


def test_pool__of_another_asset__is_wrong(deployed: DeployedChain, pool: str) -> None:
    other = deployed.deploy("FaultyPool", deployed.deploy("TestToken"))
    assert not said(deployed, POOL, chosen_pool(other))["asset"].is_right


def test_pool__that_takes_more_than_the_exit_fee__is_wrong(
    deployed: DeployedChain, pool: str
) -> None:
    set_fault(deployed, pool, "setFees(uint256,uint256)", 0, 30)
    assert said(deployed, POOL, chosen_pool(pool, exitFeeBps=30))["rate"].is_right
    assert not said(deployed, POOL, chosen_pool(pool, exitFeeBps=29))["exit fee"].is_right


def test_pool__whose_rate_fell_lately__is_wrong(deployed: DeployedChain, pool: str) -> None:
    set_fault(deployed, pool, "lose(uint256)", USDC)
    found = said(deployed, POOL, chosen_pool(pool))["history"]
    assert not found.is_right
    assert "within 1 blocks" in found.says


def test_pool__without_code__is_wrong(deployed: DeployedChain) -> None:
    found = said(deployed, POOL, chosen_pool(DEPLOYER.address))["pool"]
    assert not found.is_right
    assert "there is no contract at" in found.says


def test_pool__that_does_not_say_its_rate__is_wrong(deployed: DeployedChain, pool: str) -> None:
    set_fault(deployed, pool, "setSilent(bool)", True)
    assert not said(deployed, POOL, chosen_pool(pool))[""].is_right


def test_venue__that_is_not_deployed__is_wrong(deployed: DeployedChain, pool: str) -> None:
    asked = record(deployed, POOL, chosen_pool(pool))
    (line,) = venue_lines(deployed.reader, replace(asked, contracts=asked.contracts[:-1]))
    assert line.says == "is not deployed: run `make deploy`"


# A Uniswap v3 pool


@pytest.fixture
def market(deployed: DeployedChain) -> DeployedChain:
    return with_market(deployed)


def chosen_market(chain: DeployedChain, **changes: Any) -> dict[str, Any]:
    given = {
        "uniswapFactory": chain.contracts[uniswap_v3.FACTORY],
        "token": chain.contracts[uniswap_v3.TOKEN],
        "fee": uniswap_v3.FEE,
        "maxLossBps": 100,
        "minLiquidity": LIQUIDITY,
    }
    return given | changes


def test_market__in_order__is_right_with_the_largest_mandate(market: DeployedChain) -> None:
    found = said(market, MARKET, chosen_market(market))
    assert all(one.is_right for one in found.values()), found
    assert list(found) == ["pool", "code", "observations", "liquidity", "price"]
    assert "enough for mandates of 400000.00" in found["liquidity"].says


def test_market__of_another_factory__is_wrong(market: DeployedChain) -> None:
    strange = market.contracts["factory"]
    found = said(market, MARKET, chosen_market(market, uniswapFactory=strange))
    assert not found["factory"].is_right


def test_market__of_uniswaps_factory_where_it_is_not__is_wrong(market: DeployedChain) -> None:
    public = "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24"
    found = said(market, MARKET, chosen_market(market, uniswapFactory=public))["factory"]
    assert not found.is_right
    assert "there is no contract at" in found.says


def test_market__of_a_fee_without_a_pool__is_wrong(market: DeployedChain) -> None:
    found = said(market, MARKET, chosen_market(market, fee=3_000))["pool"]
    assert not found.is_right
    assert "none of USDC" in found.says


def test_market__that_is_younger_than_its_mean__is_wrong(deployed: DeployedChain) -> None:
    young = with_market(deployed, age_s=60)
    found = said(young, MARKET, chosen_market(young))["observations"]
    assert not found.is_right
    assert "reach back less than 30 minutes" in found.says


def test_market__of_too_few_observations__is_wrong_before_it_is_deployed(
    deployed: DeployedChain,
) -> None:
    """What `make deploy` asks before it sends anything."""
    young = with_market(deployed)
    trader = young.deploy(
        "TestMarket",
        *(young.contracts[one] for one in (uniswap_v3.FACTORY, "usdc", uniswap_v3.TOKEN)),
        10_000,
    )
    young.succeed(DEPLOYER, trader, call_by_signature("open(uint256,uint128)", [PRICE, 0]))
    asked = record(young, MARKET, chosen_market(young, fee=10_000))
    undeployed = replace(asked, contracts=asked.contracts[:-1])
    (line,) = [one for one in chosen_lines(young.reader, undeployed, MARKET) if not one.is_right]
    assert str(line).startswith(f"WRONG  {MARKET} observations: 1, at least 1024 are needed")


def test_market__shallower_than_its_least_liquidity__is_wrong(market: DeployedChain) -> None:
    found = said(market, MARKET, chosen_market(market, minLiquidity=3 * LIQUIDITY))
    assert not found["liquidity"].is_right


def test_market__moved_off_its_mean__is_wrong(market: DeployedChain) -> None:
    trader, moved = market.contracts["test_market"], PRICE * 8 // 10
    market.succeed(DEPLOYER, trader, call_by_signature("moveTo(uint256)", [moved]))
    assert not said(market, MARKET, chosen_market(market))["price"].is_right
