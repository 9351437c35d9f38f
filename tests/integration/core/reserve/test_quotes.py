"""What is quoted is what the contract mints: 1,000 states and amounts drawn at random, and edges.

The contract runs each purchase itself, by eth_call, on the reserve and supply that the case names
(they are laid over its storage), with a minOut equal to the quote; one unit more is refused.
"""

import random
from dataclasses import dataclass

import pytest

from core.chain.abi import answer_words
from core.chain.abi_text import call_by_signature
from core.chain.reader import block_argument
from core.chain.rpc import RpcError
from core.reserve import rules
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.reserve_token import TokenOnChain, deploy_reserve_token
from tests.personas import AGENT

ONE = 10**18
RESERVE_MOST = 2**120 - 1
PAYS = 10**18  # USDC base units that the buyer of a case has
CASES = 1_000


@dataclass(frozen=True, slots=True)
class Laid:
    """The token with storage laid over it. Slots are found by what stands in them."""

    token: TokenOnChain
    supply_slot: int
    reserve_slot: int

    def asked(self, data: str, reserve_e6: int, supply: int) -> int:
        """Errors: RpcError, also where the contract reverts."""
        words = {
            hex32(self.supply_slot): hex32(supply),
            hex32(self.reserve_slot): hex32(reserve_e6 << 8),  # the pause below, what is owed above
        }
        call = {"from": AGENT.address, "to": self.token.address, "data": data}
        over = {self.token.address: {"stateDiff": words}}
        answer = self.token.chain.rpc.call("eth_call", [call, block_argument("latest"), over])
        return int.from_bytes(answer_words(answer, 1))

    def minted(self, usdc_e6: int, reserve_e6: int, supply: int, least: int) -> int:
        return self.asked(self.token.buy_data(AGENT, usdc_e6, least), reserve_e6, supply)


def hex32(number: int) -> str:
    return "0x" + number.to_bytes(32).hex()


@pytest.fixture
def laid(deployed: DeployedChain) -> Laid:
    token = deploy_reserve_token(deployed)
    token.fund(AGENT, PAYS)
    words = [
        int(deployed.rpc.call("eth_getStorageAt", [token.address, hex(slot), "latest"]), 16)
        for slot in range(16)
    ]
    return Laid(token, words.index(100 * ONE), words.index(USDC << 8))


def drawn(random_: random.Random) -> tuple[int, int, int]:
    """(amount, reserve, supply): prices from a fiftieth of a cent to thousands of USDC, every
    magnitude of each as likely.
    """
    reserve = random_.randrange(1, 10 ** random_.randint(6, 19))
    supply = random_.randrange(1, 10 ** random_.randint(18, 27))
    return random_.randrange(1, 10 ** random_.randint(1, 18)), reserve, supply


def test_1000_random_purchases__mint_what_was_quoted(laid: Laid) -> None:
    random_, mints = random.Random(27), 0
    for _ in range(CASES):
        amount, reserve, supply = drawn(random_)
        quoted = rules.quote(amount, reserve, supply)
        if quoted == 0:
            with pytest.raises(RpcError):
                laid.minted(amount, reserve, supply, 0)
            continue
        assert laid.minted(amount, reserve, supply, quoted) == quoted, (amount, reserve, supply)
        mints += 1
    assert mints > CASES * 9 // 10


EDGES = [
    (1, USDC, 100 * ONE),  # the smallest purchase of a new token
    (2, USDC, 100 * ONE),
    (101, USDC, 100 * ONE),
    (102, USDC, 100 * ONE),  # 102 % divides
    (103, USDC, 100 * ONE),
    (102 * USDC, USDC, 100 * ONE),  # docs/reserve-token.md
    (10_000 * USDC, USDC, 100 * ONE),  # far more than the reserve
    (PAYS, USDC, 100 * ONE),
    (1, 1, 1),
    (102, 100, 1),  # exactly one unit of 1e-18
    (103, 100, 1),
    (203, 100, 1),
    (204, 100, 1),  # exactly two
    (1, 1, 10**36),
    (PAYS, 1, 10**36),
    (PAYS, RESERVE_MOST - PAYS, 10**27),  # the reserve's word is full afterwards
    (1, RESERVE_MOST - 1, 10**40),
    (4_999_999, 52_009_902, 5_100 * ONE),
    (5_000_000, 52_009_902, 5_100 * ONE),
    (10**12, 10**18 + 7, 10**26 - 1),
    (999_999_999_999, 3, 7 * ONE),
]


@pytest.mark.parametrize(("amount", "reserve", "supply"), EDGES)
def test_an_edge__mints_what_was_quoted_and_not_a_unit_more(
    laid: Laid, amount: int, reserve: int, supply: int
) -> None:
    quoted = rules.quote(amount, reserve, supply)
    if not quoted:
        with pytest.raises(RpcError):
            laid.minted(amount, reserve, supply, 0)
        return
    assert laid.minted(amount, reserve, supply, quoted) == quoted
    with pytest.raises(RpcError):
        laid.minted(amount, reserve, supply, quoted + 1)


def test_the_other_numbers__are_the_contracts(laid: Laid) -> None:
    random_ = random.Random(99)
    for _ in range(100):
        tokens, reserve, supply = drawn(random_)
        redeem = call_by_signature("quoteRedeem(uint256)", [tokens])
        assert laid.asked(redeem, reserve, supply) == rules.redeem_value(tokens, reserve, supply)
        price = call_by_signature("redeemPrice()", [])
        assert laid.asked(price, reserve, supply) == rules.redeem_price(reserve, supply)
        price = call_by_signature("buyPrice()", [])
        assert laid.asked(price, reserve, supply) == rules.buy_price(reserve, supply)


def test_purchases_one_after_another__mint_what_was_quoted_before_each(laid: Laid) -> None:
    token, random_ = laid.token, random.Random(5)
    for _ in range(20):
        amount = random_.randrange(1, 10 ** random_.randint(2, 12))
        quoted = rules.quote(amount, token.number("reserve()"), token.number("totalSupply()"))
        before = token.number("balanceOf(address)", AGENT.address)
        token.buy(AGENT, amount, quoted)
        assert token.number("balanceOf(address)", AGENT.address) - before == quoted
