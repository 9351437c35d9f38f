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
from api.client.verify.log_head_check import log_head, proven_log_head, state_root
from api.client.verify.node import Node
from api.client.verify.verification import verify
from core.chain.abi import topic_of
from core.chain.nodes import Nodes
from tests.integration.client.conftest import Exported, trusting
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


def checked(exported: Exported, lines: tuple[bytes, ...] | list[bytes], rpc: Nodes) -> Report:
    return verify(lines, [rpc], trusting(exported.deployed), lambda part, done, of: None)


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
    report = checked(exported, exported.other, exported.deployed.rpc)
    assert (report.verdict, report.figures["logs_of_vault"]) == (Verdict.CHAIN_SOUND, 2)


def test_a_node_that_leaves_out_a_log__contradicts_the_vault(exported: Exported) -> None:
    forgery = Forgery.of(exported.lines)
    forgery.drop(forgery.body("stopped"))
    forgery.seal()
    with lying(exported, without_stop) as rpc:
        names = {finding.name for finding in checked(exported, forgery.lines(), rpc).findings}
    assert "log_head.differs" in names
    assert "row.left_out" not in names


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
        names = {finding.name for finding in checked(exported, exported.other, rpc).findings}
    assert "log_head.differs" in names


def test_a_node_without_proofs__leaves_the_record_unchecked(exported: Exported) -> None:
    def answer(method: str, result: Any) -> Any:
        if method == "eth_getProof":
            raise NotImplementedError
        return result

    with lying(exported, answer) as rpc:
        report = checked(exported, exported.other, rpc)
    assert (report.verdict, report.findings) == (Verdict.UNCHECKED, [])
    assert [text.partition(":")[0] for text in report.unchecked] == [log_head_check.PART]


def _other_value(proof: dict[str, Any]) -> None:
    """The last node of the storage proof is the leaf, which holds the word."""
    nodes = proof["storageProof"][0]["proof"]
    nodes[-1] = nodes[-1][:-2] + ("00" if nodes[-1][-2:] != "00" else "01")


def _no_nodes(proof: dict[str, Any]) -> None:
    proof["storageProof"][0]["proof"] = []


def _too_many(proof: dict[str, Any]) -> None:
    proof["accountProof"] *= log_head_check.MOST_NODES + 1


def _no_text(proof: dict[str, Any]) -> None:
    proof["accountProof"] = [7]


def _no_slot(proof: dict[str, Any]) -> None:
    proof["storageProof"] = []


def _no_rlp(proof: dict[str, Any]) -> None:
    proof["accountProof"][0] = "0xff"


@pytest.mark.parametrize(
    "garble", [_other_value, _no_nodes, _too_many, _no_text, _no_slot, _no_rlp]
)
def test_a_proof_that_does_not_hold__proves_nothing(
    exported: Exported, garble: Callable[[dict[str, Any]], None]
) -> None:
    def answer(method: str, result: Any) -> Any:
        if method == "eth_getProof":
            garble(result)
        return result

    with lying(exported, answer) as rpc:
        report = checked(exported, exported.other, rpc)
    assert (report.verdict, report.findings) == (Verdict.UNCHECKED, [])
    assert "does not hold" in report.unchecked[0]


@pytest.mark.parametrize("result", [None, 7, "0x", [], {}])
def test_an_answer_that_is_no_proof__proves_nothing(exported: Exported, result: Any) -> None:
    with lying(exported, lambda method, own: result if method == "eth_getProof" else own) as rpc:
        assert checked(exported, exported.other, rpc).verdict is Verdict.UNCHECKED


def test_a_header_with_another_state_root__is_not_of_the_hash(exported: Exported) -> None:
    rpc = exported.deployed.rpc
    header = rpc.call("eth_getBlockByNumber", ["latest", False])
    assert state_root(header, header["hash"]).hex() == header["stateRoot"][2:]
    with pytest.raises(ValueError, match="do not give the block's hash"):
        state_root({**header, "stateRoot": header["hash"]}, header["hash"])


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
