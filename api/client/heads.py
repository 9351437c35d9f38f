"""Heads of records that this client was shown, to compare with what others were shown
(docs/witness.md#heads-that-clients-saw; `verify-record --head FILE`).

    answers, saved records --seq, row_hash--> seen --lines()--> another client: add_lines
                                                 +--file------> verify-record --head FILE

Laws
- The hash of a row covers all rows before it: two hashes of one number are two pasts, and a record
  never becomes shorter.
- A contradiction is said before anything of it is kept.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from api.client.appending import Appending
from api.client.refusal import ClientError

MOST_LINE_BYTES = 300
MOST_LINES = 100_000
MANDATE_FORM = re.compile(r"[A-Za-z0-9_-]{1,64}")
BEGIN = b'{"mandate_id":"'
HASH_FORM = re.compile(r"0x[0-9a-f]{64}")


class SeenHead(NamedTuple):
    """Row `seq` of a mandate's record had this hash."""

    mandate_id: str
    seq: int
    row_hash: str

    def line(self) -> str:
        return json.dumps(self._asdict(), sort_keys=True, separators=(",", ":")) + "\n"


class HeadsDiffer(ClientError):
    """Two pasts of one mandate. `ours` was seen before; `theirs`: its row there, None when the
    other record ends before it. Keep both: whoever wrote them shows different people different
    records.
    """

    def __init__(self, ours: SeenHead, theirs: SeenHead | None) -> None:
        said = "is not there" if theirs is None else f"has {theirs.row_hash} there"
        super().__init__(
            f"row {ours.seq} of {ours.mandate_id} was seen as {ours.row_hash} and {said}"
        )
        self.ours = ours
        self.theirs = theirs


class SeenHeads:
    """`file`: what is seen is appended to it, a line of JSON each; what it has is known, however
    much.

    A last line that a kill cut off is left out. Errors: ValueError when another line of the file is
    no head; HeadsDiffer when it contradicts itself; OSError when it cannot be written.
    """

    def __init__(self, file: "str | PathLike[str] | None" = None) -> None:
        self._seen: dict[str, dict[int, SeenHead]] = {}
        self._append: Appending | None = None
        if file is not None:
            appending = Appending(Path(file))
            self.add_lines(heads_of(appending.file, most=None))
            self._append = appending

    def of(self, mandate_id: str) -> tuple[SeenHead, ...]:
        """By number."""
        seen = self._seen.get(mandate_id, {})
        return tuple(seen[seq] for seq in sorted(seen))

    def lines(self) -> str:
        """All, for another client."""
        return "".join(head.line() for one in self._seen for head in self.of(one))

    def add_lines(self, heads: "Iterable[SeenHead] | str") -> None:
        """What another client saw (its `lines`). Errors: ValueError, HeadsDiffer; then none is
        kept.
        """
        found = list(parsed(heads.splitlines()) if isinstance(heads, str) else heads)
        theirs = dict[tuple[str, int], SeenHead]()
        for head in found:
            self._require_same(theirs.setdefault((head.mandate_id, head.seq), head), head)
            self._require_same(self._seen.get(head.mandate_id, {}).get(head.seq), head)
        for head in found:
            self._keep(head)

    def saw(self, head: SeenHead) -> None:
        """Errors: HeadsDiffer; OSError when the file cannot be written."""
        self._require_same(self._seen.get(head.mandate_id, {}).get(head.seq), head)
        self._keep(head)

    def take(self, fields: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """The row that a call wrote, if it did. Errors: HeadsDiffer."""
        line = answer.get("record_line")
        if line is not None:
            self.saw(SeenHead(str(fields["id"]), line["body"]["seq"], line["row_hash"]))

    def compare_record(
        self, mandate_id: str, file: Path, before: Iterable[SeenHead] | None = None
    ) -> None:
        """A saved record has every row that was seen `before` it was asked for (None: until now);
        its own last one is kept. Whether its rows give the hashes that it says, and a file that
        broke off, are for verify-record to judge.

        Errors: HeadsDiffer.
        """
        seen = {head.seq: head for head in (self.of(mandate_id) if before is None else before)}
        rows, last = dict[int, SeenHead](), None
        with file.open("rb") as lines:
            for line in lines:
                if (head := _head_of(mandate_id, line)) is not None:
                    last = head
                    rows |= {head.seq: head} if head.seq in seen else {}
                elif last is not None and line.startswith(b'{"head":') and line.endswith(b"\n"):
                    self._compare(seen, rows)
                    self.saw(last)

    def _compare(self, seen: Mapping[int, SeenHead], rows: Mapping[int, SeenHead]) -> None:
        for seq, ours in seen.items():
            if seq not in rows:
                raise HeadsDiffer(ours, None)
            self._require_same(ours, rows[seq])

    def _require_same(self, ours: SeenHead | None, theirs: SeenHead) -> None:
        if ours is not None and ours != theirs:
            raise HeadsDiffer(ours, theirs)

    def _keep(self, head: SeenHead) -> None:
        seen = self._seen.setdefault(head.mandate_id, {})
        if head.seq not in seen:
            if self._append is not None:
                self._append(head.line())
            seen[head.seq] = head


def _head_of(mandate_id: str, line: bytes) -> SeenHead | None:
    """Of a record's line that is a row."""
    try:
        found = json.loads(line)
        return SeenHead(mandate_id, int(found["body"]["seq"]), str(found["row_hash"]))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def heads_of(file: Path, most: int | None = MOST_LINES) -> Iterator[SeenHead]:
    """Of a file of heads; a line that a kill cut off is left out. Errors: ValueError that names file
    and line.
    """
    with file.open("rb") as lines:
        try:
            yield from parsed(iter(lambda: lines.readline(MOST_LINE_BYTES + 1), b""), most)
        except ValueError as error:
            raise ValueError(f"{file}, {error}") from error


def parsed(lines: Iterable[str | bytes], most: int | None = MOST_LINES) -> Iterator[SeenHead]:
    """Errors: ValueError that names the line."""
    for number, line in enumerate(lines, start=1):
        if (most is not None and number > most) or len(line) > MOST_LINE_BYTES:
            raise ValueError(
                f"line {number}: a file of heads has at most {MOST_LINES} lines of {MOST_LINE_BYTES} "
                "characters"
            )
        if not _is_torn(line):
            yield _parsed(number, line)


def _is_torn(line: str | bytes) -> bool:
    """The begin of a head's line, and no more."""
    text = (line.encode() if isinstance(line, str) else line).rstrip(b"\n")
    return bool(text) and BEGIN[: len(text)] == text[: len(BEGIN)] and not text.endswith(b"}")


def _parsed(number: int, line: str | bytes) -> SeenHead:
    try:
        found = json.loads(line)
        head = SeenHead(**found)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"line {number}: no object of mandate_id, seq and row_hash") from error
    texts = (head.mandate_id, MANDATE_FORM), (head.row_hash, HASH_FORM)
    is_text = all(isinstance(one, str) and form.fullmatch(one) for one, form in texts)
    if not is_text or type(head.seq) is not int or not 1 <= head.seq < 2**53:
        raise ValueError(f"line {number}: a field has another form than a head's")
    return head
