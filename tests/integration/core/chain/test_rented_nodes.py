"""The nodes that operators rent: a plan of calls a second, backends a few blocks apart."""

from contextlib import closing

import pytest

from core.chain import results
from core.chain.node import STANDS_STILL_S
from core.chain.nodes import Nodes
from core.chain.reader import ChainReader
from tests.each import each
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.rented import Backend, Pick, Plan, Refuses, Rented, RentedNodes
from tests.node_transport import in_threads

HEADERS = 46


class Rental:
    """`nodes` by host, in a time that only waiting moves."""

    def __init__(self, deployed: DeployedChain, **plans: tuple[float, Refuses]) -> None:
        self.now = 0.0
        self.nodes = {
            name: Rented(plan=Plan(calls_per_s, refuses, lambda: self.now))
            for name, (calls_per_s, refuses) in plans.items()
        }
        self.rpc = Nodes(
            [f"http://{name}" for name in plans],
            transport=in_threads(RentedNodes(deployed.anvil.url, self.nodes)),
            clock=lambda: self.now,
            sleep=self._sleep,
        )
        self.reader = ChainReader(self.rpc, {})

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def close(self) -> None:
        self.rpc.close()


@pytest.fixture
def tall(deployed: DeployedChain) -> DeployedChain:
    deployed.anvil.mine(HEADERS)
    return deployed


@each(("calls_per_s", "refuses"), [(plan, way) for plan in (10, 25, 50, 100) for way in Refuses])
def test_headers_of_46_blocks__come_through_on_each_plan(
    tall: DeployedChain, calls_per_s: int, refuses: Refuses
) -> None:
    with closing(Rental(tall, one=(calls_per_s, refuses))) as rental:
        top = rental.reader.block_number()
        wanted = list(range(top - HEADERS + 1, top + 1))
        for _ in range(3):
            assert [header and header.number for header in rental.reader.headers(wanted)] == wanted
        assert rental.now <= 2 * 3 * HEADERS / calls_per_s


@each("pick", Pick)
def test_a_balancer_over_two_heights__is_one_node_that_gets_on(
    tall: DeployedChain, pick: Pick
) -> None:
    with closing(Rental(tall, one=(1_000, Refuses.WHOLE))) as rental:
        balanced = rental.nodes["one"]
        balanced.machines, balanced.pick = [Backend(0), Backend(3)], pick
        ages_s = list[float]()
        for _ in range(30):
            named = rental.rpc.call("eth_getBlockByNumber", ["latest", False], results.header)
            rental.rpc.saw("one:80", named)
            ages_s.append(rental.rpc.head_age_s("one:80"))
            tall.anvil.mine(1)
            rental.now += 2
        assert ages_s.count(0) > 3
        assert max(ages_s) < STANDS_STILL_S
        assert rental.rpc.stats()[0].failures == {}
