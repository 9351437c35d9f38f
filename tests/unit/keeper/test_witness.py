"""How many nodes have to say the same before anything is done that cannot be undone. No socket is opened."""

import json
from typing import Any

import httpx
import pytest

from core.chain.abi import function
from core.chain.reader import ChainReader
from core.chain.rpc import Rpc
from core.domain.money import UnixSeconds
from keeper.observe import VAULTS_A_BATCH, Observer
from keeper.state import FactoryKeepers
from keeper.witness import SILENT_S, Agreement, Said
from tests.unit.keeper.readings import FLOOR, HEAD, VAULT

STATUS = function("MandateVault", "status").selector
BLOCK = {
    "number": "0x1f4", "hash": HEAD.hash, "parentHash": HEAD.hash, "timestamp": hex(HEAD.at), "logsBloom": "0x" + "00" * 256,
    "transactions": [], "baseFeePerGas": "0x1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "market", "cost"),
    [
        (Said(2, 0, 0, 2), True, True),
        (Said(1, 0, 1, 2), False, False),
        (Said(2, 1, 0, 2), False, True),
        (Said(2, 2, 0, 2), False, False),
        (Said(1, 0, 0, 1), True, True),
        (Said(0, 0, 1, 1), False, False),
    ],
)
def test_a_mark_stops__where_enough_nodes_call_it_fallen_and_none_above(said: Said, market: bool, cost: bool) -> None:
    """At cost no other way is left: most nodes decide."""
    assert (said.agrees_to_mark(is_at_cost=False), said.agrees_to_mark(is_at_cost=True)) == (market, cost)


@pytest.mark.parametrize(
    ("said", "agrees"),
    [(Said(2, 0, 0, 2), True), (Said(0, 0, 2, 2), True), (Said(1, 0, 1, 2), True), (Said(2, 1, 0, 2), False), (Said(0, 0, 1, 2), False)],
)
def test_an_agent_is_removed__where_enough_nodes_call_it_fallen_or_unreadable_and_none_above(said: Said, agrees: bool) -> None:
    assert said.agrees_to_remove is agrees


class Pool:
    """Nodes a and b; `worths` by node. A node without one does not answer."""

    def __init__(self, **worths: int) -> None:
        self.now = 0.0
        self.worths = worths
        self.took_s = 0.0
        transport = httpx.MockTransport(self._handle)
        rpc = Rpc(["http://a", "http://b"], transport=transport, clock=lambda: self.now, sleep=self._sleep, calls_per_s=50.0)
        self.observer = Observer(ChainReader(rpc, {}), 84532, 10, clock=lambda: self.now)
        self.observer.floors.tell({VAULT: FLOOR})

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def _handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.now += self.took_s
        if request.url.host not in self.worths:
            raise httpx.ReadTimeout("gone")
        calls = body if isinstance(body, list) else [body]
        answers = [{"id": call["id"], "result": self._said(request.url.host, call)} for call in calls]
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def _said(self, node: str, call: dict[str, Any]) -> Any:
        if call["method"] != "eth_call":
            return BLOCK if "Block" in call["method"] and call["params"] else "0x1f4"
        return f"0x{1 if call['params'][0]['data'] == STATUS else self.worths[node]:064x}"

    def said(self) -> Said:
        self.observer.heads.set_clock(HEAD.at)
        return self.observer.witnesses.said({VAULT: FLOOR})[VAULT]


def test_said__a_node_with_an_old_block__has_no_opinion() -> None:
    pool = Pool(a=FLOOR, b=FLOOR)
    pool.observer.heads.set_clock(UnixSeconds(HEAD.at + 11))
    assert pool.observer.witnesses.said({VAULT: FLOOR})[VAULT] == Said(0, 0, 0, 2)


def test_said__nodes_that_tell_old_blocks_for_long__are_there_all_the_same() -> None:
    pool = Pool(a=FLOOR, b=FLOOR)
    for pool.now in (0.0, SILENT_S, 2 * SILENT_S):
        pool.observer.heads.set_clock(UnixSeconds(HEAD.at + 11))
        assert pool.observer.witnesses.said({VAULT: FLOOR})[VAULT] == Said(0, 0, 0, 2)


def test_said__each_node_speaks_for_itself() -> None:
    assert Pool(a=FLOOR, b=FLOOR + 1).said() == Said(1, 1, 0, 2)


def test_said__a_node_that_is_silent_for_a_minute__is_as_good_as_not_configured() -> None:
    pool = Pool(a=FLOOR)
    assert pool.said() == Said(1, 0, 0, 2)
    pool.now += SILENT_S
    assert pool.said() == Said(1, 0, 0, 1)


def test_a_contested_stop__is_tried_again_after_one_minute_then_two() -> None:
    now = 0.0
    agreement = Agreement(Pool().observer.witnesses, lambda: now)
    tried = []
    for now in range(400):
        if agreement.may_try(VAULT):
            tried.append(now)
            agreement.tried(VAULT)
    assert tried == [0, 60, 180]


@pytest.mark.parametrize(("took_s", "alive"), [(0.01, True), (4.0, True)])
def test_one_batch__is_answered_within_the_watchdogs_time_by_slow_nodes(took_s: float, alive: bool) -> None:
    """A provider of 50 calls a second, or one that takes four seconds: the tick is signed after each batch."""
    pool = Pool(a=FLOOR, b=FLOOR)
    pool.took_s = took_s
    vaults = [f"0x{n:040x}" for n in range(VAULTS_A_BATCH)]
    pool.observer.floors.tell(dict.fromkeys(vaults, FLOOR))
    found = pool.observer.numbers(vaults, HEAD, (), 0.0)
    assert all(one.worth_usdc_e6 == FLOOR for one in found.values()) is alive
    assert pool.now < 15


def keepers(**said: tuple[str, str | None]) -> FactoryKeepers | None:
    """What is made of the nodes' words, (named, pending) each, by a process whose key is `own`."""
    pool = Pool(a=0, b=0)
    pool.observer.told_by = "a:80"
    by_name = {f"{name}:80": FactoryKeepers("factory", *one, UnixSeconds(0)) for name, one in said.items()}
    pool.observer._keepers = lambda ask, head: by_name["a:80"]  # type: ignore[method-assign]
    pool.observer._keepers_of = lambda name, head: by_name.get(name)  # type: ignore[method-assign]
    return pool.observer.keepers(HEAD, "own")


def test_keepers__one_node_that_names_this_one__is_enough() -> None:
    found = keepers(a=("other", None), b=("own", None))
    assert found is not None
    assert found.named == "own"


@pytest.mark.parametrize(("second", "pending"), [("own", "own"), (None, None)])
def test_keepers__a_proposal_of_this_one__counts_when_all_tell_it(second: str | None, pending: str | None) -> None:
    found = keepers(a=("other", "own"), b=("other", second))
    assert found is not None
    assert found.pending == pending
