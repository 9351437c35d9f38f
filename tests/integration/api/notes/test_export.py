"""What a download of the vault costs, however large it is (docs/notes.md#the-vault)."""

import asyncio
from threading import Thread
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.areas.notes import queries
from api.kernel.bodies import PIECE, PiecesResponse
from core.db.engine import Database
from tests.integration.api.conftest import Clock

LARGE = bytes(range(256)) * (33 * 1024 * 4)  # 33 MiB: more than kept answers may have
SCOPE = {"type": "http", "method": "GET", "headers": []}


@pytest.fixture
def read_anew(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each vault that was read from the database."""
    found: list[int] = []
    read = queries.export

    def told(session: Any) -> bytes:
        content = read(session)
        found.append(len(content))
        return content

    monkeypatch.setattr(queries, "export", told)
    return found


def keep(database: Database, content: bytes, clock: Clock) -> None:
    with database.write() as session:
        queries.keep_export(session, content, 1, clock.now)


@pytest.mark.slow
def test_a_large_vault__is_read_once__and_the_next_one_at_once(
    client: TestClient, database: Database, clock: Clock, read_anew: list[int]
) -> None:
    keep(database, LARGE, clock)
    first = client.get("/kg/export")
    assert first.content == LARGE
    assert first.headers["Content-Length"] == str(len(LARGE))
    tag = {"If-None-Match": first.headers["ETag"]}
    assert client.get("/kg/export").headers["ETag"] == first.headers["ETag"]
    assert client.get("/kg/export", headers=tag).status_code == 304
    assert read_anew == [len(LARGE)]

    clock.pass_(seconds=1)
    keep(database, LARGE[1:], clock)
    second = client.get("/kg/export", headers=tag)
    assert (second.status_code, second.content == LARGE[1:]) == (200, True)
    assert read_anew == [len(LARGE), len(LARGE) - 1]


@pytest.mark.slow
def test_calls_at_once__read_it_once(
    client: TestClient, database: Database, clock: Clock, read_anew: list[int]
) -> None:
    keep(database, LARGE, clock)
    answers: list[bytes] = []
    calls = [
        Thread(target=lambda: answers.append(client.get("/kg/export").content)) for _ in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert [one == LARGE for one in answers] == [True] * 4
    assert read_anew == [len(LARGE)]


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 3 * PIECE])
def test_a_body__is_sent_piece_by_piece(size: int) -> None:
    body, sent = LARGE[:size], list[dict[str, Any]]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    asyncio.run(PiecesResponse(body)(SCOPE, receive, send))
    start, *pieces = sent
    assert start["status"] == 200
    assert b"".join(one["body"] for one in pieces) == body
    assert [one["more_body"] for one in pieces] == [True] * (len(pieces) - 1) + [False]
    assert max(len(one["body"]) for one in pieces) <= PIECE
