"""Heads that somebody saw earlier: has the record these rows, with these hashes?"""

from collections.abc import Sequence

from api.client.heads import SeenHead
from api.client.verify.findings import Report
from api.client.verify.reading import RecordFile
from core.mandate.rules.record import genesis_hash


def check_heads(record: RecordFile, seen: Sequence[SeenHead], report: Report) -> None:
    """Those that name no mandate are of this one. A head says no time, so one that is after the
    record's end leaves it unchecked: it may have been exported before.
    """
    public_id = str((record.first or {})["mandate_id"])
    hashes = {row.seq: row.row_hash for row in record.rows} | {0: genesis_hash(public_id)}
    own = ("", public_id)
    for mandate_id, seq, row_hash in seen:
        if mandate_id not in own or hashes.get(seq) == row_hash:
            continue
        saw = f"row {seq} had the hash {row_hash}"
        if seq in hashes:
            report.say("head.kept", seq, f"{saw}, here it has {hashes[seq]}")
        else:
            report.unchecked.append(
                f"head: {saw}; this record ends before it. If you exported it after you saw that "
                "row, rows were left out: export again"
            )
    if seen and not any(head.mandate_id in own for head in seen):
        report.unchecked.append("head: none of the heads is of this mandate; nothing was compared")
