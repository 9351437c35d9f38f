"""How far the chain calls itself safe and final, as marks that only rise.

    first:  latest ...... finalized F1        how far each node's own word goes: what it calls so, or DEEP blocks below its head
    second: latest ......... finalized F2     agreed: the highest block to which the words of two go, and of which both have the same hash

Laws
- Nothing is called final that is not below our own position: a node that says so of its head has no
  notion of it.
- A height is final once two nodes agree about its block, or the only one that says anything of it
  has called it so for CONFIRMED_S: below it no reorg is believed, so that one wrong answer would
  halt the record at the next ordinary one.
- Where nodes that get on have different blocks, no mark moves, however often one of them says so;
  it is an error of its own.
- `safe` is the second node's word too, where one answers; it halts nothing, and is not waited for.
  Ends of unfunded terms are said with it (core/mandate/ledger/ends.py).
- The nodes are not asked again before SPACING times what asking took: a slow one delays the tip by
  a tenth at most.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from core.blocks import queries as repository
from core.blocks.queries import FINALIZED, SAFE, Cursor
from core.chain import results
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError
from core.errors import OutsideError
from core.mandate.ledger import ends as mandate_ends
from core.mandate.ledger import writer as mandate_ledger
from indexer.chain.context import ChainContext
from indexer.chain.fetch import BlockContradictionError
from indexer.chain.pool import TipPool

CONFIRMED_S = 60
# blocks below a node's head that it may hold back from calling final: as many as come while
# Ethereum goes through an epoch
DEEP = 192
SLOW_S = 0.5  # a look that takes less is no matter
SPACING = 10
TAGS = (SAFE, FINALIZED)


class FinalityDisputedError(OutsideError):
    """Nodes that get on have different blocks where one of them calls its own safe or final: no
    mark moves. Compare them with a third.
    """


@dataclass(frozen=True, slots=True)
class _Said:
    """What one node says, None where it says nothing: its newest block, and the one of each tag."""

    latest: BlockHeader | None
    tagged: Mapping[str, BlockHeader | None]

    def reach(self, tag: str) -> int:
        """The height down from which its own word lets a block be called so."""
        found = self.tagged[tag]
        deep = -1 if self.latest is None else self.latest.number - DEEP
        return max(deep, -1 if found is None else found.number)


@dataclass(frozen=True, slots=True)
class Agreed:
    """The highest block that is called so, by two nodes (`by_two`) or the only one that says
    anything of it; or why there is none.
    """

    header: BlockHeader | None = None
    by_two: bool = False
    dispute: str | None = None


@dataclass(slots=True)
class _Look:
    """What the nodes said, and from when on they may be asked again."""

    again_at: datetime
    agreed: Mapping[str, Agreed] = field(default_factory=dict)


class Finality:
    """The marks of one chain. Not thread-safe."""

    def __init__(self, chain: ChainContext, pool: TipPool, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._pool = pool
        self._clock = clock
        self._look = _Look(clock())
        self._said = deque[tuple[datetime, BlockHeader]]()  # by one node alone, oldest first

    def note(self, cursor: Cursor) -> None:
        """Write down the marks, `safe` at or below our own position and `finalized` below it.

        Errors: the reader's, LeadershipLostError, BlockContradictionError, FinalityDisputedError.
        """
        if self._clock() < self._look.again_at:
            return
        found = self.look()
        for tag in TAGS:
            header = found[tag].header
            if tag == FINALIZED and header is not None and not found[tag].by_two:
                header = self._confirmed(header, cursor)
            if header is not None and header.number < cursor.number + (tag == SAFE):
                self._note(tag, header)
        disputes = [one.dispute for one in found.values() if one.dispute is not None]
        if disputes:
            raise FinalityDisputedError(disputes[-1])

    def look(self) -> Mapping[str, Agreed]:
        """What is agreed of each tag, asked again unless that took long a moment ago.

        Call it within `pinned`. Errors: RpcUnreachableError; BlockContradictionError: at that
        height the node has another one.
        """
        begun = self._clock()
        if begun >= self._look.again_at:
            said = self._ask()
            agreed = self._agreed(said)
            took = self._clock() - begun
            self._look = _Look(
                self._clock() + SPACING * (took if took.total_seconds() > SLOW_S else timedelta(0)),
                agreed,
            )
        return self._look.agreed

    def _ask(self) -> dict[str | None, _Said]:
        """What this round's node says (None), and each other one that gets on."""
        asked = ("latest", *TAGS)
        heads = self._of_all(asked)
        own = heads[None][0]
        return {
            name: _Said(latest, dict(zip(TAGS, tagged, strict=True)))
            for name, (latest, *tagged) in heads.items()
            if name is None or (own is not None and self._pool.gets_on(name, latest, own))
        }

    def _of_all(self, heights: Sequence[Any]) -> dict[str | None, list[BlockHeader | None]]:
        """As `TipPool.others`, with this round's node (None)."""
        found: dict[str | None, list[BlockHeader | None]] = {None: self._own(heights)}
        found.update(self._pool.others(heights).items())
        return found

    def _own(self, heights: Sequence[Any]) -> list[BlockHeader | None]:
        """As `TipPool.others`, of this round's node."""
        requests = [("eth_getBlockByNumber", [height, False]) for height in heights]
        try:
            answers = self._chain.reader.rpc.batch_settled(
                requests, [results.header] * len(requests)
            )
        except RpcRefusedError:
            return [None] * len(requests)
        return [answer if isinstance(answer, BlockHeader) else None for answer in answers]

    def _agreed(self, said: Mapping[str | None, _Said]) -> dict[str, Agreed]:
        """One more request to each node, of the heights that count, where there are others."""
        heights = sorted(
            {height for tag in TAGS for one in said.values() if (height := one.reach(tag)) >= 0}
        )
        if not heights or len(said) == 1:
            return {tag: Agreed(said[None].tagged[tag]) for tag in TAGS}
        asked = [hex(height) for height in heights]
        answers = self._of_all(asked)
        held = {
            name: dict(zip(heights, found, strict=True))
            for name, found in answers.items()
            if name in said
        }
        for header in said[None].tagged.values():
            own = None if header is None else held[None].get(header.number)
            if header is not None and own is not None and own.hash != header.hash:
                raise BlockContradictionError(
                    own, f"at its height the node calls {header.hash} safe or final"
                )
        return {tag: _agreed_of(tag, said, held) for tag in TAGS}

    def _confirmed(self, header: BlockHeader, cursor: Cursor) -> BlockHeader | None:
        """The newest that was called final CONFIRMED_S ago, and is not above what is called so
        now.
        """
        while self._said and self._said[-1][1].number > header.number:
            self._said.pop()
        confirmed = None
        while self._said and (self._clock() - self._said[0][0]).total_seconds() >= CONFIRMED_S:
            confirmed = self._said.popleft()[1]
        if header.number < cursor.number:
            self._said.append((self._clock(), header))
        return confirmed

    def _note(self, tag: str, header: BlockHeader) -> None:
        chain, at, now = self._chain, Cursor(header.number, header.hash), self._clock()
        with chain.database.write() as session:
            chain.fence(session)
            if repository.canonical_hash(session, chain.chain_id, at.number) != at.hash:
                return  # Before our first block, or a reorg is under way.
            repository.save_mark(session, tag, chain.chain_id, at, chain.epoch, now)
            if tag == FINALIZED:
                mandate_ledger.forget_final(session, at.number)
            else:
                mandate_ends.say_safe(session, chain.chain_id, at.number, now)
                past = mandate_ends.expired(session, chain.chain_id, at.number, header.timestamp)
                if past:
                    chain.ledgers.append(session, past, now)


def _agreed_of(
    tag: str,
    said: Mapping[str | None, _Said],
    held: Mapping[str | None, Mapping[int, BlockHeader | None]],
) -> Agreed:
    """Somebody has to call it so: where it is only deep, it is not agreed."""
    called = max(
        (header.number for one in said.values() if (header := one.tagged[tag]) is not None),
        default=-1,
    )
    heights = sorted(
        {height for one in said.values() if 0 <= (height := one.reach(tag)) <= called}, reverse=True
    )
    dispute: str | None = None
    for height in heights:
        found = [
            block
            for name, blocks in held.items()
            if (block := blocks.get(height)) is not None and said[name].reach(tag) >= height
        ]
        agreed = next(
            (block for block in found if sum(other.hash == block.hash for other in found) > 1), None
        )
        if agreed is not None:
            return Agreed(agreed, by_two=True, dispute=dispute)
        if len(found) > 1:
            hashes = " and ".join(block.hash for block in found)
            dispute = f"nodes have different blocks at {height}, which they call {tag}: {hashes}"
    if dispute is not None:
        return Agreed(dispute=dispute)
    alone = said[None].tagged[tag]
    if alone is None:
        return Agreed()
    denied = [
        block
        for name, blocks in held.items()
        if name and (block := blocks.get(alone.number)) is not None and block.hash != alone.hash
    ]
    if denied:
        return Agreed(
            dispute=f"another node has {denied[0].hash} at {alone.number}, where {alone.hash} is "
            f"called {tag}"
        )
    return Agreed(alone)
