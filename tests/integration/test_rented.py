"""The rented node of the tests: what its plan covers, and what its backends know."""

import json
from itertools import pairwise
from typing import Any

from tests.integration.rented import OldBranch, Pick, Plan, Refuses, Rented, claims_height

HEAD = 200


def block_of(number: int) -> dict[str, Any]:
    return {"number": hex(number), "hash": f"0x{number:064x}", "transactions": []}


def ask(call: Any) -> Any:
    """A chain of two hundred blocks without transactions."""
    method, params = call["method"], call["params"]
    result: Any = {"asked": params}
    if method == "eth_blockNumber":
        result = hex(HEAD)
    if method in ("eth_getBlockByNumber", "eth_getBlockByHash"):
        number = int(params[0], 16)
        result = block_of(number) if number <= HEAD else None
    if method == "eth_getTransactionReceipt":
        result = {"blockNumber": params[0], "logs": []}
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}


def said(node: Rented, *calls: tuple[str, list[Any]]) -> Any:
    body = [
        {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
        for at, (method, params) in enumerate(calls)
    ]
    answers = json.loads(node.answer(json.dumps(body).encode(), ask).body)
    return [one.get("result", one.get("error")) for one in answers]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


NUMBER: tuple[str, list[Any]] = ("eth_blockNumber", [])


def test_a_plan_refuses_the_whole_batch_that_it_does_not_cover() -> None:
    clock = Clock()
    node = Rented(plan=Plan(10, clock=clock))
    body = json.dumps([{"id": 1, "method": "eth_blockNumber", "params": []}] * 6).encode()
    assert [node.answer(body, ask).status for _ in range(2)] == [200, 429]
    clock.now = 0.2  # 4 are left, and 2 more are earned
    assert node.answer(body, ask).status == 200
    assert (node.calls.total(), node.refused) == (12, 6)


def test_a_plan_refuses_the_last_calls_of_a_batch_alone() -> None:
    node = Rented(plan=Plan(3, Refuses.SINGLE, Clock()))
    first, _, third, fourth = said(node, *[NUMBER] * 4)
    assert first == third == hex(HEAD)
    assert fourth["code"] == -32005


def test_a_batch_larger_than_the_plan_is_never_covered() -> None:
    clock = Clock()
    node = Rented(plan=Plan(25, clock=clock))
    body = json.dumps([{"id": 1, "method": "eth_blockNumber", "params": []}] * 26).encode()
    clock.now = 1_000
    assert node.answer(body, ask).status == 429


def test_backends_alternate_by_request_or_by_call() -> None:
    node = Rented(backends=(0, 3))
    assert [said(node, NUMBER, NUMBER) for _ in range(2)] == [[hex(197)] * 2, [hex(200)] * 2]
    node.splits_batches = True
    assert len(set(said(node, NUMBER, NUMBER))) == 2


def test_a_sticky_balancer_keeps_its_backend_for_a_while() -> None:
    node = Rented(backends=(0, 3), pick=Pick.STICKY)
    heights = [said(node, NUMBER)[0] for _ in range(60)]
    assert sum(a != b for a, b in pairwise(heights)) == 3


def test_a_backend_knows_nothing_above_its_height() -> None:
    node = Rented(backends=(3,))
    height, block, known, receipts, early, late, logs, at_latest, above = said(
        node,
        NUMBER,
        ("eth_getBlockByNumber", [hex(198), False]),
        ("eth_getBlockByNumber", [hex(197), False]),
        ("eth_getBlockReceipts", [f"0x{198:064x}"]),
        ("eth_getTransactionReceipt", [hex(197)]),
        ("eth_getTransactionReceipt", [hex(198)]),
        ("eth_getLogs", [{"fromBlock": hex(198), "toBlock": hex(200)}]),
        ("eth_call", [{}, "latest"]),
        ("eth_call", [{}, {"blockHash": f"0x{198:064x}"}]),
    )
    assert height == hex(197)
    assert [block, receipts, late] == [None, None, None]
    assert known == block_of(197)
    assert early is not None
    assert logs == []
    assert at_latest == {"asked": [{}, hex(197)]}
    assert above["message"] == "header not found"


def test_pre_confirmed_receipts_come_before_their_block() -> None:
    node = Rented(backends=(3,), gives_pre_confirmed=True)
    receipt, block = said(
        node,
        ("eth_getTransactionReceipt", [hex(198)]),
        ("eth_getBlockByNumber", [hex(198), False]),
    )
    assert receipt is not None
    assert block is None


def test_state_older_than_what_is_kept_is_refused() -> None:
    node = Rented(kept_states=128)
    kept, pruned = said(
        node, ("eth_call", [{}, hex(HEAD - 127)]), ("eth_call", [{}, hex(HEAD - 128)])
    )
    assert "asked" in kept
    assert "missing trie node" in pruned["message"]


def test_a_node_without_the_tag_refuses_it() -> None:
    node = Rented(tags=frozenset({"finalized"}))
    safe, final = said(
        node,
        ("eth_getBlockByNumber", ["safe", False]),
        ("eth_getBlockByNumber", ["finalized", False]),
    )
    assert safe["code"] == -39001
    assert final == block_of(HEAD - 64)


def test_a_backend_on_the_old_branch_shows_it_alone() -> None:
    old = {
        number: block_of(number) | {"hash": f"0x{'f' * 60}{number:04x}"} for number in (199, 200)
    }
    node = Rented(backends=(0,))
    node.machines[0].branch = OldBranch(198, old, {old[199]["hash"]: [{"logs": []}]})
    head, by_hash, receipts, other, shared = said(
        node,
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_getBlockByHash", [old[199]["hash"], False]),
        ("eth_getBlockReceipts", [old[199]["hash"]]),
        ("eth_getBlockByHash", [f"0x{199:064x}", False]),
        ("eth_getBlockByNumber", [hex(198), False]),
    )
    assert (head, by_hash, shared) == (old[200], old[199], block_of(198))
    assert receipts == [{"logs": []}]
    assert other is None


def test_a_lie_about_the_height_is_told_of_the_newest_block() -> None:
    node = Rented(lies=[claims_height(1_800)])
    number, block = said(node, NUMBER, ("eth_getBlockByNumber", ["latest", False]))
    assert number == block["number"] == hex(HEAD + 1_800)
    assert block["hash"] != block_of(HEAD)["hash"]
