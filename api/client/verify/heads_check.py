"""Heads that somebody saw earlier: has the record these rows, with these hashes?"""

from collections.abc import Sequence

from api.client.heads import SeenHead
from api.client.verify.findings import Report
from api.client.verify.reading import RecordFile


def check_heads(record: RecordFile, seen: Sequence[SeenHead], report: Report) -> None:
    """Those that name no mandate are of this one; when none is, they say nothing of this record.

    A head says no time, so one that is after the record's end leaves it unchecked: it may have been
    exported before. Row 0 is what the chain begins with.
    """
    first = record.first or {}
    hashes = {row.seq: row.row_hash for row in record.rows} | {0: first.get("genesis_hash")}
    own = [one for one in seen if one.mandate_id in ("", first.get("mandate_id"))]
    if seen and not own:
        report.leave_open("head: all heads that were given are of other mandates")
    for _, seq, row_hash in own:
        if hashes.get(seq) == row_hash:
            continue
        saw = f"row {seq} had the hash {row_hash}"
        if seq in hashes:
            report.say("head.kept", seq or None, f"{saw}, here it has {hashes[seq]}")
        else:
            report.leave_open(
                f"head: {saw}; this record ends before it. If you exported it after you saw that "
                "row, rows were left out: export again"
            )
