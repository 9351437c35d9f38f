"""Nodes that say well-formed untruths, by the path of their address: /a lies, /b is honest."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from tests.integration.keeper.conftest import Wire

Call = dict[str, Any]
Answer = dict[str, Any]
Lie = Callable[[Call, Answer], Answer | None]  # None: the truth


class LyingWire(Wire):
    """`lies` by path. `asked`: path and method of each call."""

    def __init__(self, lies: Mapping[str, Lie]) -> None:
        super().__init__()
        self.lies = dict(lies)
        self.asked: list[tuple[str, str]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path, content = request.url.path, json.loads(request.content)
        calls = content if isinstance(content, list) else [content]
        self.asked += [(path, call["method"]) for call in calls]
        response = super().handle_request(request)
        lie = self.lies.get(path)
        if lie is None:
            return response
        response.read()
        found = response.json()
        by_id = {answer["id"]: answer for answer in (found if isinstance(found, list) else [found])}
        told = [lie(call, by_id[call["id"]]) or by_id[call["id"]] for call in calls]
        return httpx.Response(200, json=told if isinstance(content, list) else told[0])


def said(call: Call, result: Any) -> Answer:
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}


def refused(call: Call, message: str, code: int = -32000, **more: Any) -> Answer:
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message, **more}}


def says(method: str, result: Any) -> Lie:
    """The same result whatever is asked."""
    return lambda call, _: said(call, result) if call["method"] == method else None


def refuses(method: str, message: str = "missing trie node", code: int = -32000) -> Lie:
    return lambda call, _: refused(call, message, code) if call["method"] == method else None


def counts(number: int) -> Lie:
    return says("eth_getTransactionCount", hex(number))


def base_fee(wei: int) -> Lie:
    def lie(call: Call, answer: Answer) -> Answer | None:
        if call["method"] != "eth_getBlockByNumber" or call["params"][0] != "latest":
            return None
        return said(call, answer["result"] | {"baseFeePerGas": hex(wei)})

    return lie


def trials_revert(call: Call, _: Answer) -> Answer | None:
    """Views are answered, and what is to be sent is not."""
    is_trial = call["method"] in ("eth_call", "eth_estimateGas") and "from" in call["params"][0]
    return refused(call, "execution reverted", 3, data="0x") if is_trial else None


def trials_pass(gas: int) -> Lie:
    """Whatever is to be sent would succeed."""

    def lie(call: Call, _: Answer) -> Answer | None:
        if call["method"] == "eth_estimateGas":
            return said(call, hex(gas))
        return (
            said(call, "0x")
            if call["method"] == "eth_call" and "from" in call["params"][0]
            else None
        )

    return lie


def together(*lies: Lie) -> Lie:
    return lambda call, answer: next(
        (told for lie in lies if (told := lie(call, answer)) is not None), None
    )
