"""The file itself: is each line the canonical JSON of what it says, are the rows in order, does the
hash chain hold?

Nothing is asked of anybody here. What cannot be read is reported and left out; the other lines are
still checked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import msgspec

from api.client.verify.findings import Report
from core.canonical import canonical_json, canonical_plain, read_canonical
from core.errors import MandateError
from core.mandate.rules.record import (
    FORMAT,
    VERSION,
    AnchorLine,
    genesis_hash,
    is_first_line,
    is_hash,
    is_head,
    row_hash,
    row_of_line,
)
from core.mandate.rules.rows import LedgerRow

MOST_LINE_BYTES: Final = 1_000_000
MOST_VALUES: Final = 20_000  # of one line: each costs many times its bytes once it is read
MOST_SAID: Final = 300  # characters of a refusal
NO_HASH: Final = "0x" + "00" * 32
decode = msgspec.json.decode


@dataclass(slots=True)
class RecordFile:
    """What could be read.

    `first` None: no terms, so nothing can be compared with a chain. Ids of rows are their seqs.
    """

    first: dict[str, Any] | None = None
    head: dict[str, Any] | None = None
    rows: list[LedgerRow] = field(default_factory=list)
    anchors: list[AnchorLine] = field(default_factory=list)

    @property
    def as_of(self) -> dict[str, Any] | None:
        """Up to which block it claims to be complete."""
        return None if self.head is None else self.head["as_of"]


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is too long as much as shows that it is, and none after it."""
    while line := file.readline(MOST_LINE_BYTES + 1):
        yield line
        if len(line) > MOST_LINE_BYTES:
            return


def read_record(lines: Iterable[bytes], report: Report) -> RecordFile:
    """Read and check a record line by line."""
    record, expected_seq, count = RecordFile(), 1, 0
    read = ((number, _object(number, line, report)) for number, line in enumerate(lines, start=1))
    numbered = ((number, line) for number, line in read if line is not None)
    record.first = _first_line(next(numbered, (0, None))[1], report)
    if record.first is None:
        return record
    before = _genesis(record.first, report)
    for number, line in numbered:
        if record.head is not None:
            report.say("format.head_missing", None, f"line {number} is after the head")
        elif "head" in line:
            record.head = _head(line, before, count, report)
        elif "anchor" in line:
            try:
                record.anchors.append(AnchorLine.of_json(line))
            except MandateError as error:
                report.say("anchor.form", None, f"line {number}: {error}")
        else:
            row = _row(number, line, expected_seq, before, report)
            count += 1
            if row is not None:
                record.rows.append(row)
                expected_seq = row.seq  # one gap is one difference
            expected_seq += 1
            stated = line.get("row_hash")
            before = stated if is_hash(stated) else NO_HASH  # of a row without one none fits
    if record.head is None:
        report.say("format.head_missing", None, f"the file ends after {count} rows without a head")
    return record


def _object(number: int, line: bytes, report: Report) -> dict[str, Any] | None:
    seq = number - 1 or None
    if len(line) > MOST_LINE_BYTES:
        text = f"line {number} has more than {MOST_LINE_BYTES} bytes; nothing after it was read"
        report.say("format.line", seq, text)
        return None
    if (
        len(line) > MOST_VALUES
        and line.count(b",") + line.count(b":") + line.count(b"[") > MOST_VALUES
    ):
        report.say("format.line", seq, f"line {number} may hold more than {MOST_VALUES} values")
        return None
    if line.endswith(b"\n") and (known := read_canonical(line[:-1])) is not None:
        return known
    try:
        found = decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        report.say("format.json", seq, f"line {number} is no JSON")
        return None
    if not isinstance(found, dict):
        report.say("format.json", seq, f"line {number} is no object")
        return None
    try:
        if canonical_json(found) + b"\n" != line:
            report.say("format.canonical", seq, f"line {number} is not written canonically")
    except (MandateError, RecursionError) as error:
        report.say("format.number", seq, f"line {number}: {error}")
        return None
    return found


def _first_line(line: dict[str, Any] | None, report: Report) -> dict[str, Any] | None:
    """A file that is no record of this version at all contradicts nothing. One that says that it is
    one does, whatever else its first line has: `detail` hid every difference behind a text.
    """
    if line is None:
        if report.findings:
            report.say("format.first", None, "the file has no first line that can be read")
        else:
            report.unchecked.append("format: the file is empty")
        return None
    version, is_record = line.get("version"), line.get("format") == FORMAT
    if not line.keys() & {"format", "genesis_hash"} and type(line.get("detail")) is str:
        detail = " ".join(line["detail"].split())[:MOST_SAID]
        report.unchecked.append(f"format: the file is a refusal: {detail}")
        return None
    if is_record and type(version) is int and version > 0 and version != VERSION:
        report.unchecked.append(
            f"format: the record is of version {version}, this command reads version {VERSION}: "
            "take the command of the service's release"
        )
        return None
    if not is_first_line(line):
        text = f"line 1 is not the first line of a {FORMAT} of version {VERSION}"
        report.say("format.first", None, text)
        return None
    return line


def _genesis(first: dict[str, Any], report: Report) -> str:
    genesis, stated = genesis_hash(str(first["mandate_id"])), first["genesis_hash"]
    if stated != genesis:
        text = f"genesis_hash is {stated}, {first['mandate_id']} gives {genesis}"
        report.say("chain.genesis", None, text)
    return genesis


def _row(
    number: int, line: dict[str, Any], seq: int, before: str, report: Report
) -> LedgerRow | None:
    if line.get("prev_hash") == before:
        line["prev_hash"] = before  # the text that the row before keeps
    try:
        row = row_of_line(line)
    except MandateError as error:
        report.say("format.row", seq, f"line {number}: {error}")
        return None
    if row.seq != seq:
        report.say("chain.seq", seq, f"says seq {row.seq}")
    if row.prev_hash != before:
        text = f"prev_hash is {row.prev_hash}, the row before has {before}"
        report.say("chain.prev_hash", seq, text)
    computed = row_hash(before, canonical_plain(line["body"]))
    if row.row_hash != computed and row.prev_hash == before:
        text = f"row_hash is {row.row_hash}, its content gives {computed}"
        report.say("chain.row_hash", seq, text)
    return row


def _head(
    line: dict[str, Any], last_hash: str, count: int, report: Report
) -> dict[str, Any] | None:
    head = line["head"]
    if line.keys() != {"head"} or not is_head(head):
        report.say("format.head_missing", None, "the head has another form than a record's")
        return None
    found: dict[str, Any] = head
    if head["seq"] != count:
        report.say("head.seq", None, f"the head says {head['seq']} rows, there are {count}")
    if head["row_hash"] != last_hash:
        text = f"the head says {head['row_hash']}, the last row has {last_hash}"
        report.say("head.row_hash", None, text)
    return found
