"""Heads that were written down, against a record."""

import pytest

from api.client.heads import SeenHead
from api.client.verify.findings import Report
from api.client.verify.heads_check import check_heads
from api.client.verify.reading import RecordFile
from core.mandate.rules.record import genesis_hash
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
