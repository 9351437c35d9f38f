"""The venues at which `make demo` can run, by the name that VENUE gives.

At each the agent buys twice for 200 USDC, and the price falls by 15 %.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.chain.abi import call_by_signature, function
from core.chain.reader import ChainReader
from core.mandate.venues import erc4626, test_venue, uniswap_v3
from scripts._offices import DEAD
from scripts._processes import StackError

FALL_PERCENT = 15
PRICE = 2_500_000_000  # of the test market: USDC base units for 1e18 of its token
MEAN_S = 300  # of the mean price that falls first
SHARES_PER_UNIT = 10**6  # of the test pool, per base unit of USDC, at its first rate

Send = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class DemoVenue:
    """`adapter`: its name in the deployment. `buy`: signature and arguments of the agent's call for an
    amount in USDC base units. `fall`: makes the price fall, given the contracts, the chain and how
    the operator sends a call; answers {succeeded, block}. `costs_e6`: what trading may take of the
    worth each way, in base units.
    """

    name: str
    adapter: str
    buy: Callable[[int], tuple[str, list[str]]]
    fall: Callable[[dict[str, str], ChainReader, Send], dict[str, Any]]
    costs_e6: range = range(1)


def _new_price(at: dict[str, str], chain: ChainReader, send: Send) -> dict[str, Any]:
    return send({"to": at["test_venue"], "data": test_venue.set_price(850_000)})


def _loss(at: dict[str, str], chain: ChainReader, send: Send) -> dict[str, Any]:
    """The pool loses USDC, by a transaction of its own that only a local chain allows."""
    pool, call = at["test_pool"], chain.rpc.call
    lost = chain.usdc_balance(pool) * FALL_PERCENT // 100
    data = function("MockUSDC", "transfer").encode(DEAD, lost)
    call("anvil_impersonateAccount", [pool])
    call("anvil_setBalance", [pool, hex(10**18)])
    sent = call("eth_sendTransaction", [{"from": pool, "to": at["usdc"], "data": data}])
    call("anvil_stopImpersonatingAccount", [pool])
    call("evm_mine", [])
    receipt = chain.receipts_of([str(sent)])[0]
    assert receipt is not None, "it is in the block just mined"
    return {"succeeded": receipt.status == 1, "block": receipt.block_number}


def _trade(at: dict[str, str], chain: ChainReader, send: Send) -> dict[str, Any]:
    """Somebody sells, and the five minutes pass in which the mean price follows."""
    price = PRICE * (100 - FALL_PERCENT) // 100
    sold = send({"to": at["test_market"], "data": call_by_signature("moveTo(uint256)", [price])})
    chain.rpc.call("evm_increaseTime", [MEAN_S])
    return sold


VENUES = {
    "test_venue": DemoVenue(
        "test venue",
        test_venue.VENUE.adapter,
        lambda amount: ("buy(uint256)", [str(amount)]),
        _new_price,
    ),
    "erc4626": DemoVenue(
        "pool",
        erc4626.VENUE.adapter,
        lambda amount: (
            "deposit(uint256,uint256)",
            [str(amount), str(amount * SHARES_PER_UNIT * 995 // 1000)],
        ),
        _loss,
    ),
    "uniswap": DemoVenue(
        "Uniswap pool",
        uniswap_v3.VENUE.adapter,
        lambda amount: (
            "buy(uint256,uint256)",
            [str(amount), str(amount * 10**18 // PRICE * 995 // 1000)],
        ),
        _trade,
        range(500_000),
    ),
}


def demo_venue() -> DemoVenue:
    """The one that VENUE names. Errors: StackError."""
    name = os.environ.get("VENUE") or "test_venue"
    if name not in VENUES:
        raise StackError(f"VENUE is {name!r}: give one of {', '.join(VENUES)}")
    return VENUES[name]
