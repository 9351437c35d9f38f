"""The ledger of warnings as it is served, and what verify-warnings says of one that was tampered with."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from api.areas.board import service
from api.client.verify.ledger_check import KeptHead, LedgerDiffersError
from api.client.verify.ledger_main import warnings as app
from api.client.verify.warnings_check import check_warnings
from core.db.engine import Database
from core.market.ledger import writer
from tests.each import each
from tests.ledger_lines import Change, changed, rehashed
from tests.market_rows import MarketIds

PATH = "/board/warnings/ledger"


@pytest.fixture
def served(client: TestClient, database: Database, market: MarketIds) -> bytes:
    """With a warning that is over."""
    with database.write() as session:
        writer.write(session, [], writer.standing(session)[:1])
    answer = client.get(PATH)
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    return answer.content


def differs(content: bytes, kept: list[KeptHead] | None = None) -> str:
    with pytest.raises(LedgerDiffersError) as error:
        check_warnings(content.splitlines(keepends=True), kept or [])
    return error.value.name


def test_what_is_served__is_sound(served: bytes) -> None:
    actions = [json.loads(line)["body"]["action"] for line in served.splitlines()[1:-1]]
    found, figures = check_warnings(served.splitlines(keepends=True), [])
    assert (found.rows, found.is_whole) == (len(actions), True)
    assert figures["open"] == actions.count("issued") - actions.count("cleared")


def test_answers__are_read_on_and_put_together(
    client: TestClient, served: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LEDGER_ROWS", 2)
    content, after, answers = b"", 0, 0
    while after is not None:
        answer = client.get(PATH, params={"after": after}).content
        content, answers = content + answer, answers + 1
        after = json.loads(answer.splitlines()[-1])["next_after"]
    found, _ = check_warnings(content.splitlines(keepends=True), [])
    assert answers > 1
    assert (found.is_whole, found.rows) == (True, len(served.splitlines()) - 2)
    first = client.get(PATH).content
    assert not check_warnings(first.splitlines(keepends=True), [])[0].is_whole
    assert differs(first + first) == "warnings.gap"


@each(
    ("row", "change", "name"),
    [
        (1, lambda line: line["body"].update(severity="warning!"), "warnings.chain"),
        (1, lambda line: line["body"].update(at="2020-01-01T00:00:00.000000Z"), "warnings.chain"),
        (1, lambda line: line.update(row_hash="00" * 32), "warnings.chain"),
        (1, lambda line: line["body"].update(seq=7), "warnings.gap"),
        (1, lambda line: line["body"].pop("evidence"), "warnings.form"),
        (1, lambda line: line["body"].update(is_imported=0), "warnings.form"),
        (0, lambda line: line.update(genesis_hash="00" * 32), "warnings.form"),
        (-1, lambda line: line["head"].update(row_hash="00" * 32), "warnings.head"),
        (-1, lambda line: line["head"].update(seq=1), "warnings.head"),
    ],
)
def test_a_line_that_was_changed__is_named(
    served: bytes, row: int, change: Change, name: str
) -> None:
    assert differs(changed(served, row, change)) == name


def test_a_row_that_was_left_out__is_named(served: bytes) -> None:
    lines = served.splitlines(keepends=True)
    assert differs(b"".join(lines[:1] + lines[2:])) == "warnings.gap"


@pytest.mark.parametrize("content", [b"", b"{}\n", b"not json\n", b'{"b":1,"a":2}\n', b"[1]\n"])
def test_what_is_no_ledger__is_not_sound(content: bytes) -> None:
    if content:
        assert differs(content) == "warnings.form"
    else:
        assert not check_warnings([], [])[0].is_whole


@each(
    ("row", "change", "name"),
    [
        (2, lambda line: line["body"].update(at="2020-01-01T00:00:00.000000Z"), "warnings.time"),
        (1, lambda line: line["body"].update(is_imported=False), "warnings.time"),
        (-2, lambda line: line["body"].update(clears_seq=99), "warnings.state"),
        (-2, lambda line: line["body"].update(action="issued"), "warnings.state"),
        (-2, lambda line: line["body"].update(action="reopened"), "warnings.state"),
    ],
)
def test_a_past_with_new_hashes__must_still_make_sense(
    served: bytes, row: int, change: Change, name: str
) -> None:
    assert differs(rehashed(changed(served, row, change))) == name


def test_a_past_with_new_hashes__is_told_by_a_head_that_was_kept(served: bytes) -> None:
    lines = [json.loads(line) for line in served.splitlines()]
    kept = [(1, bytes.fromhex(lines[1]["row_hash"])), (2, bytes.fromhex(lines[2]["row_hash"]))]
    forged = rehashed(changed(served, 1, lambda line: line["body"].update(token="OTHER")))

    assert check_warnings(forged.splitlines(keepends=True), [])[0].is_whole
    assert differs(forged, kept) == "warnings.rewritten"
    assert check_warnings(served.splitlines(keepends=True), kept)[0].is_whole
    last = lines[-1]["head"]["seq"]
    assert differs(served, [(last + 1, b"\0" * 32)]) == "warnings.shorter"


def test_the_command__says_it_with_its_exit_code(served: bytes, tmp_path: Path) -> None:
    file = tmp_path / "warnings.ndjson"
    file.write_bytes(served)
    sound = CliRunner().invoke(app, [str(file), "--json"])
    assert (sound.exit_code, json.loads(sound.stdout)["verdict"]) == (0, "sound")
    head = json.loads(sound.stdout)["head"]
    assert CliRunner().invoke(app, [str(file), "--head", head]).exit_code == 0
    assert CliRunner().invoke(app, [str(file), "--head", "1:" + "ab" * 32]).exit_code == 1
    assert CliRunner().invoke(app, [str(file), "--head", "x"]).exit_code == 2
    file.write_bytes(served.splitlines(keepends=True)[0])
    assert CliRunner().invoke(app, [str(file)]).exit_code == 2
