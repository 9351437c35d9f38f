"""Heads that were written down, against a record."""

import pytest

from api.client.heads import SeenHead
from api.client.verify.findings import Report
from api.client.verify.heads_check import check_heads
from api.client.verify.reading import RecordFile
from core.mandate.rules.record import genesis_hash
from core.mandate.rules.rows import RowKind
from tests.unit.core.mandate.rules.ledgers import SampleLedger

GENESIS = genesis_hash("m_abcdefghij")
OTHER = "0x" + "22" * 32


def checked(*heads: SeenHead) -> Report:
    ledger = SampleLedger()
    rows = list(ledger.rows)
    record = RecordFile(first={"mandate_id": "m_abcdefghij", "genesis_hash": GENESIS}, rows=rows)
    report = Report()
    check_heads(record, heads, report)
    return report


def test_the_head_of_a_record_without_rows__is_what_its_chain_begins_with() -> None:
    report = checked(SeenHead("", 0, GENESIS))
    assert (report.findings, report.unchecked) == ([], [])
    assert [one.name for one in checked(SeenHead("", 0, OTHER)).findings] == ["head.kept"]


@pytest.mark.parametrize("seen", [0, 1])
def test_heads_of_other_mandates_alone__check_nothing(seen: int) -> None:
    """They were left out without a word, and the record was sound."""
    heads = [SeenHead("m_others", 1, OTHER)] * seen
    assert bool(checked(*heads).unchecked) == (seen > 0)
    assert checked(*heads, SeenHead("m_abcdefghij", 0, GENESIS)).unchecked == []


# Against rows


LEDGER = SampleLedger()
LEDGER.sign()
LEDGER.report(RowKind.BUY, "30")
LAST = LEDGER.rows[-1]


def against_rows(*heads: SeenHead) -> Report:
    record = RecordFile(first={"mandate_id": "m_abcdefghij"}, rows=list(LEDGER.rows))
    report = Report()
    check_heads(record, heads, report)
    return report


@pytest.mark.parametrize("mandate", ["", "m_abcdefghij"])
def test_a_head_that_the_record_has__is_nothing_to_say(mandate: str) -> None:
    report = against_rows(SeenHead(mandate, LAST.seq, LAST.row_hash))
    assert (report.findings, report.unchecked) == ([], [])


@pytest.mark.parametrize("mandate", ["", "m_abcdefghij"])
def test_a_head_that_the_record_has_otherwise__is_a_rewritten_past(mandate: str) -> None:
    report = against_rows(SeenHead(mandate, LAST.seq, OTHER))
    assert [(one.name, one.seq) for one in report.findings] == [("head.kept", LAST.seq)]
    assert report.unchecked == []


def test_a_head_after_the_records_end__leaves_it_unchecked() -> None:
    report = against_rows(SeenHead("", LAST.seq + 1, OTHER))
    assert (report.findings, len(report.unchecked)) == ([], 1)
    assert "ends before it" in report.unchecked[0]


def test_a_head_of_another_mandate__is_no_word_about_this_one() -> None:
    own = SeenHead("", LAST.seq, LAST.row_hash)
    report = against_rows(SeenHead("m_others", LAST.seq, OTHER), own)
    assert (report.findings, report.unchecked) == ([], [])


def test_a_head_that_differs__hides_none_after_it() -> None:
    heads = [SeenHead("", seq, OTHER) for seq in (LAST.seq, 1, LAST.seq + 1)]
    report = against_rows(*heads)
    assert [one.seq for one in report.findings] == [LAST.seq, 1]
    assert len(report.unchecked) == 1
