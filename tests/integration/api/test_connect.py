"""How an agent connects: what it gets, what is kept, and how often an address may."""

from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import (
    KEY,
    Clock,
    Limit,
    TestClient,
    bearer,
    connect,
    login,
)

# Registration


def test_connect__answers_all_that_is_shown_once(client: TestClient) -> None:
    body = connect(client)
    assert set(body) == {
        "api_key",
        "recovery_code",
        "user_id",
        "bearer_token",
        "welcome_credit_granted",
    }
    assert body["welcome_credit_granted"] is True
    assert client.get("/agent/catalog", headers={KEY: body["api_key"]}).status_code == 200


def test_connect__stores_no_secret(client: TestClient, database: Database) -> None:
    body = connect(client)
    with database.read() as session:
        for table in ("account", "api_key", "session", "idempotency_record"):
            rows = str(session.execute(text(f"select * from {table}")).all())
            assert not any(
                body[name] in rows for name in ("api_key", "recovery_code", "bearer_token")
            )


def test_connect__the_fourth_of_a_day__is_a_success_without_credit(
    client: TestClient, clock: Clock
) -> None:
    assert [connect(client)["welcome_credit_granted"] for _ in range(4)] == [
        True,
        True,
        True,
        False,
    ]
    clock.pass_(hours=12)
    assert connect(client)["welcome_credit_granted"] is True


def test_connect__the_eleventh_of_a_minute__waits_until_the_first_is_60_s_old(
    client: TestClient, clock: Clock
) -> None:
    for _ in range(10):
        connect(client)
        clock.pass_(seconds=1)
    answer = client.post("/auth/agent/connect", json={"agent_name": "late"})
    assert answer.status_code == 429
    assert answer.json()["service"]["reason"] == "rate_limited"
    assert answer.json()["service"]["retry_at"] == "2026-11-21T12:01:00Z"
    assert answer.headers["Retry-After"] == "50"
    clock.pass_(seconds=49)
    assert client.post("/auth/agent/connect", json={"agent_name": "late"}).status_code == 429
    clock.pass_(seconds=1)
    connect(client)


def test_connect__the_thirty_first_of_a_day__waits_until_midnight(
    client: TestClient, clock: Clock
) -> None:
    for _ in range(30):
        connect(client)
        clock.pass_(seconds=6)
    answer = client.post("/auth/agent/connect", json={"agent_name": "late"})
    assert answer.json()["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    clock.pass_(hours=12)
    connect(client)


def test_connect__counts_by_address__and_believes_trusted_proxies_only(limited: Limit) -> None:
    stranger, proxy = (
        limited(registrations_per_day=1),
        limited(peer="10.0.0.1", registrations_per_day=1),
    )
    connect(stranger, {"X-Forwarded-For": "198.51.100.1"})
    assert (
        stranger.post(
            "/auth/agent/connect",
            json={"agent_name": "x"},
            headers={"X-Forwarded-For": "198.51.100.2"},
        ).status_code
        == 429
    )
    connect(proxy, {"X-Forwarded-For": "198.51.100.1"})
    connect(proxy, {"X-Forwarded-For": "198.51.100.2"})


def test_connect__owned__is_not_limited_by_what_the_addresss_unowned_agents_used(
    limited: Limit, wallet: LocalAccount, database: Database
) -> None:
    client = limited(registrations_per_day=1, agents_per_owner=3)
    owner = login(client, wallet)
    connect(client)
    agents = [connect(client, owner) for _ in range(3)]
    assert [agent["welcome_credit_granted"] for agent in agents] == [True, True, True]
    answer = client.post("/auth/agent/connect", json={"agent_name": "x"}, headers=owner)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "owned_agents_limit")
    assert "retry_at" not in answer.json()["service"]
    with database.read() as session:
        assert session.scalar(text("select count(owner_id) from account")) == 3


@each("name", ["", "x" * 81, "a\nb", " a", 5, None])
def test_connect__an_agent_name_of_another_form__is_refused(
    client: TestClient, name: object
) -> None:
    answer = client.post("/auth/agent/connect", json={"agent_name": name})
    assert (answer.status_code, answer.json()["service"]["reason"]) == (400, "invalid_parameter")
    assert answer.json()["detail"].startswith("agent_name: ")


def test_connect__with_an_invalid_session__is_401_and_registers_nobody(
    client: TestClient, database: Database
) -> None:
    answer = client.post(
        "/auth/agent/connect", json={"agent_name": "x"}, headers=bearer("svc_own_nonsense")
    )
    assert (answer.status_code, answer.json()["service"]["reason"]) == (401, "auth_invalid")
    with database.read() as session:
        assert session.scalar(text("select count(*) from account")) == 0
