"""Rows that were taken back with their block: was there such a block?

A chain forgets what it lost, and anybody can write that something was there and went. A node that
followed the chain at the time may still know the block by its hash. What no node knows is never
proven, and never sound.
"""

from collections.abc import Sequence

from api.client.verify.findings import Report
from api.client.verify.node import Node
from core.chain.blocks import BlockHeader
from core.mandate.rules.rows import LedgerRow


def check_lost(rows: Sequence[LedgerRow], node: Node, report: Report) -> None:
    """`rows`: of blocks that are not in the chain, and taken back.

    Errors: UncheckedError when the node cannot be asked.
    """
    found = node.blocks_of(sorted({row.block_hash for row in rows if row.block_hash is not None}))
    unknown = [row for row in rows if row.block_hash not in found]
    for row in rows:
        if row.block_hash in found:
            _compare(row, found[row.block_hash], report)
    if unknown:
        seqs = ", ".join(str(row.seq) for row in unknown[:10]) + (", ..." if unknown[10:] else "")
        report.leave_open(
            f"lost blocks: {len(unknown)} rows ({seqs}) were taken back with blocks that the node "
            "does not know; whether there were any is the record's word"
        )


def _compare(row: LedgerRow, block: BlockHeader, report: Report) -> None:
    if block.number != row.block_number:
        report.say("row.place", row.seq, f"block {row.block_hash} has the height {block.number}")
    if block.timestamp != row.occurred_at.timestamp():
        report.say("row.time", row.seq, f"block {row.block_hash} is of another time")
    if row.tx_hash not in block.transaction_hashes:
        report.say("row.transaction", row.seq, f"{row.tx_hash} is not in block {row.block_hash}")
