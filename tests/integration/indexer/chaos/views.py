"""The chain as one node sees it: the live one, one that lags behind it, or the branch that the last
reorg threw away.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

FINAL_DEPTH = 64  # anvil's own distance from the head to the finalized block
SAFE_DEPTH = 32
UNKNOWN_BLOCK = {"code": -32000, "message": "header not found"}

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Branch:
    """Blocks above `ancestor` as anvil gave them, with what stands in them."""

    ancestor: int
    head: int
    blocks: Mapping[int, Body]
    receipts: Mapping[str, list[Body]]  # block hash -> receipts
    transactions: Mapping[str, Body]

    def by_hash(self, block_hash: str) -> Body | None:
        return next((block for block in self.blocks.values() if block["hash"] == block_hash), None)


@dataclass(slots=True)
class View:
    """`ask` passes a JSON-RPC body on to the live chain."""

    ask: Callable[[Any], Any]
    lag: int = 0
    branch: Branch | None = None
    _head: int | None = field(default=None, init=False)

    def answer(self, call: Body) -> Body:
        if self.lag == 0 and self.branch is None:
            return dict(self.ask(call))
        match call["method"]:
            case "eth_getBlockByNumber":
                return self._at_height(call)
            case "eth_getBlockByHash" | "eth_getBlockReceipts":
                return self._of_block(call)
            case "eth_getTransactionByHash":
                return self._transaction(call)
            case "eth_call":
                return self._call(call)
            case _:
                return dict(self.ask(call))

    @property
    def head(self) -> int:
        if self._head is None:
            live = int(
                self.ask({"jsonrpc": "2.0", "id": 0, "method": "eth_blockNumber", "params": []})[
                    "result"
                ],
                16,
            )
            self._head = self.branch.head if self.branch is not None else max(0, live - self.lag)
        return self._head

    def _shared(self) -> int:
        """The newest height at which this view's blocks are the live chain's."""
        return self.head if self.branch is None else self.branch.ancestor

    def _at_height(self, call: Body) -> Body:
        tag = call["params"][0]
        heights = {
            "latest": self.head,
            "safe": max(0, self.head - SAFE_DEPTH),
            "finalized": max(0, self.head - FINAL_DEPTH),
        }
        number = heights[tag] if tag in heights else int(tag, 16)
        if self.branch is not None and number in self.branch.blocks:
            return _result(call, self.branch.blocks[number])
        if number > self._shared():
            return _result(call, None)
        return dict(self.ask({**call, "params": [hex(number), *call["params"][1:]]}))

    def _of_block(self, call: Body) -> Body:
        block_hash = call["params"][0]
        if self.branch is not None and (block := self.branch.by_hash(block_hash)) is not None:
            return _result(
                call,
                block
                if call["method"] == "eth_getBlockByHash"
                else self.branch.receipts[block_hash],
            )
        return dict(self.ask(call)) if self._knows(block_hash) else _result(call, None)

    def _transaction(self, call: Body) -> Body:
        if self.branch is not None and call["params"][0] in self.branch.transactions:
            return _result(call, self.branch.transactions[call["params"][0]])
        answer = dict(self.ask(call))
        height = (answer.get("result") or {}).get("blockNumber")
        return (
            answer
            if height is not None and int(height, 16) <= self._shared()
            else _result(call, None)
        )

    def _call(self, call: Body) -> Body:
        """The state of thrown-away blocks is gone, also where their headers are still known."""
        at = call["params"][1]
        if isinstance(at, dict) and not self._knows(at["blockHash"]):
            return {"jsonrpc": "2.0", "id": call["id"], "error": UNKNOWN_BLOCK}
        return dict(self.ask(call))

    def _knows(self, block_hash: str) -> bool:
        """Whether a live block is one that this view has seen."""
        asked = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "eth_getBlockByHash",
            "params": [block_hash, False],
        }
        block = self.ask(asked).get("result")
        return block is not None and int(block["number"], 16) <= self._shared()


def _result(call: Body, result: Any) -> Body:
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}
