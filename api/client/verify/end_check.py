"""Where the record ends, and what lies after it: logs that it shows nothing of, rows that were
written later, and a last block that there is not yet.
"""

from collections.abc import Sequence
from typing import Final

from api.client.verify.expected import of_terms
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block, Node
from api.client.verify.terms_check import RecordSubject
from core.mandate.rules.rows import LedgerRow

# by how much the newest row may be later than the block after the record's last one: an indexer's lag
BEHIND_S: Final = 3_600
# a node whose newest block is no older than this lacks no more blocks than that
UP_TO_DATE_S, AHEAD = 900, 10_000


def later_logs(subject: RecordSubject, vault: str, last: Block, node: Node) -> str | None:
    """What is after the record's last block, in words: logs of the vault, or of the factory that its
    terms got a vault or were cancelled. A record that ends before a loss shows none of it.

    Errors: UncheckedError.
    """
    first, newest = last.number + 1, node.newest()
    for who, wanted in (("vault", {"address": vault}), ("factory", of_terms(subject, vault))):
        later = next(node.logs(f"later logs of the {who}", wanted, first, newest), None)
        if later is not None:
            return f"the {who} has logs after it, the first in block {later.block_number}"
    return None


def check_rows_after(rows: Sequence[LedgerRow], last: Block, node: Node) -> None:
    """A record with rows that were written long after its last block was exported later than that,
    and says nothing of the chain in between: reverted calls, anchors, a cancellation.

    Errors: UncheckedError for such a record.
    """
    after = node.blocks([last.number + 1]).get(last.number + 1)
    written = rows[-1].created_at.timestamp() if rows else 0
    if after is not None and after.at + BEHIND_S < written:
        raise UncheckedError(
            f"the record ends at block {last.number}",
            f"its newest row was written {int(written - after.at) // 60} minutes after the next "
            "block, and nothing that the chain did meanwhile is in it; export again",
        )


def judge_ahead(number: int, newest: int, now: int | None, node: Node, report: Report) -> None:
    """A last block that there is not yet keeps every row from being checked, and the node would be
    blamed. A node whose newest block is of these minutes is not behind: that block is invented.

    `now`: unix seconds; without it nobody knows.
    """
    block = node.blocks([newest]).get(newest)
    is_up_to_date = now is not None and block is not None and now - block.at <= UP_TO_DATE_S
    if is_up_to_date and number > newest + AHEAD:
        text = f"the record is of block {number}, the node is up to date and has {newest}"
        report.say("head.block", None, text)
