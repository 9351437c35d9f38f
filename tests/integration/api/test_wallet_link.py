"""Which wallet an agent links, and whose it then is."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database, WriteSession
from core.identity import queries as identity
from tests.integration.api.conftest import (
    KEY,
    Clock,
    TestClient,
    bearer,
    connect,
    link,
    login,
    nonce_for,
    reason,
    sign,
    sign_in,
    signed,
)
from tests.integration.api.test_identity import STRANGER

T = TypeVar("T")


# Wallet link


@pytest.mark.row("5 sign-in by signed wallet messages")
def test_link__sets_the_wallet_of_the_agent(client: TestClient, wallet: LocalAccount) -> None:
    agent = bearer(connect(client)["bearer_token"])
    assert client.get("/auth/wallet/status", headers=agent).json() == {
        "registered": False,
        "wallet_address": None,
        "wallet_payable_at": None,
    }
    body = signed(client, wallet, "link") | {"wallet_address": wallet.address.lower()}
    linked = {
        "registered": True,
        "wallet_address": wallet.address,
        "wallet_payable_at": "2026-11-21T12:00:00Z",
    }
    assert client.post("/auth/wallet/link", json=body, headers=agent).json() == linked
    assert client.get("/auth/wallet/status", headers=agent).json() == linked


def test_link__the_same_pair_again__changes_nothing(
    client: TestClient, wallet: LocalAccount
) -> None:
    token = connect(client)["bearer_token"]
    assert [link(client, token, wallet).status_code for _ in range(2)] == [200, 200]


def test_link__one_wallet_one_account(client: TestClient, wallet: LocalAccount) -> None:
    first, second = connect(client)["bearer_token"], connect(client)["bearer_token"]
    assert link(client, first, wallet).status_code == 200
    assert reason(link(client, second, wallet)) == (409, "wallet_taken")
    assert reason(link(client, first, STRANGER)) == (409, "account_has_wallet")


def is_blocked(database: Database) -> bool:
    """Some connection waits for a lock that another one holds."""
    waits = (
        "select count(*) from pg_stat_activity where datname = current_database() and "
        "wait_event_type = 'Lock'"
    )
    with database.read() as session:
        return bool(session.execute(text(waits)).scalar_one())


def while_held(
    database: Database, change: Callable[[WriteSession], object], call: Callable[[], T]
) -> T:
    """Make `call` meet an uncommitted `change`, which commits once the call waits for it."""
    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            change(session)
            answer = pool.submit(call)
            until = time.monotonic() + 20
            while not is_blocked(database) and not answer.done() and time.monotonic() < until:
                time.sleep(0.01)
        return answer.result()


def test_link__while_the_same_wallet_signs_in_for_the_first_time__is_wallet_taken(
    client: TestClient, wallet: LocalAccount, database: Database, clock: Clock
) -> None:
    """Only links waited for each other: the sign-in's row broke the link's transaction, 503."""
    token = connect(client)["bearer_token"]
    first = while_held(
        database,
        lambda session: identity.owner_of_wallet(session, wallet.address, "203.0.113.9", clock.now),
        lambda: link(client, token, wallet),
    )
    assert reason(first) == (409, "wallet_taken")


def test_login__while_the_same_wallet_is_linked_to_an_agent__is_wallet_taken(
    client: TestClient, wallet: LocalAccount, database: Database, clock: Clock
) -> None:
    agent_id, message = connect(client)["user_id"], nonce_for(client, wallet, "login")
    signature = sign(wallet, message)
    answer = while_held(
        database,
        lambda session: identity.link_wallet(session, agent_id, wallet.address, clock.now),
        lambda: sign_in(client, message, signature),
    )
    assert reason(answer) == (409, "wallet_taken")


def test_link__an_owners_wallet__is_taken__and_an_agents_wallet_is_no_owner(
    client: TestClient, wallet: LocalAccount
) -> None:
    login(client, wallet)
    token = connect(client)["bearer_token"]
    assert reason(link(client, token, wallet)) == (409, "wallet_taken")
    assert link(client, token, STRANGER).status_code == 200
    message = nonce_for(client, STRANGER, "login")
    answer = sign_in(client, message, sign(STRANGER, message))
    assert reason(answer) == (409, "wallet_taken")


def test_link__without_a_signed_message__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    agent = connect(client)
    body = {"wallet_address": wallet.address, "signature": "0x" + "11" * 65}
    answer = client.post("/auth/wallet/link", json=body, headers=bearer(agent["bearer_token"]))
    assert reason(answer) == (400, "signature_invalid")
    assert (
        client.post("/auth/wallet/link", json=body, headers={KEY: agent["api_key"]}).status_code
        == 401
    )
