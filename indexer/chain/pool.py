"""Whom to believe: what one node says that would take something back is asked of the others.

    a block of ours is said to be gone --> another node that gets on holds it           -> the one that says so rests; nothing is done
                                       |-> others have another block at that height     -> it is gone
                                       |-> others stand still below the one that says so -> it is gone
                                       |-> none of the others says anything of it       -> once it was said without a break for ALONE_S
                                       '-> there is no other node                       -> at once; when it says so often, it has to insist
    a block where one was taken back   --> another node denied that one: believed once a second node holds it, by the same rules

Laws
- A node that contradicts others rests, longer each time, until it gives a block that is written.
  One whose blocks are taken back more often than REORGS_ARE before it gave FORGIVEN_AFTER others
  contradicts itself: it rests too, longer each time.
- What a node lacks, or refuses to say, is no word against a block. Who rests for a contradiction
  may confirm, and its denial counts for nothing. Who stands still below the height of the one it
  contradicts is no witness: it may sit on a branch that nobody continues.
- All of it happens within `Nodes.pinned`: the others are those that do not answer this round.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from core.blocks.queries import Cursor
from core.chain import results
from core.chain.blocks import BlockHeader
from core.chain.reader import block_argument
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader

WITHIN_S = 3.0  # the others' answer
REST_S, MOST_REST_S = 2.0, 60.0
MOST_SELF_REST_S = 900.0  # of a node that contradicts itself: each time costs the ledgers rows
STILL_S = 10  # a node whose head stands so long is no witness against a higher one
ALONE_S = 10  # after which a node is believed though no other says anything
FORGIVEN_AFTER = 8  # blocks
MOST_TIMES = 20
REORGS_ARE = 2  # times in FORGIVEN_AFTER blocks that a node's blocks may be taken back
GIVERS_KEPT = 256  # blocks whose giver is known


class DisputedError(OutsideError):
    """Another node holds what this one says is gone, or lacks what it shows.

    Nothing is done; the next round begins with another node.
    """


class UnconfirmedError(OutsideError):
    """No other node says whether it is so, though there are others; or the only one has to insist.

    Ask again.
    """


class _Word(Enum):
    """What another node says of a block."""

    HOLDS = "holds"
    DENIES = "denies"
    STANDS = "stands"  # it has a block there, and does not get on
    NOTHING = "nothing"


@dataclass(slots=True)
class _Claim:
    """What one node says of a block and no other confirms, and since when.

    `is_believed`: it was said for long enough.
    """

    block_hash: str
    by: str | None
    since: datetime
    is_believed: bool = False


class TipPool:
    """The nodes as the tip loop trusts them. Not thread-safe."""

    def __init__(self, reader: VaultReader, clock: Callable[[], datetime]) -> None:
        self._reader = reader
        self._rpc = reader.rpc
        self._clock = clock
        self._contradictions, self._taken_back = Counter[str](), Counter[str]()
        # blocks of a node that were written since one of its own was taken back
        self._stood = Counter[str]()
        self._no_witness_until = dict[str, datetime]()
        self._givers = dict[str, str]()  # of the newest blocks, by hash: the node that gave it
        # of each witness: its greatest height, and since when it is that
        self._tops = dict[str, tuple[int, datetime]]()
        self._claim: _Claim | None = None
        # whether another node has another block than the one of ours that was asked about last
        self._is_denied = False
        # up to this height blocks were taken back: what stands there next is asked of a second node
        self._doubted_to = -1

    @property
    def _is_single(self) -> bool:
        return len(self._rpc.names) == 1

    # What a round came to

    def contradicts(self) -> None:
        """The node of this round can't be believed: it rests, twice as long as the last time."""
        name = self._rpc.pinned_name
        if name is not None:
            self._contradictions[name] += 1
            self._rest(name, _rest_s(self._contradictions[name], MOST_REST_S))

    def gave(self, block: Cursor) -> None:
        """The node of this round gave a block that is written."""
        name, self._claim = self._rpc.pinned_name, None
        if name is None:
            return
        self._givers[block.hash] = name
        if len(self._givers) > GIVERS_KEPT:
            del self._givers[next(iter(self._givers))]
        self._contradictions.pop(name, None)
        self._stood[name] += 1
        if self._stood[name] >= FORGIVEN_AFTER:
            self._taken_back.pop(name, None)

    def took_back(self, orphans: Sequence[Cursor]) -> None:
        """These blocks were unwound, newest first.

        Any node does that in a reorg; one that does it again and again rests.
        """
        is_doubted = self._is_denied or self._is_single
        self._claim, self._doubted_to = (
            None,
            max(self._doubted_to, orphans[0].number) if is_doubted else -1,
        )
        for name in {
            giver for block in orphans if (giver := self._givers.pop(block.hash, None)) is not None
        }:
            self._taken_back[name] += 1
            self._stood[name] = 0
            if self._too_often(name):
                self._rest(name, _rest_s(self._too_often(name), MOST_SELF_REST_S))

    def shows(self, head: BlockHeader) -> None:
        """The newest block of this round's node: another round may have to know since when it
        stands there.
        """
        if self._rpc.pinned_name is not None:
            self.gets_on(self._rpc.pinned_name, head, head)

    def holds_ours(self) -> None:
        """The node of this round has our newest block: what it said against it, it did not say
        without a break.
        """
        if self._claim is not None and self._claim.by == self._rpc.pinned_name:
            self._claim = None

    # What needs a second word

    def confirm_gone(self, block: Cursor, head: BlockHeader) -> None:
        """Whether no other node that gets on holds this block of ours.

        `head`: of the node that says it is gone.

        Errors: DisputedError, UnconfirmedError.
        """
        words = self._words(block, head)
        holder = next(
            (name for name, word in words.items() if word is _Word.HOLDS and not self._rests(name)),
            None,
        )
        if holder is not None:
            self._claim = None
            raise DisputedError(
                f"{holder} holds our block {block.number} {block.hash}, and "
                f"{self._rpc.pinned_name} does not"
            )
        self._is_denied = _Word.DENIES in words.values()
        if self._is_denied or _Word.STANDS in words.values():
            self._claim = None
        else:
            self._insist(block, "is said to be gone, and no other node says so")

    def confirm(self, block: Cursor, head: BlockHeader) -> None:
        """Whether a second node holds this block, where one at its height was taken back; elsewhere
        nobody is asked.

        Errors: DisputedError, UnconfirmedError.
        """
        if block.number > self._doubted_to:
            return
        words = self._words(block, head)
        if _Word.HOLDS in words.values():
            return
        denier = next(
            (
                name
                for name, word in words.items()
                if word is _Word.DENIES and not self._rests(name)
            ),
            None,
        )
        if denier is not None:
            self._claim = None
            raise DisputedError(
                f"{denier} has another block than {block.number} {block.hash} of "
                f"{self._rpc.pinned_name}"
            )
        self._insist(block, "takes another's place, and no other node has it")
        self._doubted_to = -1  # nobody else says anything: the blocks after it would wait as long

    def others(self, heights: Sequence[Any]) -> dict[str, list[BlockHeader | None]]:
        """The headers at these heights or tags, by each other node that answers now; None: it has
        none, or refuses.
        """
        requests = [("eth_getBlockByNumber", [height, False]) for height in heights]
        names = [name for name in self._rpc.names if name != self._rpc.pinned_name]
        said = (
            self._rpc.batch_of_each(requests, WITHIN_S, names, [results.header] * len(requests))
            if names
            else {}
        )
        return {
            name: [answer if isinstance(answer, BlockHeader) else None for answer in answers]
            for name, answers in said.items()
        }

    def gets_on(self, name: str, latest: BlockHeader | None, head: BlockHeader) -> bool:
        """Whether another node's newest block is no lower than this one's head, or rose a moment
        ago: down and up again is no rise.
        """
        if latest is None:
            return False
        top, since = self._tops.get(name, (-1, self._clock()))
        if latest.number > top:
            top, since = latest.number, self._clock()
        self._tops[name] = (top, since)
        return latest.number >= head.number or (self._clock() - since).total_seconds() < STILL_S

    def _words(self, block: Cursor, head: BlockHeader) -> dict[str, _Word]:
        """What each other node says of the block; nothing, where it has no block at that height."""
        said = self.others([block_argument("latest"), block_argument(block.number)])
        words = dict[str, _Word]()
        for name, (latest, theirs) in said.items():
            gets_on = self.gets_on(name, latest, head)
            if theirs is None or theirs.number != block.number:
                words[name] = _Word.NOTHING
            elif not gets_on:
                words[name] = _Word.STANDS
            else:
                words[name] = _Word.HOLDS if theirs.hash == block.hash else _Word.DENIES
        return words

    def _insist(self, block: Cursor, what: str) -> None:
        """Errors: UnconfirmedError, until it was said of this block for long enough without a
        break.
        """
        if self._claim is None or self._claim.block_hash != block.hash:
            self._claim = _Claim(block.hash, self._rpc.pinned_name, self._clock())
        claim = self._claim
        needed_s = (
            _rest_s(self._too_often(self._rpc.names[0]), ALONE_S) if self._is_single else ALONE_S
        )
        claim.is_believed = (
            claim.is_believed or (self._clock() - claim.since).total_seconds() >= needed_s
        )
        if not claim.is_believed:
            raise UnconfirmedError(f"block {block.number} {block.hash} {what}")

    def _too_often(self, name: str) -> int:
        """How often what this node gave was taken back, beyond what a chain's own reorgs may be."""
        return max(0, self._taken_back[name] - REORGS_ARE)

    def _rest(self, name: str, seconds: float) -> None:
        self._no_witness_until[name] = self._clock() + timedelta(seconds=seconds)
        self._rpc.distrust("contradicts", seconds, name)

    def _rests(self, name: str) -> bool:
        until = self._no_witness_until.get(name)
        return until is not None and self._clock() < until


def _rest_s(times: int, most_s: float) -> float:
    """0, then twice as long each time."""
    return min(most_s, REST_S * 2.0 ** (min(times, MOST_TIMES) - 1)) if times > 0 else 0.0
