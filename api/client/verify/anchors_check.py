"""Hourly anchors: is what blocks hold of this mandate on the record's chain, in every hour?

    anchor --proof--> root --node--> the contract's own log, its block, its time
       |seq, row_hash
       +--> the record's row

Every epoch that was posted needs its line, changed or not: a fork that was shown for an hour and
taken back stands in that hour's root, and nowhere else. Before the first line with rows stands one
that proves that there were none. So nothing is said of epochs by leaving them out.

But a key that was stolen posts roots of nothing. Hours without a line are a remark where the factory
named another keeper after the last of them, before the next line, and at most a week after the first
(docs/decisions/0056-anchors-after-a-handover.md).
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Final

from eth_utils.crypto import keccak

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Node
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
from core.mandate.rules.record_file import AnchorLine
from core.mandate.rules.rows import LedgerRow

LATE_S = 2 * EPOCH_S  # after the end of an epoch: what is posted later proves no time
OWED_S = EPOCH_S  # what was posted so long before the record's end must be in it
MOST_DISOWNED_S = 7 * 24 * EPOCH_S  # from the first post of a stolen key to the handover
MOST_HOURS = 2 * MOST_DISOWNED_S // EPOCH_S  # from a line before such hours to the rows
KEEPER_CHANGED: Final = hex_of(keccak(text="KeeperChanged(address,address)"))
PART = "anchors"
SHOWN = 10


def check_anchors(record: RecordFile, node: Node, anchor: str | None, report: Report) -> None:
    """`anchor`: the contract that the verifier trusts; without it the lines are compared with the
    rows alone, and a remark says so. The figure `anchors` is there once they were compared with it.

    Errors: UncheckedError.
    """
    lines = record.anchors
    _check_lines(record, report)
    if anchor is None:
        if lines:
            report.remarks.append("the anchors were compared with no chain (--anchor)")
        return
    posted = _Contract(node, anchor, record).posted()
    handovers = _handovers(record, node, posted)
    _check_posts(lines, posted, report)
    _check_start(record, posted, report)
    _check_times(record, posted, handovers, report)
    report.figures["anchors"] = len(lines)
    _check_epochs(record, posted, handovers, report)


# The lines by themselves


def _check_lines(record: RecordFile, report: Report) -> None:
    public_id = str((record.first or {})["mandate_id"])
    hashes = {row.seq: row.row_hash for row in record.rows}
    hashes[0] = str((record.first or {})["genesis_hash"])
    before: AnchorLine | None = None
    for line in record.anchors:
        if before is not None:
            _check_order(before, line, report)
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
        before = line


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


# The contract


@dataclass(frozen=True, slots=True)
class _Posted:
    """What the contract has posted up to the record's end.

    `posts` by epoch, from the record's first anchor on; `newest`: the contract's own word. `times`:
    of the blocks, by height. `last`: the last block that was read, `read_s`: its time. `until_s`:
    likewise; of a record that names none (paper) nobody knows when it was exported, only that it was
    after its newest row.
    """

    posts: Mapping[int, EpochPost]
    newest: int
    is_begun: bool  # something was posted at all
    times: Mapping[int, int]
    last: int
    read_s: int
    until_s: int


class _Contract:
    """Asks the node. Its logs must be as many as the contract's roots are linked."""

    def __init__(self, node: Node, anchor: str, record: RecordFile) -> None:
        self._node = node
        self._anchor = anchor
        self._record = record

    def posted(self) -> _Posted:
        """Errors: UncheckedError."""
        as_of, node = self._record.as_of, self._node
        number = int(as_of["block_number"]) if as_of is not None else node.newest()
        last = node.blocks([number]).get(number)
        if last is None:
            raise UncheckedError(PART, f"the node has no block {number}")
        # the first block after the hour from which posts are owed, never the block that a line names:
        # lines that name later ones hid every post, and the node was blamed for it
        owed = self._first_owed()
        first = last.number if owed is None else node.first_after(epoch_end_s(owed), last.number)
        wanted = {"address": self._anchor, "topics": [ANCHORED]}
        logs = list(node.logs(PART, wanted, first, last.number))
        posts = node.ask(PART, lambda: [post_of(log) for log in logs])
        newest, root = node.ask(
            PART, lambda: newest_posted(node.reader.rpc, self._anchor, last.hash)
        )
        self._require_links(posts, newest, hex_of(root))
        times = self._times(posts)
        until_s, rows = last.at, self._record.rows
        if as_of is None and rows:
            until_s = int(rows[-1].created_at.timestamp())
        by_epoch, is_begun = {post.epoch: post for post in posts}, root != START
        return _Posted(by_epoch, newest, is_begun, times, last.number, last.at, until_s)

    def _times(self, posts: Sequence[EpochPost]) -> dict[int, int]:
        """Of the blocks of all posts: one without a time would prove nothing of the rows, unseen."""
        blocks = self._node.blocks(sorted({post.block_number for post in posts}))
        for post in posts:
            block = blocks.get(post.block_number)
            if block is None or block.hash != post.block_hash:
                raise UncheckedError(
                    PART, f"the node has no block {post.block_number} of its own log; try again"
                )
        return {height: block.at for height, block in blocks.items()}

    def _first_owed(self) -> int | None:
        """The epoch of the first line; without any, of the oldest row. None: of a file with neither."""
        rows = self._record.rows
        epochs = [line.post.epoch for line in self._record.anchors]
        if not rows:
            return min(epochs, default=None)
        oldest = _oldest_epoch(rows)
        # no record has a line of an earlier hour, unless a stolen key posted those between
        return max(min(epochs, default=oldest), oldest - 1 - MOST_HOURS)

    def _require_links(self, posts: Sequence[EpochPost], newest: int, root: str) -> None:
        """A log that the node holds back breaks the links; all of them, the contract's own word."""
        owed = self._first_owed()
        if owed is not None and not posts and owed <= newest:
            raise UncheckedError(PART, "the node has no logs of what the contract posted")
        is_late = bool(owed is not None and posts and posts[0].epoch > owed)
        if is_late and posts[0].root_before != hex_of(START):
            raise UncheckedError(
                PART,
                f"the node has no log of what the contract posted before epoch {posts[0].epoch}",
            )
        links = [post.root for post in posts]
        befores = [post.root_before for post in posts][1:]
        if links and (befores != links[:-1] or (posts[-1].epoch, links[-1]) != (newest, root)):
            raise UncheckedError(PART, "the node's logs are not all that the contract posted")


# Hours of a key that was handed over


@dataclass(frozen=True, slots=True)
class _Handover:
    """`epochs`: posted, without a line here. The factory named another keeper in `block`, at unix
    second `at`.
    """

    epochs: tuple[int, ...]
    block: int
    at: int

    @property
    def hours(self) -> range:
        """In which nothing of this record could be anchored."""
        return range(self.epochs[0], self.at // EPOCH_S + 1)


def _handovers(record: RecordFile, node: Node, posted: _Posted) -> list[_Handover]:
    """Errors: UncheckedError."""
    left_out = _left_out(record, posted)
    groups = groupby(_owed_epochs(record, posted), key=left_out.__contains__)
    without = [tuple(group) for is_left_out, group in groups if is_left_out]
    lines = {line.post.epoch for line in record.anchors}
    found = (_handover(node, posted, lines, group) for group in without)
    return [one for one in found if one is not None]


def _handover(
    node: Node, posted: _Posted, lines: Set[int], group: tuple[int, ...]
) -> _Handover | None:
    first, last = (posted.posts[group[at]].block_number for at in (0, -1))
    after = [
        posted.posts[one].block_number for one in lines & posted.posts.keys() if one > group[-1]
    ]
    wanted = {"address": node.contracts["factory"], "topics": [KEEPER_CHANGED]}
    # the block of the last one too: whoever sees the handover coming posts right before it
    log = next(iter(node.logs(PART, wanted, last, min(after, default=posted.last))), None)
    if log is None:
        return None
    block = node.blocks([log.block_number]).get(log.block_number)
    if block is None or block.at - posted.times[first] > MOST_DISOWNED_S:
        return None
    return _Handover(group, log.block_number, block.at)


def _owed_epochs(record: RecordFile, posted: _Posted) -> list[int]:
    """Those that were posted, from the first whose post is owed a line."""
    oldest = _oldest_epoch(record.rows) if record.rows else posted.newest + 1
    first = min((line.post.epoch for line in record.anchors), default=oldest)
    return sorted(epoch for epoch in posted.posts if epoch >= first)


def _left_out(record: RecordFile, posted: _Posted) -> Set[int]:
    """Those without a line that were posted long before the record's end, or before its last line."""
    lines = {line.post.epoch for line in record.anchors}
    owed, newest_line = posted.until_s - OWED_S, max(lines, default=0)
    return {
        epoch
        for epoch in set(_owed_epochs(record, posted)) - lines
        if epoch < newest_line or posted.times[posted.posts[epoch].block_number] <= owed
    }


def _check_posts(lines: Sequence[AnchorLine], posted: _Posted, report: Report) -> None:
    for line in lines:
        post = posted.posts.get(line.post.epoch)
        if post != line.post:
            said = "nothing" if post is None else f"{post.root} in block {post.block_number}"
            report.say(
                "anchor.post",
                line.seq or None,
                f"epoch {line.post.epoch} is {line.post.root} in block {line.post.block_number} "
                f"here, the contract posted {said}",
            )


def _check_start(record: RecordFile, posted: _Posted, report: Report) -> None:
    """The first line proves that there was no row yet, or is the contract's first post."""
    if not record.anchors or not record.rows:
        return
    first, oldest = record.anchors[0], _oldest_epoch(record.rows)
    post = posted.posts.get(first.post.epoch, first.post)
    if post.root_before == hex_of(START) or (first.seq == 0 and first.post.epoch <= oldest):
        return
    report.say(
        "anchor.start",
        None,
        f"the first anchor is of epoch {first.post.epoch} and holds {first.seq} rows; the rows "
        f"begin in epoch {oldest}",
    )


def _check_epochs(
    record: RecordFile, posted: _Posted, handovers: Sequence[_Handover], report: Report
) -> None:
    """Every epoch was posted, and every one that was has its line, but those of a key that was
    handed over.

    Errors: UncheckedError for epochs that the record may be too old to have.
    """
    lines = {line.post.epoch for line in record.anchors}
    disowned = {epoch for one in handovers for epoch in one.epochs}
    epochs, unlined = _owed_epochs(record, posted), _left_out(record, posted)
    left_out = sorted(unlined - disowned)
    later = [
        epoch
        for epoch in epochs
        if epoch not in lines | unlined
        and posted.times[posted.posts[epoch].block_number] <= posted.read_s - OWED_S
    ]
    for one, end in _runs(left_out):
        report.say("anchor.left_out", None, f"epochs {one} to {end} have no anchor here")
    for before, after in pairwise(epochs):
        if after != before + 1 and not disowned & {before, after}:
            text = f"after epoch {before} the contract has {after}"
            report.say("anchor.missing_epoch", None, text)
    if epoch_end_s(posted.newest + 1) + LATE_S < posted.until_s:
        report.say(
            "anchor.missing_epoch",
            None,
            f"the contract has nothing after epoch {posted.newest}, and the record goes on for "
            f"{(posted.until_s - epoch_end_s(posted.newest)) // EPOCH_S} hours",
        )
    if record.rows and not lines and not left_out and posted.is_begun:
        raise UncheckedError(
            PART,
            "no anchor holds these rows yet, and none shows that there were no others before; export "
            "again once their hour is posted",
        )
    if later and record.as_of is None:
        raise UncheckedError(
            PART,
            f"epochs {later[0]} to {later[-1]} were posted after the newest row and have no anchor "
            "here; the record may be older than they are: export again",
        )


# The rows' times


def _check_times(
    record: RecordFile, posted: _Posted, handovers: Sequence[_Handover], report: Report
) -> None:
    """A row is no older than the first block that holds it, and no newer."""
    lines = [line for line in record.anchors if line.post.block_number in posted.times]
    seqs = list(accumulate((line.seq for line in lines), max))
    late: list[LedgerRow] = []
    for row in record.rows:
        at, epoch = bisect_left(seqs, row.seq), epoch_of(row.created_at)
        before = lines[at - 1].post if at else None
        if before is not None and before.epoch >= epoch:
            report.say(
                "anchor.backdated",
                row.seq,
                f"says {row.created_at:%Y-%m-%d %H:%M:%S}, and block {before.block_number} of "
                f"epoch {before.epoch} does not hold it",
            )
        if at < len(lines):
            held_s, post = posted.times[lines[at].post.block_number], lines[at].post
            if row.created_at.timestamp() > held_s:
                report.say(
                    "anchor.postdated",
                    row.seq,
                    f"says {row.created_at:%Y-%m-%d %H:%M:%S}, and block {post.block_number} "
                    "before that holds it",
                )
            elif row.block_hash is None and held_s > epoch_end_s(epoch) + LATE_S:
                late.append(row)
    for one in handovers:
        unproven = sum(epoch_of(row.created_at) in one.hours for row in late)
        report.remarks.append(
            f"epochs {one.epochs[0]} to {one.epochs[-1]} were posted by a key that was handed over in "
            f"block {one.block}, and have no anchor here: the times of {unproven} rows of these hours "
            "are the service's word"
        )
    late = [
        row for row in late if not any(epoch_of(row.created_at) in it.hours for it in handovers)
    ]
    if late:
        named = ", ".join(str(row.seq) for row in late[:SHOWN]) + (", ..." if late[SHOWN:] else "")
        report.remarks.append(
            f"anchors: the hours of {len(late)} rows ({named}) were posted more than two hours late, as "
            "after an outage; when these rows were written is the service's word"
        )


def _oldest_epoch(rows: Sequence[LedgerRow]) -> int:
    return epoch_of(min(min(row.occurred_at, row.created_at) for row in rows))


def _runs(epochs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as (first, last) of those that follow one another."""
    for _, run in groupby(enumerate(epochs), key=lambda pair: pair[1] - pair[0]):
        numbers = [epoch for _, epoch in run]
        yield numbers[0], numbers[-1]
