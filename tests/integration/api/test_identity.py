"""Sign-in, registration and wallet link, through the application and a real database."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database, WriteSession
from core.identity import queries as identity
from tests.integration.api.conftest import (
    KEY,
    Clock,
    FewAnswersChain,
    Limit,
    TestClient,
    bearer,
    connect,
    login,
    nonce_for,
    sign,
)

T = TypeVar("T")
STRANGER: LocalAccount = Account.from_key("0x" + "33" * 32)


# Sign-in


def test_nonce__is_the_whole_text_to_sign(client: TestClient, wallet: LocalAccount) -> None:
    answer = client.post(
        "/auth/wallet/nonce", json={"wallet_address": wallet.address.lower(), "purpose": "login"}
    )
    body = answer.json()
    assert answer.status_code == 200
    assert set(body) == {"nonce", "message", "expires_at"}
    assert body["message"].split("\n")[1] == wallet.address
    assert f"Nonce: {body['nonce']}\n" in body["message"]
    assert body["expires_at"] == "2026-11-21T12:05:00.000Z"


def test_nonce__asked_again_at_once__is_the_same(
    client: TestClient, wallet: LocalAccount, clock: Clock
) -> None:
    first = nonce_for(client, wallet, "login")
    clock.pass_(seconds=149)
    assert nonce_for(client, wallet, "login") == first
    clock.pass_(seconds=1)
    assert nonce_for(client, wallet, "login") != first


@pytest.mark.row("5 sign-in by signed wallet messages")
def test_login__first_time__makes_the_owner_and_opens_a_session(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    answer = client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(wallet, message)}
    )
    body = answer.json()
    assert answer.status_code == 200
    assert set(body) == {"bearer_token", "expires_at", "wallet_address"}
    assert (body["wallet_address"], body["expires_at"]) == (
        wallet.address,
        "2026-11-22T12:00:00.000Z",
    )


def test_login__again__is_the_same_owner(
    client: TestClient, wallet: LocalAccount, database: Database
) -> None:
    login(client, wallet)
    login(client, wallet)
    with database.read() as session:
        assert session.scalar(text("select count(*) from account where kind = 'owner'")) == 1


def test_login__with_one_text_twice__signs_in_once(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    body = {"message": message, "signature": sign(wallet, message)}
    assert client.post("/auth/owner/login", json=body).status_code == 200
    again = client.post("/auth/owner/login", json=body)
    assert again.status_code == 400
    assert again.json()["service"]["reason"] == "signature_invalid"


def test_login__with_one_text_eight_times_at_once__signs_in_once(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    body = {"message": message, "signature": sign(wallet, message)}
    with ThreadPoolExecutor(8) as pool:
        statuses = list(
            pool.map(lambda _: client.post("/auth/owner/login", json=body).status_code, range(8))
        )
    assert sorted(statuses) == [200] + [400] * 7


@pytest.mark.row("5 sign-in by signed wallet messages")
def test_login__wrong_signature__says_whose_and_what_to_sign(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    answer = client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(STRANGER, message)}
    )
    service = answer.json()["service"]
    assert answer.status_code == 400
    assert service["reason"] == "signature_invalid"
    assert answer.json()["detail"] == (
        f"signature: it is not {wallet.address}'s signature of this message; sign the text "
        "of /auth/wallet/nonce as it is."
    )
    fresh = service["next"][0]
    assert client.request(fresh["method"], fresh["path"], json=fresh["body"]).status_code == 200


def test_login__after_a_wrong_signature__the_text_still_serves(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(STRANGER, message)}
    )
    assert (
        client.post(
            "/auth/owner/login", json={"message": message, "signature": sign(wallet, message)}
        ).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        (
            "Chain ID: 84532",
            "Chain ID: 1",
            (
                "message: its Chain ID is not 84532; ask /auth/wallet/nonce for a text of this "
                "service"
            ),
        ),
        (
            "URI: http://testserver",
            "URI: http://evil.example",
            "message: its URI is not http://testserver; ask /auth/wallet/nonce",
        ),
        (
            "testserver wants",
            "evil.example wants",
            "message: its domain is not testserver; ask /auth/wallet/nonce",
        ),
        ("Version: 1", "Version: 2", "message: its Version is not 1; ask /auth/wallet/nonce"),
        (
            "Nonce: ",
            "Nonce: 0",
            (
                "message: its nonce is not the newest one issued to this wallet for the purpose "
                "login, or was used"
            ),
        ),
        (
            "12:00:00.000Z",
            "11:54:59.999Z",
            "message: its Issued At is not within 300 seconds of 2026-11-21T12:00:00.000Z",
        ),
        (
            "12:00:00.000Z",
            "12:05:00.001Z",
            "message: its Issued At is not within 300 seconds of 2026-11-21T12:00:00.000Z",
        ),
        ("12:05:00.000Z", "12:00:00.000Z", "message: it has expired"),
        (
            "12:05:00.000Z",
            "12:05:00Z\nNot Before: 2026-11-21T12:00:01Z",
            "message: it is not valid before 2026-11-21T12:00:01.000Z",
        ),
        ("12:05:00.000Z", "25:00:00.000Z", "message: it is no sign-in message (EIP-4361)"),
        ("Version: 1\n", "", "message: it is no sign-in message (EIP-4361)"),
    ],
    ids=[
        "wrong chain",
        "wrong site",
        "wrong domain",
        "another version",
        "another nonce",
        "too old",
        "from the future",
        "expired",
        "not yet",
        "no time",
        "no version",
    ],
)
def test_login__a_text_that_is_not_ours__is_refused_with_what_differs(
    client: TestClient, wallet: LocalAccount, ours: str, theirs: str, says: str
) -> None:
    message = nonce_for(client, wallet, "login").replace(ours, theirs)
    answer = client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(wallet, message)}
    )
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(says)


def built_by_the_client(
    wallet: LocalAccount,
    nonce: str,
    *,
    statement: str = "",
    rest: str = "",
    uri: str = "http://testserver/login",
) -> str:
    """As viem's createSiweMessage writes it (wagmi, RainbowKit): its own statement or none, any
    page of the site, its own times.
    """
    return (
        "testserver wants you to sign in with your Ethereum account:\n"
        f"{wallet.address}\n"
        "\n"
        f"{statement}\n"
        f"URI: {uri}\n"
        "Version: 1\n"
        "Chain ID: 84532\n"
        f"Nonce: {nonce}\n"
        f"Issued At: 2026-11-21T12:00:03.123Z{rest}"
    )


def nonce_alone(client: TestClient, wallet: LocalAccount, purpose: str) -> str:
    return str(
        client.post(
            "/auth/wallet/nonce", json={"wallet_address": wallet.address, "purpose": purpose}
        ).json()["nonce"]
    )


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"statement": "Sign in to the app.\n"},
        {"uri": "http://testserver"},
        {
            "rest": (
                "\n"
                "Expiration Time: 2026-11-22T12:00:00Z\n"
                "Request ID: 7\n"
                "Resources:\n"
                "- https://a.example/x\n"
                "- ipfs://y"
            )
        },
        {"rest": "\nNot Before: 2026-11-21T12:00:00Z"},
    ],
    ids=["no statement", "own statement", "the site itself", "all parts", "not before now"],
)
def test_login__a_message_that_the_client_built_with_our_nonce__signs_in_once(
    client: TestClient, wallet: LocalAccount, parts: dict[str, str]
) -> None:
    message = built_by_the_client(wallet, nonce_alone(client, wallet, "login"), **parts)
    body = {"message": message, "signature": sign(wallet, message)}
    assert client.post("/auth/owner/login", json=body).status_code == 200
    assert (
        client.post("/auth/owner/login", json=body).json()["service"]["reason"]
        == "signature_invalid"
    )


def test_login__with_our_text_after_the_client_built_one__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    """One nonce, one sign-in: either form uses it up."""
    ours = nonce_for(client, wallet, "login")
    theirs = built_by_the_client(wallet, nonce_alone(client, wallet, "login"))
    assert (
        client.post(
            "/auth/owner/login", json={"message": theirs, "signature": sign(wallet, theirs)}
        ).status_code
        == 200
    )
    assert (
        client.post(
            "/auth/owner/login", json={"message": ours, "signature": sign(wallet, ours)}
        ).status_code
        == 400
    )


def test_link__with_a_message_that_the_client_built__links_the_wallet(
    client: TestClient, wallet: LocalAccount
) -> None:
    agent = connect(client)
    message = built_by_the_client(wallet, nonce_alone(client, wallet, "link"))
    body = {
        "wallet_address": wallet.address,
        "signature": sign(wallet, message),
        "message": message,
    }
    answer = client.post("/auth/wallet/link", json=body, headers=bearer(agent["bearer_token"]))
    assert (answer.status_code, answer.json()["wallet_address"]) == (200, wallet.address)


def test_register__with_another_wallets_message__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = built_by_the_client(wallet, nonce_alone(client, wallet, "register"))
    body = {
        "wallet_address": STRANGER.address,
        "signature": sign(wallet, message),
        "message": message,
        "agent_name": "quant",
    }
    answer = client.post("/auth/agent/register", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        f"message: its address is not {STRANGER.address}.",
    )


def test_login__with_an_empty_signature__asks_the_contract_wallet(
    client: TestClient, wallet: LocalAccount, chain: FewAnswersChain
) -> None:
    """A Safe that approved the hash on chain signs with nothing (EIP-1271)."""
    body = {"message": nonce_for(client, wallet, "login"), "signature": "0x"}
    assert (
        client.post("/auth/owner/login", json=body).json()["service"]["reason"]
        == "signature_invalid"
    )
    chain.wallets[wallet.address] = "0x"
    assert client.post("/auth/owner/login", json=body).status_code == 200


def test_login__with_a_text_for_linking__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "link")
    answer = client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(wallet, message)}
    )
    assert answer.json()["service"]["reason"] == "signature_invalid"


def test_login__expired_text__is_refused(
    client: TestClient, wallet: LocalAccount, clock: Clock
) -> None:
    message = nonce_for(client, wallet, "login")
    clock.pass_(seconds=300)
    answer = client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(wallet, message)}
    )
    assert (
        answer.json()["detail"] == "message: it has expired; ask /auth/wallet/nonce for a new one."
    )


def test_login__a_text_over_2_kb__is_refused_before_it_is_read(
    client: TestClient, wallet: LocalAccount
) -> None:
    answer = client.post(
        "/auth/owner/login", json={"message": "x" * 2049, "signature": "0x" + "00" * 65}
    )
    assert (
        answer.json()["detail"]
        == "message: it is longer than 2048 bytes; send the text of /auth/wallet/nonce."
    )


def test_login__a_contract_wallet__is_asked_by_erc_1271(
    client: TestClient, wallet: LocalAccount, chain: FewAnswersChain
) -> None:
    chain.wallets[wallet.address] = "0xabcd"
    message = nonce_for(client, wallet, "login")
    assert (
        client.post(
            "/auth/owner/login", json={"message": message, "signature": "0xabce"}
        ).status_code
        == 400
    )
    assert (
        client.post(
            "/auth/owner/login", json={"message": message, "signature": "0xabcd"}
        ).status_code
        == 200
    )


def test_login__of_a_contract_wallet_while_the_chain_is_down__is_503(
    client: TestClient, wallet: LocalAccount, chain: FewAnswersChain
) -> None:
    message = nonce_for(client, wallet, "login")
    chain.is_down = True
    answer = client.post("/auth/owner/login", json={"message": message, "signature": "0xabcd"})
    assert answer.status_code == 503
    assert (answer.json()["service"]["reason"], answer.json()["service"]["retry_safe"]) == (
        "temporarily_unavailable",
        True,
    )
    assert (
        client.post(
            "/auth/owner/login", json={"message": message, "signature": sign(wallet, message)}
        ).status_code
        == 200
    )


def test_logout__ends_the_session_at_once(client: TestClient, wallet: LocalAccount) -> None:
    session = login(client, wallet)
    assert client.post("/auth/owner/logout", headers=session).json() == {"ok": True}
    answer = client.post("/auth/owner/logout", headers=session)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (401, "auth_invalid")


def test_a_session__is_too_old_at_its_last_second(
    client: TestClient, wallet: LocalAccount, clock: Clock
) -> None:
    session = login(client, wallet)
    clock.pass_(hours=24, seconds=-1)
    assert client.get("/agent/catalog", headers=session).status_code == 200
    clock.pass_(seconds=1)
    assert client.get("/agent/catalog", headers=session).status_code == 401


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


def test_connect__credits_ten_once(client: TestClient, database: Database) -> None:
    user_id = connect(client)["user_id"]
    with database.read() as session:
        assert session.execute(
            text("select welcome, earned from credit_head where account_id = :id"), {"id": user_id}
        ).one() == (10, 0)


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


def test_connect__at_once__never_passes_the_limit(limited: Limit) -> None:
    client = limited(registrations_per_minute=3)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(
            pool.map(
                lambda _: client.post("/auth/agent/connect", json={"agent_name": "x"}).status_code,
                range(8),
            )
        )
    assert sorted(statuses) == [200] * 3 + [429] * 5


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
    assert [agent["welcome_credit_granted"] for agent in agents] == [True, False, False]
    answer = client.post("/auth/agent/connect", json={"agent_name": "x"}, headers=owner)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "owned_agents_limit")
    assert "retry_at" not in answer.json()["service"]
    with database.read() as session:
        assert session.scalar(text("select count(owner_id) from account")) == 3


@pytest.mark.parametrize("name", ["", "x" * 81, "a\nb", " a", 5, None])
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


# Wallet link


@pytest.mark.row("5 sign-in by signed wallet messages")
def test_link__sets_the_wallet_of_the_agent(client: TestClient, wallet: LocalAccount) -> None:
    agent = bearer(connect(client)["bearer_token"])
    assert client.get("/auth/wallet/status", headers=agent).json() == {
        "registered": False,
        "wallet_address": None,
        "wallet_payable_at": None,
    }
    body = {
        "wallet_address": wallet.address.lower(),
        "signature": sign(wallet, nonce_for(client, wallet, "link")),
    }
    linked = {
        "registered": True,
        "wallet_address": wallet.address,
        "wallet_payable_at": "2026-11-21T12:00:00Z",
    }
    assert client.post("/auth/wallet/link", json=body, headers=agent).json() == linked
    assert client.get("/auth/wallet/status", headers=agent).json() == linked


def link(client: TestClient, token: str, wallet: LocalAccount) -> tuple[int, str]:
    body = {
        "wallet_address": wallet.address,
        "signature": sign(wallet, nonce_for(client, wallet, "link")),
    }
    answer = client.post("/auth/wallet/link", json=body, headers=bearer(token))
    return answer.status_code, answer.json().get("service", {}).get("reason", "")


def test_link__the_same_pair_again__changes_nothing(
    client: TestClient, wallet: LocalAccount
) -> None:
    token = connect(client)["bearer_token"]
    assert [link(client, token, wallet) for _ in range(2)] == [(200, ""), (200, "")]


def test_link__one_wallet_one_account(client: TestClient, wallet: LocalAccount) -> None:
    first, second = connect(client)["bearer_token"], connect(client)["bearer_token"]
    assert link(client, first, wallet) == (200, "")
    assert link(client, second, wallet) == (409, "wallet_taken")
    assert link(client, first, STRANGER) == (409, "account_has_wallet")


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
    assert first == (409, "wallet_taken")


def test_login__while_the_same_wallet_is_linked_to_an_agent__is_wallet_taken(
    client: TestClient, wallet: LocalAccount, database: Database, clock: Clock
) -> None:
    agent_id, message = connect(client)["user_id"], nonce_for(client, wallet, "login")
    body = {"message": message, "signature": sign(wallet, message)}
    answer = while_held(
        database,
        lambda session: identity.link_wallet(session, agent_id, wallet.address, clock.now),
        lambda: client.post("/auth/owner/login", json=body),
    )
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "wallet_taken")


def test_link__an_owners_wallet__is_taken__and_an_agents_wallet_is_no_owner(
    client: TestClient, wallet: LocalAccount
) -> None:
    login(client, wallet)
    token = connect(client)["bearer_token"]
    assert link(client, token, wallet) == (409, "wallet_taken")
    assert link(client, token, STRANGER) == (200, "")
    message = nonce_for(client, STRANGER, "login")
    answer = client.post(
        "/auth/owner/login", json={"message": message, "signature": sign(STRANGER, message)}
    )
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "wallet_taken")


def test_link__without_a_signed_message__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    agent = connect(client)
    body = {"wallet_address": wallet.address, "signature": "0x" + "11" * 65}
    answer = client.post("/auth/wallet/link", json=body, headers=bearer(agent["bearer_token"]))
    assert answer.json()["service"]["reason"] == "signature_invalid"
    assert (
        client.post("/auth/wallet/link", json=body, headers={KEY: agent["api_key"]}).status_code
        == 401
    )


def test_connects_token__is_no_owners_session(client: TestClient, wallet: LocalAccount) -> None:
    token, owner = connect(client)["bearer_token"], login(client, wallet)
    assert (
        client.post("/auth/owner/logout", headers=bearer(token)).json()["service"]["reason"]
        == "auth_invalid"
    )
    assert (
        client.get("/auth/wallet/status", headers=owner).json()["service"]["reason"]
        == "auth_invalid"
    )
