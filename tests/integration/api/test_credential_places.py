"""A secret in the wrong place is taken or told where it belongs; a 401 has one challenge; a path may
end in a slash.
"""

import pytest

from tests.each import each
from tests.integration.api.conftest import KEY, TestClient

ME = "/agent/status"


@each(
    ("header", "written"),
    [(KEY, "{}"), (KEY, "Bearer {}"), ("Authorization", "Bearer {}"), ("Authorization", "{}")],
)
def test_an_agents_key__is_taken_wherever_it_is_sent(
    client: TestClient, agent: dict[str, str], header: str, written: str
) -> None:
    answer = client.get(ME, headers={header: written.format(agent["api_key"])})
    assert (answer.status_code, answer.headers.get("www-authenticate")) == (200, None)
    assert "x-ratelimit-remaining" in answer.headers  # counted as the key's call


def test_connects_token__is_taken_in_the_keys_header(
    client: TestClient, agent: dict[str, str]
) -> None:
    answer = client.get("/me/notices", headers={KEY: agent["bearer_token"]})
    assert answer.status_code == 200, answer.text


@each("path", [ME, "/mandate-wallet/me/events"])
@each("headers", [KEY, "Authorization"])
def test_a_recovery_code__is_told_where_it_belongs(
    client: TestClient, agent: dict[str, str], headers: str, path: str
) -> None:
    code = agent["recovery_code"]
    answer = client.get(path, headers={headers: f"Bearer {code}"})
    assert answer.status_code == 401
    assert "recovery_code in the body of POST /auth/agent/recover" in answer.json()["detail"]
    assert code not in answer.text


def test_what_proves_nothing__is_told_what_goes_where(client: TestClient) -> None:
    for value, says in (
        ("Bearer some-key", "An operator's key goes into X-SVC-User-Key"),
        ("Basic svc_key_a", "Authorization takes only the scheme Bearer"),
        ("Token svc_key_a", "Authorization takes only the scheme Bearer"),
        ("ApiKey svc_own_a", "Authorization takes only the scheme Bearer"),
    ):
        answer = client.get(ME, headers={"Authorization": value})
        assert (answer.status_code, says in answer.json()["detail"]) == (401, True), value
        assert value.split()[1] not in answer.text


@each("path", [ME, "/mandate-wallet/mandates", "/admin/queue", "/mcp"])
@each("headers", [{}, {KEY: "svc_key_x"}, {"Authorization": "Bearer svc_own_x"}])
def test_a_401__has_one_challenge_and_leads_to_connect(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = client.get(path, headers=headers)
    if answer.status_code == 200:
        pytest.skip("takes callers without a credential")
    assert answer.status_code == 401
    challenges = answer.headers.get_list("www-authenticate")
    assert len(challenges) == 1
    assert challenges[0].startswith("Bearer ")
    assert ('error="invalid_token"' in challenges[0]) is bool(headers)
    if headers:
        first, last = answer.json()["service"]["next"]
        assert (first["path"], first["auth"]) == ("/auth/agent/connect", "none")
        assert last["path"] == "/agent/catalog"


@each("path", ["/prices/", "/health/live/", "/mandate-wallet/mandates/m_aaaaaaaaaa/", "/docs/"])
def test_a_last_slash__changes_nothing(client: TestClient, path: str) -> None:
    with_slash, without = client.get(path), client.get(path[:-1])
    assert (with_slash.status_code, with_slash.content) == (without.status_code, without.content)
    assert without.status_code != 404


def test_two_slashes__are_no_path(client: TestClient) -> None:
    assert client.get("/prices//").status_code == 404
