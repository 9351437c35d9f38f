"""Cosignatures against a record in memory: what confirms it, contradicts it, or says nothing."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from api.client.verify import witness_check
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block
from api.client.verify.reading import RecordFile
from api.client.verify.witness_check import TrustedWitnesses, check_witnesses
from core.anchors.rules import EpochPost, epoch_end_s, epoch_of
from core.anchors.witness import MOST_LINE_BYTES, WitnessedHead
from core.chain.signer import LocalKeySigner
from core.mandate.rules.record import genesis_hash
from core.mandate.rules.record_file import AnchorLine
from core.mandate.rules.rows import RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import PAPER, PUBLIC_ID, SampleLedger

SIGNER, OTHER = LocalKeySigner("0x" + "11" * 32), LocalKeySigner("0x" + "22" * 32)
ANCHOR = "0x" + "ab" * 20
HASH, ROOT = "0x" + "22" * 32, "0x" + "33" * 32
LEDGER = SampleLedger(PAPER)
LEDGER.sign()
LEDGER.report(RowKind.BUY, "30")
ROWS = list(LEDGER.rows)
LAST = ROWS[-1]
EPOCH = epoch_of(LAST.created_at)
FIRST = {"mandate_id": PUBLIC_ID, "chain_id": 84532, "genesis_hash": genesis_hash(PUBLIC_ID)}
HEAD = WitnessedHead(
    anchor=ANCHOR,
    chain_id=84532,
    mandate=PUBLIC_ID,
    epoch=EPOCH,
    root=ROOT,
    seq=LAST.seq,
    row_hash=LAST.row_hash,
)
LATER = replace(HEAD, seq=LAST.seq + 1, row_hash=HASH)


def line(head: WitnessedHead = HEAD, signer: LocalKeySigner = SIGNER) -> bytes:
    return head.line(signer.sign_digest(head.digest()))


def anchored(**changes: object) -> AnchorLine:
    said = {"root": ROOT, "seq": LAST.seq} | changes
    post = EpochPost(EPOCH, str(said["root"]), HASH, 1, HASH, HASH)
    return AnchorLine(post, int(str(said["seq"])), LAST.row_hash, "AAA=")


class Checked:
    """A record against a file of these lines. `error`: what the check ended with."""

    def __init__(
        self,
        folder: Path,
        *lines: bytes,
        anchors: Sequence[AnchorLine] = (),
        anchor: str | None = ANCHOR,
        last: Block | None = None,
        signers: Sequence[LocalKeySigner] = (SIGNER,),
        report: Report | None = None,
    ) -> None:
        file = folder / "cosigned"
        file.write_bytes(b"".join(lines))
        record = RecordFile(first=FIRST, rows=list(ROWS), anchors=list(anchors))
        trusted = TrustedWitnesses([file], frozenset(one.address for one in signers))
        self.report = Report() if report is None else report
        self.error: str | None = None
        try:
            check_witnesses(record, trusted, anchor, last, self.report)
        except UncheckedError as error:
            self.error = error.reason

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.report.findings]

    @property
    def confirmed(self) -> dict[str, int]:
        return dict(self.report.figures["witnessed_heads"])


def test_without_files__nothing_is_said() -> None:
    report = Report()
    signers = frozenset({SIGNER.address})
    check_witnesses(RecordFile(first=FIRST), TrustedWitnesses([], signers), ANCHOR, None, report)
    assert report == Report()


def test_without_signers__nothing_is_compared(tmp_path: Path) -> None:
    done = Checked(tmp_path, line(), signers=[])
    assert done.error == "no signer is trusted (--witness-signer)"


# What a trusted signer saw


@each("anchors", [[], [anchored()]])
def test_a_head_that_is_on_the_record__confirms_it(
    tmp_path: Path, anchors: list[AnchorLine]
) -> None:
    done = Checked(tmp_path, line(), anchors=anchors)
    assert (done.report.findings, done.report.unchecked, done.report.remarks) == ([], [], [])
    assert (done.confirmed, done.error) == ({SIGNER.address: 1}, None)


def test_the_head_of_no_rows__is_what_the_chain_begins_with(tmp_path: Path) -> None:
    empty = replace(HEAD, seq=0, row_hash=genesis_hash(PUBLIC_ID))
    assert Checked(tmp_path, line(empty)).confirmed == {SIGNER.address: 1}


def test_a_head_that_is_told_twice__counts_once(tmp_path: Path) -> None:
    assert Checked(tmp_path, line(), line()).confirmed == {SIGNER.address: 1}


def test_a_head_that_two_signers_saw__counts_for_each(tmp_path: Path) -> None:
    done = Checked(tmp_path, line(), line(signer=OTHER), signers=[SIGNER, OTHER])
    assert done.confirmed == {SIGNER.address: 1, OTHER.address: 1}


def test_another_hash__differs(tmp_path: Path) -> None:
    done = Checked(tmp_path, line(replace(HEAD, row_hash=HASH)))
    assert (done.names, done.confirmed) == (["witness.differs"], {SIGNER.address: 0})
    assert done.report.unchecked == []  # what differs needs no word of nothing confirmed


@each("change", [{"root": HASH}, {"seq": LAST.seq - 1}])
def test_another_root_or_row_of_the_hour__differs(
    tmp_path: Path, change: dict[str, object]
) -> None:
    done = Checked(tmp_path, line(), anchors=[anchored(**change)])
    assert (done.names, done.report.findings[0].seq) == (["witness.differs"], LAST.seq)


def test_another_root_of_an_hour_without_rows__differs_for_the_file_as_a_whole(
    tmp_path: Path,
) -> None:
    empty = replace(HEAD, seq=0, row_hash=genesis_hash(PUBLIC_ID))
    done = Checked(tmp_path, line(empty), anchors=[anchored(seq=0, root=HASH)])
    assert [(one.name, one.seq) for one in done.report.findings] == [("witness.differs", None)]


def test_a_head_after_the_records_end__leaves_it_unchecked(tmp_path: Path) -> None:
    done = Checked(tmp_path, line(LATER))
    assert (done.names, done.error) == ([], None)
    (said,) = done.report.unchecked
    assert "1 cosigned heads are later than this record" in said


@each("hours", [-1, 0])
def test_a_head_of_an_hour_before_the_newest_row__is_missing(tmp_path: Path, hours: int) -> None:
    done = Checked(tmp_path, line(replace(LATER, epoch=EPOCH + hours)))
    assert done.names == ["witness.missing"] * (hours < 0)


def test_a_head_before_the_records_last_block__is_missing(tmp_path: Path) -> None:
    last = Block(9, HASH, HASH, epoch_end_s(EPOCH) + 1_200)
    assert Checked(tmp_path, line(LATER), last=last).names == ["witness.missing"]


# What says nothing


IGNORED = {
    "of a signer who is not trusted": line(signer=OTHER),
    "of another mandate": line(replace(HEAD, mandate="m_othermand2")),
    "of another chain": line(replace(HEAD, chain_id=1)),
    "of another contract": line(replace(HEAD, anchor="0x" + "cd" * 20)),
    "of no signer at all": HEAD.line("0x" + "00" * 65),
}


@each("ignored", IGNORED.values(), ids=IGNORED)
def test_a_cosignature_that_says_nothing_here__is_counted(tmp_path: Path, ignored: bytes) -> None:
    done = Checked(tmp_path, ignored)
    assert (done.names, done.error, done.confirmed) == ([], None, {SIGNER.address: 0})
    assert done.report.remarks[0].startswith("1 cosignatures are of signers who are not trusted")
    assert done.report.unchecked == [f"witnesses: {SIGNER.address} confirms no head of this record"]


def test_without_a_contract__any_that_a_trusted_signer_names_counts(tmp_path: Path) -> None:
    other = line(replace(HEAD, anchor="0x" + "cd" * 20))
    assert Checked(tmp_path, other, anchor=None).confirmed == {SIGNER.address: 1}


def test_a_contract_in_checksum_letters__is_the_same(tmp_path: Path) -> None:
    assert Checked(tmp_path, line(), anchor=ANCHOR.upper().replace("X", "x")).confirmed == {
        SIGNER.address: 1
    }


def test_a_signer_who_confirms_nothing__is_named_beside_one_who_does(tmp_path: Path) -> None:
    done = Checked(tmp_path, line(), signers=[SIGNER, OTHER])
    assert done.report.unchecked == [f"witnesses: {OTHER.address} confirms no head of this record"]


def test_a_signer_who_confirms_nothing_of_a_false_record__is_not_named(tmp_path: Path) -> None:
    report = Report()
    report.say("head.seq", None, "found before")
    assert Checked(tmp_path, line(signer=OTHER), report=report).report.unchecked == []


# Crafted files


def raw(**changes: object) -> bytes:
    return json.dumps(json.loads(line()) | changes).encode() + b"\n"


CRAFTED = {
    "no JSON": b"{\n",
    "no text": b"\xff\n",
    "NUL": b"\0\n",
    "blank": b"\n",
    "a list": b"[]\n",
    "deep": b"[" * MOST_LINE_BYTES + b"\n",
    "a key less": json.dumps(asdict(HEAD)).encode() + b"\n",
    "a key more": raw(note="x"),
    "a key twice": line()[:-2] + b',"seq":1}\n',
    "another spelling": raw(),
    "true for a number": raw(seq=True),
    "a number as text": raw(seq=str(LAST.seq)),
    "a number below zero": raw(epoch=-1),
    "a number too large": raw(epoch=2**64),
    "a number of 1,000 digits": raw()[:-2] + b',"x":' + b"9" * 1_000 + b"}\n",
    "a fraction": raw(epoch=1.5),
    "infinity": raw()[:-2] + b',"epoch":1e999}\n',
    "an upper-case hash": raw(row_hash="0x" + "AB" * 32),
    "full-width digits": raw(root="0x" + "\uff11" * 64),
    "bidi in a name": raw(mandate="m_\u202eabc"),
    "null": raw(mandate=None),
    "a signature that is a list": raw(signature=[]),
}


@each("crafted", CRAFTED.values(), ids=CRAFTED)
def test_a_line_that_is_no_cosignature__hides_none_beside_it(
    tmp_path: Path, crafted: bytes
) -> None:
    if len(crafted) > MOST_LINE_BYTES:
        crafted = crafted[-MOST_LINE_BYTES:]
    done = Checked(tmp_path, crafted, line(replace(HEAD, row_hash=HASH)))
    assert (done.names, done.error) == (["witness.differs"], "1 lines are no cosignatures")


@each("more", [0, 1])
def test_a_line__has_at_most_so_many_bytes(tmp_path: Path, more: int) -> None:
    padded = b" " * (MOST_LINE_BYTES + more - 1) + b"\n"
    error = Checked(tmp_path, padded).error
    assert error == ("a file holds more, or longer lines, than a witness writes" if more else
                     "1 lines are no cosignatures")  # fmt: skip


@each("more", [0, 1])
def test_a_file__has_at_most_so_many_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """One of exactly so many was refused."""
    monkeypatch.setattr(witness_check, "MOST_LINES", 2)
    done = Checked(tmp_path, *[line()] * (2 + more))
    assert bool(done.error) is bool(more)


@each("bad", [b"x" * (MOST_LINE_BYTES + 1), None], ids=["long", "no file"])
def test_a_file_that_is_no_witnesss__hides_nothing_that_another_one_says(
    tmp_path: Path, bad: bytes | None
) -> None:
    """The files after it were not read."""
    first, second, report = tmp_path / "first", tmp_path / "second", Report()
    first = Path("/proc/self/mem") if bad is None else first
    if bad is not None:
        first.write_bytes(bad)
    second.write_bytes(line(replace(HEAD, row_hash=HASH)))
    trusted = TrustedWitnesses([first, second], frozenset({SIGNER.address}))
    with pytest.raises(UncheckedError, match="a file"):
        check_witnesses(RecordFile(first=FIRST, rows=list(ROWS)), trusted, ANCHOR, None, report)
    assert [one.name for one in report.findings] == ["witness.differs"]
