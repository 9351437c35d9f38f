"""Logs that money hangs on, confirmed by ranges of blocks before anything of them is final.

    mark ... [a range: each node is asked for its logs, an only one twice] ... safe
                 |-> two say the same, and fewer say anything else --> written, and the mark moves
                 '-> else: the mark stays, and the next round asks for half as many blocks

Laws
- What is in a log's body is one node's word at the tip: no bloom covers it. What nodes agree about
  replaces what the record says of these blocks, in the transaction that moves the mark.
- A node counts that has our block at the end of the range: one that lacks it has not all of the logs.
  One that does not answer says nothing. An only one may be several machines, some without the logs.
- A rollback of blocks takes the marks back too: neither logs below a mark, nor the times of their blocks
  and its own, are one node's word.
- Other work beside the tip waits meanwhile: nodes have NODES_WITHIN_S each time, and a turn that has
  taken TURN_S begins no other range.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any

import structlog
from cachetools import TTLCache
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import Cursor
from core.chain import results
from core.chain.blocks import BlockHeader, RawLog
from core.chain.reader import header_request
from core.db.engine import WriteSession
from indexer.chain.context import ChainContext
from indexer.chain.range_size import RangeSize

NODES_WITHIN_S = 2.0
TURN_S = 2.0
LOGGED_S = 600.0  # so long a node that says something else is not logged again

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConfirmedLogs:
    """Of the blocks above < number <= last.number, in the order of the chain. `at`: unix second of the
    last. `times`: of the blocks that they stand in, by hash.
    """

    above: int
    last: Cursor
    at: int
    logs: tuple[RawLog, ...] = ()
    times: Mapping[str, int] = field(default_factory=dict)


# filters of what may stand above a block: where there are none no node is asked
Wanted = Callable[[Session, Cursor], Sequence[Mapping[str, Any]]]
Write = Callable[[WriteSession, ConfirmedLogs], None]


class ConfirmedRanges:
    """Of one mark. Not thread-safe."""

    def __init__(self, chain: ChainContext, mark: str, clock: Callable[[], datetime]) -> None:
        self._chain, self._mark, self._clock = chain, mark, clock
        self._size = RangeSize()
        self._logged: MutableMapping[str, None] = TTLCache(64, LOGGED_S)

    def at(self, session: Session) -> Cursor:
        """Up to where; at first our oldest block."""
        oldest = repository.oldest_block(session, self._chain.chain_id)
        return repository.cursor(session, self._mark) or oldest

    def confirm(
        self, at: Cursor, up_to: Cursor, over_at: float, wanted: Wanted, write: Write
    ) -> Cursor:
        """Move the mark from `at` towards `up_to` until `over_at` (monotonic); how far it is.

        Errors: LeadershipLostError, and the database's.
        """
        chain, chain_id = self._chain, self._chain.chain_id
        while at.number < up_to.number and time.monotonic() < over_at:
            found = self._read(at, up_to, wanted)
            if found is None:
                break
            with chain.database.write() as session:
                chain.fence(session)
                last = found.last
                if repository.canonical_hash(session, chain_id, last.number) != last.hash:
                    break  # a reorg since it was read
                for block_hash, second in {**found.times, last.hash: found.at}.items():
                    repository.agree_time(session, chain_id, block_hash, second)
                write(session, found)
                now = self._clock()
                repository.save_mark(session, self._mark, chain_id, last, chain.epoch, now)
            at = last
        return at

    def measure_behind(self, at: Cursor, safe: Cursor) -> None:
        """How far the mark is behind, by the blocks' times."""
        chain = self._chain
        with chain.database.read() as session:
            times = repository.canonical_times(session, chain.chain_id, (at.hash, safe.hash))
        if at.hash in times and safe.hash in times:
            behind_s = times[safe.hash] - times[at.hash]
            chain.metrics.confirmed_behind.labels(self._mark).set(behind_s)

    def _read(self, at: Cursor, up_to: Cursor, wanted: Wanted) -> ConfirmedLogs | None:
        """The next range; None: it is not confirmed now."""
        chain = self._chain
        with chain.database.read() as session:
            ours = repository.kept_header(session, chain.chain_id, up_to.number)
            if ours is None or ours.hash != up_to.hash:
                return None  # a reorg since the position was read
            filters = wanted(session, at)
            if not filters:
                return ConfirmedLogs(at.number, up_to, ours.timestamp)
            number = min(up_to.number, at.number + self._size.blocks)
            last_hash = repository.canonical_hash(session, chain.chain_id, number)
        assert last_hash is not None, "a block below one that is canonical"
        names = chain.reader.rpc.names
        asked = (at.number + 1, number, filters, NODES_WITHIN_S, names)
        answered = [
            (name, (header.timestamp, tuple(sorted(set(logs), key=attrgetter("place")))))
            for _ in range(2 if len(names) == 1 else 1)
            for name, (logs, header) in chain.reader.logs_of_each(*asked).items()
            if header.hash == last_hash
        ]
        hashes = {log.block_hash for _, (_, logs) in answered for log in logs}
        with chain.database.read() as session:
            known = repository.canonical_times(session, chain.chain_id, hashes).keys()
        answers = Counter(one for _, one in answered)
        sound = [  # one log at a place, all in blocks that are known
            one
            for one, _ in answers.most_common()
            if len({log.place for log in one[1] if log.block_hash in known}) == len(one[1])
        ]
        best = sound[0] if sound else (0, ())
        votes = answers[best]
        hashes = {log.block_hash for log in best[1]}
        is_agreed = votes > 1 and 2 * votes > len(answered)
        said = self._times(list(hashes)) if is_agreed and hashes else Counter()
        times = {block_hash: at for (block_hash, at), count in said.items() if count > 1}
        is_agreed = is_agreed and times.keys() == hashes
        apart = {name for name, one in answered if one != best or not is_agreed}
        is_disputed = len(answers) > 1 or len(said) > len(hashes)
        if is_disputed and (new := apart - self._logged.keys()):
            self._logged.update(dict.fromkeys(new))
            span = {"above": at.number, "up_to": number}
            log.error("nodes disagree about logs", mark=self._mark, nodes=sorted(new), **span)
        if not is_agreed:
            self._size.failed(number - at.number, RangeSize.SHORTEST if len(answered) < 2 else 1)
            return None
        self._size.took(number - at.number, len(best[1]))
        return ConfirmedLogs(at.number, Cursor(number, last_hash), *best, times)

    def _times(self, hashes: Sequence[str]) -> Counter[tuple[str, int]]:
        """How many nodes say so of each of these blocks; an only one is asked twice."""
        rpc, requests = self._chain.reader.rpc, [header_request(one) for one in hashes]
        parse = [results.header] * len(requests)
        return Counter(
            (one, header.timestamp)
            for _ in range(2 if len(rpc.names) == 1 else 1)
            for headers in rpc.batch_of_each(requests, NODES_WITHIN_S, parse=parse).values()
            for one, header in zip(hashes, headers, strict=True)
            if isinstance(header, BlockHeader) and header.hash == one
        )
