"""A node that answers, and not what is so: each lie is well-formed JSON-RPC.

A `Lie` gets a call and the honest answer, and gives what is said instead, or None. Nodes are told apart by the path of their URL.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx

from core.chain.abi import errors_by_selector, function
from tests.integration.keeper.conftest import Stage, Wire

Call = dict[str, Any]
Lie = Callable[[Call, Call], Call | None]

VIEWS = {function("MandateVault", name).selector: name for name in ("status", "worth", "worthAtCost")}
NAMED_KEEPER = function("MandateVaultFactory", "keeper").selector
PENDING_KEEPER = function("MandateVaultFactory", "pendingKeeper").selector
TWO = ("/a", "/b")  # the preferred node first


class LyingWire(Wire):
    """`lies`: by path of the node that tells it. `asked`: (path, method) of every call."""

    def __init__(self, **lies: Lie) -> None:
        super().__init__()
        self.lies = lies
        self.asked: list[tuple[str, str]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path, asked = request.url.path.strip("/"), json.loads(request.content)
        calls = asked if isinstance(asked, list) else [asked]
        self.asked += [(path, call["method"]) for call in calls]
        response = super().handle_request(request)
        lie = self.lies.get(path)
        if lie is None:
            return response
        response.read()
        answers = response.json()
        by_id = {answer["id"]: answer for answer in (answers if isinstance(answers, list) else [answers])}
        said = [lie(call, by_id[call["id"]]) or by_id[call["id"]] for call in calls]
        return httpx.Response(200, json=said if isinstance(asked, list) else said[0])


def result(call: Call, value: Any) -> Call:
    return {"jsonrpc": "2.0", "id": call["id"], "result": value}


def refusal(call: Call, message: str, code: int = -32000, **more: Any) -> Call:
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message, **more}}


def word(value: int) -> str:
    return "0x" + value.to_bytes(32, "big").hex()


def is_view(call: Call, name: str) -> bool:
    return call["method"] == "eth_call" and VIEWS.get(call["params"][0]["data"]) == name


def view(name: str, value: int) -> Lie:
    """Every vault's view has this value."""
    return lambda call, answer: result(call, word(value)) if is_view(call, name) else None


def view_refused(name: str, message: str = "execution timeout") -> Lie:
    return lambda call, answer: refusal(call, message) if is_view(call, name) else None


def refusal_of(name: str, *values: int) -> Callable[[Call], Call]:
    """A revert with this error of the contracts."""
    selector = next(selector for selector, error in errors_by_selector().items() if error.name == name)
    data = selector + "".join(word(value)[2:] for value in values)
    return lambda call: refusal(call, "execution reverted", 3, data=data)


def hangs_at(name: str) -> Lie:
    """A request with a call of this view is never answered."""

    def lie(call: Call, answer: Call) -> Call | None:
        if is_view(call, name):
            raise httpx.ReadTimeout("too slow")
        return None

    return lie


def refuses(*methods: str, message: str = "missing trie node") -> Lie:
    return lambda call, answer: refusal(call, message) if call["method"] in methods else None


def trials_revert(call: Call, answer: Call) -> Call | None:
    is_trial = call["method"] in ("eth_call", "eth_estimateGas") and "from" in call["params"][0]
    return refusal(call, "execution reverted", 3, data="0x") if is_trial else None


def another_keeper(call: Call, answer: Call) -> Call | None:
    is_asked = call["method"] == "eth_call" and call["params"][0]["data"] == NAMED_KEEPER
    return result(call, word(0x1111)) if is_asked else None


def head(change: Callable[[Call], Call | None]) -> Lie:
    """The newest block is another one."""

    def lie(call: Call, answer: Call) -> Call | None:
        is_asked = call["method"] == "eth_getBlockByNumber" and call["params"][0] == "latest"
        return result(call, change(answer["result"])) if is_asked else None

    return lie


def frozen(stage: Stage) -> Lie:
    """The head stands still from now on."""
    block = stage.chain.anvil.rpc.call("eth_getBlockByNumber", ["latest", False])
    return head(lambda _: block)


def without_base_fee(block: Call) -> Call:
    return {name: value for name, value in block.items() if name != "baseFeePerGas"}
