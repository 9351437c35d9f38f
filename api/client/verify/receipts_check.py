"""Receipts that somebody kept: is each row that the service signed for in the record, as it was?

    receipt --its signature--> a key that the reader names (never the file's own)
       |seq, row_hash, epoch
       +--> the record's row; and, from that hour on, every anchored head

A record that ends before a receipt's row left it out if it was written later (reach.py); else it is
not checked, and never sound.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NoReturn

from api.client.verify.findings import Report
from api.client.verify.node import Block
from api.client.verify.reach import reaches
from api.client.verify.reading import RecordFile
from api.client.verify.terms_check import RecordSubject
from core.anchors.rules import epoch_of
from core.chain.signatures import recovered_address
from core.errors import InvalidParameterError
from core.mandate.chain.typed_data import record_receipt_digest
from core.mandate.rules.receipts import RecordReceipt

MOST_RECEIPTS: Final = 10_000
MOST_LINES: Final = 2 * MOST_RECEIPTS  # of a file, blank ones too
MOST_RECEIPT_BYTES: Final = 2_000
MOST_SAID: Final = 20  # of receipts that are no evidence


@dataclass(frozen=True, slots=True)
class KeptReceipt:
    """A line of a file of receipts, as it stands there; `place`: file and line."""

    place: str
    line: bytes


def kept_receipts(name: str, file: BinaryIO) -> Iterator[KeptReceipt]:
    """The lines of a file of receipts, blank ones left out; one that is too long as much as shows
    that it is, and none after it.

    Errors: ValueError for a file of more lines than there may be receipts; the file's.
    """
    number = 0
    while line := file.readline(MOST_RECEIPT_BYTES + 2):
        number += 1
        if number > MOST_LINES:
            raise ValueError(f"{name}: more than {MOST_LINES} lines")
        if line.strip():
            yield KeptReceipt(f"{name}, line {number}", line)
        if len(line) > MOST_RECEIPT_BYTES + 1:
            return


def check_receipts(
    record: RecordFile,
    subject: RecordSubject,
    kept: Iterable[KeptReceipt],
    signers: Sequence[str],
    last: Block | None,
    report: Report,
) -> None:
    """`signers`: whose receipts the reader trusts, checksum. `last`: the record's last block, once
    the node has confirmed it.

    A receipt that is no evidence is told, and leaves the record unchecked. Those of other mandates
    are counted: clients keep all in one file.
    """
    refused = _Refused(report)
    found, others = set[RecordReceipt](), 0
    for number, one in enumerate(kept, start=1):
        if number > MOST_RECEIPTS:
            refused.say(f"only the first {MOST_RECEIPTS} receipts were read")
            break
        try:
            receipt = RecordReceipt.of_json(_object(one.line))
            if receipt.mandate_id != subject.terms.public_id:
                others += 1
                continue
            _require_evidence(receipt, subject, signers)
            found.add(receipt)
        except InvalidParameterError as error:
            refused.say(f"{one.place}: {error}")
    check = _Check(record, last, refused, report)
    for receipt in sorted(found, key=lambda one: (one.seq, one.row_hash, one.epoch)):
        check.run(receipt)
    report.figures["receipts"] = len(found)
    if others:
        report.remarks.append(f"of the receipts {others} are of other mandates")
    if not found:
        report.remarks.append("no receipt of this mandate was given")
        refused.nothing_compared()
    refused.finish()


# One receipt


def _require_evidence(
    receipt: RecordReceipt, subject: RecordSubject, signers: Sequence[str]
) -> None:
    """Errors: InvalidParameterError, for one that is not evidence about this mandate."""
    if (receipt.chain_id, receipt.factory) != (subject.chain_id, subject.factory):
        raise InvalidParameterError(
            "receipt",
            f"the record is of chain {subject.chain_id} and factory {subject.factory}, this receipt "
            f"of chain {receipt.chain_id} and factory {receipt.factory}",
        )
    if receipt.signer not in signers:
        raise InvalidParameterError(
            "receipt", f"{receipt.signer} signed it, whom you do not trust (--receipt-signer)"
        )
    if recovered_address(record_receipt_digest(receipt), receipt.signature) != receipt.signer:
        raise InvalidParameterError("signature", f"{receipt.signer} did not sign this receipt")


def _object(line: bytes) -> Any:
    if len(line) > MOST_RECEIPT_BYTES + 1:
        raise InvalidParameterError("receipt", f"a line of at most {MOST_RECEIPT_BYTES} bytes")
    try:
        return json.loads(
            line.decode(), object_pairs_hook=_once, parse_float=_refuse, parse_constant=_refuse
        )
    except (ValueError, RecursionError) as error:
        raise InvalidParameterError("receipt", "one JSON object a line, each key once") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


class _Refused:
    """What is no evidence: the first few, and how many more."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._count = 0

    def say(self, text: str) -> None:
        self._count += 1
        if self._count <= MOST_SAID:
            self._report.unchecked.append(f"receipts: {text}")

    def nothing_compared(self) -> None:
        """Whoever gives receipts wants them compared: none is no success. What is wrong with those
        that were refused is told already.
        """
        if self._count == 0:
            self.say("none is of this mandate; nothing was compared")

    def finish(self) -> None:
        if self._count > MOST_SAID:
            self._report.unchecked.append(f"receipts: {self._count - MOST_SAID} more like these")


# Against the record


class _Check:
    def __init__(
        self, record: RecordFile, last: Block | None, refused: _Refused, report: Report
    ) -> None:
        self._record = record
        self._anchors = record.anchors
        self._rows = {row.seq: row for row in record.rows}
        self._last = last
        self._refused = refused
        self._report = report

    def run(self, receipt: RecordReceipt) -> None:
        is_unanchored = self._unanchored(receipt)
        row = self._rows.get(receipt.seq)
        if row is not None:
            self._compare(receipt, row.row_hash, epoch_of(row.created_at))
        elif reaches(self._record, self._last, receipt.seq, receipt.epoch):
            self._report.say(
                "receipt.omitted",
                receipt.seq,
                f"the service signed for a row {receipt.seq} with the hash {receipt.row_hash} in "
                f"epoch {receipt.epoch}; the record has no such row",
            )
        elif not is_unanchored:
            self._refused.say(
                f"row {receipt.seq} of epoch {receipt.epoch} is later than this record; if you "
                "exported it after you got the receipt, the row was left out: export again"
            )

    def _compare(self, receipt: RecordReceipt, row_hash: str, epoch: int) -> None:
        if receipt.row_hash != row_hash:
            text = f"the service signed for {receipt.row_hash}, the record's row has {row_hash}"
            self._report.say("receipt.differs", receipt.seq, text)
        elif receipt.epoch != epoch:
            text = f"the service signed for epoch {receipt.epoch}, the row is of epoch {epoch}"
            self._report.say("receipt.differs", receipt.seq, text)

    def _unanchored(self, receipt: RecordReceipt) -> bool:
        """The first hour, from the receipt's on, whose head does not reach its row."""
        for line in self._anchors:
            if line.post.epoch >= receipt.epoch and line.seq < receipt.seq:
                text = (
                    f"the service signed for it in epoch {receipt.epoch}, the head that was "
                    f"anchored of epoch {line.post.epoch} ends at row {line.seq}"
                )
                self._report.say("receipt.not_anchored", receipt.seq, text)
                return True
        return False
