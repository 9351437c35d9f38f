"""Two questions under way: while one answer is read, the node works on the next.

A node and its reader each take about half of the time of a long record, so that one after the other
costs twice what both together do.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

UNDER_WAY: Final = 2

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Ahead(Generic[Question, Answer]):
    """Answers come in the order of their questions, and so do errors."""

    def __init__(self, ask: Callable[[Question], Answer]) -> None:
        self._ask = ask
        self._pool = ThreadPoolExecutor(UNDER_WAY, thread_name_prefix="ask")
        self._under_way = deque[tuple[Question, Future[Answer]]]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __len__(self) -> int:
        """How many are asked and not taken."""
        return len(self._under_way)

    def put(self, question: Question) -> None:
        self._under_way.append((question, self._pool.submit(self._ask, question)))

    def take(self) -> tuple[Question, Future[Answer]]:
        """The oldest question, and its answer once it is there."""
        return self._under_way.popleft()

    def forget(self) -> None:
        """Take none of those that are under way."""
        while self._under_way:
            self.take()[1].cancel()
