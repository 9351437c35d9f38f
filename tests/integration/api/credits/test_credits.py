"""Balance, ledger and prices."""

from datetime import timedelta

from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database
from tests.integration.api.conftest import KEY, Clock, TestClient, connect


def test_a_new_agents_balance__is_the_welcome_credit(client: TestClient) -> None:
    agent = connect(client)
    assert client.get("/credits/balance", headers={KEY: agent["api_key"]}).json() == {
        "welcome": 10,
        "earned": 0,
        "converted": 0,
        "bonded": 0,
        "owed": 0,
        "available": 10,
        "total": 10,
        "free_reads_remaining": 100,
        "free_reads_shared_remaining": 300,
    }


def test_the_ledger__pages_through_every_posting_newest_first(
    client: TestClient, database: Database, clock: Clock
) -> None:
    agent = connect(client)
    with database.write() as session:
        for number in range(4):
            credit_ledger.earn(
                session,
                agent["user_id"],
                1,
                f"earn {number}",
                {"point": number},
                clock.now + timedelta(seconds=number),
            )
    headers = {KEY: agent["api_key"]}
    first = client.get("/credits/ledger?limit=3", headers=headers).json()
    second = client.get(
        f"/credits/ledger?limit=3&cursor={first['next_cursor']}", headers=headers
    ).json()
    assert [one["seq"] for one in first["entries"] + second["entries"]] == [5, 4, 3, 2, 1]
    assert second["next_cursor"] is None
    newest, oldest = first["entries"][0], second["entries"][-1]
    assert (newest["kind"], newest["earned"]) == ("earn", 1)
    assert (newest["counter"], newest["counter_delta"]) == ("issuance", -1)
    assert newest["reason"] == {"point": 3}
    assert (oldest["kind"], oldest["welcome"], oldest["counter_delta"]) == ("welcome", 10, -10)


def test_a_ledger__shows_its_own_account_only(client: TestClient) -> None:
    connect(client)
    other = connect(client)
    entries = client.get("/credits/ledger", headers={KEY: other["api_key"]}).json()["entries"]
    assert [one["seq"] for one in entries] == [1]


def test_prices__show_every_fee_without_a_key(client: TestClient) -> None:
    found = client.get("/prices").json()
    by_key = {one["key"]: one for one in found["prices"]}
    assert by_key["playbook_read"] == {
        "key": "playbook_read",
        "credits": 1,
        "usdc": "0.010000",
        "status": "charging",
    }
    assert by_key["live_signal_read"] == {
        "key": "live_signal_read",
        "credits": 10,
        "usdc": "0.100000",
        "status": "charging",
    }
    assert found["payout_point_price"] == 20
    limits = {one["key"]: one["value"] for one in found["limits"]}
    assert limits["free_metered_reads"] == 100
