"""What `make preflight` makes of a world that lies: a sentence in plain letters each, and its other parts."""

import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from core.db import revisions
from core.db.engine import Database
from core.findings import PartFinding, wrong
from scripts import _preflight as preflight
from scripts import _preflight_database
from scripts._deployments import load
from scripts._preflight_database import KEEPS, durability_line
from scripts.preflight import app, findings_of
from tests.each import each
from tests.integration.test_preflight import Place, faults, found, place

__all__ = ["place"]

HOSTILE = "factory\n\x1b[2J\x1b]0;owned\x07 ok     all is right\u202e\r\x9b31m"


def is_plain(line: str) -> bool:
    return line.isprintable()


def test_what_others_say__is_one_printable_line_of_bounded_length() -> None:
    line = str(PartFinding(False, HOSTILE, HOSTILE * 1_000))
    assert is_plain(line)
    assert line.startswith("WRONG  factory")
    assert len(line) < 2_000


@each(
    "record",
    [
        "[]", "{}", "null", "nonsense", "[" * 100_000, '{"chain_id": 84532}',
        '{"chain_id": 84532, "block": 1, "commit": "", "contracts": [{"name": "factory", "address": "0x00"}]}',
        '{"chain_id": 84532, "block": 1, "commit": "", "contracts": 7}',
        '{"chain_id": 8453, "block": 1, "commit": "", "contracts": []}',
    ],
)  # fmt: skip
def test_a_record_that_is_none__is_one_sentence(
    place: Place, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.record.write_text(record)
    monkeypatch.setenv("DATABASE_URL", place.database_url)
    monkeypatch.setenv("RPC_URLS", place.deployed.anvil.url)
    monkeypatch.setenv("DEPLOYMENT_FILE", str(place.record))
    done = CliRunner().invoke(app, ["--network", "sepolia"])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    assert "DEPLOYMENT_FILE" in done.output or "CHAIN_ID" in done.output


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ("args", 7), ("args", None), ("creation_hash", 7), ("contract", ["MandateVault"]), ("block", "1"),
        ("more", HOSTILE), ("tx", {}), ("name", HOSTILE), ("address", [HOSTILE]),
    ],
)  # fmt: skip
def test_a_record_edited_by_hand__is_refused_in_a_sentence(
    tmp_path: Path, at: str, value: Any
) -> None:
    one = {
        "name": "usdc",
        "contract": "FiatToken",
        "address": "0x",
        "block": 1,
        "tx": None,
        "args": [],
        "creation_hash": "",
    }
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"chain_id": 1, "commit": "", "contracts": [one | {at: value}]}))
    with pytest.raises(SystemExit, match="is not a deployment record") as refused:
        load(path, 1)
    assert is_plain(str(refused.value))


@pytest.mark.parametrize("offices", [7, [], "x"])
def test_offices_that_are_none__are_refused(tmp_path: Path, offices: Any) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"chain_id": 1, "commit": "", "contracts": [], "offices": offices}))
    with pytest.raises(SystemExit, match="offices are names with accounts"):
        load(path, 1)


def test_a_database_with_two_revisions__is_half_migrated(place: Place, database: Database) -> None:
    with database.write() as session:
        session.execute(text("insert into alembic_version values ('0003')"))
    said = faults(preflight.check_database, place)
    assert f"migrations: it is at 0003 and {revisions.newest()} at once" in said


@pytest.mark.slow
def test_a_role_that_may_not_read__is_told_what_it_lacks(place: Place, database: Database) -> None:
    with database.write() as session:
        session.execute(text("create role preflight_weak login"))
    weak = place.database_url.replace("://mandate", "://preflight_weak")
    try:
        said = faults(preflight.check_database, place, database_url=weak)
        assert said.startswith("migrations: its role may not read alembic_version: name the role")
        assert "made after them, run `mandate-wallet migrate upgrade` as their owner" in said
        with database.write() as session:
            session.execute(text("grant select on all tables in schema public to preflight_weak"))
        said = faults(preflight.check_database, place, database_url=weak)
        assert "role: preflight_weak may not read or add to" in said
    finally:
        with database.write() as session:
            session.execute(text("drop owned by preflight_weak"))
            session.execute(text("drop role preflight_weak"))


@pytest.fixture
def pooled_url(place: Place, database: Database) -> Iterator[str]:
    """Of a role whose connections are as a pooler would make them."""
    statements = (
        "create role preflight_pooled login",
        "alter role preflight_pooled set statement_timeout = '30s'",
        "alter role preflight_pooled set idle_in_transaction_session_timeout = '60s'",
        "alter role preflight_pooled set timezone = 'UTC'",
    )
    with database.write() as session:
        for statement in statements:
            session.execute(text(statement))
    yield place.database_url.replace("://mandate", "://preflight_pooled")
    with database.write() as session:
        session.execute(text("drop role preflight_pooled"))


def test_a_pooler_whose_connections_differ__is_told_in_what(
    place: Place, database: Database, pooled_url: str
) -> None:
    said = faults(preflight.check_proxies, place, database_pooled_url=pooled_url)
    assert "pooler: lock_timeout through it is 0, and 10s past it: set it in connect_query" in said
    with database.write() as session:
        session.execute(text("alter role preflight_pooled set lock_timeout = '10s'"))
        session.execute(text("alter role preflight_pooled set synchronous_commit = local"))
    said = faults(preflight.check_proxies, place, database_pooled_url=pooled_url)
    assert "pooler: synchronous_commit through it is local, and off past it" in said
    with database.write() as session:
        session.execute(text("alter role preflight_pooled reset synchronous_commit"))
    assert faults(preflight.check_proxies, place, database_pooled_url=pooled_url) == ""


def test_a_database_that_may_lose_what_it_acknowledged__is_named(
    database: Database, pooled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "fsync is off: acknowledged writes may be lost" in durability_line(database).says
    monkeypatch.setattr(
        _preflight_database, "KEEPS", {"synchronous_commit": KEEPS["synchronous_commit"]}
    )
    for value, is_right in {
        "local": False,
        "remote_write": False,
        "off": False,
        "on": True,
    }.items():
        with database.write() as session:
            session.execute(text(f"alter role preflight_pooled set synchronous_commit = {value}"))
        with closing(Database(pooled_url)) as theirs:
            assert durability_line(theirs).is_right == is_right


def test_what_nobody_expected__is_a_finding(place: Place) -> None:
    def fails(asked: preflight.Preflight) -> Iterator[PartFinding]:
        raise AttributeError("gone")
        yield

    assert found(fails, place) == [wrong("fails", "gone (AttributeError)")]


class Liar(BaseHTTPRequestHandler):
    answer = b""
    slow_s = 0.0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        try:
            for at in range(0, len(self.answer), 1 if self.slow_s else 65_536):
                self.wfile.write(self.answer[at : at + (1 if self.slow_s else 65_536)])
                time.sleep(self.slow_s)
        except OSError:
            pass

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def liar() -> Iterator[tuple[type[Liar], str]]:
    handler = type("OneLiar", (Liar,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


ANSWERS = {
    "html": b"<html>\x1b[2J 502</html>",
    "nothing": b"",
    "null": b"null",
    "list": b"[]",
    "deep": b"[" * 200_000,
    "no result": b'{"jsonrpc": "2.0", "id": 1}',
    "result null": b'{"jsonrpc": "2.0", "id": 1, "result": null}',
    "hostile error": b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "\\u001b[2J\\nok all right\\u202e"}}',
    "object": b'{"jsonrpc": "2.0", "id": 1, "result": {"a": [1]}}',
    "huge number": b'{"jsonrpc": "2.0", "id": 1, "result": "0x' + b"f" * 5_000 + b'"}',
    "large": b'{"jsonrpc": "2.0", "id": 1, "result": "' + b"a" * 200_000_000,
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_node_that_lies__is_a_finding_soon(
    place: Place, liar: tuple[type[Liar], str], what: str
) -> None:
    handler, url = liar
    handler.answer = ANSWERS[what]
    began = time.monotonic()
    for name, check in preflight.CHECKS.items():
        if name in ("nodes", "contracts", "offices", "keeper", "clock"):
            lines = list(findings_of(check, asked := place.asked(rpc_urls=url)))
            asked.close()
            assert lines, name
            assert all(is_plain(str(line)) for line in lines)
            assert name == "clock" or any(not line.is_right for line in lines), lines
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_a_node_that_answers_byte_by_byte__ends_in_time(
    place: Place, liar: tuple[type[Liar], str]
) -> None:
    handler, url = liar
    handler.answer, handler.slow_s = b" " * 1_000, 0.2
    began = time.monotonic()
    assert "no answer" in faults(preflight.check_nodes, place, rpc_urls=url)
    assert time.monotonic() - began < 8


def test_a_keystore_that_never_ends__holds_up_its_own_line_alone(
    place: Place, tmp_path: Path
) -> None:
    os.mkfifo(keystore := tmp_path / "keystore")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(
            place.asked,
            keeper_private_key=None,
            keeper_keystore=keystore,
            keeper_keystore_password_file=keystore,
        )
        try:
            asked = asking.result(5)
        finally:
            os.close(os.open(keystore, os.O_RDWR | os.O_NONBLOCK))  # whoever waits for it goes on
    asked.close()


def test_a_keystore_that_is_a_folder__is_the_keepers_line(place: Place, tmp_path: Path) -> None:
    said = faults(
        preflight.check_keeper,
        place,
        keeper_private_key=None,
        keeper_keystore=tmp_path,
        keeper_keystore_password_file=tmp_path,
    )
    assert said.startswith("KEEPER_KEYSTORE: ") and "IsADirectoryError" in said
