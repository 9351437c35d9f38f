"""Whether a record that ends before a row was written after that row, so that it left the row out.

A record may end before a row and be honest: it was exported earlier, and no record proves when. What
proves it is a row or a block that is newer than the hour in which the row was there already.
"""

from datetime import timedelta
from typing import Final

from api.client.verify.node import Block
from api.client.verify.reading import RecordFile
from api.client.verify.rows_check import CLOCKS
from core.anchors.rules import SETTLED_S, epoch_end_s

# A row is committed soon after the time that it names, and clocks of service and chain may differ.
SURELY_WRITTEN_S: Final = SETTLED_S + CLOCKS // timedelta(seconds=1)


def reaches(record: RecordFile, last: Block | None, seq: int, epoch: int) -> bool:
    """Whether it must have been written after row `seq`, which was there by the end of `epoch`.

    `last`: the record's last block, once the node has confirmed it.
    """
    if not record.rows:
        return False
    newest, end_s = record.rows[-1], epoch_end_s(epoch)
    # times never go back from row to row, so no earlier row is of a later hour
    if newest.seq > seq or newest.created_at.timestamp() >= end_s:
        return True
    return last is not None and last.at >= end_s + SURELY_WRITTEN_S
