"""Which node the tip believes: a second one confirms what cannot be taken back.

    our block is said to be gone --> another node that gets on has another block there -> it is gone
                                 |-> one holds it, and none denies it                  -> nothing is done; who said so rests
                                 |-> one gets on, and is below                         -> it is waited for
                                 '-> none says anything of it, or there is no other    -> gone, once said twice in a row
    a block that was taken back is said to be there: the same, the other way round

Laws
- A node that does not move below the head of the one that it contradicts says nothing: it may sit
  on a branch that nobody continues.
- A node at fault rests, and so does the one whose block was taken back.
- All of it happens within `Nodes.pinned`: the others are those that do not answer this round.
"""

from collections.abc import Sequence

from core.blocks.queries import Cursor
from core.chain import results
from core.chain.blocks import BlockHeader
from core.chain.reader import LATEST, At, header_request
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader

WITHIN_S = 3.0  # the others' answer
STILL_S = 10  # a node whose head has not moved for so long is no witness against a higher one
REST_S = 30.0


class DisputedError(OutsideError):
    """Another node holds what this one says is gone. Nothing is done."""


class UnconfirmedError(OutsideError):
    """No other node says whether it is so. The next round asks again."""


class Confirmation:
    """Not thread-safe."""

    def __init__(self, reader: VaultReader) -> None:
        self._rpc = reader.rpc
        self._giver: str | None = None  # of the newest block that is written
        self._taken_back = set[str]()  # hashes of the blocks that the last unwind took
        # what the last round said and nobody confirmed: of which block, and whether it is gone
        self._said: tuple[Cursor, bool] | None = None

    def holds_ours(self) -> None:
        """The node of this round has our newest block."""
        self._said = None

    def gave(self, number: int) -> None:
        """The node of this round gave the blocks that are written, up to this one."""
        self._giver = self._rpc.pinned_name
        if self._said is not None and self._said[0].number <= number:
            self._said = None

    def took_back(self, orphans: Sequence[Cursor]) -> None:
        """These blocks are unwound."""
        self._said, self._taken_back = None, {one.hash for one in orphans}
        self.at_fault(self._giver)

    def at_fault(self, name: str | None = None) -> None:
        """The node of this round, or this one, cannot be believed."""
        self._rpc.distrust("contradicts", REST_S, name)

    def confirm_back(self, block: Cursor, head: BlockHeader) -> None:
        """As `confirm_gone`, that this block, if it was taken back last, is there again."""
        if block.hash in self._taken_back:
            self._confirm(block, head, is_gone=False)

    def confirm_gone(self, block: Cursor, head: BlockHeader) -> None:
        """Whether this block of ours is gone, as the node with this head says.

        Errors: DisputedError, UnconfirmedError.
        """
        self._confirm(block, head, is_gone=True)

    def _confirm(self, block: Cursor, head: BlockHeader, *, is_gone: bool) -> None:
        headers = self.others([LATEST, block.number])
        agrees, waits = dict[str, bool](), False
        for name, (latest, theirs) in headers.items():
            if latest is not None and self.gets_on(name, latest, head.number):
                waits |= latest.number < block.number
                if theirs is not None and theirs.number == block.number:
                    agrees[name] = (theirs.hash != block.hash) is is_gone
        is_repeated, self._said = self._said == (block, is_gone), (block, is_gone)
        if True in agrees.values():
            return
        what = f"block {block.number} {block.hash} {'is gone' if is_gone else 'is back'}"
        if agrees:
            raise DisputedError(
                f"{self._rpc.pinned_name} says that {what}, and {', '.join(agrees)} does not"
            )
        if waits or not is_repeated:
            raise UnconfirmedError(f"no other node says yet that {what}")

    def others(self, heights: Sequence[At]) -> dict[str, list[BlockHeader | None]]:
        """The headers at these heights or tags, by each other node that answers now; None: it has
        none, or refuses.
        """
        if len(self._rpc.names) == 1:
            return {}
        requests = [header_request(height) for height in heights]
        by_node = self._rpc.batch_of_others(requests, WITHIN_S, [results.header] * len(requests))
        return {
            name: [answer if isinstance(answer, BlockHeader) else None for answer in answers]
            for name, answers in by_node.items()
        }

    def gets_on(self, name: str | None, latest: BlockHeader | None, height: int) -> bool:
        """Whether a node's newest block is no lower than this, or rose a moment ago."""
        if latest is None or name is None:
            return False
        self._rpc.saw(name, latest)
        return latest.number >= height or self._rpc.head_age_s(name) < STILL_S
