"""A node that is asked first and is wrong for good: with one habit, whatever is asked, in calm too,
and honest in everything else.

Who gets on only because a bad node is bad now and then does not get on here: no round that begins
with it ends well.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tests.integration.chaos.server import Answer, capped, ok

Body = dict[str, Any]
NO_PARENT = "0x" + "ab" * 32


class Habit(StrEnum):
    HANGING_HEAD = "its newest block names a parent that is nobody's"
    NO_HEAD = "it has no newest block"
    NO_RECEIPTS = "it refuses the receipts of blocks"
    EXPIRED = "it refuses everything, as with a key that expired"


def due_habit(seed: int) -> Habit:
    """Any four seeds in a row have all of them."""
    return list(Habit)[seed % len(Habit)]


@dataclass(slots=True)
class HabitualNode:
    name: str
    habit: Habit
    upstream_port: int
    faults: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        """The answer to one HTTP request. `ask` passes a JSON-RPC body on."""
        request = json.loads(raw)
        answers = [
            self._said(call, ask(capped(call)))
            for call in (request if isinstance(request, list) else [request])
        ]
        return ok(answers if isinstance(request, list) else answers[0])

    def _said(self, call: Body, answer: Body) -> Body:
        said = told(self.habit, call, answer)
        if said != answer:
            with self._lock:
                self.faults[self.habit] = self.faults.get(self.habit, 0) + 1
        return said


def told(habit: Habit, call: Body, answer: Body) -> Body:
    """What the habit makes of an honest answer."""
    is_head = (
        call["method"] == "eth_getBlockByNumber"
        and call["params"][0] == "latest"
        and isinstance(answer.get("result"), dict)
    )
    match habit:
        case Habit.EXPIRED:
            return _refusal(call, -32000, "API key expired")
        case Habit.NO_RECEIPTS if call["method"] == "eth_getBlockReceipts":
            return _refusal(
                call, -32601, "the method eth_getBlockReceipts does not exist/is not available"
            )
        case Habit.HANGING_HEAD if is_head:
            return {**answer, "result": {**answer["result"], "parentHash": NO_PARENT}}
        case Habit.NO_HEAD if is_head:
            return {**answer, "result": None}
        case _:
            return answer


def _refusal(call: Body, code: int, message: str) -> Body:
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}}
