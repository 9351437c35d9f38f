"""How many nodes have to say the same before anything is done that cannot be undone.

No socket is opened.
"""

import json
from typing import Any

import httpx
import pytest

from core.chain.abi import function
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from core.money import UnixSeconds
from keeper.observe import VAULTS_A_BATCH, Observer
from keeper.state import FactoryKeepers
from keeper.witness import FAILED_S, MOST_AGAIN_S, REST_S, SILENT_S, Agreement, Said
from tests.each import each
from tests.unit.keeper.readings import FLOOR, HEAD, NOW, VAULT

STATUS = function("MandateVault", "status").selector
BLOCK = {
    "number": "0x1f4", "hash": HEAD.hash, "parentHash": HEAD.hash, "timestamp": hex(HEAD.at),
    "logsBloom": "0x" + "00" * 256,
    "transactions": [], "baseFeePerGas": "0x1",
}  # fmt: skip


def a_said(fallen: str, against: str, unreadable: str, needed: int) -> Said:
    """Each node's name is a letter."""
    return Said(frozenset(fallen), frozenset(against), frozenset(unreadable), needed)


@each(
    ("said", "mark", "remove", "denied", "outvoted", "disputing"),
    [
        (a_said("ab", "", "", 2), True, True, False, "", ""),
        (a_said("a", "", "b", 2), False, True, False, "", ""),
        (a_said("a", "", "", 2), False, False, False, "", ""),
        (a_said("a", "b", "", 2), False, False, False, "", "ab"),
        (a_said("", "ab", "", 2), False, False, True, "", ""),
        (a_said("ab", "c", "", 2), True, True, False, "c", ""),
        (a_said("a", "bc", "", 2), False, False, True, "a", ""),
        (a_said("", "c", "ab", 2), False, True, False, "", ""),
        (a_said("ab", "cd", "", 2), False, False, False, "", "abcd"),
        (a_said("a", "", "", 1), True, True, False, "", ""),
        (a_said("a", "b", "", 1), False, False, False, "", "ab"),
    ],
)
def test_two_voices_carry__and_more_than_the_other_side_has(
    said: Said, mark: bool, remove: bool, denied: bool, outvoted: str, disputing: str
) -> None:
    assert (said.agrees_to_mark, said.agrees_to_remove, said.is_denied) == (mark, remove, denied)
    assert (said.outvoted, said.disputing) == (frozenset(outvoted), frozenset(disputing))


class Pool:
    """`nodes`, of one letter each; `worths` by node. A node without one does not answer."""

    def __init__(self, nodes: str = "ab", calls_per_s: float = 50.0, **worths: int) -> None:
        self.now = 0.0
        self.requests = 0
        self.vaults: set[str] = set()  # whose views were asked for
        self.status = 1
        self.worths = worths
        self.took_s = 0.0
        transport = httpx.MockTransport(self._handle)
        rpc = Nodes(
            [f"http://{node}" for node in nodes],
            transport=transport,
            clock=lambda: self.now,
            sleep=self._sleep,
            calls_per_s=calls_per_s,
        )
        self.rpc = rpc
        self.observer = Observer(VaultReader(rpc, {}), 84532, 10, clock=lambda: self.now)
        self.observer.floors.tell({VAULT: FLOOR})
        self.observer.heads.set_clock(HEAD.at)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def _handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.now += self.took_s
        self.requests += 1
        if request.url.host not in self.worths:
            raise httpx.ReadTimeout("gone")
        calls = body if isinstance(body, list) else [body]
        answers = [
            {"id": call["id"], "result": self._said(request.url.host, call)} for call in calls
        ]
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def _said(self, node: str, call: dict[str, Any]) -> Any:
        if call["method"] != "eth_call":
            return BLOCK if "Block" in call["method"] and call["params"] else "0x1f4"
        self.vaults.add(call["params"][0]["to"])
        if call["params"][0]["data"] == STATUS:
            return f"0x{self.status:064x}"
        return f"0x{self.worths[node]:064x}{0:064x}"  # nothing of it at cost

    def said(self) -> Said:
        self.observer.heads.set_clock(HEAD.at)
        return self.observer.witnesses.said({VAULT: FLOOR})[VAULT]


def test_said__a_node_with_an_old_block__has_no_opinion() -> None:
    pool = Pool(a=FLOOR, b=FLOOR)
    pool.observer.heads.set_clock(UnixSeconds(HEAD.at + 11))
    assert pool.observer.witnesses.said({VAULT: FLOOR})[VAULT] == a_said("", "", "", 2)


def test_said__nodes_that_tell_old_blocks_for_long__are_there_all_the_same() -> None:
    pool = Pool(a=FLOOR, b=FLOOR)
    for pool.now in (0.0, SILENT_S, 2 * SILENT_S):
        pool.observer.heads.set_clock(UnixSeconds(HEAD.at + 11))
        assert pool.observer.witnesses.said({VAULT: FLOOR})[VAULT] == a_said("", "", "", 2)


def said_by(fallen: str = "", against: str = "", needed: int = 2) -> Said:
    return Said(
        frozenset(f"{one}:80" for one in fallen),
        frozenset(f"{one}:80" for one in against),
        frozenset(),
        needed,
    )


def test_said__each_node_speaks_for_itself() -> None:
    assert Pool(a=FLOOR, b=FLOOR + 1).said() == said_by("a", "b")


@each("status", [0, 2, 3])
def test_said__one_that_is_not_at_work__has_not_fallen(status: int) -> None:
    pool = Pool(a=0, b=0)
    pool.status = status
    assert pool.said() == said_by("", "ab")


def test_said__a_node_that_is_silent_for_a_minute__is_as_good_as_not_configured() -> None:
    pool = Pool(a=FLOOR)
    assert pool.said() == said_by("a")
    pool.now += SILENT_S
    assert pool.said() == said_by("a", needed=1)


def test_said__what_was_unreadable_once__is_forgotten() -> None:
    pool = Pool(a=0)
    witnesses = pool.observer.witnesses
    witnesses._unreadable_at["a:80", VAULT] = pool.now
    pool.now += FAILED_S
    pool.said()
    assert witnesses._unreadable_at == {}


def test_a_node_that_is_outvoted__rests() -> None:
    pool = Pool("abc", a=FLOOR, b=FLOOR + 1, c=FLOOR)
    pool.observer.witnesses.weigh([pool.said()])
    assert [node.is_open for node in pool.rpc.stats()] == [False, True, False]


def test_nodes_that_contradict_each_other__take_turns_and_none_rests() -> None:
    pool = Pool(a=FLOOR, b=FLOOR + 1)
    pool.observer.witnesses.weigh([pool.said()])
    assert [node.is_open for node in pool.rpc.stats()] == [False, False]
    preferred = []
    for _ in range(4):
        pool.observer.witnesses.take_turns()
        pool.observer.head(NOW)
        preferred.append(pool.observer.told_by)
    assert preferred == ["b:80", "a:80"] * 2
    pool.now += REST_S
    pool.observer.witnesses.take_turns()
    pool.observer.head(NOW)
    assert pool.observer.told_by == "a:80"


# Stops that too few nodes call for

A, B, AB = frozenset("a"), frozenset("b"), frozenset("ab")


def tried_at(
    agreement: Agreement,
    claimants: frozenset[str],
    passed_at: frozenset[str],
    seconds: range,
    reverts: int = 1,
) -> list[int]:
    """When it goes, of these seconds; each one that went reverts, or none does."""
    tried = list[int]()
    for now in seconds:
        agreement._clock = lambda now=now: float(now)  # type: ignore[misc]
        if agreement.may_try(
            VAULT, claimants, passed_at, reverted := reverts * (seconds.start + len(tried))
        ):
            tried.append(now)
            agreement.tried(VAULT, claimants, passed_at, reverted)
    return tried


def test_one_nodes_claim__is_tried_again_after_one_minute_then_two() -> None:
    assert tried_at(Agreement(Pool().observer.witnesses), A, A, range(400)) == [0, 60, 180]


def test_a_claim_whose_stop_did_not_revert__waits_for_nothing() -> None:
    """It took a nonce that was a lie, say."""
    assert tried_at(Agreement(Pool().observer.witnesses), A, A, range(3), reverts=0) == [0, 1, 2]


def test_the_wait_of_one_nodes_claim__is_no_other_nodes() -> None:
    agreement = Agreement(Pool().observer.witnesses)
    tried_at(agreement, A, A, range(10_000))
    assert tried_at(agreement, B, B, range(10_000, 10_001)) == [10_000]


def test_a_claim_that_another_node_lets_pass__waits_for_nothing() -> None:
    agreement = Agreement(Pool().observer.witnesses)
    tried_at(agreement, A, A, range(10_000))
    assert tried_at(agreement, A, AB, range(10_000, 10_003)) == [10_000, 10_001, 10_002]


def test_a_wait__is_forgotten_an_hour_after_its_end() -> None:
    agreement = Agreement(Pool().observer.witnesses)
    assert tried_at(agreement, A, A, range(10)) == [0]
    agreement._clock = lambda: 60.0 + MOST_AGAIN_S
    agreement.tried("another", B, B, 0)
    assert list(agreement._waits) == [("another", "b")]


@pytest.mark.parametrize(("took_s", "alive"), [(0.01, True), (4.0, True)])
def test_one_batch__is_answered_within_the_watchdogs_time_by_slow_nodes(
    took_s: float, alive: bool
) -> None:
    """A provider of 50 calls a second, or one that takes four seconds: the tick is signed after
    each batch.
    """
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
    by_name = {
        f"{name}:80": FactoryKeepers("factory", *one, UnixSeconds(0)) for name, one in said.items()
    }
    pool.observer._keepers = lambda ask, head: by_name["a:80"]  # type: ignore[method-assign]
    pool.observer._keepers_of = lambda name, head: by_name.get(name)  # type: ignore[method-assign]
    return pool.observer.keepers(HEAD, "own")


def test_keepers__one_node_that_names_this_one__is_enough() -> None:
    found = keepers(a=("other", None), b=("own", None))
    assert found is not None
    assert found.named == "own"


@pytest.mark.parametrize(("second", "pending"), [("own", "own"), (None, None)])
def test_keepers__a_proposal_of_this_one__counts_when_all_tell_it(
    second: str | None, pending: str | None
) -> None:
    found = keepers(a=("other", "own"), b=("other", second))
    assert found is not None
    assert found.pending == pending
