"""Whose word decides whether a transaction is sent, and with how much gas."""

import json

import httpx
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from core.chain.errors import RpcRevertedError
from core.chain.nodes import Nodes
from keeper.state import IntentKind
from keeper.trials import STOP_GAS, Trial, tried
from tests.each import each
from tests.unit.keeper.readings import HEAD, VAULT
from tests.unit.keeper.test_intents import KEEPER, intent

PASSES = "0x"


def string_error(words: str) -> str:
    return "0x08c379a0" + encode(["string"], [words]).hex()


REVERTS = {"code": 3, "message": "execution reverted", "data": "0x"}


def trial(
    *nodes: tuple[object, object], kind: IntentKind = IntentKind.STOP, reverted: bool = False
) -> Trial:
    """What is made of what each node says to the call and to the estimate; the first one is
    asked.
    """

    def handle(request: httpx.Request) -> httpx.Response:
        called, estimated = nodes[int(request.url.host[1:])]
        asked = json.loads(request.content)
        answers = [
            {"id": call["id"], **answer(called if call["method"] == "eth_call" else estimated)}
            for call in asked
        ]
        return httpx.Response(200, json=answers)

    rpc = Nodes([f"http://n{n}" for n in range(len(nodes))], transport=httpx.MockTransport(handle))
    with rpc.pinned():
        (found,) = tried(rpc, [(intent(kind), KEEPER, None)], HEAD, {VAULT} if reverted else ())
    return found


def answer(said: object) -> dict[str, object]:
    return {"error": said} if isinstance(said, dict) else {"result": said}


def test_a_stop__the_asked_node_refuses__any_other_nodes_yes_is_enough() -> None:
    assert trial((REVERTS, REVERTS), (PASSES, hex(100_000))).gas == 125_000
    assert trial((REVERTS, REVERTS), (REVERTS, REVERTS)).gas is None


@each(
    ("data", "why"),
    [
        (
            string_error("Blacklistable: account is blacklisted"),
            "Blacklistable: account is blacklisted",
        ),
        (string_error("a\u202eb\n"), "a?b?"),
        (string_error(""), "Error"),
        ("0x" + keccak(text="MandatePaused()")[:4].hex(), "MandatePaused"),
        ("0x", str(RpcRevertedError("eth_call", 3, "execution reverted", b""))),
    ],
)
def test_a_refusal__is_told_by_its_name_or_its_words(data: str, why: str) -> None:
    refused = REVERTS | {"data": data}
    assert trial((refused, refused), kind=IntentKind.SETTLE).why == why


def test_a_settlement__the_asked_node_refuses__it_is_not_sent() -> None:
    assert trial((REVERTS, REVERTS), (PASSES, hex(100_000)), kind=IntentKind.SETTLE).gas is None


def test_a_stop_that_reverted_before__gets_the_most_gas_that_any_node_names() -> None:
    nodes = ((PASSES, hex(30_000)), (PASSES, hex(2_000_000)))
    assert trial(*nodes).gas == 37_500
    assert trial(*nodes, reverted=True).gas == 2_500_000


@each(
    ("estimate", "limits"),
    [
        (30_000, [STOP_GAS, 37_500]),
        (320_000, [STOP_GAS]),
        (10_000_000, [12_500_000, STOP_GAS]),
        (20_999, [STOP_GAS]),
    ],
)
def test_gas_limits_of_a_stop__most_first_and_the_first_never_below_what_a_stop_may_use(
    estimate: int, limits: list[int]
) -> None:
    assert trial((PASSES, hex(estimate))).gas_limits() == limits


def test_gas_limits_of_a_mark__are_the_estimate_alone() -> None:
    assert trial((PASSES, hex(30_000)), kind=IntentKind.MARK).gas_limits() == [37_500]
