"""Anchors on a real chain: exported, checked, and forged."""

import json
from collections.abc import Iterator, Sequence

import pytest

from api.client.verify.findings import Report
from api.client.verify.verification import Options, verify
from core.chain.rpc import Rpc
from core.db.embedded import EmbeddedPostgres
from tests.integration.client.anchoring import AnchoredRecord, anchored_record


@pytest.fixture(scope="module")
def anchored(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with anchored_record(postgres, template) as record:
        yield record


def check(record: AnchoredRecord, lines: Sequence[bytes], anchor: str | None = None) -> Report:
    """With the contract that the record is of, or another one."""
    options = Options(
        factory=record.chain.contracts["factory"],
        x402_adapter=record.chain.contracts["x402_adapter"],
        anchor=anchor or record.contract,
    )
    rpc = Rpc([record.chain.anvil.url])
    try:
        return verify(iter(lines), [rpc], options, lambda part, done, of: None)
    finally:
        rpc.close()


def names(report: Report) -> set[str]:
    return {one.name for one in report.findings}


def test_record__has_one_anchor_an_epoch_from_the_one_before_its_rows(
    anchored: AnchoredRecord,
) -> None:
    lines = [one["anchor"] for one in map(json.loads, anchored.lines) if "anchor" in one]
    assert [line["epoch"] - anchored.first for line in lines] == [-1, 0, 1, 2]
    seqs = [line["seq"] for line in lines]
    assert seqs == [0, seqs[1], seqs[1] + 1, seqs[1] + 1]


def test_record__as_it_was_exported__is_sound(anchored: AnchoredRecord) -> None:
    report = check(anchored, anchored.lines)
    assert (report.findings, report.unchecked) == ([], [])
    assert report.figures["anchors"] == 4
