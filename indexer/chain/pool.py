"""Whom to believe: what one node says that would take something back is asked of the others.

    a block of ours is said to be gone --> another node that gets on holds it  -> the one that says so rests; nothing is done
                                       |-> others answer, and none holds it    -> it is gone
                                       |-> others there are, and none answers  -> wait, at most ALONE_S
                                       '-> there is no other                   -> its word is all there is

Laws
- A node that contradicts others or itself rests, longer each time, until a round with it gets on.
- Who stands still below the height of the one it contradicts is no witness: it may sit on a branch that nobody continues.
- All of it happens within `Rpc.pinned`: the others are those that do not answer this round.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from core.chain import results
from core.chain.reader import ChainReader, block_argument
from core.db.repositories.chain import Cursor
from core.domain.blocks import BlockHeader
from core.domain.errors import OutsideError

WITHIN_S = 3.0  # the others' answer
REST_S, MOST_REST_S = 2.0, 60.0
STILL_S = 10  # a node whose head stands so long is no witness against a higher one
ALONE_S = 10  # after which a node is believed though no other answers


class DisputedError(OutsideError):
    """Another node holds what this one says is gone. Nothing is taken back; the next round begins with another node."""


class UnconfirmedError(OutsideError):
    """No other node says whether it is so, though there are others. Ask again."""


class Pool:
    """The nodes as the tip loop trusts them. Not thread-safe."""

    def __init__(self, reader: ChainReader, clock: Callable[[], datetime]) -> None:
        self._reader = reader
        self._rpc = reader.rpc
        self._clock = clock
        self._contradictions = Counter[str | None]()
        self._heads = dict[str, tuple[int, datetime]]()  # of each witness: its height, and since when it is that
        self._alone_since: datetime | None = None
        self._known_gone: str | None = None  # the block that the others did not hold either, when they were asked last

    def contradicts(self) -> None:
        """The node of this round can't be believed: it rests, twice as long as the last time."""
        name = self._rpc.pinned_name
        self._rpc.distrust("contradicts", min(MOST_REST_S, REST_S * 2.0 ** self._contradictions[name]))
        self._contradictions[name] = min(self._contradictions[name] + 1, 10)

    def got_on(self) -> None:
        """A round with this node wrote blocks."""
        self._contradictions.pop(self._rpc.pinned_name, None)
        self._alone_since = self._known_gone = None

    def confirm_gone(self, block: Cursor, head: BlockHeader) -> None:
        """Whether no other node that gets on holds this block of ours. `head`: of the node that says it is gone.

        Errors: DisputedError, UnconfirmedError.
        """
        said = self.others([block_argument("latest"), block_argument(block.number)])
        for name, (latest, ours) in said.items():
            if latest is not None and ours is not None and ours.hash == block.hash and self._gets_on(name, latest, head):
                self._alone_since = self._known_gone = None
                raise DisputedError(f"{name} holds our block {block.number} {block.hash}, and {self._rpc.pinned_name} does not")
        if said or len(self._rpc.stats()) == 1:
            self._alone_since, self._known_gone = None, block.hash
        if block.hash == self._known_gone:
            return
        self._alone_since = self._alone_since or self._clock()
        if (self._clock() - self._alone_since).total_seconds() < ALONE_S:
            raise UnconfirmedError(f"our block {block.number} {block.hash} is said to be gone, and no other node answers")

    def others(self, heights: Sequence[Any]) -> dict[str, list[BlockHeader | None]]:
        """The headers at these heights or tags, by each other node that answers now; None: it has none, or refuses. One that rests was
        wrong a moment ago, and is no witness.
        """
        requests = [("eth_getBlockByNumber", [height, False]) for height in heights]
        awake = [node.name for node in self._rpc.stats() if not node.is_open and node.name != self._rpc.pinned_name]
        said = self._rpc.batch_of_each(requests, WITHIN_S, awake, [results.header] * len(requests))
        return {name: [answer if isinstance(answer, BlockHeader) else None for answer in answers] for name, answers in said.items()}

    def _gets_on(self, name: str, latest: BlockHeader, head: BlockHeader) -> bool:
        number, since = self._heads.get(name, (-1, self._clock()))
        if latest.number != number:
            since = self._clock()
        self._heads[name] = (latest.number, since)
        return latest.number >= head.number or (self._clock() - since).total_seconds() < STILL_S
