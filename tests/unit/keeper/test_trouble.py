"""One vault's trouble is its own: a batch that fails is taken apart, and who is at fault is looked
at alone, and less often.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from core.chain.abi import function
from core.chain.errors import RpcError
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from keeper.observe import Observer
from keeper.trouble import MOST_WAIT_NEAR_S, MOST_WAIT_S
from keeper.views import OUT_OF_RANGE, UNREADABLE
from tests.each import each
from tests.unit.keeper.readings import HEAD

STATUS, WORTH = (function("MandateVault", name).selector for name in ("status", "worth"))
VAULTS = [f"0x{n:040x}" for n in range(1, 501)]
BAD = VAULTS[123]
FLOOR, FAR = 950_000_000, 2_000_000_000


class Node:
    """A node that answers every view of every vault, but for what `hurts` says of a vault in a
    batch.
    """

    def __init__(self, hurts: Callable[[Any], httpx.Response | None]) -> None:
        self.hurts = hurts
        self.batches: list[set[str]] = []
        self.now = 0.0
        self.worths: dict[str, int] = {}
        transport = httpx.MockTransport(self._handle)
        rpc = Nodes(
            ["http://node"],
            transport=transport,
            clock=lambda: self.now,
            calls_per_s=1e6,
            sleep=self._sleep,
        )
        self.observer = Observer(VaultReader(rpc, {}), 84532, 10, clock=lambda: self.now)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def _handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if isinstance(body, dict):
            return self.hurts(body) or httpx.Response(
                200, json={"id": body["id"], "result": "0x1f4"}
            )
        vaults = {call["params"][0]["to"] for call in body}
        self.batches.append(vaults)
        if BAD in vaults and (answer := self.hurts(body)) is not None:
            return answer
        return httpx.Response(
            200, json=[{"id": call["id"], "result": self._word(call["params"][0])} for call in body]
        )

    def _word(self, call: dict[str, Any]) -> str:
        if call["data"] == WORTH:
            return f"0x{self.worths.get(call['to'], FAR):064x}{0:064x}"  # nothing of it at cost
        return f"0x{1 if call['data'] == STATUS else FLOOR:064x}"

    def read(self, patience_s: float = 60.0) -> list[str]:
        """Which vaults could be read."""
        self.batches.clear()
        found = self.observer.numbers(VAULTS, HEAD, patience_s=patience_s)
        return [vault for vault in VAULTS if found[vault].worth_usdc_e6 is not None]


def burns(node_answer: Callable[[Any], httpx.Response]) -> Callable[[Any], httpx.Response | None]:
    return lambda body: node_answer(body) if isinstance(body, list) else None


def slow(body: Any) -> httpx.Response:
    raise httpx.ReadTimeout("too slow")


HURTS = {
    "the node refuses the whole batch with its own error": lambda body: httpx.Response(
        200,
        json=[
            {"id": call["id"], "error": {"code": -32603, "message": "EVM error OutOfGas"}}
            for call in body
        ],
    ),
    "the node gives up": lambda body: httpx.Response(502),
    "the node takes too long": slow,
    "the answer is no JSON": lambda body: httpx.Response(200, content=b"[{"),
    "an answer is left out": lambda body: httpx.Response(
        200, json=[{"id": call["id"], "result": "0x"} for call in body[1:]]
    ),
}
OTHERS = [vault for vault in VAULTS if vault != BAD]


@each("how", HURTS.values(), ids=HURTS.keys())
def test_a_vault_that_hurts_its_batch__blinds_nobody_else(
    how: Callable[[Any], httpx.Response],
) -> None:
    node = Node(burns(how))
    assert node.read() == OTHERS
    assert len(node.batches) < 30


def test_a_vault_at_fault__is_asked_alone_and_less_often() -> None:
    node = Node(burns(HURTS["the node gives up"]))
    node.read()
    assert node.read() == OTHERS
    assert all(BAD not in batch for batch in node.batches), "it waits its second"
    node.now += 1
    node.read()
    assert [batch for batch in node.batches if BAD in batch] == [{BAD}]


def looks(node: Node, seconds: int) -> int:
    """How often the vault is asked about in so many seconds of ticks."""
    count = 0
    for _ in range(seconds):
        node.now += 1
        node.batches.clear()
        node.observer.numbers([BAD, VAULTS[0]], HEAD)
        count += sum(BAD in batch for batch in node.batches)
    return count


@pytest.mark.slow
def test_a_vault_that_was_far_above_its_floor__waits_longer_each_time_and_is_never_given_up() -> (
    None
):
    node = Node(lambda body: None)
    node.read()
    node.hurts = burns(HURTS["the node gives up"])
    node.read()
    assert looks(node, 600) < 20
    assert looks(node, 2 * int(MOST_WAIT_S)) >= 1
    node.hurts = lambda body: None
    looks(node, int(MOST_WAIT_S) + 1)
    assert node.read() == VAULTS


def test_a_vault_that_was_near_its_floor__is_looked_at_every_few_seconds() -> None:
    node = Node(lambda body: None)
    node.worths[BAD] = FLOOR + 1
    node.read()
    node.hurts = burns(HURTS["the node gives up"])
    node.read()
    assert looks(node, 120) >= 120 // (MOST_WAIT_NEAR_S + 1)


def test_no_patience__the_others_are_read_all_the_same() -> None:
    node = Node(burns(slow))
    found = node.read(patience_s=0)
    assert set(found) >= set(VAULTS[240:]) | set(VAULTS[:120]), "all but the part that failed"


def test_a_node_that_answers_nothing__is_told_and_blames_no_vault() -> None:
    node = Node(slow)
    with pytest.raises(RpcError):
        node.read()
    assert not node.observer.trouble.vaults


@each("worth", [2**255, 2**256 - 1, 10**18 + 1])
def test_a_worth_beyond_all_usdc__is_unknown(worth: int) -> None:
    node = Node(lambda body: None)
    node.worths[BAD] = worth
    assert node.read() == OTHERS
    found = node.observer.numbers([BAD], HEAD)[BAD]
    assert (found.status, found.worth_usdc_e6, found.source) == (
        VaultStatus.WORKING,
        None,
        OUT_OF_RANGE,
    )


def test_a_vault_that_burns_its_gas__is_unknown_and_asked_alone_from_then_on() -> None:
    def answer(body: Any) -> httpx.Response:
        burnt = {"error": {"code": -32000, "message": "out of gas"}}
        good = {"result": f"0x{FAR:064x}{0:064x}"}
        return httpx.Response(
            200,
            json=[
                {"id": c["id"], **(burnt if c["params"][0]["to"] == BAD else good)} for c in body
            ],
        )

    node = Node(burns(answer))
    assert node.read() == OTHERS
    assert node.observer.numbers([BAD], HEAD)[BAD].source == UNREADABLE
    assert node.observer.trouble.vaults == {BAD}
