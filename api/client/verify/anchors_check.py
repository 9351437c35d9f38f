"""Hourly anchors: is what blocks hold of this mandate on the record's chain, in every hour?

    anchor --proof--> root --node--> the contract's own log, its block, its time
       |seq, row_hash
       +--> the record's row

Every epoch that was posted needs its line, changed or not: a fork that was shown for an hour and
taken back is in that hour's root, and nowhere else. Before the first line with rows there is one
that proves that there were none. So nothing is said of epochs by leaving them out.

But a key that was stolen posts roots of nothing. Hours without a line are a remark where the factory
named another keeper after the last of them, before the next line, and at most a week after the first
(docs/decisions/0056-anchors-after-a-handover.md).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import Final

from eth_utils.crypto import keccak

from api.client.verify.findings import Report, UncheckedError, listed
from api.client.verify.node import Block, Node
from api.client.verify.reading import RecordFile
from core.anchors.chain import ANCHORED, newest_posted, post_of
from core.anchors.rules import (
    EPOCH_S,
    START,
    EpochPost,
    HeadProof,
    epoch_end_s,
    epoch_of,
    is_absent,
    is_anchored,
)
from core.errors import InvalidParameterError
from core.hexes import bytes_of, hex_of
from core.mandate.rules.record import AnchorLine
from core.mandate.rules.rows import LedgerRow

LATE_S = 2 * EPOCH_S  # after the end of an epoch: what is posted later proves no time
OWED_S = EPOCH_S  # what was posted so long before the record's end must be in it
MOST_DISOWNED_S = 7 * 24 * EPOCH_S  # from the first post of a stolen key to the handover
MOST_HOURS = 2 * MOST_DISOWNED_S // EPOCH_S  # from a line before such hours to the rows
KEEPER_CHANGED: Final = hex_of(keccak(text="KeeperChanged(address,address)"))
PART = "anchors"


def check_anchors(record: RecordFile, node: Node, anchor: str | None, report: Report) -> None:
    """`anchor`: the contract that the verifier trusts; without it the lines are compared with the
    rows alone, and a remark says so. The figure `anchors` is there once they were compared with it.

    Errors: UncheckedError.
    """
    _check_lines(record, report)
    if anchor is None:
        if record.anchors:
            report.remarks.append("the anchors were compared with no chain (--anchor)")
        return
    check = _AnchorsCheck(record, node, anchor, report)
    check.posts()
    check.start()
    check.times()
    report.figures["anchors"] = len(record.anchors)
    check.epochs()


def _check_lines(record: RecordFile, report: Report) -> None:
    """The lines by themselves."""
    first = record.first or {}
    public_id = str(first["mandate_id"])
    hashes = {row.seq: row.row_hash for row in record.rows} | {0: str(first["genesis_hash"])}
    for line in record.anchors:
        if hashes.get(line.seq) != line.row_hash:
            report.say(
                "anchor.head",
                line.seq or None,
                f"epoch {line.post.epoch} holds row {line.seq} with the hash {line.row_hash}, "
                f"here it has {hashes.get(line.seq)}",
            )
        if not _is_proven(public_id, line):
            text = f"epoch {line.post.epoch}: the proof does not give the root {line.post.root}"
            report.say("anchor.proof", line.seq or None, text)
    for before, line in pairwise(record.anchors):
        _check_order(before, line, report)


def _check_order(before: AnchorLine, line: AnchorLine, report: Report) -> None:
    epoch = line.post.epoch
    if epoch <= before.post.epoch:
        report.say("anchor.order", None, f"epoch {epoch} follows epoch {before.post.epoch}")
    elif epoch == before.post.epoch + 1 and line.post.root_before != before.post.root:
        report.say("anchor.post", None, f"epoch {epoch} is on top of another root")
    if line.seq < before.seq:
        text = f"epoch {epoch} holds {line.seq} rows, the one before {before.seq}"
        report.say("anchor.order", line.seq or None, text)


def _is_proven(public_id: str, line: AnchorLine) -> bool:
    root = bytes_of(line.post.root)
    try:
        proof = HeadProof.of_text(line.proof)
    except InvalidParameterError:
        return False
    if line.seq == 0:
        return is_absent(root, public_id, proof)
    return is_anchored(root, public_id, line.seq, bytes_of(line.row_hash), proof)


@dataclass(frozen=True, slots=True)
class _Handover:
    """`epochs`: posted by a stolen key, without a line here. The factory named another keeper in
    `block`, at unix second `at`.
    """

    epochs: tuple[int, ...]
    block: int
    at: int

    @property
    def hours(self) -> range:
        """In which nothing of this record could be anchored."""
        return range(self.epochs[0], self.at // EPOCH_S + 1)


class _AnchorsCheck:
    """What the contract has posted up to the record's end, and the lines against it."""

    def __init__(self, record: RecordFile, node: Node, anchor: str, report: Report) -> None:
        """Asks the node. Errors: UncheckedError."""
        self.record, self.node, self.report = record, node, report
        self.lines = {line.post.epoch: line for line in record.anchors}
        # without rows nothing is older than the lines
        self.oldest = _oldest_epoch(record.rows) if record.rows else None
        self.last = self._last()
        # the first block after the hour from which posts are owed, never the block that a line names:
        # lines that name later ones hid every post, and the node was blamed for it
        owed, until = self._first_owed(), self.last.number
        first = until if owed is None else node.first_after(epoch_end_s(owed), until)
        logs = list(node.logs(PART, {"address": anchor, "topics": [ANCHORED]}, first, until))
        posts = node.ask(PART, lambda: [post_of(log) for log in logs])
        self.newest, root = node.ask(
            PART, lambda: newest_posted(node.reader.rpc, anchor, self.last.hash)
        )
        self._require_links(posts, owed, hex_of(root))
        self.is_begun = root != START  # something was posted at all
        self.posted = {post.epoch: post for post in posts}
        self.at = self._times(posts)
        # of a record that names no block (paper) nobody knows when it was exported, only that it was
        # after its newest row
        self.until_s = self.last.at
        if record.as_of is None and record.rows:
            self.until_s = int(record.rows[-1].created_at.timestamp())
        self.handovers = list(self._handovers())

    def _last(self) -> Block:
        as_of = self.record.as_of
        number = int(as_of["block_number"]) if as_of is not None else self.node.newest()
        last = self.node.blocks([number]).get(number)
        if last is None:
            raise UncheckedError(PART, f"the node has no block {number}")
        return last

    def _first_owed(self) -> int | None:
        """The epoch of the first line; without any, of the oldest row. None: of a file with neither."""
        if self.oldest is None:
            return min(self.lines, default=None)
        # no record has a line of an earlier hour, unless a stolen key posted those between
        return max(min(self.lines, default=self.oldest), self.oldest - 1 - MOST_HOURS)

    def _require_links(self, posts: Sequence[EpochPost], owed: int | None, root: str) -> None:
        """A log that the node holds back breaks the links; all of them, the contract's own word."""
        if owed is not None and not posts and owed <= self.newest:
            raise UncheckedError(PART, "the node has no logs of what the contract posted")
        is_late = bool(owed is not None and posts and posts[0].epoch > owed)
        if is_late and posts[0].root_before != hex_of(START):
            raise UncheckedError(
                PART,
                f"the node has no log of what the contract posted before epoch {posts[0].epoch}",
            )
        links = [post.root for post in posts]
        befores = [post.root_before for post in posts][1:]
        if links and (befores != links[:-1] or (posts[-1].epoch, links[-1]) != (self.newest, root)):
            raise UncheckedError(PART, "the node's logs are not all that the contract posted")

    def _times(self, posts: Sequence[EpochPost]) -> dict[int, int]:
        """Of the blocks of all posts, by height: one without a time would prove nothing of the rows,
        unseen.
        """
        blocks = self.node.blocks(sorted({post.block_number for post in posts}))
        for post in posts:
            block = blocks.get(post.block_number)
            if block is None or block.hash != post.block_hash:
                raise UncheckedError(
                    PART, f"the node has no block {post.block_number} of its own log; try again"
                )
        return {height: block.at for height, block in blocks.items()}

    def _posted_at(self, epoch: int) -> int:
        return self.at[self.posted[epoch].block_number]

    @cached_property
    def owed_epochs(self) -> list[int]:
        """Those that were posted, from the first whose post is owed a line."""
        first = min(self.lines, default=self.newest + 1 if self.oldest is None else self.oldest)
        return sorted(epoch for epoch in self.posted if epoch >= first)

    @cached_property
    def unlined(self) -> set[int]:
        """Those without a line that were posted long before the record's end, or before its last line."""
        owed, newest_line = self.until_s - OWED_S, max(self.lines, default=0)
        return {
            epoch
            for epoch in self.owed_epochs
            if epoch not in self.lines and (epoch < newest_line or self._posted_at(epoch) <= owed)
        }

    def _handovers(self) -> Iterator[_Handover]:
        """Errors: UncheckedError."""
        for is_unlined, epochs in groupby(self.owed_epochs, key=self.unlined.__contains__):
            group = tuple(epochs)
            if is_unlined and (found := self._handover(group)) is not None:
                yield found

    def _handover(self, group: tuple[int, ...]) -> _Handover | None:
        last = self.posted[group[-1]].block_number
        after = [
            self.posted[one].block_number
            for one in self.lines.keys() & self.posted.keys()
            if one > group[-1]
        ]
        wanted = {"address": self.node.contracts["factory"], "topics": [KEEPER_CHANGED]}
        # the block of the last one too: whoever sees the handover coming posts right before it
        until = min(after, default=self.last.number)
        log = next(self.node.logs(PART, wanted, last, until), None)
        if log is None:
            return None
        block = self.node.blocks([log.block_number]).get(log.block_number)
        if block is None or block.at - self._posted_at(group[0]) > MOST_DISOWNED_S:
            return None
        return _Handover(group, log.block_number, block.at)

    def posts(self) -> None:
        for line in self.record.anchors:
            post = self.posted.get(line.post.epoch)
            if post != line.post:
                posted = "nothing" if post is None else f"{post.root} in block {post.block_number}"
                self.report.say(
                    "anchor.post",
                    line.seq or None,
                    f"epoch {line.post.epoch} is {line.post.root} in block "
                    f"{line.post.block_number} here, the contract posted {posted}",
                )

    def start(self) -> None:
        """The first line proves that there was no row yet, or is the contract's first post."""
        if not self.record.anchors or self.oldest is None:
            return
        first = self.record.anchors[0]
        post = self.posted.get(first.post.epoch, first.post)
        is_before = first.seq == 0 and first.post.epoch <= self.oldest
        if post.root_before != hex_of(START) and not is_before:
            self.report.say(
                "anchor.start",
                None,
                f"the first anchor is of epoch {first.post.epoch} and holds {first.seq} rows; the "
                f"rows begin in epoch {self.oldest}",
            )

    def epochs(self) -> None:
        """Every epoch was posted, and every one that was has its line, but those of a key that was
        handed over.

        Errors: UncheckedError for epochs that the record may be too old to have.
        """
        report, epochs = self.report, self.owed_epochs
        disowned = {epoch for one in self.handovers for epoch in one.epochs}
        left_out = sorted(self.unlined - disowned)
        for one, end in _runs(left_out):
            report.say("anchor.left_out", None, f"epochs {one} to {end} have no anchor here")
        for before, after in pairwise(epochs):
            if after != before + 1 and not disowned & {before, after}:
                text = f"after epoch {before} the contract has {after}"
                report.say("anchor.missing_epoch", None, text)
        if epoch_end_s(self.newest + 1) + LATE_S < self.until_s:
            report.say(
                "anchor.missing_epoch",
                None,
                f"the contract has nothing after epoch {self.newest}, and the record goes on for "
                f"{(self.until_s - epoch_end_s(self.newest)) // EPOCH_S} hours",
            )
        if self.record.rows and not self.lines and not left_out and self.is_begun:
            raise UncheckedError(
                PART,
                "no anchor holds these rows yet, and none shows that there were no others before; "
                "export again once their hour is posted",
            )
        later = [
            epoch
            for epoch in epochs
            if epoch not in self.lines.keys() | self.unlined
            and self._posted_at(epoch) <= self.last.at - OWED_S
        ]
        if later and self.record.as_of is None:
            raise UncheckedError(
                PART,
                f"epochs {later[0]} to {later[-1]} were posted after the newest row and have no "
                "anchor here; the record may be older than they are: export again",
            )

    def times(self) -> None:
        """A row is no older than the first block that holds it, and no newer."""
        lines = [line for line in self.record.anchors if line.post.block_number in self.at]
        seqs = list(accumulate((line.seq for line in lines), max))
        late: list[LedgerRow] = []
        for row in self.record.rows:
            at, epoch = bisect_left(seqs, row.seq), epoch_of(row.created_at)
            before = lines[at - 1].post if at else None
            if before is not None and before.epoch >= epoch:
                self.report.say(
                    "anchor.backdated",
                    row.seq,
                    f"says {row.created_at:%Y-%m-%d %H:%M:%S}, and block {before.block_number} of "
                    f"epoch {before.epoch} does not hold it",
                )
            if at < len(lines):
                held_s, post = self.at[lines[at].post.block_number], lines[at].post
                if row.created_at.timestamp() > held_s:
                    self.report.say(
                        "anchor.postdated",
                        row.seq,
                        f"says {row.created_at:%Y-%m-%d %H:%M:%S}, and block {post.block_number} "
                        "before that holds it",
                    )
                elif row.block_hash is None and held_s > epoch_end_s(epoch) + LATE_S:
                    late.append(row)
        self._report_late(late)

    def _report_late(self, late: Sequence[LedgerRow]) -> None:
        """Whose word it is when these rows were written."""
        for one in self.handovers:
            unproven = sum(epoch_of(row.created_at) in one.hours for row in late)
            self.report.remarks.append(
                f"epochs {one.epochs[0]} to {one.epochs[-1]} were posted by a key that was handed "
                f"over in block {one.block}, and have no anchor here: the times of {unproven} rows "
                "of these hours are the service's word"
            )
        hours = {hour for one in self.handovers for hour in one.hours}
        rest = [row.seq for row in late if epoch_of(row.created_at) not in hours]
        if rest:
            self.report.remarks.append(
                f"anchors: the hours of {len(rest)} rows ({listed(rest)}) were posted more than two "
                "hours late, as after an outage; when these rows were written is the service's word"
            )


def _oldest_epoch(rows: Sequence[LedgerRow]) -> int:
    return epoch_of(min(min(row.occurred_at, row.created_at) for row in rows))


def _runs(epochs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as (first, last) of those that follow one another."""
    for _, run in groupby(enumerate(epochs), key=lambda pair: pair[1] - pair[0]):
        numbers = [epoch for _, epoch in run]
        yield numbers[0], numbers[-1]
