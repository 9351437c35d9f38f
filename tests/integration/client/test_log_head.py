"""The vault's own word for its logs: what a node leaves out or alters is found, whatever else it
says, and no proof is never taken for one.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from eth_utils.crypto import keccak

from api.client.verify import log_head_check
from api.client.verify.findings import Report, UncheckedError, Verdict
from api.client.verify.log_head_check import log_head, proven_log_head
from api.client.verify.node import Node
from core.chain.abi import topic_of
from core.chain.nodes import Nodes
from tests.integration.client.conftest import Exported, judged, names
from tests.integration.client.forging import Forgery
from tests.node_transport import in_threads

Answer = Callable[[str, Any], Any]  # method, result -> the result that the node gives


class Lying(httpx.BaseTransport):
    """A node whose answers are changed on the way; an exception instead of one is a refusal."""

    def __init__(self, answer: Answer) -> None:
        self._node = httpx.HTTPTransport()
        self._answer = answer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.read())
        response = self._node.handle_request(request)
        response.read()
        told = response.json()
        pairs = zip(asked, told, strict=True) if isinstance(asked, list) else [(asked, told)]
        for call, one in pairs:
            try:
                one["result"] = self._answer(call["method"], one.get("result"))
            except NotImplementedError:
                del one["result"]
                one["error"] = {"code": -32601, "message": "method not found"}
        return httpx.Response(200, json=told)

    def close(self) -> None:
        self._node.close()


@contextmanager
def lying(exported: Exported, answer: Answer) -> Iterator[Nodes]:
    rpc = Nodes([exported.deployed.anvil.url], transport=in_threads(Lying(answer)))
    try:
        yield rpc
    finally:
        rpc.close()


def without_stop(method: str, result: Any) -> Any:
    """As if the agent had never stopped the mandate."""
    topic = topic_of("Stopped")
    if method == "eth_getLogs":
        return [log for log in result if log["topics"][0] != topic]
    if method == "eth_getTransactionReceipt" and result is not None:
        return {**result, "logs": [log for log in result["logs"] if log["topics"][0] != topic]}
    return result


@pytest.mark.slow
def test_an_honest_record__has_the_vaults_own_head(exported: Exported) -> None:
    report = judged(exported.deployed, exported.other)
    assert (report.verdict, report.figures["logs_of_vault"]) == (Verdict.CHAIN_SOUND, 2)


def test_a_node_that_leaves_out_a_log__contradicts_the_vault(exported: Exported) -> None:
    forgery = Forgery.of(exported.lines)
    forgery.drop(forgery.body("stopped"))
    forgery.seal()
    with lying(exported, without_stop) as rpc:
        found = names(judged(exported.deployed, forgery.lines(), rpc))
    assert "log_head.differs" in found
    assert "row.left_out" not in found


def test_a_node_that_alters_an_amount__contradicts_the_vault(exported: Exported) -> None:
    def answer(method: str, result: Any) -> Any:
        if method != "eth_getLogs":
            return result
        return [
            {**log, "data": log["data"][:-1] + "f"}
            if log["topics"][0] == topic_of("Executed")
            else log
            for log in result
        ]

    with lying(exported, answer) as rpc:
        assert "log_head.differs" in names(judged(exported.deployed, exported.other, rpc))


def test_a_node_without_proofs__leaves_the_record_unchecked(exported: Exported) -> None:
    def answer(method: str, result: Any) -> Any:
        if method == "eth_getProof":
            raise NotImplementedError
        return result

    with lying(exported, answer) as rpc:
        report = judged(exported.deployed, exported.other, rpc)
    assert (report.verdict, report.findings) == (Verdict.UNCHECKED, [])
    assert [text.partition(":")[0] for text in report.unchecked] == [log_head_check.PART]


def test_a_proof_of_another_word__proves_nothing(exported: Exported) -> None:
    """The last node of the storage proof is the leaf, which holds the word."""

    def answer(method: str, result: Any) -> Any:
        if method == "eth_getProof":
            nodes = result["storageProof"][0]["proof"]
            nodes[-1] = nodes[-1][:-2] + ("00" if nodes[-1][-2:] != "00" else "01")
        return result

    with lying(exported, answer) as rpc:
        report = judged(exported.deployed, exported.other, rpc)
    assert (report.verdict, report.findings) == (Verdict.UNCHECKED, [])
    assert "does not hold" in report.unchecked[0]


def node_of(exported: Exported) -> Node:
    rpcs, factory = [exported.deployed.rpc], exported.deployed.contracts["factory"]
    return Node(rpcs, factory, lambda part, done, of: None, Report(), 10_000_000)


def test_the_proven_word__is_the_views(exported: Exported) -> None:
    node = node_of(exported)
    newest = node.reader.block_number()
    block = node.blocks([newest])[newest]
    view = exported.deployed.rpc.call(
        "eth_call", [{"to": exported.vault, "data": "0x" + _selector()}, "latest"]
    )
    assert "0x" + proven_log_head(node, exported.vault, block).hex() == view


def test_a_contract_without_the_word__has_zero(exported: Exported) -> None:
    """An account that is there and has no such slot: the proof says so, and nothing fails."""
    node = node_of(exported)
    newest = node.reader.block_number()
    block = node.blocks([newest])[newest]
    usdc = exported.deployed.contracts["usdc"]
    with pytest.raises(UncheckedError):
        proven_log_head(node, "0x" + "12" * 20, block)
    assert len(proven_log_head(node, usdc, block)) == 32


def test_the_head_of_no_logs__is_the_digest() -> None:
    assert log_head("0x" + "ab" * 32, [], {}) == b"\xab" * 32


def _selector() -> str:
    return keccak(text="logHead()")[:4].hex()
