"""The tip on nodes that people rent: a plan of so many calls a second, and machines of several
heights behind one URL.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product

import pytest

from core.blocks import queries as repository
from core.blocks.queries import FINALIZED, SAFE
from core.errors import OutsideError
from tests.integration.chain_fixtures import USDC
from tests.integration.chaos.server import Answer, DropError
from tests.integration.indexer.clocked import Clocked
from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.rented import (
    Ask,
    OldBranch,
    Pick,
    Plan,
    Refuses,
    Rented,
    RentedNodes,
    claims_height,
)
from tests.slow import few

Working = tuple[Issued, str]
Make = Callable[..., "Renting"]
POLL_S = 0.25
ROUND_S = 0.05  # what a round takes
BLOCK_S = 2.0
NEAR = 3


class Renting(Clocked):
    """A follower of rented nodes, as the loop runs it; its seconds are the test's."""

    def __init__(self, follower: Follower, *nodes: Rented) -> None:
        hosts = [f"node{number}" for number in range(len(nodes))]
        rented = RentedNodes(follower.deployed.anvil.url, dict(zip(hosts, nodes, strict=True)))
        self._now, self._next_block = 0.0, BLOCK_S
        for node in nodes:
            node.plan = (
                None
                if node.plan is None
                else Plan(node.plan.calls_per_s, node.plan.refuses, lambda: self._now)
            )
        super().__init__(follower, *hosts, transport=rented)
        self._rented, self.ask_chain = rented, rented.ask

    def live(self, seconds: float, on_block: Callable[[], None] | None = None) -> list[int]:
        """A block each BLOCK_S (made by `on_block`, else empty); how far behind the chain it was
        after each round that had no more to do at once.
        """
        behind, until = list[int](), self._now + seconds
        while self._now < until:
            while self._next_block <= self._now:
                (on_block or self.follower.deployed.anvil.mine)()
                self._next_block += BLOCK_S
            wait_s = POLL_S
            try:
                if self.tip.round().is_behind:
                    wait_s = 0.0
                elif int(self._now) % 5 == 0:
                    self.tip.note_finality()
            except OutsideError as error:
                self.errors[type(error).__name__] += 1
                wait_s = 1.0
            if wait_s:
                behind.append(self.height - self.tip.cursor.number)
            self.pass_time(wait_s + ROUND_S)
        return behind

    def close(self) -> None:
        super().close()
        self._rented.close()

    def mark(self, tag: str) -> int:
        with self.follower.database.read() as session:
            found = repository.cursor(session, tag)
        return -1 if found is None else found.number


@pytest.fixture
def rent(follower: Follower, working: Working) -> Iterator[Make]:
    """Makes a follower of these nodes."""
    made: list[Renting] = []

    def make(*nodes: Rented) -> Renting:
        made.append(Renting(follower, *nodes))
        return made[-1]

    yield make
    for one in made:
        one.close()


# A load balancer whose machines are blocks apart

BALANCED = {
    f"{urls} URL, {pick.value}, {'call' if splits else 'request'}, {calls} a second": (
        urls,
        pick,
        splits,
        calls,
    )
    for urls, pick, splits, calls in product((1, 2), Pick, (False, True), (10, 25, 50, 100))
}
QUICK = [
    "1 URL, random, call, 50 a second",
    "2 URL, alternating, request, 25 a second",
]


def follows_closely(
    make: Make, follower: Follower, working: Working, case: str, seconds: float
) -> None:
    urls, pick, splits, calls = BALANCED[case]
    refuses = list(Refuses)[list(BALANCED).index(case) % len(Refuses)]
    mandate, vault = working
    renting = make(
        *(
            Rented(
                plan=Plan(calls, refuses),
                backends=(0, 1, 3),
                pick=pick,
                splits_batches=splits,
                seed=number,
            )
            for number in range(urls)
        )
    )
    moves = [0]

    def buy() -> None:
        follower.deployed.buy(vault, USDC)
        moves[0] += 1

    behind = renting.live(seconds, buy)
    is_little = calls == 10  # which a poll and the receipts of each block use up
    assert max(behind) <= NEAR + is_little, case
    assert renting.reorgs == 0, case
    assert is_little or not renting.errors, case
    assert renting.distrusted() == 0 or urls == 2, case
    renting.live(4 * BLOCK_S)
    assert follower.story(mandate).count("move") == moves[0], case


@pytest.mark.parametrize("case", QUICK)
def test_machines_that_are_blocks_apart__are_followed_within_three_blocks(
    rent: Make, follower: Follower, working: Working, case: str
) -> None:
    follows_closely(rent, follower, working, case, 20)


@pytest.mark.slow
@pytest.mark.parametrize("case", BALANCED)
def test_every_balancer_with_every_plan__is_followed_within_three_blocks(
    rent: Make, follower: Follower, working: Working, case: str
) -> None:
    follows_closely(rent, follower, working, case, 40)


# History


class Failing(Rented):
    """It answers one in `one_in` requests for logs."""

    one_in, asked = 1, 0

    def answer(self, raw: bytes, ask: Ask) -> Answer:
        if b"eth_getLogs" in raw:
            self.asked += 1
            if self.asked % self.one_in:
                raise DropError
        return super().answer(raw, ask)


@pytest.mark.parametrize("one_in", few([3, 20], plain=1))
def test_history_beside_a_second_node_that_answers_now_and_then__is_caught_up_with(
    rent: Make, follower: Follower, monkeypatch: pytest.MonkeyPatch, one_in: int
) -> None:
    """Each answer that was missing halved the range, down to one block; each that came began the wait
    for the next one anew. The record fell further behind with every minute.
    """
    monkeypatch.setattr("indexer.chain.backfill.ALONE", timedelta(seconds=60))
    second = Failing()
    second.one_in = one_in
    follower.deployed.anvil.mine(200)
    renting = rent(Rented(), second)
    renting.live(120)
    assert max(renting.live(10)) <= NEAR


# Plans


@pytest.mark.parametrize("refuses", few([*Refuses], plain=1), ids=lambda one: one.name)
@pytest.mark.parametrize("backends", [(0,), (0, 3)], ids=["one machine", "two"])
def test_46_blocks_behind_on_25_calls_a_second__it_catches_up_and_stays_near(
    rent: Make, follower: Follower, refuses: Refuses, backends: tuple[int, ...]
) -> None:
    """46 headers in one batch were refused, and asked for again for ever."""
    renting = rent(Rented(plan=Plan(25, refuses), backends=backends))
    follower.deployed.anvil.mine(46)
    renting.live(30)
    assert max(renting.live(30)) <= NEAR


@pytest.mark.parametrize(
    "refuses", few([Refuses.WHOLE, Refuses.SINGLE], plain=1), ids=lambda one: one.name
)
def test_a_reorg_of_64_on_50_calls_a_second__is_unwound(
    rent: Make, follower: Follower, refuses: Refuses
) -> None:
    follower.deployed.anvil.mine(64)
    renting = rent(Rented(plan=Plan(50, refuses), backends=(0, 3)))
    renting.live(40)
    follower.deployed.anvil.reorg(64)
    renting.live(40)
    assert renting.reorgs == 1
    assert max(renting.live(10)) <= NEAR


# What cannot be taken back


def test_a_reorg_that_one_machine_has_not_seen__is_followed_once_it_is_said_twice(
    rent: Make, follower: Follower, working: Working
) -> None:
    mandate, vault = working
    node = Rented(backends=(0, 0))
    renting = rent(node)
    ancestor = renting.height
    follower.deployed.buy(vault, 10 * USDC)
    renting.live(4)
    old = OldBranch.of(renting.ask_chain, ancestor)
    follower.deployed.anvil.reorg(renting.height - ancestor)
    node.machines[1].branch = old
    renting.live(6)
    node.machines[1].branch = None
    renting.live(10)
    assert follower.story(mandate)[-1] == "deposit"
    assert renting.reorgs <= 3
    assert max(renting.live(10)) <= NEAR


def test_a_reorg_that_the_second_node_denies__takes_nothing_back(
    rent: Make, follower: Follower, working: Working
) -> None:
    """The first node still has the branch that the chain left before we saw it."""
    mandate, vault = working
    first = Rented()
    renting = rent(first, Rented())
    old_height = renting.height
    follower.deployed.anvil.mine(3)
    old = OldBranch.of(renting.ask_chain, old_height)
    follower.deployed.anvil.reorg(3)
    follower.deployed.buy(vault, 10 * USDC)
    renting.live(8)
    first.machines[0].branch = old
    renting.live(30)
    assert renting.reorgs == 0
    assert follower.story(mandate)[-1] == "move"
    assert renting.errors == {}


# What else they do


def test_receipts_before_their_block__and_a_height_that_is_a_lie__delay_nothing(
    rent: Make, follower: Follower, working: Working
) -> None:
    mandate, vault = working
    early = Rented(backends=(0, 2), gives_pre_confirmed=True)
    liar = Rented(lies=[claims_height(1_800)])
    renting = rent(early, liar)
    follower.deployed.buy(vault, 10 * USDC)
    assert max(renting.live(10)[4:]) <= NEAR
    early.is_down = True
    renting.live(30)
    early.is_down = False
    renting.live(10)
    assert (renting.reorgs, follower.story(mandate)[-1]) == (0, "move")
    assert max(renting.live(4)) <= NEAR


def test_tags_that_come_and_go__move_no_mark_back(rent: Make, follower: Follower) -> None:
    node = Rented(backends=(0, 3))
    renting = rent(node)
    follower.deployed.anvil.mine(80)
    renting.live(12)
    before = renting.mark(SAFE), renting.mark(FINALIZED)
    assert min(before) > 0
    node.tags = frozenset()
    follower.deployed.anvil.mine(10)
    renting.live(12)
    assert (renting.mark(SAFE), renting.mark(FINALIZED)) == before
    assert not renting.errors
    node.tags = frozenset({"safe", "finalized"})
    renting.live(12)
    assert renting.mark(SAFE) > before[0]
    assert renting.mark(FINALIZED) > before[1]


def test_a_second_node_without_the_tags__confirms_what_lies_deep(
    rent: Make, follower: Follower
) -> None:
    """192 blocks below its head; nothing that it says is called safe by itself."""
    renting = rent(Rented(), Rented(tags=frozenset()))
    follower.deployed.anvil.mine(240)
    renting.live(12)
    assert renting.height - 210 <= renting.mark(SAFE) <= renting.height - 192


def test_a_chain_whose_nodes_know_no_tags__calls_nothing_safe(
    rent: Make, follower: Follower
) -> None:
    renting = rent(Rented(tags=frozenset()))
    follower.deployed.anvil.mine(240)
    renting.live(12)
    assert (renting.mark(SAFE), renting.mark(FINALIZED)) == (-1, -1)
    assert max(renting.live(4)) <= NEAR
