"""Receipts against a real record: an honest one is sound with them, every kind of tampering with
rows that were taken is found by its name, and the table of docs/verify.md is what came out.

`SNAPSHOT=write` writes the table again.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pytest

from api.client.verify.findings import Report, Verdict
from api.client.verify.receipts_check import (
    MOST_RECEIPT_BYTES,
    MOST_RECEIPTS,
    MOST_SAID,
    KeptReceipt,
    kept_receipts,
)
from api.client.verify.verification import verify
from core.canonical import canonical_json
from core.chain.signatures import HALF_ORDER
from core.chain.signer import LocalKeySigner
from core.db.embedded import EmbeddedPostgres
from core.mandate.rules.receipts import RecordReceipt
from tests.integration.chain_fixtures import USDC
from tests.integration.client.anchoring import AnchoredRecord, anchored_record
from tests.integration.client.conftest import Exported, export, following, settle_reverts, trusting
from tests.integration.client.forging import Forgery
from tests.integration.client.signing_rows import report_unsigned
from tests.integration.client.tampering_of_receipts import (
    NOT_ANCHORED,
    RECEIPT_KINDS,
    SERVICE,
    ReceiptKind,
    kept,
    receipts_of,
    signed,
)

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
BEGIN, END = "<!-- tampering of receipts: begin -->\n", "<!-- tampering of receipts: end -->\n"
WITHIN_S = 60
LATER_S = 2 * 3_600
ORDER = 2 * HALF_ORDER + 1


@dataclass(frozen=True)
class Taken:
    """`early`: exported at once. `exported.lines`: two hours later, with the same rows."""

    exported: Exported
    early: tuple[bytes, ...]

    @property
    def receipts(self) -> list[RecordReceipt]:
        return receipts_of(self.early, self.exported.deployed.contracts["factory"])


@pytest.fixture(scope="module")
def taken(postgres: EmbeddedPostgres, template: str) -> Iterator[Taken]:
    """Funded, bought, reported three times."""
    with following(postgres, template) as follower:
        chain, mandate = follower.deployed, follower.issue()
        vault = chain.create_vault(mandate.terms)
        chain.buy(vault, 30 * USDC)
        follower.catch_up()
        for why in ("Bought at 1.02.", "It holds.", "Selling on Friday."):
            report_unsigned(follower, mandate, why)
        settle_reverts(follower.chain)
        early = export(follower, mandate)
        chain.rpc.call("evm_increaseTime", [LATER_S])
        chain.anvil.mine()
        follower.catch_up()
        settle_reverts(follower.chain)
        lines = export(follower, mandate)
        yield Taken(Exported(chain, follower, mandate, vault, lines, (), vault), early)


@pytest.fixture(scope="module")
def anchored(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with anchored_record(postgres, template) as record:
        yield record


def checked(
    taken: Taken,
    lines: Sequence[bytes],
    receipts: Sequence[KeptReceipt],
    signers: tuple[str, ...] = (SERVICE.address,),
) -> Report:
    options = trusting(taken.exported.deployed, receipts=receipts, receipt_signers=signers)
    return verify(lines, [taken.exported.deployed.rpc], options, lambda part, done, of: None)


def forged(lines: Sequence[bytes], receipts: list[RecordReceipt], kind: ReceiptKind) -> list[bytes]:
    forgery = Forgery.of(lines)
    kind.tamper(forgery, receipts)
    forgery.seal()
    return forgery.lines()


def names_found(taken: Taken, kind: str) -> list[str]:
    receipts = taken.receipts
    lines = forged(taken.exported.lines, receipts, RECEIPT_KINDS[kind])
    report = checked(taken, lines, kept(receipts))
    assert report.verdict is Verdict.DIFFERENT
    return sorted({finding.name for finding in report.findings})


def anchored_names(anchored: AnchoredRecord) -> list[str]:
    factory = anchored.chain.contracts["factory"]
    receipts = receipts_of(anchored.lines, factory)
    lines = forged(anchored.lines, receipts, NOT_ANCHORED)
    options = trusting(
        anchored.chain,
        anchor=anchored.contract,
        receipts=kept(receipts),
        receipt_signers=(SERVICE.address,),
    )
    report = verify(lines, [anchored.chain.rpc], options, lambda part, done, of: None)
    return sorted({finding.name for finding in report.findings})


# Honest records


@pytest.mark.parametrize("is_early", [True, False])
def test_an_honest_record__with_all_its_receipts__has_no_finding(
    taken: Taken, is_early: bool
) -> None:
    lines = taken.early if is_early else taken.exported.lines
    report = checked(taken, lines, kept(taken.receipts))
    assert (report.findings, report.unchecked) == ([], [])
    assert report.figures["receipts"] == 3


def test_a_receipt_that_was_kept_twice__counts_once(taken: Taken) -> None:
    report = checked(taken, taken.early, kept(taken.receipts * 2))
    assert (report.findings, report.figures["receipts"]) == ([], 3)


def test_a_rotated_key__both_keys_count(taken: Taken) -> None:
    old = LocalKeySigner("0x" + "66" * 32)
    first, *rest = taken.receipts
    report = checked(
        taken, taken.early, kept([signed(first, old), *rest]), (SERVICE.address, old.address)
    )
    assert (report.findings, report.unchecked, report.figures["receipts"]) == ([], [], 3)


# Tampering


@pytest.mark.parametrize("kind", RECEIPT_KINDS)
def test_tampering_with_rows_that_were_taken__is_found_by_its_name(taken: Taken, kind: str) -> None:
    assert RECEIPT_KINDS[kind].name in names_found(taken, kind)


@pytest.mark.parametrize("kind", ["taken row altered", "taken row dropped", "taken row cut off"])
def test_without_receipts__the_same_record_has_no_finding(taken: Taken, kind: str) -> None:
    lines = forged(taken.exported.lines, [], RECEIPT_KINDS[kind])
    assert checked(taken, lines, []).findings == []


@pytest.mark.slow
def test_a_row_that_its_hour_was_posted_without__is_found(anchored: AnchoredRecord) -> None:
    assert NOT_ANCHORED.name in anchored_names(anchored)


def test_a_record_that_may_be_older_than_the_receipt__is_not_checked(taken: Taken) -> None:
    lines = forged(taken.early, [], RECEIPT_KINDS["taken row cut off"])
    report = checked(taken, lines, kept(taken.receipts))
    assert report.verdict is Verdict.UNCHECKED
    (said,) = report.unchecked
    assert "is later than this record; if you exported it after you got the receipt" in said


def test_the_table_of_receipts__is_what_is_found(taken: Taken, anchored: AnchoredRecord) -> None:
    found = {kind: (one, names_found(taken, kind)) for kind, one in RECEIPT_KINDS.items()}
    found["taken row not anchored"] = (NOT_ANCHORED, anchored_names(anchored))
    rows = [
        f"| {kind} | {one.what} | {_shown(one.name, names)} |\n"
        for kind, (one, names) in found.items()
    ]
    table = "| tampering | the cheat | found as |\n|---|---|---|\n" + "".join(rows)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("SNAPSHOT") == "write":
        PAGE.write_text(before + BEGIN + table + END + after)
        return
    assert shown == table


def _shown(name: str, found: list[str]) -> str:
    others = [f"`{one}`" for one in found if one != name]
    return f"**`{name}`**" + (", " + ", ".join(others) if others else "")


# Receipts that are no evidence


def _raw(receipt: RecordReceipt, **changed: object) -> bytes:
    return json.dumps(receipt.to_json() | changed).encode()


def _malleable(receipt: RecordReceipt) -> bytes:
    raw = bytes.fromhex(receipt.signature[2:])
    twin = ORDER - int.from_bytes(raw[32:64])
    return _raw(
        receipt, signature="0x" + (raw[:32] + twin.to_bytes(32) + bytes([55 - raw[64]])).hex()
    )


def _a_key_twice(receipt: RecordReceipt) -> bytes:
    return _raw(receipt)[:-1] + b',"seq":1}'


Crafted = Callable[[RecordReceipt], bytes]
HOSTILE: dict[str, Crafted] = {
    "no JSON": lambda one: b"{",
    "no text": lambda one: b"\xff\xfe",
    "a list": lambda one: b"[]",
    "deep": lambda one: b"[" * MOST_RECEIPT_BYTES,
    "too long": lambda one: b" " * MOST_RECEIPT_BYTES + _raw(one),
    "a key twice": _a_key_twice,
    "a key more": lambda one: _raw(one, note="x"),
    "a key less": lambda one: canonical_json(
        {name: value for name, value in one.to_json().items() if name != "epoch"}
    ),
    "a fraction": lambda one: _raw(one, seq=1.0),
    "infinity": lambda one: _raw(one, seq=float("inf")),
    "true for 1": lambda one: _raw(one, seq=True),
    "below zero": lambda one: _raw(one, epoch=-1),
    "row 0": lambda one: _raw(one, seq=0),
    "a number too large": lambda one: _raw(one, epoch=2**64),
    "very many digits": lambda one: _raw(one)[:-1] + b',"x":' + b"9" * 1_500 + b"}",
    "a number as text": lambda one: _raw(one, seq=str(one.seq)),
    "full-width digits": lambda one: _raw(one, row_hash="0x" + "\uff11" * 64),
    "control characters": lambda one: _raw(one, mandate_id="m_\x1b[31m"),
    "an address without checksum": lambda one: _raw(one, signer=one.signer.lower()),
    "an upper-case hash": lambda one: _raw(one, row_hash="0x" + one.row_hash[2:].upper()),
    "a malleable signature": _malleable,
    "no signature": lambda one: _raw(one, signature="0x" + "00" * 65),
    "a signature of other words": lambda one: _raw(one, seq=one.seq + 1),
    "another chain": lambda one: _raw(signed(replace(one, chain_id=1))),
    "another factory": lambda one: _raw(signed(replace(one, factory=SERVICE.address))),
    "a signer of its own": lambda one: _raw(signed(one, LocalKeySigner("0x" + "55" * 32))),
}


@pytest.mark.parametrize("crafted", HOSTILE)
def test_a_receipt_that_is_no_evidence__leaves_the_record_unchecked(
    taken: Taken, crafted: str
) -> None:
    line = HOSTILE[crafted](taken.receipts[0])
    report = checked(taken, taken.early, list(kept_receipts("kept", BytesIO(line + b"\n"))))
    assert (report.verdict, report.findings) == (Verdict.UNCHECKED, [])
    (said,) = report.unchecked
    assert said.startswith("receipts: kept, line 1: ")
    assert report.figures["receipts"] == 0


def test_receipts_of_other_mandates__are_counted(taken: Taken) -> None:
    """A client keeps all in one file. Before, the record of each mandate was unchecked."""
    other = _raw(signed(replace(taken.receipts[0], mandate_id="m_othermand2")))
    report = checked(taken, taken.early, [KeptReceipt("other", other), *kept(taken.receipts[:1])])
    assert (report.findings, report.unchecked, report.figures["receipts"]) == ([], [], 1)
    assert report.remarks[-1] == "of the receipts 1 are of other mandates"
    report = checked(taken, taken.early, [KeptReceipt("other", other)])
    assert report.unchecked == ["receipts: none is of this mandate; nothing was compared"]


def test_a_bad_receipt__masks_no_finding_of_another(taken: Taken) -> None:
    receipts = taken.receipts
    lines = forged(taken.exported.lines, receipts, RECEIPT_KINDS["taken row cut off"])
    report = checked(taken, lines, [KeptReceipt("bad", b"{"), *kept(receipts)])
    assert [one.name for one in report.findings] == ["receipt.omitted"]


def test_many_bad_receipts__are_counted_and_not_listed(taken: Taken) -> None:
    report = checked(taken, taken.early, [KeptReceipt("bad", b"{")] * (MOST_RECEIPTS + 5))
    assert len(report.unchecked) == MOST_SAID + 1
    assert report.unchecked[-1] == f"receipts: {MOST_RECEIPTS + 1 - MOST_SAID} more like these"


def test_without_a_signer__receipts_are_not_checked(taken: Taken) -> None:
    report = checked(taken, taken.early, kept(taken.receipts), ())
    assert report.unchecked == ["receipts: name whose receipts you trust (--receipt-signer)"]


# The command


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "code"), [(None, 0), ("taken row cut off", 1)])
def test_the_command__reads_files_of_receipts(
    taken: Taken, tmp_path: Path, kind: str | None, code: int
) -> None:
    receipts, lines = taken.receipts, list(taken.exported.lines)
    if kind is not None:
        lines = forged(lines, receipts, RECEIPT_KINDS[kind])
    record, one, more = (tmp_path / name for name in ("record", "one", "more"))
    record.write_bytes(b"".join(lines))
    one.write_bytes(kept(receipts)[0].line)
    more.write_bytes(b"\n".join(line.line for line in kept(receipts)[1:]) + b"\n")
    chain = taken.exported.deployed
    arguments = [str(record), "--rpc", chain.anvil.url, "--factory", chain.contracts["factory"]]
    options = ["--receipt", str(one), "--receipt", str(more), "--receipt-signer", SERVICE.address]
    command = [sys.executable, "-m", "api.client.verify.main", *arguments, *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["figures"]["receipts"] == 3
