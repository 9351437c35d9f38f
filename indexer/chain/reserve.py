"""The reserve token's events: written with their block, read afterwards where the blocks were taken
before the token was followed, and its conversions credited once they are safe.

    new database: followed from the first block on
    a record that was begun without it: cursor `reserve`, from the deployment's block, a range a step --> the tip: mark `reserve_followed`
    conversion --its block is at or below `safe`, as nodes agree--> credited, held or set aside

Laws
- History is read by the same ranges and held against the same blooms as the backfill's, and each of
  its headers is the one that the record holds.
- Until all is read, the token is not watched, its state is unknown, and nothing is credited.
- One conversion is one transaction, fenced; what one fails of is its own trouble.
- A bloom does not cover what stands in a log's body, so that the node that gave a conversion could make it
  larger: it is credited as every node that answers has it, and waits while none does. Where they disagree
  the block's own hash decides, so that one that lies withholds nobody's credit.
- What a turn asks for is strangers' choice: where no node answers it the next one is half as large, down
  to one holder, whose turn then is over.
- The loop of the tip waits meanwhile: nodes have NODES_WITHIN_S each, and a turn that has taken TURN_S
  ends, whatever is left of it; the next one goes on from there.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import structlog

from core.blocks import queries as repository
from core.blocks.queries import RESERVE, RESERVE_FOLLOWED, SAFE, TIP, Cursor
from core.chain import results
from core.chain.abi import AbiDecodeError, address_word
from core.chain.blocks import RawLog
from core.chain.errors import RpcError, RpcRefusedError
from core.chain.nodes import Request
from core.db.engine import WriteSession
from core.hexes import address_of, bytes_of, hex_of
from core.reserve import conversions
from core.reserve.conversions import Place, ToldConversion
from core.reserve.decode import CONVERTED_TOPIC, decode_reserve_log
from core.reserve.events import NewReserveEvent, add_events
from core.reserve.rules import ConversionStatus, ReserveEventKind
from indexer.chain.completeness import RangeProof, RangeTooLongError
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts, facts_of
from indexer.chain.fetch import BlockContradictionError, BlockUnavailableError, FetchedBlock
from indexer.chain.fetch_range import RangeReader
from indexer.chain.proved_blocks import proved_block, told_of
from indexer.chain.quarantine import MAY_REFUSE, refusal_of
from indexer.chain.range_size import RangeSize
from indexer.chain.watch import WatchList

NODES_WITHIN_S = 2.0
TURN_S = 2.0

log = structlog.get_logger(__name__)


def write_reserve(
    session: WriteSession, chain: ChainContext, blocks: Sequence[BlockFacts], now: datetime
) -> None:
    """What these blocks say of the token; they are written already."""
    events = [
        NewReserveEvent(one.fact, one.log, facts.header.timestamp)
        for facts in blocks
        for one in facts.reserve
    ]
    add_events(session, chain.chain_id, events)
    numbers = [
        one.log.block_number for one in events if one.fact.kind is ReserveEventKind.CONVERTED
    ]
    if numbers:
        chain.ledgers.adopt_conversions(session, chain.chain_id, numbers[0], numbers[-1], now)


class ReserveHistory:
    """What the record lacks of the token, a range a step. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._size = RangeSize()
        self._ranges = RangeReader(chain.reader, chain.sign)
        self.is_done = chain.reserve_token is None

    def step(self, tip: Cursor, now: datetime) -> bool:
        """Read the next range up to `tip`, where the record stands; whether the token is followed
        from here on. Does nothing where it was before.

        Errors: OutsideError of any kind; nothing is half-done.
        """
        at = self._position(now)
        if at is None:
            self.is_done = True
            return False
        last = min(tip.number, at.number + self._size.blocks)
        blocks = list[BlockFacts]()
        if last > at.number:
            try:
                blocks = self._read(at, last)
            except (RpcError, RangeTooLongError):
                if not self._size.failed(last - at.number):
                    raise
                return False
        self._write(at, blocks, tip, now)
        self.is_done = last == tip.number
        return self.is_done

    def _position(self, now: datetime) -> Cursor | None:
        """None: the token is followed."""
        chain = self._chain
        with chain.database.read() as session:
            if repository.cursor(session, RESERVE_FOLLOWED) is not None:
                return None
            at = repository.cursor(session, RESERVE)
            oldest = repository.oldest_block(session, chain.chain_id)
            first = max(chain.start_block - 1, oldest.number)
            first_hash = repository.canonical_hash(session, chain.chain_id, first)
        if at is not None:
            return at
        if first_hash is None:
            raise BlockUnavailableError(first, "")
        at = Cursor(first, first_hash)
        with chain.database.write() as session:
            chain.fence(session)
            repository.start_cursor(session, RESERVE, chain.chain_id, at, chain.epoch, now)
        return at

    def _read(self, at: Cursor, last: int) -> list[BlockFacts]:
        chain, reader = self._chain, self._chain.reader
        watch = WatchList(chain.factory, chain.usdc, set(), reserve_token=chain.reserve_token)
        with reader.rpc.pinned():
            try:
                proof = RangeProof(reader, at.hash, chain.sign)
                blocks = self._ranges.fetch(at.number + 1, last, at.hash, watch)
                while left_out := proof.left_out(blocks, _facts(blocks, watch, chain), watch):
                    reader.rpc.distrust("omits")
                    blocks = [left_out.get(one.header.number, one) for one in blocks]
            except (BlockUnavailableError, BlockContradictionError):
                reader.rpc.distrust("contradicts")
                raise
        return _facts(blocks, watch, chain)

    def _write(self, at: Cursor, blocks: Sequence[BlockFacts], tip: Cursor, now: datetime) -> None:
        chain = self._chain
        to = at if not blocks else Cursor(blocks[-1].header.number, blocks[-1].header.hash)
        with chain.database.write() as session:
            chain.fence(session)
            ours = {
                block.number: block.hash
                for block in repository.canonical_blocks(
                    session, chain.chain_id, at.number, to.number
                )
            }
            for facts in blocks:
                if ours.get(facts.header.number, facts.header.hash) != facts.header.hash:
                    raise BlockContradictionError(facts.header, "the record has another block")
            repository.add_logs(
                session, chain.chain_id, [one for facts in blocks for one in facts.logs]
            )
            write_reserve(session, chain, blocks, now)
            repository.move_cursor(session, RESERVE, at, to, chain.epoch, now)
            if to == tip and repository.cursor(session, TIP) == tip:
                repository.drop_cursors(session, [RESERVE])
                repository.save_mark(
                    session, RESERVE_FOLLOWED, chain.chain_id, to, chain.epoch, now
                )
        log.info("reserve history", number=to.number, tip=tip.number)


def unwind_history(
    session: WriteSession, chain: ChainContext, ancestor: Cursor, now: datetime
) -> None:
    """The history's position goes back with the record's."""
    at = repository.cursor(session, RESERVE)
    if at is not None and at.number > ancestor.number:
        repository.move_cursor(session, RESERVE, at, ancestor, chain.epoch, now)


def _facts(
    blocks: Sequence[FetchedBlock], watch: WatchList, chain: ChainContext
) -> list[BlockFacts]:
    """Of the token alone: vaults and the factory are in the record already."""
    found = []
    for block in blocks:
        own = tuple(one for one in block.logs if one.address == watch.reserve_token)
        facts = facts_of(FetchedBlock(block.header, (), own), watch, chain.chain_id)
        chain.metrics.undecodable_logs.inc(len(facts.undecodable))
        found.append(facts)
    return found


class Crediting:
    """Credits what is safe, some of it a round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._after: bytes | None = None
        self._holders = conversions.HOLDERS_A_ROUND

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's that say nothing of a row."""
        chain, now, over_at = self._chain, self._clock(), time.monotonic() + TURN_S
        with chain.database.read() as session:
            safe = repository.cursor(session, SAFE)
            if safe is None or repository.cursor(session, RESERVE_FOLLOWED) is None:
                return
            turn = conversions.due(
                session, chain.chain_id, safe.number, self._after, now, self._holders
            )
            told = conversions.told(session, turn.rows)
        agreed = self._agreed(told) if told else set[Place]()
        if agreed is None:
            self._after = turn.last if self._holders == 1 else self._after
            self._holders = max(1, self._holders // 2)
            return
        self._holders = min(conversions.HOLDERS_A_ROUND, 2 * self._holders)
        proved = dict[bytes, FetchedBlock | None]()
        for place in turn.rows:
            if place in agreed or self._is_proved(place, told[place], proved):
                self._credit(place)
            else:
                self._set_aside(place, "Nodes disagree about what was converted.")
            if time.monotonic() >= over_at:
                # what is left of this holder's rows has its turn when the others had theirs
                self._after = told[place].holder
                return
        self._after = turn.last

    def _agreed(self, told: Mapping[Place, ToldConversion]) -> set[Place] | None:
        """Those that all nodes that answer have as they are recorded; None: none answers."""
        of_place = {
            place: (hex_of(place[1]), address_of(one.holder), hex_of(one.account_ref))
            for place, one in told.items()
        }
        asked = list(dict.fromkeys(of_place.values()))  # each log is told once
        requests: list[Request] = [
            (
                "eth_getLogs",
                [
                    {
                        "blockHash": block_hash,
                        "address": self._chain.reserve_token,
                        "topics": [CONVERTED_TOPIC, address_word(holder), account_ref],
                    }
                ],
            )
            for block_hash, holder, account_ref in asked
        ]
        said = self._chain.reader.rpc.batch_of_each(
            requests, NODES_WITHIN_S, parse=[results.logs] * len(requests)
        )
        if not said:
            return None
        agreed = set[Place]()
        for place in told:
            number = asked.index(of_place[place])
            answers = [one[number] for one in said.values()]
            logs = [one for one in answers if not isinstance(one, RpcRefusedError)]
            if logs and all(_has(one, place, told[place]) for one in logs):
                agreed.add(place)
        return agreed

    def _is_proved(
        self, place: Place, told: ToldConversion, proved: dict[bytes, FetchedBlock | None]
    ) -> bool:
        """By the block's hash. `proved`: blocks that were asked for in this turn."""
        block_hash = place[1]
        if block_hash not in proved:
            rpc = self._chain.reader.rpc
            proved[block_hash] = proved_block(told_of(rpc, hex_of(block_hash), NODES_WITHIN_S))
        block = proved[block_hash]
        token = self._chain.reserve_token
        return block is not None and _has(
            [one for one in block.logs if one.address == token], place, told
        )

    def _credit(self, place: Place) -> None:
        chain, now = self._chain, self._clock()
        try:
            with chain.database.write() as session:
                chain.fence(session)
                status = conversions.credit(session, place, now)
        except MAY_REFUSE as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            self._set_aside(place, refusal.note)
            return
        if status is not None:
            chain.metrics.conversions.labels(status.value).inc()

    def _set_aside(self, place: Place, why: str) -> None:
        chain, now = self._chain, self._clock()
        log.error("conversion set aside", log_index=place[2], why=why)
        with chain.database.write() as session:
            chain.fence(session)
            conversions.set_aside(session, place, why, now)
        chain.metrics.conversions.labels(ConversionStatus.SET_ASIDE.value).inc()


def _has(logs: Sequence[RawLog], place: Place, told: ToldConversion) -> bool:
    """Whether these logs of a node have the conversion as it is recorded."""
    of_it = [one for one in logs if one.log_index == place[2]]
    if len(of_it) != 1 or of_it[0].block_hash != hex_of(place[1]):
        return False
    try:
        fact = decode_reserve_log(of_it[0])
    except AbiDecodeError:
        return False
    said = (bytes_of(fact.party or "0x"), bytes_of(fact.account_ref or "0x"))
    return ToldConversion(*said, fact.tokens, fact.usdc_e6) == told
