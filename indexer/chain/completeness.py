"""Whether a range has every log that concerns us, found out before it is committed.

    logs by eth_getLogs --> do they explain every vault they touch? --> does any block's bloom tell of more? --> facts
                                   |  no                                    |  yes
                                   '----> receipts of the blocks in question, held against their headers; what was left
                                          out is taken from there, and looked at again

Laws
- What a vault's events leave open (continuity.py) is found wherever the node has the state of the
  range's two ends; where it has not, gaps between the events are found still. A node that says that
  no vault stands where there are events of one contradicts itself.
- A bloom is asked only where it can answer: in a block so full that strangers' bits are likely to
  look like ours, it proves nothing, and nothing is concluded (docs/decisions/0015).
- Receipts are believed as at the tip. What they do not explain either is a contradiction: nothing
  is written, and the node that gave the range rests. So does one that left a log out, also when its
  receipts had it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from core.chain.abi import address_word, events_by_topic
from core.chain.blocks import RawLog
from core.chain.bloom import BITS, admits, bits_of
from core.errors import OutsideError
from core.mandate.chain.decode import TRANSFER_TOPIC
from core.mandate.chain.reader import NO_VAULT, VaultPosition, VaultReader
from core.mandate.rules.events import Executed, VaultCreated, X402Paid
from core.reserve.decode import TOPICS, is_event_of_reserve
from core.sponsored.logs import authorization_topics
from indexer.chain.continuity import NOTHING, Gap, PlacedEvent, gap_in
from indexer.chain.facts import FACTORY_EVENTS, VAULT_EVENTS, BlockFacts, address_in
from indexer.chain.fetch import BlockContradictionError, FetchedBlock, fetch_blocks
from indexer.chain.sponsored import is_use, lacks_neighbours, uses_of
from indexer.chain.watch import WatchList

MOST_RECEIPTS = 64  # blocks whose receipts are read for one range
BLOCKS_A_REQUEST = 8
VAULTS_A_REQUEST = 32  # by one call
# blocks that a bloom may point at wrongly, of those where it is asked: 20 of the longest range,
# where 64 are read
MOST_FALSE = 0.01
MOST_MEMBERS = 20_000  # vaults, or wallets, among which blooms are looked for
MOST_LOOKS = 500_000  # at blooms for one range
# a gate without bits is always open: what an adapter logs is kept, whatever it is
ANY_EVENT = 0


class RangeTooLongError(OutsideError):
    """More blocks are in question than receipts are read for one range: a shorter one is to be
    taken, which has fewer.
    """

    def __init__(self, blocks: int) -> None:
        super().__init__(f"{blocks} blocks of the range are in question, more than {MOST_RECEIPTS}")


@dataclass(frozen=True, slots=True)
class _History:
    """`born`: the position that a vault of this very range began with, without an agent where the
    log of its creation has a body that can't be read; None: it is older.
    """

    vault: str
    born: VaultPosition | None
    told: list[PlacedEvent]


class RangeProof:
    """What one range is held against.

    All of its reads are to be pinned to the node that gave the range.
    """

    def __init__(
        self, reader: VaultReader, parent_hash: str, sign: Callable[[], None] = lambda: None
    ) -> None:
        """`parent_hash`: the block before the range.

        `sign` is called after each answer of the node, as RangeReader does.
        """
        self._reader = reader
        self._sign = sign
        self._usdc = reader.contracts["usdc"]
        self._parent_hash = parent_hash
        self._positions: dict[tuple[str, str], VaultPosition | None] = {}
        self._read: set[int] = set()

    def left_out(
        self, blocks: Sequence[FetchedBlock], facts: Sequence[BlockFacts], watch: WatchList
    ) -> dict[int, FetchedBlock]:
        """Height -> the block with all of its logs, of those that have more of ours than `blocks`
        say; empty: the range is whole.

        `facts` are those of `blocks`; `watch` knows the range's own vaults. Ask again with what was
        found, until nothing is.
        Errors: RangeTooLongError, BlockContradictionError, BlockUnavailableError, and the reader's.
        """
        histories = _histories(facts)
        gaps = self._gaps(histories, facts)
        wanted = [number for history, gap in gaps for number in self._narrowed(history, gap, facts)]
        wanted += _unpaid(facts, watch) + _suspicious(blocks, watch) + _lonely(facts, watch)
        fresh = [number for number in dict.fromkeys(wanted) if number not in self._read]
        if len(fresh) > MOST_RECEIPTS - len(self._read):
            raise RangeTooLongError(len(fresh))
        found = self._from_receipts(
            [block for block in blocks if block.header.number in set(fresh)], watch
        )
        if gaps and not found:
            history, gap = gaps[0]
            raise BlockContradictionError(
                facts[-1].header, f"events of vault {history.vault} are left out: {gap.what}"
            )
        return found

    # Vaults that the range touches

    def _gaps(
        self, histories: Sequence[_History], facts: Sequence[BlockFacts]
    ) -> list[tuple[_History, Gap]]:
        last = facts[-1].header.hash
        self._look_up(
            [history.vault for history in histories if history.born is None], self._parent_hash
        )
        self._look_up([history.vault for history in histories], last)
        ends = [(self._before(one), self._positions[one.vault, last]) for one in histories]
        denied = next(
            (
                one.vault
                for one, end in zip(histories, ends, strict=True)
                if any(position is NO_VAULT for position in end)
            ),
            None,
        )
        if denied is not None:
            raise BlockContradictionError(
                facts[-1].header, f"there are events of vault {denied}, and no vault stands there"
            )
        heights = (facts[0].header.number, facts[-1].header.number)
        gaps = [
            (one, gap_in(before, after, one.told, heights, self._usdc))
            for one, (before, after) in zip(histories, ends, strict=True)
        ]
        return [(history, gap) for history, gap in gaps if gap is not None]

    def _before(self, history: _History) -> VaultPosition | None:
        return history.born or self._positions[history.vault, self._parent_hash]

    def _look_up(self, vaults: Iterable[str], at: str) -> None:
        unknown = [vault for vault in vaults if (vault, at) not in self._positions]
        for start in range(0, len(unknown), VAULTS_A_REQUEST):
            some = unknown[start : start + VAULTS_A_REQUEST]
            for vault, position in zip(some, self._reader.vault_positions(some, at), strict=True):
                self._positions[vault, at] = position
            self._sign()

    def _narrowed(self, history: _History, gap: Gap, facts: Sequence[BlockFacts]) -> list[int]:
        """The blocks where the omitted event may stand: those of the gap that admit the vault; if
        they are many, the one that is found by halving, where the node has the states between.
        """
        begin = facts[0].header.number
        headers = [
            facts[number - begin].header
            for number in range(gap.first, gap.last + 1)
            if number not in self._read
        ]
        may = [header for header in headers if admits(header.logs_bloom, bits_of(history.vault))]
        before, sound, broken = self._before(history), -1, len(may) - 1
        while len(may) > BLOCKS_A_REQUEST and broken - sound > 1 and before is not None:
            middle = may[(sound + broken) // 2]
            self._look_up([history.vault], middle.hash)
            position = self._positions[history.vault, middle.hash]
            if position is None or position is NO_VAULT:
                return [header.number for header in may]
            until = [one for one in history.told if one.number <= middle.number]
            is_sound = gap_in(before, position, until, (begin, middle.number), self._usdc) is None
            sound, broken = (
                ((sound + broken) // 2, broken) if is_sound else (sound, (sound + broken) // 2)
            )
        is_found = len(may) > BLOCKS_A_REQUEST and before is not None
        return [may[broken].number] if is_found else [header.number for header in may]

    def _from_receipts(
        self, blocks: Sequence[FetchedBlock], watch: WatchList
    ) -> dict[int, FetchedBlock]:
        """Those that have more of ours than they said."""
        found, said = {}, {block.header.number: block.logs for block in blocks}
        for start in range(0, len(blocks), BLOCKS_A_REQUEST):
            headers = [block.header for block in blocks[start : start + BLOCKS_A_REQUEST]]
            for whole in fetch_blocks(self._reader, headers, watch.may_concern, self._sign):
                self._read.add(whole.header.number)
                had = said[whole.header.number]
                quoted, usdc = watch.quoted, watch.usdc
                is_told = uses_of(had, quoted, usdc) == uses_of(whole.logs, quoted, usdc)
                if not is_told or _concerning(whole.logs, watch) - set(had):
                    found[whole.header.number] = replace(whole, receipts=())
            self._sign()
        return found


def _histories(facts: Sequence[BlockFacts]) -> list[_History]:
    """What each vault that the range touches says in it."""
    agents = {
        event.vault: event.agent for block in facts for event in block.events_of(VaultCreated)
    }
    born = {
        made.address: VaultPosition(NOTHING, agents.get(made.address, ""), "", 0)
        for block in facts
        for made in block.created
    }
    told: dict[str, list[PlacedEvent]] = {vault: [] for vault in born}
    for block in facts:
        for item in block.found:
            if isinstance(item.event, VAULT_EVENTS):
                told.setdefault(item.ref.address, []).append(
                    PlacedEvent(item.ref.block_number, item.ref.tx_hash, item.event)
                )
    return [_History(vault, born.get(vault), events) for vault, events in told.items()]


def _unpaid(facts: Sequence[BlockFacts], watch: WatchList) -> list[int]:
    """Heights where a vault spent at the x402 adapter and the adapter does not say so."""
    found = []
    for block in facts:
        open_: Counter[tuple[str, str]] = Counter()
        for item in block.found:
            if isinstance(item.event, Executed) and item.event.target == watch.x402_adapter:
                open_[item.ref.tx_hash, item.ref.address] += item.event.spent
        for item in block.found if open_ else ():
            if isinstance(item.event, X402Paid):
                open_[item.ref.tx_hash, item.event.vault] -= item.event.amount
        if any(spent > 0 for spent in open_.values()):
            found.append(block.header.number)
    return found


def _lonely(facts: Sequence[BlockFacts], watch: WatchList) -> list[int]:
    """Heights with a use of an authorization of ours without the logs beside it: what it paid."""
    nonces = frozenset(watch.quoted.nonces)
    return [
        block.header.number
        for block in facts
        if any(use.nonce in nonces and lacks_neighbours(use, watch.quoted) for use in block.uses)
    ]


def _suspicious(blocks: Sequence[FetchedBlock], watch: WatchList) -> list[int]:
    """Heights whose bloom admits an event of ours while no such log came, as far as blooms tell."""
    groups, left, found = list(_groups(watch)), MOST_LOOKS, []
    for block in blocks:
        bloom, told = (
            block.header.logs_bloom,
            {bits_of(one.topics[0]) for one in block.logs if one.topics},
        )
        for group in groups:
            gates = [
                gate
                for gate in group.gates
                if admits(bloom, gate) and group.false_share(bloom, gate, told) <= MOST_FALSE
            ]
            if not gates or left < len(group.members):
                continue
            left -= len(group.members)
            if group.lacks(bloom, gates, block.logs):
                found.append(block.header.number)
                break
    return found


def _concerning(logs: Sequence[RawLog], watch: WatchList) -> set[RawLog]:
    ours = (watch.vaults, watch.adapters, (watch.factory,))
    return {
        one
        for one in logs
        if any(one.address in some for some in ours)
        or _is_payment(one, watch)
        or (one.address == watch.reserve_token and is_event_of_reserve(one))
        or (is_use(one, watch.usdc) and one.topics[2] in watch.quoted.nonces)
    }


def _is_payment(one: RawLog, watch: WatchList) -> bool:
    payee = _payee(one) if one.address == watch.usdc else ""
    return bool(payee) and address_in(payee) in watch.wallets


def _nonce(one: RawLog) -> str:
    """The word of the authorization that a log of its token is about; empty for any other log."""
    return one.topics[2] if is_use(one, one.address) else ""


def _payee(one: RawLog) -> str:
    """The word of whom a Transfer pays; empty for any other log."""
    return one.topics[2] if len(one.topics) == 3 and one.topics[0] == TRANSFER_TOPIC else ""


@dataclass(frozen=True, slots=True)
class _Group:
    """Contracts of one kind.

    `gates`: bits of which one must be set for any event of theirs; `members`: key -> its own bits.
    """

    gates: tuple[int, ...]
    members: dict[str, int]
    # what a log is of; with `is_anybodys` a gate that is open says nothing of a member
    key_of: Callable[[RawLog], str] = attrgetter("address")
    is_anybodys: bool = False

    def lacks(self, bloom: int, gates: Sequence[int], logs: Sequence[RawLog]) -> bool:
        """Whether the bloom admits an event of a member that none of the logs is of."""
        seen = {self.key_of(one) for one in logs}
        may = (
            bits for key, bits in self.members.items() if admits(bloom, bits) and key not in seen
        )
        return any(admits(bloom, bits | gate) for bits in may for gate in gates)

    def false_share(self, bloom: int, gate: int, told: Collection[int]) -> float:
        """How likely other logs' bits look like those of a member that has none, three bits each.

        Where a log that came opened the gate (`told`: the bits of their first topics), or anybody's
        payment does, that it is open says nothing of a member; else it would have had to open by
        chance as well.
        """
        by_chance = (bloom.bit_count() / BITS) ** 3
        return (
            len(self.members)
            * by_chance
            * (1 if self.is_anybodys or gate in told else len(self.gates) * by_chance)
        )


def _groups(watch: WatchList) -> Iterator[_Group]:
    yield _Group(_topics_of(FACTORY_EVENTS), {watch.factory: bits_of(watch.factory)})
    if 0 < len(watch.vaults) <= MOST_MEMBERS:
        yield _Group(_topics_of(VAULT_EVENTS), {vault: bits_of(vault) for vault in watch.vaults})
    if 0 < len(watch.adapters) <= MOST_MEMBERS:
        adapters = {adapter: bits_of(adapter) for adapter in watch.adapters}
        yield _Group((ANY_EVENT,), adapters, is_anybodys=True)
    if watch.x402_adapter is not None:
        yield _Group(_topics_of([X402Paid]), {watch.x402_adapter: bits_of(watch.x402_adapter)})
    if watch.reserve_token is not None:
        token = {watch.reserve_token: bits_of(watch.reserve_token)}
        yield _Group(tuple(map(bits_of, TOPICS)), token)
    if 0 < len(watch.wallets) <= MOST_MEMBERS:
        words = {address_word(wallet) for wallet in watch.wallets}
        yield _Group(
            (bits_of(watch.usdc) | bits_of(TRANSFER_TOPIC),),
            {word: bits_of(word) for word in words},
            key_of=_payee,
            is_anybodys=True,
        )
    if 0 < len(watch.quoted.nonces) <= MOST_MEMBERS:
        usdc = bits_of(watch.usdc)
        yield _Group(
            tuple(usdc | bits_of(topic) for topic in authorization_topics()),
            {nonce: bits_of(nonce) for nonce in watch.quoted.nonces},
            key_of=_nonce,
            is_anybodys=True,
        )


def _topics_of(kinds: Iterable[type]) -> tuple[int, ...]:
    names = {kind.__name__ for kind in kinds}
    return tuple(
        bits_of(event.topic) for event in events_by_topic().values() if event.name in names
    )
