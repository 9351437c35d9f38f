"""The slow job `anchors`: makes the root of each epoch that is over, and finds where it was posted.
The keeper posts it (keeper.anchoring).

    epoch over and settled --> heads of all ledgers as of its end --> tree --> row
    rows without a block --> the contract's logs up to the safe block --> block and transaction of each

Laws
- An epoch that was missed is made later from the same rows: a ledger's rows stay, and say when they
  were written. So no epoch is ever left out.
- An hour is over when the machine's clock and the newest block say so: neither alone ends it.
- The safe block and the logs up to it are of one node: one that is behind would pass a post over,
  which is looked for once.
- It has no key. What is posted by whom is the chain's word alone: rows find their blocks by the
  contract's logs, not by what the keeper says that it sent. From a root on that is none of ours, what
  its account posts is not ours either.
"""

from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

from api.kernel.jobs import AreaJob, JobPlace
from core.anchors import queries, rules
from core.anchors.chain import ANCHORED, CONTRACT, newest_posted, post_of
from core.anchors.queries import HeadRow
from core.anchors.rules import EpochPost
from core.chain import results
from core.chain.blocks import BlockHeader, RawLog
from core.chain.errors import RpcError
from core.jobs.schedule import JobDatabase, JobSkippedError, RunTime
from core.mandate.chain.reader import VaultReader
from core.mandate.views import grown_since, last_rows_before

NAME = "anchors"
EVERY_S = 60
LIMIT_S = 120
RUN_S = 45.0  # for epochs that are over
EPOCHS_A_RUN = 24  # after an outage the rest follows in the next runs
UNPOSTED_A_RUN = 200
BLOCKS_A_RUN = 2_000  # of one eth_getLogs

log = structlog.get_logger("worker")


class Anchors:
    """`run_s`: for how long epochs are made."""

    def __init__(self, reader: VaultReader, database: JobDatabase, run_s: float = RUN_S) -> None:
        self._reader = reader
        self._database = database
        self._run_s = run_s

    def run(self, now: datetime) -> Mapping[str, Any]:
        """How many epochs were made, how many found their block, how many still wait for one.

        Errors: JobSkippedError, RpcError, the database's.
        """
        anchor = self._reader.contracts.get(CONTRACT)
        if anchor is None:
            raise JobSkippedError("the deployment has no contract for anchors")
        made = self._make(anchor, now)
        found, waiting = self._find(anchor)
        return {"made": made, "found": found, "waiting": waiting}

    def _make(self, anchor: str, now: datetime) -> int:
        """The first one follows the newest that the contract has.

        Its post is looked for from the safe block on: a reorganisation may put one below the newest
        of now. Those of later ones from where the one before was looked for: what a restored
        database makes again was posted already.
        """
        with self._database.read() as session:
            last = queries.newest_epoch(session)
        if last is not None and last.epoch >= rules.newest_settled(now):
            return 0
        seen, safe = self._reader.header(), self._safe_block()
        if seen is None:
            return 0
        if last is None:
            epoch, root = newest_posted(self._reader.rpc, anchor, seen.hash)
            seen_block = seen.number if safe is None else min(safe, seen.number)
        else:
            epoch, root, seen_block = last.epoch, last.root, last.seen_block
        # the machine's clock may be ahead, and an hour that was made is never made again
        settled = rules.newest_settled(min(now, datetime.fromtimestamp(seen.timestamp, UTC)))
        epochs = range(epoch + 1, settled + 1)[:EPOCHS_A_RUN]
        run, made = RunTime(self._run_s), 0
        for one in epochs:
            with self._database.read() as session:
                heads = _heads(session, one)
            tree = queries.tree_with(self._database.read, heads, root)
            with self._database.write() as session:
                queries.add_epoch(session, one, tree, root, seen_block, now)
            root, made = tree.root, made + 1
            if run.is_over:
                break
        return made

    def _find(self, anchor: str) -> tuple[int, int]:
        """How many posts were found, and how many epochs are without one."""
        with self._database.read() as session:
            waiting = queries.unposted(session, UNPOSTED_A_RUN)
        if not waiting:
            return 0, 0
        first = min(one.seen_block for one in waiting)
        with self._reader.rpc.pinned():
            safe = self._safe_block()
            until = -1 if safe is None else min(safe, first + BLOCKS_A_RUN - 1)
            if until < first:
                return 0, len(waiting)
            wanted = {
                "address": anchor,
                "topics": [ANCHORED],
                "fromBlock": hex(first),
                "toBlock": hex(until),
            }
            parse = results.only(results.logs, partial(_are_posts, anchor, first, until))
            found = self._reader.rpc.call("eth_getLogs", [wanted], parse) or []
        posts = {post.epoch: post for post in map(post_of, found)}
        foreign = self._foreign([posts[epoch] for epoch in sorted(posts)])
        with self._database.write() as session:
            queries.note_posts(session, posts.values(), until, foreign)
        found_here = sum(one.epoch in posts for one in waiting)
        return found_here, len(waiting) - found_here

    def _foreign(self, posts: Sequence[EpochPost]) -> Set[int]:
        """Epochs posted by an account that posted a root which is none of ours, from that root on:
        ours too is its word there, since the root of a quiet hour is known.
        """
        with self._database.read() as session:
            newest = queries.newest_foreign(session)
            false = [post.epoch for post in posts if not queries.is_root_of(session, post)]
        if newest is None and not false:
            return frozenset()
        found, thief = set[int](), None if newest is None else self._sender(newest)
        for post in posts:
            sender = self._sender(post.tx_hash)
            thief = sender if post.epoch in false else thief
            if sender == thief:
                found.add(post.epoch)
        return found

    def _sender(self, tx_hash: str) -> str:
        """Errors: RpcError, also where the node does not have what it named."""
        sent = self._reader.transaction(tx_hash)
        if sent is None:
            raise RpcError(f"the node has no transaction {tx_hash}")
        return str(sent["from"]).lower()

    def _safe_block(self) -> int | None:
        """None where the node names none."""
        answer = self._reader.rpc.call("eth_getBlockByNumber", ["safe", False], results.header)
        return answer.number if isinstance(answer, BlockHeader) else None


def _are_posts(anchor: str, first: int, last: int, logs: Sequence[RawLog]) -> bool:
    """Whether they are of what was asked for. What is kept as a post's block is never looked for
    again.
    """
    return all(
        log.address == anchor
        and first <= log.block_number <= last
        and log.topics[:1] == (ANCHORED,)
        for log in logs
    )


def _heads(session: Session, epoch: int) -> list[HeadRow]:
    """The ledgers that grew up to the end of an epoch, and their last rows then."""
    seqs = queries.seqs(session)
    end = datetime.fromtimestamp(rules.epoch_end_s(epoch), UTC)
    rows = last_rows_before(session, grown_since(session, seqs), end)
    return [
        HeadRow(row.public_id, row.seq, row.row_hash)
        for row in rows
        if row.seq > seqs.get(row.public_id, 0)
    ]


def _run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    return Anchors(place.reader, place.database).run(now)


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, _run),)
