"""The same write sent twice is written once (docs/rules.md#idempotency)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx import Response
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from api.kernel.idempotency import IdempotencySlot, held
from core.db.engine import Database, WriteSession
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, Limit, TestClient, connect
from tests.integration.api.probe import PATH, Gate, writes


@pytest.fixture
def agent(client: TestClient) -> str:
    return str(connect(client)["api_key"])


def post(
    client: TestClient, agent: str, idempotency_key: str | None, path: str = PATH, **body: Any
) -> Response:
    headers = (
        {KEY: agent}
        if idempotency_key is None
        else {KEY: agent, "Idempotency-Key": idempotency_key}
    )
    return client.post(path, json=body, headers=headers)


@pytest.mark.row("2.17 the same key and body replays")
def test_the_same_key_and_body__gets_the_first_answer_and_writes_nothing(
    client: TestClient, agent: str, database: Database
) -> None:
    first = post(client, agent, "a", do="flag", n=1)
    again = post(client, agent, "a", do="flag", n=1)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json() == {"violation": True}
    assert "Idempotent-Replay" not in first.headers
    assert again.headers["Idempotent-Replay"] == "true"
    assert writes(database) == 1


def test_the_same_command_written_otherwise__is_the_same_body(
    client: TestClient, agent: str, database: Database
) -> None:
    headers = {KEY: agent, "Idempotency-Key": "a", "Content-Type": "application/json"}
    client.post(PATH, content=b'{"amount_usdc": "1.5", "n": 1}', headers=headers)
    again = client.post(
        PATH, content=b' {"n":1,"do":"answer","amount_usdc": 1.500000}', headers=headers
    )
    assert again.headers["Idempotent-Replay"] == "true"
    assert writes(database) == 1


@pytest.mark.row("2.17 the same key with another body is refused")
def test_the_same_key_with_another_body__is_refused(
    client: TestClient, agent: str, database: Database
) -> None:
    post(client, agent, "a", n=1)
    answer = post(client, agent, "a", n=2)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (
        409,
        "idempotency_key_reused",
    )
    assert answer.json()["service"]["retry_safe"] is False
    assert writes(database) == 1


@pytest.mark.row("2.17 a key is released when the write is refused or fails")
def test_the_key_of_a_refused_write__is_free_again(
    client: TestClient, agent: str, database: Database
) -> None:
    assert post(client, agent, "a", do="refuse").status_code == 409
    assert post(client, agent, "a", do="answer").status_code == 200
    assert writes(database) == 1


@pytest.mark.row("2.17 a key is released when the write is refused or fails")
def test_the_key_of_a_failed_write__is_free_again(client: TestClient, agent: str) -> None:
    assert post(client, agent, "a", do="defect").status_code == 500
    assert post(client, agent, "a", do="outside").status_code == 503
    assert post(client, agent, "a").status_code == 200


def test_the_key_of_a_refusal_that_wrote__is_kept(
    client: TestClient, agent: str, database: Database
) -> None:
    first = post(client, agent, "a", do="refuse and keep")
    again = post(client, agent, "a", do="refuse and keep")
    assert (first.status_code, again.status_code) == (409, 409)
    assert first.json() == again.json()
    assert again.json()["recorded"] is True
    assert again.headers["Idempotent-Replay"] == "true"
    assert writes(database) == 1


def test_the_key_of_a_refusal_that_wrote_beside_it__is_free_again(
    client: TestClient, agent: str, database: Database
) -> None:
    do = "refuse and write"
    answers = [post(client, agent, "a", do=do) for _ in range(2)]
    assert [one.status_code for one in answers] == [409, 409]
    assert [one.headers.get("Idempotent-Replay") for one in answers] == [None, None]
    assert writes(database) == 2
    assert post(client, agent, "a", do="answer").status_code == 200


@pytest.mark.row("2.17 scope")
def test_the_scope__is_the_agent_and_the_mandate(
    client: TestClient, agent: str, database: Database
) -> None:
    stranger = str(connect(client)["api_key"])
    post(client, agent, "a", n=1)
    assert post(client, stranger, "a", n=2).status_code == 200
    assert post(client, agent, "a", PATH.replace("m_a", "m_b"), n=3).status_code == 200
    assert writes(database) == 3


def test_in_flight__is_refused_at_once_and_replayed_after(
    client: TestClient, agent: str, gate: Gate, database: Database
) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, client, agent, "a", do="wait")
        assert gate.entered.wait(10)
        beside = post(client, agent, "a", do="wait")
        other = post(client, agent, "b")
        gate.opened.set()
        assert first.result(10).status_code == 200
    assert (beside.status_code, beside.json()["service"]["reason"]) == (
        409,
        "idempotency_in_flight",
    )
    assert beside.json()["service"]["retry_safe"] is True
    assert other.status_code == 200
    assert post(client, agent, "a", do="wait").headers["Idempotent-Replay"] == "true"
    assert writes(database) == 2


def test_sixteen_at_once__write_once(client: TestClient, agent: str, database: Database) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: post(client, agent, "a", n=1), range(16)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert (
        sum(
            "Idempotent-Replay" not in answer.headers
            for answer in answers
            if answer.status_code == 200
        )
        == 1
    )
    assert writes(database) == 1


@pytest.mark.row("2.17 key")
@each("key", ["", "a b", "x" * 129, "a/b"], ids=["empty", "a space", "129 characters", "a slash"])
def test_a_key_of_another_form__is_refused(
    client: TestClient, agent: str, key: str, database: Database
) -> None:
    answer = post(client, agent, key)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (400, "invalid_parameter")
    assert (
        answer.json()["detail"]
        == "Idempotency-Key: write 1 to 128 characters from letters, digits and . _ : -"
    )
    assert writes(database) == 0


def test_two_keys__are_refused(client: TestClient, agent: str, database: Database) -> None:
    sent = [(KEY, agent), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    assert client.post(PATH, json={}, headers=sent).status_code == 400
    assert writes(database) == 0


def test_a_replay__counts_as_a_call(limited: Limit, clock: Clock) -> None:
    client = limited(daily_ceiling=2)
    agent = str(connect(client)["api_key"])
    assert [post(client, agent, "a").status_code for _ in range(3)] == [200, 200, 429]


SLOT = IdempotencySlot("agent:1.0:tests", "key", b"h" * 32)


def test_a_block_whose_statement_fails__lets_go_of_the_key(database: Database) -> None:
    with WriteSession(database.engine, expire_on_commit=False) as session:
        with pytest.raises(ProgrammingError), held(session, SLOT):
            session.execute(text("select nothing_of_that_name"))
        with held(session, SLOT) as kept:
            assert kept is None
