"""Kept receipts against a record in memory: what each proves, and where a record may be older."""

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from api.client.verify import receipts_check
from api.client.verify.findings import Report
from api.client.verify.main import app, named_address
from api.client.verify.node import Block
from api.client.verify.reading import RecordFile
from api.client.verify.receipts_check import (
    MOST_RECEIPT_BYTES,
    KeptReceipt,
    check_receipts,
    kept_receipts,
)
from api.client.verify.terms_check import RecordSubject
from core.anchors.rules import EPOCH_S, EpochPost, epoch_end_s, epoch_of
from core.canonical import canonical_json
from core.chain.signer import LocalKeySigner
from core.hexes import ZERO_ADDRESS
from core.mandate.chain.typed_data import record_receipt_digest
from core.mandate.rules.receipts import RecordReceipt
from core.mandate.rules.record_file import AnchorLine
from core.mandate.rules.rows import RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import PAPER, PUBLIC_ID, SampleLedger, terms

SERVICE = LocalKeySigner("0x" + "11" * 32)
FACTORY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
HASH = "0x" + "22" * 32
SUBJECT = RecordSubject(84532, FACTORY, None, terms(), (), HASH, PAPER, 2)
LEDGER = SampleLedger(PAPER)
LEDGER.sign()
LEDGER.report(RowKind.BUY, "30")
LEDGER.report(RowKind.NOTE)
ROWS = list(LEDGER.rows)
LAST = ROWS[-1]
EPOCH = epoch_of(LAST.created_at)


def receipt(**changes: object) -> RecordReceipt:
    """Of the last row, as the service signs it; or with other words."""
    said = {
        "mandate_id": PUBLIC_ID, "chain_id": 84532, "factory": FACTORY, "seq": LAST.seq,
        "row_hash": LAST.row_hash, "epoch": EPOCH, "signer": SERVICE.address, "signature": "",
    }  # fmt: skip
    one = RecordReceipt(**said | changes)  # type: ignore[arg-type]
    return replace(one, signature=SERVICE.sign_digest(record_receipt_digest(one)))


def line(one: RecordReceipt) -> bytes:
    return canonical_json(one.to_json())


def anchor(epoch: int, seq: int) -> AnchorLine:
    return AnchorLine(EpochPost(epoch, HASH, HASH, 1, HASH, HASH), seq, HASH, "AAA=")


def checked(
    *lines: bytes,
    anchors: Sequence[AnchorLine] = (),
    last: Block | None = None,
    signers: Sequence[str] = (SERVICE.address,),
) -> Report:
    record = RecordFile(first={}, rows=list(ROWS), anchors=list(anchors))
    report = Report()
    kept = [KeptReceipt(f"kept, line {at}", one) for at, one in enumerate(lines, start=1)]
    check_receipts(record, SUBJECT, kept, signers, last, report)
    return report


def names(report: Report) -> list[str]:
    return [one.name for one in report.findings]


def block_at(at: int) -> Block:
    return Block(9, HASH, HASH, at)


# The row is there


def test_the_row_that_was_signed_for__is_nothing_to_say() -> None:
    report = checked(line(receipt()))
    assert (report.findings, report.unchecked, report.remarks) == ([], [], [])
    assert report.figures["receipts"] == 1


@each("change", [{"row_hash": HASH}, {"epoch": EPOCH + 1}, {"epoch": EPOCH - 1}])
def test_another_row_or_hour_than_was_signed_for__differs(change: dict[str, object]) -> None:
    assert names(checked(line(receipt(**change)))) == ["receipt.differs"]


def test_another_hash_and_hour__is_one_difference_and_tells_the_hash() -> None:
    (found,) = checked(line(receipt(row_hash=HASH, epoch=EPOCH + 1))).findings
    assert "the record's row has" in found.text


# The row is not there


LATER = {"seq": LAST.seq + 1, "row_hash": HASH}


def test_a_row_after_the_records_end__may_be_newer_than_the_export() -> None:
    report = checked(line(receipt(**LATER)))
    assert names(report) == []
    assert [text for text in report.unchecked if "is later than this record" in text]


def test_a_row_of_an_hour_before_the_newest_rows__was_left_out() -> None:
    assert names(checked(line(receipt(**LATER, epoch=EPOCH - 1)))) == ["receipt.omitted"]


def test_a_row_whose_number_is_passed_over__was_left_out() -> None:
    record = RecordFile(first={}, rows=[ROWS[0], replace(LAST, seq=LAST.seq + 5)])
    report = Report()
    kept = [KeptReceipt("kept", line(receipt(**LATER)))]
    check_receipts(record, SUBJECT, kept, [SERVICE.address], None, report)
    assert names(report) == ["receipt.omitted"]


@each(("seconds", "is_omitted"), [(1_199, False), (1_200, True)])
def test_a_record_that_ends_20_minutes_after_the_hour__left_the_row_out(
    seconds: int, is_omitted: bool
) -> None:
    last = block_at(epoch_end_s(EPOCH) + seconds)
    report = checked(line(receipt(**LATER)), last=last)
    assert (names(report) == ["receipt.omitted"], report.unchecked == []) == (is_omitted,) * 2


def test_a_record_without_rows__may_be_older_than_any_receipt() -> None:
    report = Report()
    kept = [KeptReceipt("kept", line(receipt()))]
    late = block_at(epoch_end_s(EPOCH) + 10 * EPOCH_S)
    check_receipts(RecordFile(first={}), SUBJECT, kept, [SERVICE.address], late, report)
    assert (names(report), len(report.unchecked)) == ([], 1)


# The hour's anchor


@each(
    ("epoch", "seq", "found"),
    [
        (EPOCH, LAST.seq - 1, ["receipt.not_anchored"]),
        (EPOCH + 1, LAST.seq - 1, ["receipt.not_anchored"]),
        (EPOCH - 1, LAST.seq - 1, []),
        (EPOCH, LAST.seq, []),
        (EPOCH, LAST.seq + 1, []),
    ],
)
def test_an_hour_from_the_receipts_on__must_reach_its_row(
    epoch: int, seq: int, found: list[str]
) -> None:
    assert names(checked(line(receipt()), anchors=[anchor(epoch, seq)])) == found


def test_a_row_that_its_hour_lacks__is_told_once_and_leaves_nothing_open() -> None:
    anchors = [anchor(EPOCH, LAST.seq), anchor(EPOCH + 1, LAST.seq)]
    report = checked(line(receipt(**LATER)), anchors=anchors)
    assert (names(report), report.unchecked) == (["receipt.not_anchored"], [])
    assert f"epoch {EPOCH} ends" in report.findings[0].text


# What is no evidence


@each(
    "one",
    [
        receipt(chain_id=1),
        receipt(factory=SERVICE.address),
        receipt(signer=FACTORY),
        replace(receipt(), row_hash=HASH),
        replace(receipt(), signature="0x" + "00" * 65),
    ],
)
def test_a_receipt_that_is_no_evidence__is_refused_and_not_counted(one: RecordReceipt) -> None:
    report = checked(line(one), signers=[SERVICE.address, FACTORY])
    assert (names(report), report.figures["receipts"]) == ([], 0)
    assert [text.partition(": ")[0] for text in report.unchecked] == ["receipts"]
    assert "kept, line 1" in report.unchecked[0]


def test_a_signer_whom_nobody_trusts__is_refused() -> None:
    assert "whom you do not trust" in checked(line(receipt()), signers=[FACTORY]).unchecked[0]


def test_receipts_of_other_mandates__are_counted_and_refuse_nothing() -> None:
    other = line(receipt(mandate_id="m_othermand2"))
    report = checked(other, line(receipt()), other)
    assert (report.unchecked, report.remarks) == ([], ["of the receipts 2 are of other mandates"])


def test_receipts_of_other_mandates_alone__compare_nothing() -> None:
    report = checked(line(receipt(mandate_id="m_othermand2")))
    assert report.unchecked == ["receipts: none is of this mandate; nothing was compared"]


def test_a_refused_receipt_alone__is_told_once() -> None:
    assert len(checked(b"{").unchecked) == 1


@each("more", [0, 1])
def test_refused_receipts__are_listed_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    monkeypatch.setattr(receipts_check, "MOST_SAID", 2)
    unchecked = checked(*[b"{"] * (2 + more)).unchecked
    assert unchecked[2:] == ["receipts: 1 more like these"] * more
    assert len(unchecked) == 2 + more


@each("more", [0, 1])
def test_receipts__are_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(receipts_check, "MOST_RECEIPTS", 2)
    report = checked(*[line(receipt())] * (2 + more))
    assert report.unchecked == ["receipts: only the first 2 receipts were read"] * more


@each("text", [b'{"a":1,"a":1}', b'{"a":1.5}', b'{"a":NaN}', b"\xff", b"[[[["])
def test_a_line_that_is_not_one_plain_object__is_no_receipt(text: bytes) -> None:
    assert checked(text).unchecked == ["receipts: kept, line 1: " + _one_object()]


def _one_object() -> str:
    return checked(b"{").unchecked[0].partition("line 1: ")[2]


# Files


@each("more", [0, 1])
def test_a_line_of_a_file__is_read_up_to_its_bound(more: int) -> None:
    padded = line(receipt()).ljust(MOST_RECEIPT_BYTES + more)
    kept = list(kept_receipts("kept", BytesIO(padded + b"\n" + line(receipt()))))
    assert len(kept) == 2 - more
    assert checked(kept[0].line).unchecked[0:] == (
        [] if not more else [f"receipts: kept, line 1: {_too_long()}"]
    )


def _too_long() -> str:
    return checked(b" " * (MOST_RECEIPT_BYTES + 2)).unchecked[0].partition("line 1: ")[2]


def test_blank_lines__are_numbered_and_left_out() -> None:
    kept = list(kept_receipts("kept", BytesIO(b"\n \n{}\n\n[]")))
    assert [one.place for one in kept] == ["kept, line 3", "kept, line 5"]


def test_a_file_of_blank_lines__is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of nothing but line ends was read to its end, however long it is."""
    monkeypatch.setattr(receipts_check, "MOST_LINES", 3)
    assert list(kept_receipts("kept", BytesIO(b"\n" * 3))) == []
    file = BytesIO(b"\n" * 100)
    with pytest.raises(ValueError, match="kept: more than 3 lines"):
        list(kept_receipts("kept", file))
    assert file.tell() == 4


@each(
    ("address", "rule"),
    [
        (ZERO_ADDRESS, "the zero address belongs to nobody"),
        (SERVICE.address.swapcase().replace("X", "x"), "its EIP-55 checksum"),
        ("0x12", "write an address: 0x and 40 hex characters"),
    ],
)
def test_an_address_that_is_not_taken__is_refused_for_its_own_rule(address: str, rule: str) -> None:
    """Each was said to have a wrong length or checksum."""
    with pytest.raises(typer.BadParameter, match=rule):
        named_address(address, "--owner")


@each("content", [None, b"\n" * (receipts_check.MOST_LINES + 1)], ids=["no file", "blank"])
def test_a_file_of_receipts_that_cannot_be_read__is_no_difference(
    tmp_path: Path, content: bytes | None
) -> None:
    """Exit code 1 said that the record is false: the file's error ended the command."""
    file = Path("/proc/self/mem") if content is None else tmp_path / "receipts"
    if content is not None:
        file.write_bytes(content)
    record = tmp_path / "record"
    record.write_bytes(b"")
    named = ["--receipt", str(file), "--receipt-signer", SERVICE.address]
    done = CliRunner().invoke(app, [str(record), "--rpc", "http://127.0.0.1:9", *named])
    assert done.exit_code == 2
