"""What many threads ask a node at once goes as one batch: for calls that come in crowds.

    thread A  --ask------------->|answer
    thread B      wait ----------|--ask for B, C, D------------>|answers
    thread C         wait -------|
    thread D             wait ---|

Laws
- Who asks alone asks at once, as without this. Who comes while a request is under way waits for it
  to end, and the first of them asks for all that wait.
- One call's refusal is its own; that no node answered is told to all of a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from core.chain.results import Parse
from core.chain.rpc import Rpc
from core.errors import OutsideError


@dataclass(slots=True, eq=False)
class _Waiting:
    method: str
    params: Sequence[Any]
    parse: Parse[Any]
    answers: list[Any] = field(default_factory=list)  # one, or none yet


class CallsTogether:
    """Threads share it."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._waiting: list[_Waiting] = []
        self._lock, self._turn = Lock(), Lock()

    def call(self, method: str, params: Sequence[Any], parse: Parse[Any]) -> Any:
        """As `Rpc.call`, with its errors."""
        mine = _Waiting(method, params, parse)
        with self._lock:
            self._waiting.append(mine)
        with self._turn:
            if not mine.answers:
                self._ask(self._taken(mine))
        (answer,) = mine.answers
        if isinstance(answer, OutsideError):
            raise answer
        return answer

    def _taken(self, mine: _Waiting) -> list[_Waiting]:
        """All that wait. Whoever took this one before failed by a defect, and it asks again."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken if mine in taken else [mine, *taken]

    def _ask(self, batch: Sequence[_Waiting]) -> None:
        try:
            answers = self._answers(batch)
        except OutsideError as error:
            answers = [error] * len(batch)
        for one, answer in zip(batch, answers, strict=True):
            one.answers.append(answer)

    def _answers(self, batch: Sequence[_Waiting]) -> list[Any]:
        if len(batch) == 1:
            return [self._rpc.call(batch[0].method, batch[0].params, batch[0].parse)]
        requests = [(one.method, one.params) for one in batch]
        return self._rpc.batch_settled(requests, [one.parse for one in batch])
