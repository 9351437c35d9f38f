"""What each node says of the logs of one contract, and which of them is believed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from core.blocks import log_heads
from core.blocks import queries as repository
from core.chain.blocks import RawLog
from core.chain.log_head import grown
from core.hexes import hex_of
from indexer.chain.context import ChainContext

WITHIN_S = 2.0  # for each node, to answer one question
BLOCKS_A_REQUEST = 10_000  # a power of ten

Story = list[RawLog]  # of one contract, in the order of the chain


@dataclass(frozen=True, slots=True)
class Stories:
    """Of one contract: our own logs, and those of each node that gives all of them. `times`: unix
    seconds of their blocks, by hash.
    """

    ours: Story
    by_node: Mapping[str, Story]
    times: Mapping[str, int]

    def best(self, support: Callable[[Story], int]) -> Story | None:
        """The one that most readings bear out; None: no reading does any, or two are alike."""
        distinct = {tuple(one): one for one in (self.ours, *self.by_node.values())}
        support_of = {key: support(one) for key, one in distinct.items()}
        most = max(support_of.values())
        found = [one for key, one in distinct.items() if most and support_of[key] == most]
        return found[0] if len(found) == 1 else None

    def word_after(self, word: bytes, story: Story) -> str:
        """A vault's own hash after the story's logs, from `word` on."""
        for one in story:
            event = bytes.fromhex("".join((*one.topics, one.data)).replace("0x", ""))
            word = grown(word, one.block_number, self.times[one.block_hash], event)
        return hex_of(word)


def stories_of(
    chain: ChainContext,
    nodes: Sequence[str],
    address: str,
    above: int,
    last: int,
    topics: Sequence[str] = (),
) -> Stories:
    """What these say, and we, of a contract's logs in the blocks above one and up to another."""
    asked = {node: _of_node(chain, node, address, above + 1, last, topics) for node in nodes}
    by_node = {node: story for node, story in asked.items() if story is not None}
    with chain.database.read() as session:
        ours = log_heads.logs_since(session, chain.chain_id, address, above, last)
        hashes = {one.block_hash for story in (ours, *by_node.values()) for one in story}
        times = repository.canonical_times(session, chain.chain_id, hashes)
    ours = [one for one in ours if not topics or one.topics[:1] == tuple(topics)]
    sound = {  # where every log is once, in a block of ours
        node: story
        for node, story in by_node.items()
        if all(one.block_hash in times for one in story)
        and all(before < after for before, after in pairwise(one.place for one in story))
    }
    return Stories(ours, sound, times)


def _of_node(
    chain: ChainContext, node: str, address: str, first: int, last: int, topics: Sequence[str]
) -> Story | None:
    """None: it does not give all of them."""
    wanted = {"address": address} | ({"topics": list(topics)} if topics else {})
    span, found = BLOCKS_A_REQUEST, Story()
    while first <= last:
        to = min(last, first + span - 1)
        answers = chain.reader.logs_of_each(first, to, [wanted], WITHIN_S, [node])
        chain.sign()
        if node in answers:
            found += answers[node][0]
            first = to + 1
        elif span > 1:
            span //= 10  # too long a range, or too much in it
        else:
            return None
    return sorted(found, key=attrgetter("place"))
