"""Witnesses: is every head that a trusted witness cosigned on this record's chain?

    witness's file --signature--> a signer whom the reader trusts --> seq, row_hash --> the record's row

The files come from strangers: what is no cosignature, or of nobody whom the reader trusts, says
nothing about the record. It is counted, and never read as a confirmation. A line has one spelling, so
that all readers read the same.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block
from api.client.verify.reach import reaches
from api.client.verify.reading import RecordFile
from core.anchors.witness import MOST_LINE_BYTES, WitnessedHead
from core.chain.signatures import recovered_address
from core.errors import InvalidParameterError

MOST_LINES: Final = 100_000  # of a file: eleven years of hours
PART = "witnesses"


@dataclass(frozen=True, slots=True)
class TrustedWitnesses:
    """`files`: JSON lines of cosignatures. `signers`: checksum addresses whom the reader trusts."""

    files: Sequence[Path] = ()
    signers: frozenset[str] = frozenset()


NO_WITNESSES: Final = TrustedWitnesses()


def check_witnesses(
    record: RecordFile,
    witnesses: TrustedWitnesses,
    anchor: str | None,
    last: Block | None,
    report: Report,
) -> None:
    """`anchor`: the trusted contract; None: any that a trusted signer names. `last`: the record's
    last block, once the node has confirmed it.

    A head after the record's end leaves it unchecked, unless it was written later (reach.py).

    Errors: UncheckedError when a file holds what is no cosignature, or no signer is trusted.
    """
    if not witnesses.files:
        return
    if not witnesses.signers:
        raise UncheckedError(PART, "no signer is trusted (--witness-signer)")
    confirmed = Counter[str](dict.fromkeys(sorted(witnesses.signers), 0))
    check = _Cosigned(record, witnesses.signers, anchor, last, confirmed, report)
    report.figures["witnessed_heads"] = confirmed
    for file in witnesses.files:
        check.read(file)
    if check.ignored:
        report.remarks.append(
            f"{check.ignored} cosignatures are of signers who are not trusted, of another mandate "
            "or of another contract"
        )
    if check.later:
        report.unchecked.append(
            f"{PART}: {check.later} cosigned heads are later than this record; if you exported it "
            "after they were cosigned, rows were left out: export again"
        )
    for signer, count in confirmed.items():
        if count == 0 and not report.findings and not check.later:
            report.unchecked.append(f"{PART}: {signer} confirms no head of this record")
    if check.unread:
        check.faults.append(f"{check.unread} lines are no cosignatures")
    if check.faults:
        raise UncheckedError(PART, "; ".join(check.faults))


class _Cosigned:
    def __init__(
        self,
        record: RecordFile,
        signers: frozenset[str],
        anchor: str | None,
        last: Block | None,
        confirmed: Counter[str],
        report: Report,
    ) -> None:
        self._record = record
        self._last = last
        first: Mapping[str, object] = record.first or {}
        self._subject = (first["mandate_id"], first["chain_id"])
        self._hashes = {row.seq: row.row_hash for row in record.rows}
        self._hashes[0] = str(first["genesis_hash"])
        self._lines = {line.post.epoch: line for line in record.anchors}
        self._signers = signers
        self._anchor = None if anchor is None else anchor.lower()
        self._confirmed = confirmed
        self._seen: set[tuple[str, WitnessedHead]] = set()
        self._report = report
        self.ignored = 0
        self.later = 0
        self.unread = 0
        self.faults: list[str] = []  # of files

    def read(self, file: Path) -> None:
        """As far as it is a witness's: one file's fault hides nothing that another one says."""
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(
                    iter(partial(lines.readline, MOST_LINE_BYTES + 1), b"")
                ):
                    if number == MOST_LINES or len(line) > MOST_LINE_BYTES:
                        self.faults.append(
                            "a file holds more, or longer lines, than a witness writes"
                        )
                        return
                    self._line(line)
        except OSError as error:
            self.faults.append(f"a file cannot be read ({type(error).__name__})")

    def _line(self, line: bytes) -> None:
        try:
            head, signature = WitnessedHead.of_json(msgspec.json.decode(line))
            if head.line(signature).rstrip(b"\n") != line.rstrip(b"\n"):
                raise InvalidParameterError("cosignature", "written as a witness writes it")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidParameterError):
            self.unread += 1
            return
        signer = recovered_address(head.digest(), signature)
        is_other = self._anchor is not None and head.anchor != self._anchor
        if (
            signer is None
            or signer not in self._signers
            or is_other
            or (head.mandate, head.chain_id) != self._subject
        ):
            self.ignored += 1
        elif (signer, head) not in self._seen:
            self._seen.add((signer, head))
            self._compare(signer, head)

    def _compare(self, signer: str, head: WitnessedHead) -> None:
        found, line = self._hashes.get(head.seq), self._lines.get(head.epoch)
        saw = f"{signer} saw row {head.seq} as {head.row_hash} in epoch {head.epoch}"
        if found is None and not reaches(self._record, self._last, head.seq, head.epoch):
            self.later += 1
        elif found is None:
            self._report.say("witness.missing", head.seq, f"{saw}; this record has no such row")
        elif found != head.row_hash:
            self._report.say("witness.differs", head.seq, f"{saw}, here it is {found}")
        elif line is not None and (line.post.root, line.seq) != (head.root, head.seq):
            text = f"{saw} under {head.root}, here it is row {line.seq} under {line.post.root}"
            self._report.say("witness.differs", head.seq or None, text)
        else:
            self._confirmed[signer] += 1
