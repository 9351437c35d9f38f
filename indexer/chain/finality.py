"""How far the chain calls itself safe and final, as marks that only rise.

Laws
- A height is called so once two nodes have the same block and time there, each up to what it calls so itself
  or to DEEP blocks below its head, and one of them calls it so. Where one node answers, `safe` is
  its word, and `finalized` is what it said in two looks: of several no higher than DEEP below us.
- Nothing is called final that is not below our own position: a node that says so of its head has no
  notion of it.
- Where nodes have different blocks no mark moves: an error of its own. A chain whose nodes know no
  such tag calls nothing safe or final.
- Nodes that are SLOW are not asked again before SPACING times what asking took: the tip is delayed
  by a tenth at most.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from core.blocks import queries as repository
from core.blocks.queries import DEEP, FINALIZED, SAFE, Cursor
from core.chain.blocks import BlockHeader
from core.chain.reader import LATEST
from core.errors import OutsideError
from core.mandate.ledger import deferred
from core.mandate.ledger import writer as mandate_ledger
from indexer.chain import ledgers
from indexer.chain.confirmation import Confirmation
from indexer.chain.context import ChainContext

SPACING, SLOW = 10, timedelta(seconds=0.5)
TAGS = (SAFE, FINALIZED)


class FinalityDisputedError(OutsideError):
    """Nodes have different blocks where one of them calls its own safe or final: no mark moves.
    Compare them with a third.
    """


class Finality:
    """The marks of one chain. Call it within `pinned`. Not thread-safe."""

    def __init__(
        self, chain: ChainContext, nodes: Confirmation, clock: Callable[[], datetime]
    ) -> None:
        self._chain = chain
        self._nodes = nodes
        self._clock = clock
        self._again_at = clock()
        self._found: Mapping[str, BlockHeader] = {}
        self._is_alone = True
        self._said_before: BlockHeader | None = None  # to be final, by the only node that answered

    def note(self, cursor: Cursor) -> Mapping[str, BlockHeader]:
        """Write down the marks, `safe` at or below our own position and `finalized` below it; what
        is called so now, by tag.

        Errors: the reader's, LeadershipLostError, FinalityDisputedError.
        """
        if self._clock() >= self._again_at:
            found = self.look()
            for tag in TAGS:
                header, below = found.get(tag), int(tag == FINALIZED)
                if tag == FINALIZED and self._is_alone:
                    before, self._said_before = self._said_before, header
                    is_said_twice = before and header and header.number >= before.number
                    header = before if is_said_twice else None
                    below = 1 if len(self._chain.reader.rpc.names) == 1 else DEEP
                if header is not None and header.number <= cursor.number - below:
                    self._note(tag, header)
        return self._found

    def look(self) -> Mapping[str, BlockHeader]:
        """The newest block of each tag that is agreed; asked again unless that took long a moment
        ago. Errors: RpcUnreachableError, FinalityDisputedError.
        """
        begun = self._clock()
        if begun >= self._again_at:
            try:
                self._found = self._agreed()
            finally:
                took = self._clock() - begun
                self._again_at = self._clock() + (SPACING * took if took > SLOW else timedelta(0))
        return self._found

    def _agreed(self) -> dict[str, BlockHeader]:
        """One more request to each node, of the heights that count, where there are others."""
        reader = self._chain.reader
        latest, *tagged = reader.headers([LATEST, *TAGS])
        answers = [(latest, tagged)] + [
            (theirs, called)
            for name, (theirs, *called) in self._nodes.others([LATEST, *TAGS]).items()
            if self._nodes.gets_on(name, theirs, -1 if latest is None else latest.number)
        ]
        self._is_alone = len(answers) == 1
        if self._is_alone:
            return {tag: one for tag, one in zip(TAGS, tagged, strict=True) if one is not None}
        heights = {
            tag: height
            for place, tag in enumerate(TAGS)
            if (height := _height([(head, called[place]) for head, called in answers])) is not None
        }
        if not heights:
            return {}
        asked = list(heights.values())
        blocks = [reader.headers(asked), *self._nodes.others(asked).values()]
        return {
            tag: block
            for place, tag in enumerate(heights)
            if (block := _of_two(tag, [one[place] for one in blocks])) is not None
        }

    def _note(self, tag: str, header: BlockHeader) -> None:
        chain, at, now = self._chain, Cursor(header.number, header.hash), self._clock()
        with chain.database.write() as session:
            chain.fence(session)
            if repository.canonical_hash(session, chain.chain_id, at.number) != at.hash:
                return  # Before our first block, or a reorg is under way.
            repository.agree_time(session, chain.chain_id, at.hash, header.timestamp)
            repository.save_mark(session, tag, chain.chain_id, at, chain.epoch, now)
            if tag == FINALIZED:
                mandate_ledger.forget_final(session, at.number)
            else:
                deferred.say_safe(session, chain.chain_id, at.number, now)
                past = deferred.expired(session, chain.chain_id, at.number, header.timestamp)
                if past:
                    ledgers.append(session, past, now)


def _height(answers: Sequence[tuple[BlockHeader | None, BlockHeader | None]]) -> int | None:
    """The height to which the words of two nodes go, of each its newest block and the one that it
    calls so; None: nobody calls any so.
    """
    called = [-1 if one is None else one.number for _, one in answers]
    deep = [-1 if latest is None else latest.number - DEEP for latest, _ in answers]
    second = sorted(map(max, called, deep))[-2]
    height = min(second, max(called))
    return height if height >= 0 else None


def _of_two(tag: str, blocks: Sequence[BlockHeader | None]) -> BlockHeader | None:
    """The block that two nodes have, of one time; None: only one has any. Errors:
    FinalityDisputedError.
    """
    found = {(block.hash, block.timestamp): block for block in blocks if block is not None}
    counts = Counter((one.hash, one.timestamp) for one in blocks if one is not None).most_common(1)
    if counts and counts[0][1] > 1:
        return found[counts[0][0]]
    if len(found) > 1:
        number = max(block.number for block in found.values())
        which = " and ".join(f"{block_hash} of {at}" for block_hash, at in sorted(found))
        raise FinalityDisputedError(
            f"nodes have different blocks at {number}, which is called {tag}: {which}"
        )
    return None
