"""Sign-in, registration and wallet link, through the application and a real database."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database
from tests.integration.api.conftest import (
    Clock,
    FewAnswersChain,
    TestClient,
    at_once,
    bearer,
    connect,
    link,
    login,
    nonce_for,
    reason,
    sign,
    sign_in,
)

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


def used(client: TestClient, wallet: LocalAccount, purpose: str, message: str) -> int:
    """The status of the call that this purpose's signature is for."""
    signature = sign(wallet, message)
    mine = {"wallet_address": wallet.address, "signature": signature}
    match purpose:
        case "login":
            answer = sign_in(client, message, signature)
        case "register":
            answer = client.post("/auth/agent/register", json={**mine, "agent_name": "a"})
        case _:
            token = bearer(connect(client)["bearer_token"])
            answer = client.post("/auth/wallet/link", json=mine, headers=token)
    return answer.status_code


@pytest.mark.parametrize("purpose", ["login", "register", "link"])
def test_a_text_that_waits_in_the_wallet__works_whatever_others_ask_for(
    client: TestClient, wallet: LocalAccount, clock: Clock, purpose: str
) -> None:
    """Anybody who asked after half of its life voided it."""
    mine = nonce_for(client, wallet, purpose)
    clock.pass_(seconds=150)
    assert nonce_for(client, wallet, purpose) != mine
    clock.pass_(seconds=149)
    assert used(client, wallet, purpose, mine) == 200


def test_unlink__of_a_text_that_waits_in_the_wallet__works_whatever_others_ask_for(
    client: TestClient, wallet: LocalAccount, clock: Clock
) -> None:
    owner = login(client, wallet)
    agent, own = connect(client, owner), Account.create()
    assert link(client, agent["bearer_token"], own).is_success
    ask = {"wallet_address": wallet.address, "purpose": "unlink", "agent_id": agent["user_id"]}
    mine = client.post("/auth/wallet/nonce", json=ask).json()["message"]
    clock.pass_(seconds=150)
    assert client.post("/auth/wallet/nonce", json=ask).json()["message"] != mine
    path = f"/agents/{agent['user_id']}/wallet/unlink"
    assert client.post(path, json={"signature": sign(wallet, mine)}, headers=owner).is_success


@pytest.mark.parametrize("purpose", ["login", "register", "link"])
def test_a_text__lives_its_whole_life_and_no_second_more(
    client: TestClient, wallet: LocalAccount, clock: Clock, purpose: str
) -> None:
    mine = nonce_for(client, wallet, purpose)
    clock.pass_(seconds=150)
    nonce_for(client, wallet, purpose)
    clock.pass_(seconds=150)
    assert used(client, wallet, purpose, mine) == 400


def test_nonces__however_often_and_at_once_they_are_asked_for__are_two_at_most(
    client: TestClient, wallet: LocalAccount, clock: Clock, database: Database
) -> None:
    body = {"wallet_address": wallet.address, "purpose": "login"}
    for _ in range(4):
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(client.post, "/auth/wallet/nonce", json=body) for _ in range(8)]
        assert len({one.result().json()["message"] for one in asked}) == 1
        clock.pass_(seconds=150)
    with database.read() as session:
        alive = session.scalar(
            text("select count(*) from sign_in_nonce where expires_at > :now"), {"now": clock()}
        )
    assert alive == 1  # the fourth; the third has just expired


@pytest.mark.row("5 sign-in by signed wallet messages")
def test_login__first_time__makes_the_owner_and_opens_a_session(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    answer = sign_in(client, message, sign(wallet, message))
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


def test_login__with_one_text_eight_times_at_once__signs_in_once(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    signature = sign(wallet, message)
    signed_in = at_once(8, lambda _: sign_in(client, message, signature).status_code)
    assert signed_in == {200: 1, 400: 7}


@pytest.mark.row("5 sign-in by signed wallet messages")
def test_login__wrong_signature__says_whose_and_what_to_sign(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    answer = sign_in(client, message, sign(STRANGER, message))
    assert reason(answer) == (400, "signature_invalid")
    assert answer.json()["detail"] == (
        f"signature: it is not {wallet.address}'s signature of this message; sign the text of "
        "/auth/wallet/nonce unchanged."
    )
    fresh = answer.json()["service"]["next"][0]
    assert client.request(fresh["method"], fresh["path"], json=fresh["body"]).status_code == 200


def test_login__after_a_wrong_signature__the_text_still_serves(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    sign_in(client, message, sign(STRANGER, message))
    assert sign_in(client, message, sign(wallet, message)).status_code == 200


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        (
            "Chain ID: 84532",
            "Chain ID: 1",
            ("message: its Chain ID is not 84532; get a text of this service"),
        ),
        (
            "URI: http://testserver",
            "URI: http://evil.example",
            "message: its URI is not http://testserver; get a text of this service",
        ),
        (
            "testserver wants",
            "evil.example wants",
            "message: its domain is not testserver; get a text of this service",
        ),
        ("Version: 1", "Version: 2", "message: its Version is not 1; get a text of this service"),
        (
            "Nonce: ",
            "Nonce: 0",
            (
                "message: its nonce was not issued to this wallet for the purpose login, or has already"
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
        ("12:05:00.000Z", "25:00:00.000Z", "message: it is not a sign-in message (EIP-4361)"),
        ("Version: 1\n", "", "message: it is not a sign-in message (EIP-4361)"),
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
    answer = sign_in(client, message, sign(wallet, message))
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
    signature = sign(wallet, message)
    assert sign_in(client, message, signature).status_code == 200
    assert reason(sign_in(client, message, signature)) == (400, "signature_invalid")


def test_login__with_our_text_after_the_client_built_one__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    """One nonce, one sign-in: either form uses it up."""
    ours = nonce_for(client, wallet, "login")
    theirs = built_by_the_client(wallet, nonce_alone(client, wallet, "login"))
    assert sign_in(client, theirs, sign(wallet, theirs)).status_code == 200
    assert sign_in(client, ours, sign(wallet, ours)).status_code == 400


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
    message = nonce_for(client, wallet, "login")
    assert reason(sign_in(client, message, "0x")) == (400, "signature_invalid")
    chain.wallets[wallet.address] = "0x"
    assert sign_in(client, message, "0x").status_code == 200


def test_login__with_a_text_for_linking__is_refused(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "link")
    answer = sign_in(client, message, sign(wallet, message))
    assert reason(answer) == (400, "signature_invalid")


def test_login__a_text_over_2_kb__is_refused_before_it_is_read(
    client: TestClient, wallet: LocalAccount
) -> None:
    answer = sign_in(client, "x" * 2049, "0x" + "00" * 65)
    assert (
        answer.json()["detail"]
        == "message: it is longer than 2048 bytes; send the text of /auth/wallet/nonce."
    )


def test_login__a_contract_wallet__is_asked_by_erc_1271(
    client: TestClient, wallet: LocalAccount, chain: FewAnswersChain
) -> None:
    chain.wallets[wallet.address] = "0xabcd"
    message = nonce_for(client, wallet, "login")
    assert sign_in(client, message, "0xabce").status_code == 400
    assert sign_in(client, message, "0xabcd").status_code == 200


def test_login__of_a_contract_wallet_while_the_chain_is_down__is_503(
    client: TestClient, wallet: LocalAccount, chain: FewAnswersChain
) -> None:
    message = nonce_for(client, wallet, "login")
    chain.is_down = True
    answer = sign_in(client, message, "0xabcd")
    assert reason(answer) == (503, "temporarily_unavailable")
    assert answer.json()["service"]["retry_safe"] is True
    assert sign_in(client, message, sign(wallet, message)).status_code == 200


def test_logout__ends_the_session_at_once(client: TestClient, wallet: LocalAccount) -> None:
    session = login(client, wallet)
    assert client.post("/auth/owner/logout", headers=session).json() == {"ok": True}
    answer = client.post("/auth/owner/logout", headers=session)
    assert reason(answer) == (401, "auth_invalid")


def test_a_session__is_too_old_at_its_last_second(
    client: TestClient, wallet: LocalAccount, clock: Clock
) -> None:
    session = login(client, wallet)
    clock.pass_(hours=24, seconds=-1)
    assert client.get("/agent/catalog", headers=session).status_code == 200
    clock.pass_(seconds=1)
    assert client.get("/agent/catalog", headers=session).status_code == 401
