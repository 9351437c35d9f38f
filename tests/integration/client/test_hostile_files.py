"""Files from strangers: what they cost is bounded by what they hold, and what was found before a
check breaks is kept.
"""

import json
import time
from pathlib import Path

import pytest

from api.client.verify import main, verification
from api.client.verify.findings import MOST_FINDINGS, Report, Verdict
from api.client.verify.reading import MOST_LINE_BYTES, lines_of
from core.canonical import canonical_json
from tests.integration.client.conftest import Exported, judged, trusting
from tests.integration.client.forging import Forgery


@pytest.mark.slow
def test_a_line_of_more_than_a_megabyte__ends_the_reading(
    exported: Exported, tmp_path: Path
) -> None:
    path = tmp_path / "long"
    path.write_bytes(exported.other[0] + b"x" * (3 * MOST_LINE_BYTES) + b"\n" + exported.other[1])
    with path.open("rb") as file:
        report = judged(exported.deployed, list(lines_of(file)))
    assert "format.line" in {one.name for one in report.findings}
    assert max(len(one.text) for one in report.findings) < 3_000


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 200_000 + b"]" * 200_000 + b"\n",
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"\n",
        b'{"body":' + b"9" * 900_000 + b"}\n",
        b'{"body":{},"prev_hash":[],"row_hash":{}}\n',
        b"\xff\xfe\n",
    ],
    ids=["deep list", "deep object", "huge integer", "other types", "no text"],
)
def test_a_crafted_line__is_a_difference_and_hides_none(exported: Exported, line: bytes) -> None:
    lines = [*exported.other[:3], line, *exported.other[3:]]
    began = time.process_time()
    report = judged(exported.deployed, lines)
    assert time.process_time() - began < 10
    assert report.verdict is Verdict.DIFFERENT
    assert {one.name for one in report.findings} & {
        "format.json",
        "format.number",
        "format.row",
        "format.line",
    }


def test_many_differences__are_counted_and_not_kept(exported: Exported) -> None:
    lines = [exported.other[0], *[b"{}\n"] * 5_000, *exported.other[1:]]
    report = judged(exported.deployed, lines)
    assert len(report.findings) == MOST_FINDINGS
    assert report.more >= 4_000


@pytest.mark.slow
def test_many_reversals_of_one_fact__cost_what_the_file_holds(exported: Exported) -> None:
    """4.4 MB took 28 s: each reversal looked through all rows."""
    forgery = Forgery.of(exported.other)
    fact = forgery.body("move")
    for count in range(4_000):
        taken_back = len(forgery.rows) if count else fact["seq"]
        payload = {"reversal": True, "reverses_seq": taken_back, "cause": "reorg"}
        key = f"reversal:{fact['base_key']}"
        forgery.insert(fact | {"base_key": key, "reverses_seq": taken_back, "payload": payload})
        forgery.insert(dict(fact))
    forgery.seal()
    began = time.process_time()
    assert judged(exported.deployed, forgery.lines()).verdict is Verdict.DIFFERENT
    assert time.process_time() - began < 20


def test_a_check_that_breaks__keeps_what_was_found(
    exported: Exported, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forgery = Forgery.of(exported.other)
    forgery.first["mandate_id"] = "m_another"
    path, report = tmp_path / "record", Report()
    path.write_bytes(b"".join(forgery.lines()))

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(verification, "expected_rows", broken)
    with path.open("rb") as file:
        main._verify(
            file,
            [exported.deployed.rpc],
            trusting(exported.deployed),
            lambda part, done, of: None,
            report,
        )
    assert report.verdict is Verdict.DIFFERENT
    assert any("ZeroDivisionError" in text for text in report.unchecked)


def test_a_record_that_ends_before_a_later_log__is_never_sound(exported: Exported) -> None:
    """Losses were cut off by an old last block."""
    forgery = Forgery.of(exported.other)
    del forgery.rows[3:]
    old = forgery.bodies[-1]
    forgery.head["as_of"] = {
        "block_number": old["block_number"],
        "block_hash": old["block_hash"],
        "reverts_block_number": old["block_number"],
    }
    forgery.seal()
    report = judged(exported.deployed, forgery.lines())
    assert report.findings == []
    assert any("export again" in text for text in report.unchecked)
    assert report.verdict is Verdict.UNCHECKED


def test_a_record_that_is_known_to_be_old__is_judged_as_of_its_block(exported: Exported) -> None:
    as_of = json.loads(exported.other[-1])["head"]["as_of"]["block_number"]
    report = judged(exported.deployed, exported.other, as_of=as_of)
    assert report.verdict is Verdict.CHAIN_SOUND


def test_a_record_without_its_last_block__is_never_sound(exported: Exported) -> None:
    head = json.loads(exported.other[-1])
    head["head"]["as_of"] = None
    report = judged(exported.deployed, [*exported.other[:-1], canonical_json(head) + b"\n"])
    assert "head: the record names no block that it is complete up to" in report.unchecked


def test_a_row_at_block_zero__asks_no_more_than_is_allowed(exported: Exported) -> None:
    report = judged(exported.deployed, exported.other, most_calls=20)
    assert report.verdict is Verdict.UNCHECKED
    assert any("--max-calls" in text for text in report.unchecked)
