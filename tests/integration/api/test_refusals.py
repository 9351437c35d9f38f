"""What bad calls are told, and what survives of them: the bodies, the ceiling, the edge."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx import Response
from sqlalchemy import text
from structlog.testing import capture_logs

from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, Limit, TestClient, at_once, bearer, connect
from tests.integration.api.probe import PATH, Gate, writes


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


def post(client: TestClient, agent: dict[str, str], **body: Any) -> Response:
    return client.post(PATH, json=body, headers=agent)


def reason(answer: Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["service"]["reason"]


# Credentials


def test_no_credential__is_auth_required_and_says_how_to_get_one(client: TestClient) -> None:
    answer = client.post(PATH, json={})
    assert reason(answer) == (401, "auth_required")
    first, last = answer.json()["service"]["next"]
    assert (first["method"], first["path"], last["path"]) == (
        "POST",
        "/auth/agent/connect",
        "/agent/catalog",
    )
    assert client.request(first["method"], first["path"], json=first["body"]).status_code == 200
    assert client.request(last["method"], last["path"]).status_code == 200


@each(
    "headers",
    [
        {KEY: "svc_key_x"},
        {KEY: ""},
        bearer("x"),
        {"Authorization": "Basic eDp5"},
        {"Authorization": ""},
    ],
)
def test_an_invalid_credential__is_401_even_where_none_is_needed(
    client: TestClient, headers: dict[str, str]
) -> None:
    assert reason(client.get("/agent/catalog", headers=headers)) == (401, "auth_invalid")


def test_an_invalid_credential_beside_a_valid_one__is_401(
    client: TestClient, agent: dict[str, str]
) -> None:
    assert reason(client.get("/agent/catalog", headers={**agent, **bearer("x")})) == (
        401,
        "auth_invalid",
    )


def test_two_keys_of_which_one_is_invalid__are_401_in_either_order(
    client: TestClient, agent: dict[str, str]
) -> None:
    """Only the first of them was looked at."""
    for keys in ([agent[KEY], "nonsense"], ["nonsense", agent[KEY]]):
        answer = client.get("/agent/scopes", headers=[(KEY, key) for key in keys])
        assert reason(answer) == (401, "auth_invalid")
    assert (
        client.get("/agent/scopes", headers=[(KEY, agent[KEY]), (KEY, agent[KEY])]).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("scopes", "status"), [("null", 200), ('["tx"]', 200), ('["read"]', 403), ("[]", 403)]
)
def test_scopes__narrow_a_key(
    client: TestClient, agent: dict[str, str], database: Database, scopes: str, status: int
) -> None:
    with database.write() as session:
        session.execute(
            text("update api_key set scopes = nullif(cast(:scopes as jsonb), 'null')"),
            {"scopes": scopes},
        )
    answer = post(client, agent)
    assert answer.status_code == status
    if status == 403:
        assert (answer.json()["service"]["reason"], answer.json()["service"]["missing"]) == (
            "scope_denied",
            "tx",
        )


# Bad input: each a sentence that says what to do

SIX_DECIMALS = "amount_usdc: write a decimal with at most 6 decimals, such as 12.500000."
NO_SECRETS = (
    "this service never takes keys or secrets; leave the field out, and replace the secret if it "
    "was a real one."
)


@each(
    ("body", "status", "code", "says"),
    [
        (b'{"amount_usdc": 0.1000001}', 400, "invalid_number", SIX_DECIMALS),
        (b'{"id": "m_bbbbbbbbbb"}', 400, "invalid_parameter",
            "id: it was sent twice, the second time in the body; send it once."),
        (b'{"payload": [{"exchange_apiSecret": "hunter2"}]}', 400, "secret_field_refused",
            "exchange_apiSecret: " + NO_SECRETS),
        (b'{"x": "' + b"y" * 300_000 + b'"}', 413, "body_too_large",
            "The body is larger than 262144 bytes; send less."),
    ],
    ids=["seven decimals", "path and body", "secret", "too large"],
)  # fmt: skip
def test_bad_input__is_told_what_to_do(
    client: TestClient,
    agent: dict[str, str],
    database: Database,
    body: bytes,
    status: int,
    code: str,
    says: str,
) -> None:
    answer = client.post(PATH, content=body, headers={**agent, "Content-Type": "application/json"})
    assert reason(answer) == (status, code)
    assert answer.json()["detail"] == says
    assert answer.json()["service"]["retry_safe"] is False
    assert writes(database) == 0


def test_a_form__is_told_to_send_json(client: TestClient, agent: dict[str, str]) -> None:
    answer = client.post(PATH, data={"n": "1"}, headers=agent)
    assert reason(answer) == (415, "unsupported_media_type")
    assert (
        answer.json()["detail"]
        == "The body is not JSON; send it with Content-Type: application/json."
    )


@each("media_type", ["application/json; charset=utf-8", "application/vnd.x+json", None])
def test_json_under_another_name__is_read(
    client: TestClient, agent: dict[str, str], media_type: str | None
) -> None:
    headers = agent if media_type is None else {**agent, "Content-Type": media_type}
    assert client.post(PATH, content=b'{"n": 3}', headers=headers).json()["n"] == 3


def test_an_id_of_another_form__is_not_found(client: TestClient, agent: dict[str, str]) -> None:
    assert reason(client.post("/mandate-wallet/mandates/42/probe", json={}, headers=agent)) == (
        404,
        "not_found",
    )


def test_a_secret__is_in_no_answer_and_no_log(client: TestClient, agent: dict[str, str]) -> None:
    with capture_logs() as logs:
        answer = post(client, agent, payload={"private_key": "0xhunter2"})
    assert "hunter2" not in answer.text + str(logs)
    assert agent[KEY] not in answer.text + str(logs)


def test_a_rule_of_the_domain__names_field_and_rule(
    client: TestClient, agent: dict[str, str]
) -> None:
    answer = post(client, agent, do="break a rule")
    assert reason(answer) == (400, "invalid_number")
    assert answer.json()["detail"] == "amount_usdc: write an amount above 0."


# What a refused call leaves behind


def test_a_refusal__undoes_its_writes_and_counts_the_call(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    answer = post(client, agent, do="refuse")
    assert reason(answer) == (409, "wrong_status")
    assert answer.headers["X-RateLimit-Remaining"] == "1999"
    assert writes(database) == 0


def test_a_refusal_that_keeps_its_write__keeps_it(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    assert reason(post(client, agent, do="refuse and keep")) == (409, "wrong_status")
    assert writes(database) == 1


def test_an_outside_failure__is_503_and_may_be_sent_again(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    answer = post(client, agent, do="outside")
    assert reason(answer) == (503, "temporarily_unavailable")
    assert answer.json()["service"]["retry_safe"] is True
    assert "node is gone" not in answer.text
    assert writes(database) == 0


def test_a_defect__is_500_with_the_request_id_and_no_more(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    answer = client.post(PATH, json={"do": "defect"}, headers={**agent, "X-Request-Id": "req-7"})
    assert reason(answer) == (500, "internal_error")
    assert "Include the request id req-7" in answer.json()["detail"]
    assert answer.headers["X-Request-Id"] == "req-7"
    assert "ZeroDivisionError" not in answer.text
    assert writes(database) == 0


def test_a_database_without_tables__is_schema_not_applied(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    with database.write() as session:
        session.execute(text("alter table api_key rename to api_key_gone"))
    assert reason(post(client, agent)) == (503, "schema_not_applied")


# The ceiling


def test_the_ceiling__serves_the_last_call_and_refuses_the_next_until_midnight(
    limited: Limit, clock: Clock
) -> None:
    client = limited(daily_ceiling=3)
    agent = {KEY: str(connect(client)["api_key"])}
    assert [post(client, agent).headers["X-RateLimit-Remaining"] for _ in range(2)] == ["2", "1"]
    last = client.get("/agent/catalog", headers=agent)
    assert (
        last.status_code,
        last.headers["X-RateLimit-Remaining"],
        last.headers["X-RateLimit-Limit"],
    ) == (200, "0", "3")
    answer = post(client, agent)
    assert reason(answer) == (429, "rate_limited")
    assert answer.json()["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    assert (answer.headers["Retry-After"], answer.headers["X-RateLimit-Reset"]) == (
        "43200",
        "1795305600",
    )
    clock.pass_(hours=12)
    assert post(client, agent).headers["X-RateLimit-Remaining"] == "2"


def test_the_ceiling__counts_refused_calls_too(limited: Limit) -> None:
    client = limited(daily_ceiling=2)
    agent = {KEY: str(connect(client)["api_key"])}
    client.post(PATH, content=b"{", headers=agent)
    post(client, agent, n="x")
    assert reason(post(client, agent)) == (429, "rate_limited")


def test_the_ceiling__holds_when_calls_come_at_once(limited: Limit, database: Database) -> None:
    client = limited(daily_ceiling=5)
    agent = {KEY: str(connect(client)["api_key"])}
    assert at_once(12, lambda _: post(client, agent).status_code) == {200: 5, 429: 7}
    assert writes(database) == 5


def test_a_slow_call__does_not_hold_up_others_of_its_key(
    client: TestClient, agent: dict[str, str], gate: Gate
) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(post, client, agent, do="wait")
        assert gate.entered.wait(10)
        assert post(client, agent).status_code == 200
        gate.opened.set()
        assert slow.result(10).status_code == 200


# The edge


def test_an_unknown_path__is_404_with_the_block(client: TestClient) -> None:
    answer = client.get("/nowhere")
    assert reason(answer) == (404, "unknown_route")
    assert [call["path"] for call in answer.json()["service"]["next"]] == ["/agent/catalog"]


def test_another_method__is_405_with_those_that_work(client: TestClient) -> None:
    answer = client.delete("/auth/wallet/status")
    assert reason(answer) == (405, "method_not_allowed")
    assert set(answer.headers["Allow"].replace(" ", "").split(",")) == {"GET", "HEAD"}


def test_every_answer__carries_id_and_standing_headers(client: TestClient) -> None:
    for answer in (client.get("/health/live"), client.get("/nowhere"), client.post(PATH, json={})):
        assert len(answer.headers["X-Request-Id"]) == 32
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Content-Type"] == "application/json"


def test_a_request_id_of_another_form__is_replaced(client: TestClient) -> None:
    assert (
        client.get("/health/live", headers={"X-Request-Id": "a b\tc"}).headers["X-Request-Id"]
        != "a b\tc"
    )


def test_a_browser_of_another_site__may_call_without_cookies(client: TestClient) -> None:
    preflight = client.options(
        PATH, headers={"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    )
    assert (preflight.status_code, preflight.headers["Access-Control-Allow-Origin"]) == (200, "*")
    answer = client.get("/agent/catalog", headers={"Origin": "https://a.example"})
    assert "PAYMENT-REQUIRED" in answer.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in answer.headers


# Discovery and health


def test_the_catalogue__says_which_calls_a_key_may_make(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    assert {call["allowed"] for call in client.get("/agent/catalog").json()["calls"]} == {None}
    calls = {
        call["path"]: call["allowed"]
        for call in client.get("/agent/catalog", headers=agent).json()["calls"]
    }
    assert (calls["/agent/catalog"], calls["/auth/owner/logout"]) == (True, False)


def test_health__live_answers_without_a_database(client: TestClient, database: Database) -> None:
    database.close()
    assert client.get("/health/live").json() == {"status": "ok"}


def test_openapi__shows_fields_and_refusals_of_every_call(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    login = document["paths"]["/auth/owner/login"]["post"]
    assert set(login["requestBody"]["content"]["application/json"]["schema"]["properties"]) == {
        "message",
        "signature",
        "end_other_sessions",
    }
    assert {"200", "400", "401", "429", "503"} <= set(login["responses"])
    assert document["components"]["schemas"]["Refusal"]["required"] == ["detail"]
