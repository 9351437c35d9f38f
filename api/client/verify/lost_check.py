"""Rows that were taken back with their block: was there such a block?

A chain forgets what it lost, and anybody can write that something was there and went. A node that
followed the chain at the time may still know the block by its hash. What no node knows is never
proven, and never sound.
"""

from collections.abc import Sequence

from api.client.verify.findings import Report, listed
from api.client.verify.node import Node
from core.mandate.rules.rows import LedgerRow


def check_lost(
    rows: Sequence[LedgerRow], returned: Sequence[int], node: Node, report: Report
) -> None:
    """`rows`: of blocks that are not in the chain, and taken back. `returned`: seqs of rows that were
    taken back with a block that is in it. Such a block may have gone and come back, which no node
    can tell; whoever invents that makes a report in between look like a broken rule.

    Errors: UncheckedError when the node cannot be asked.
    """
    if returned:
        report.unchecked.append(
            f"lost blocks: {len(returned)} rows ({listed(returned)}) were taken back with blocks that "
            "are in the chain; whether those were ever lost is the record's word"
        )
    found = node.blocks_of(sorted({row.block_hash for row in rows if row.block_hash is not None}))
    unknown = [row for row in rows if row.block_hash not in found]
    for row in rows:
        if (block := found.get(row.block_hash or "")) is None:
            continue
        if block.number != row.block_number:
            text = f"block {row.block_hash} has the height {block.number}"
            report.say("row.place", row.seq, text)
        if block.timestamp != row.occurred_at.timestamp():
            report.say("row.time", row.seq, f"block {row.block_hash} is of another time")
        if row.tx_hash not in block.transaction_hashes:
            text = f"{row.tx_hash} is not in block {row.block_hash}"
            report.say("row.transaction", row.seq, text)
    if unknown:
        seqs = [row.seq for row in unknown]
        report.unchecked.append(
            f"lost blocks: {len(unknown)} rows ({listed(seqs)}) were taken back with blocks that the node "
            "does not know; whether there were any is the record's word"
        )
