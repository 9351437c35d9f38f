"""What is quoted is what the contract mints: 1,000 states and amounts drawn at random, and edges.

The contract runs each purchase itself, by eth_call, on the reserve, supply and lock that the case names
(they are laid over its storage), with a minOut equal to the quote; one unit more is refused.
"""

import random
from dataclasses import dataclass

import pytest

from core.chain.abi import call_by_signature
from core.chain.errors import RpcError
from core.chain.reader import block_argument
from core.hexes import bytes_of
from core.reserve import rules
from core.reserve.rules import ReserveEventKind, ReserveFact, ReserveLock, ReserveTotals
from tests.each import each
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.reserve_token import TokenOnChain, deploy_reserve_token
from tests.personas import AGENT
from tests.slow import few

ONE = 10**18
RESERVE_MOST = 2**120 - 1
PAYS = 10**18  # USDC base units that the buyer of a case has
AT, DAY_NS = 1_800_000_000, 86_400 * 10**9
NO_LOCK = ReserveLock()


@dataclass(frozen=True, slots=True)
class Laid:
    """The token with storage laid over it. Slots are found by what stands in them."""

    token: TokenOnChain
    supply_slot: int
    reserve_slot: int
    lock_slot: int

    def asked(self, data: str, reserve_e6: int, supply: int, lock: ReserveLock = NO_LOCK) -> int:
        """Errors: RpcError, also where the contract reverts."""
        words = {
            hex32(self.supply_slot): hex32(supply),
            hex32(self.reserve_slot): hex32(reserve_e6 << 8),  # the pause below, what is owed above
            hex32(self.lock_slot): hex32(word_of(lock)),
        }
        call = {"from": AGENT.address, "to": self.token.address, "data": data}
        over = {self.token.address: {"stateDiff": words}}
        at = {"time": hex(AT)}
        answer = self.token.chain.rpc.call("eth_call", [call, block_argument("latest"), over, at])
        return int.from_bytes(bytes_of(str(answer))[:32])

    def minted(self, usdc_e6: int, reserve_e6: int, supply: int, least: int) -> int:
        return self.asked(self.token.buy_data(AGENT, usdc_e6, least), reserve_e6, supply)


def word_of(lock: ReserveLock) -> int:
    return lock.amount_e6 | lock.since << 120 | lock.until_ns << 160


def hex32(number: int) -> str:
    return "0x" + number.to_bytes(32).hex()


@pytest.fixture
def laid(deployed: DeployedChain) -> Laid:
    token = deploy_reserve_token(deployed)
    token.fund(AGENT, PAYS + 102 * USDC)
    token.buy(AGENT, 102 * USDC)
    words = [
        int(deployed.rpc.call("eth_getStorageAt", [token.address, hex(slot), "latest"]), 16)
        for slot in range(16)
    ]
    lock_slot = next(slot for slot, word in enumerate(words) if word % 2**120 == 2 * USDC)
    return Laid(token, words.index(10_100 * ONE), words.index(103 * USDC << 8), lock_slot)


def drawn(random_: random.Random) -> tuple[int, int, int]:
    """(amount, reserve, supply): prices from a fiftieth of a cent to thousands of USDC, every
    magnitude of each as likely.
    """
    reserve = random_.randrange(1, 10 ** random_.randint(6, 19))
    supply = random_.randrange(1, 10 ** random_.randint(18, 27))
    return random_.randrange(1, 10 ** random_.randint(1, 18)), reserve, supply


@pytest.mark.parametrize("cases", few([100, 1_000], plain=1))
def test_random_purchases__mint_what_was_quoted(laid: Laid, cases: int) -> None:
    random_, mints = random.Random(27), 0
    for _ in range(cases):
        amount, reserve, supply = drawn(random_)
        quoted = rules.quote(amount, reserve, supply)
        if quoted == 0:
            with pytest.raises(RpcError):
                laid.minted(amount, reserve, supply, 0)
            continue
        assert laid.minted(amount, reserve, supply, quoted) == quoted, (amount, reserve, supply)
        mints += 1
    assert mints > cases * 9 // 10


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


@each(("amount", "reserve", "supply"), EDGES)
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


def drawn_lock(random_: random.Random, reserve_e6: int) -> ReserveLock:
    """Of a part of the reserve that is less than all, and of a moment that is over or ahead."""
    since = AT - random_.randrange(2 * 86_400)
    until_ns = since * 10**9 + random_.randrange(1, DAY_NS)
    return ReserveLock(random_.randrange(reserve_e6), since, until_ns)


def test_the_other_numbers__are_the_contracts(laid: Laid) -> None:
    random_, locks = random.Random(99), 0
    for _ in range(100):
        tokens, reserve, supply = drawn(random_)
        lock = drawn_lock(random_, reserve)
        left = laid.asked(call_by_signature("locked()", []), reserve, supply, lock)
        assert left == lock.left_e6(AT)
        locks += bool(left)
        unlocked = reserve - left
        redeem = call_by_signature("quoteRedeem(uint256)", [tokens])
        worth = rules.redeem_value(tokens, unlocked, supply)
        assert laid.asked(redeem, reserve, supply, lock) == worth
        price = call_by_signature("redeemPrice()", [])
        assert laid.asked(price, reserve, supply, lock) == rules.redeem_price(unlocked, supply)
        price = call_by_signature("buyPrice()", [])
        assert laid.asked(price, reserve, supply, lock) == rules.buy_price(reserve, supply)
    assert 20 < locks < 80


def test_purchases_one_after_another__mint_and_lock_what_was_reckoned_before_each(
    laid: Laid,
) -> None:
    token, random_ = laid.token, random.Random(5)
    until = token.locked()[1]
    since = (until - DAY_NS) // 10**9
    totals = ReserveTotals(103 * USDC, 10_100 * ONE, lock=ReserveLock(2 * USDC, since, until))
    for _ in range(20):
        amount = random_.randrange(1, 10 ** random_.randint(2, 12))
        quoted = rules.quote(amount, totals.reserve_e6, totals.supply)
        before = token.number("balanceOf(address)", AGENT.address)
        token.wait(random_.choice((1, 60, 10_000, 50_000)))
        token.buy(AGENT, amount, quoted)
        assert token.number("balanceOf(address)", AGENT.address) - before == quoted
        bought = ReserveFact(ReserveEventKind.BOUGHT, tokens=quoted, usdc_e6=amount)
        totals = rules.after(totals, bought, token.chain.now)
        assert token.number("reserve()") == totals.reserve_e6
        lock = totals.lock
        assert token.locked() == (lock.left_e6(token.chain.now), lock.until_ns)
