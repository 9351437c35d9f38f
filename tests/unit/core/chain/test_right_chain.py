"""What another chain's node says is no word about ours."""

from typing import Any

import httpx
import pytest

from core.chain import right_chain
from core.chain.right_chain import WrongChainError
from core.chain.rpc import RpcUnreachableError
from core.mandate.chain.reader import VaultReader
from tests.each import each
from tests.unit.core.chain.test_rpc import Node, Nodes, answer, status, unreachable

OURS = 84532


def serving(chain_id: Any) -> Node:
    def said(body: Any) -> httpx.Response:
        if isinstance(body, list):
            return httpx.Response(200, json=[{"id": one["id"], "result": chain_id} for one in body])
        return answer(body, result=chain_id)

    return said


def kept(**nodes: Node) -> tuple[str, ...]:
    made = Nodes(**nodes)
    right_chain.keep_to(VaultReader(made.rpc, {}), OURS)
    return made.rpc.names


def test_a_node_of_another_chain__is_left_out_wherever_it_stands() -> None:
    assert kept(a=serving("0x1"), b=serving(hex(OURS))) == ("b:80",)
    assert kept(a=serving(hex(OURS)), b=serving("0x1")) == ("a:80",)


@each("other", [status(500), unreachable, serving("0x1 or so"), serving(None)])
def test_a_node_that_does_not_say__stays(other: Node) -> None:
    assert len(kept(a=serving(hex(OURS)), b=other)) == 2


def test_all_of_another_chain__are_refused_with_both_ids() -> None:
    with pytest.raises(WrongChainError, match="the node's chain id is 1, CHAIN_ID is 84532"):
        kept(a=serving("0x1"), b=serving("0x1"))


def test_none_answers__is_no_other_chain() -> None:
    with pytest.raises(RpcUnreachableError):
        kept(a=unreachable, b=unreachable)
