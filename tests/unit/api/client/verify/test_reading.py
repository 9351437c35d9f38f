"""The file by itself: form, order, hash chain and head, without a node."""

import json
from typing import Any

import pytest

from api.client.verify.findings import Report, Verdict
from api.client.verify.reading import read_record
from core.canonical import canonical_json
from core.mandate.rules.record import genesis_hash, row_hash
from tests.each import each
from tests.unit.core.mandate.rules.test_record_file import FIRST

ID = "m_abcdefghij"


def body(seq: int) -> dict[str, Any]:
    empty = dict.fromkeys(
        (
            "amount_usdc",
            "block_hash",
            "block_number",
            "chain_id",
            "log_index",
            "reverses_seq",
            "tx_hash",
        )
    )
    at = "2026-02-02T09:00:00.000000Z"
    said = {
        "kind": "note",
        "reported_by": "agent",
        "base_key": f"report:{seq}",
        "incarnation": 1,
        "cash_delta_usdc": "0.000000",
    }
    return empty | said | {"seq": seq, "payload": {}, "occurred_at": at, "created_at": at}


def record(count: int) -> list[bytes]:
    first = FIRST | {"mandate_id": ID, "genesis_hash": genesis_hash(ID)}
    lines, before = [canonical_json(first)], genesis_hash(ID)
    for seq in range(1, count + 1):
        hashed = row_hash(before, canonical_json(body(seq)))
        lines.append(canonical_json({"body": body(seq), "prev_hash": before, "row_hash": hashed}))
        before = hashed
    lines.append(
        canonical_json({"head": {"seq": count, "row_hash": before, "totals": {}, "as_of": None}})
    )
    return [line + b"\n" for line in lines]


def found(lines: list[bytes]) -> list[tuple[str, int | None]]:
    report = Report()
    read_record(lines, report)
    return [(one.name, one.seq) for one in report.findings]


@each("count", [0, 1, 3])
def test_a_whole_record__has_no_differences(count: int) -> None:
    report = Report()
    assert [row.seq for row in read_record(record(count), report).rows] == list(range(1, count + 1))
    assert (report.findings, report.verdict) == ([], Verdict.SOUND)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "format: the file is empty"),
        (
            [b'{"detail":"The session has ended.","service":{}}\n'],
            "format: the file is a refusal: The session has ended.",
        ),
        ([*(canonical_json({"version": 3, "format": "mandate-record"}) + b"\n",)], "version 3"),
    ],
    ids=["empty", "refusal", "another version"],
)
def test_what_is_no_record__contradicts_nothing(lines: list[bytes], said: str) -> None:
    report = Report()
    assert read_record(lines, report).first is None
    assert (report.findings, len(report.unchecked), said in report.unchecked[0]) == ([], 1, True)


def test_a_row_left_out__shows_at_the_next_and_at_the_head() -> None:
    lines = record(3)
    assert found(lines[:2] + lines[3:]) == [
        ("chain.seq", 2),
        ("chain.prev_hash", 2),
        ("head.seq", None),
    ]


def test_a_last_line_without_its_end__is_not_as_it_was_written() -> None:
    lines = record(1)
    assert found([*lines[:-1], lines[-1].rstrip()]) == [("format.canonical", 2)]


def test_a_line_after_the_head__is_told() -> None:
    lines = record(1)
    assert found([*lines, lines[1]]) == [("format.head_missing", None)]


@each("number", ["0.5", "1e2", "9007199254740992"])
def test_a_number_that_no_record_holds__is_told(number: str) -> None:
    lines = record(1)
    lines[1] = lines[1].replace(b'"payload":{}', b'"payload":{"n":' + number.encode() + b"}")
    assert ("format.number", 1) in found(lines)


def test_a_hash_chain_that_was_computed_anew__is_no_difference_of_the_file() -> None:
    lines = record(2)
    changed = json.loads(lines[2])
    changed["body"]["payload"] = {"why": "better"}
    changed["row_hash"] = row_hash(changed["prev_hash"], canonical_json(changed["body"]))
    head = canonical_json(
        {"head": {"seq": 2, "row_hash": changed["row_hash"], "totals": {}, "as_of": None}}
    )
    assert found([*lines[:2], canonical_json(changed) + b"\n", head + b"\n"]) == []


@each(
    ("key", "value"),
    [("signature", 5), ("vault", ["x"]), ("terms", "x"), ("chain_id", True)],
)
def test_a_first_line_of_another_form__is_told(key: str, value: Any) -> None:
    lines = record(1)
    lines[0] = canonical_json(json.loads(lines[0]) | {key: value}) + b"\n"
    assert found(lines) == [("format.first", None)]


@each("as_of", [{}, 5, {"block_number": -1, "block_hash": "0x", "reverts_block_number": 1}])
def test_a_head_that_does_not_say_how_far_it_goes__is_no_head(as_of: Any) -> None:
    lines = record(1)
    head = json.loads(lines[2])
    head["head"]["as_of"] = as_of
    assert ("format.head_missing", None) in found([*lines[:2], canonical_json(head) + b"\n"])
