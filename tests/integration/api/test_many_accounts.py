"""What many accounts of one person get together: sign-ups and registrations of an address, the
welcome credit, free reads.
"""

from collections import Counter
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database
from tests.integration.api.conftest import (
    KEY,
    Clock,
    Limit,
    TestClient,
    at_once,
    connect,
    login,
    nonce_for,
    reason,
    sign,
    sign_in,
)

PAGE = "/playbooks/first-hour/loop.md"
MIDNIGHT = "2026-11-22T00:00:00Z"


def own(client: TestClient, wallet: LocalAccount) -> Any:
    message = nonce_for(client, wallet, "login")
    return sign_in(client, message, sign(wallet, message))


def reads(client: TestClient, agent: dict[str, Any], n: int) -> list[int]:
    return [client.get(PAGE, headers={KEY: agent["api_key"]}).status_code for _ in range(n)]


def scalar(database: Database, query: str) -> Any:
    with database.read() as session:
        return session.scalar(text(query))


# Sign-ups of owners


def test_the_eleventh_new_owner_of_an_address__waits_until_midnight(
    client: TestClient, clock: Clock
) -> None:
    wallets = [Account.create() for _ in range(11)]
    assert [own(client, wallet).status_code for wallet in wallets] == [200] * 10 + [429]
    refused = own(client, wallets[10])
    assert (reason(refused), refused.json()["service"]["retry_at"]) == (
        (429, "rate_limited"),
        MIDNIGHT,
    )
    assert "10 new owners" in refused.json()["detail"]
    assert own(client, wallets[0]).status_code == 200
    clock.pass_(hours=12)
    assert own(client, wallets[10]).status_code == 200


def test_a_new_owner__of_another_address__is_not_held_up(limited: Limit) -> None:
    assert own(limited(owner_sign_ups_per_day=1), Account.create()).status_code == 200
    assert (
        own(limited(peer="198.51.100.7", owner_sign_ups_per_day=1), Account.create()).status_code
        == 200
    )


def test_a_refused_sign_up__may_use_its_text_later(limited: Limit, clock: Clock) -> None:
    client, wallet = limited(owner_sign_ups_per_day=1, nonce_s=86_400), Account.create()
    own(client, Account.create())
    message = nonce_for(client, wallet, "login")
    signature = sign(wallet, message)
    assert sign_in(client, message, signature).status_code == 429
    clock.pass_(hours=12)
    assert sign_in(client, message, signature).status_code == 200


@pytest.mark.slow
def test_fifty_new_owners_at_once__exactly_ten_sign_up(
    client: TestClient, database: Database
) -> None:
    wallets = [Account.create() for _ in range(50)]
    texts = [nonce_for(client, wallet, "login") for wallet in wallets]
    signatures = [sign(wallet, text) for wallet, text in zip(wallets, texts, strict=True)]
    call = lambda n: sign_in(client, texts[n], signatures[n]).status_code  # noqa: E731
    assert at_once(50, call) == {200: 10, 429: 40}
    assert scalar(database, "select count(*) from account where kind = 'owner'") == 10


# Owned registrations


# The welcome credit of an owned agent


def test_an_owned_agent__always_gets_the_welcome_credit__and_no_address_is_full(
    limited: Limit, database: Database
) -> None:
    client = limited(registrations_per_day=1, welcome_per_address_per_day=0)
    for _ in range(4):
        owner = login(client, Account.create())
        agents = [connect(client, owner) for _ in range(20)]
        assert {one["welcome_credit_granted"] for one in agents} == {True}
    assert scalar(database, "select sum(welcome) from credit_head") == 800


def test_without_a_welcome_credit__none_is_granted(limited: Limit) -> None:
    assert connect(limited(welcome_credits=0))["welcome_credit_granted"] is False


# Free reads


@pytest.mark.slow
def test_free_reads__are_shared_by_the_unowned_accounts_of_an_address(limited: Limit) -> None:
    client = limited(welcome_credits=0)
    agents = [connect(client) for _ in range(4)]
    assert [Counter(reads(client, agent, 101)) for agent in agents] == [{200: 100, 402: 1}] * 3 + [
        {402: 101}
    ]
    assert reads(client, connect(limited(peer="198.51.100.7", welcome_credits=0)), 1) == [200]


def test_free_reads__are_shared_by_the_agents_of_an_owner_wherever_they_registered(
    limited: Limit, wallet: LocalAccount
) -> None:
    limits = {
        "welcome_credits": 0,
        "free_reads_per_owner_per_day": 3,
        "free_reads_per_address_per_day": 2,
    }
    near, far = limited(**limits), limited(peer="198.51.100.7", **limits)
    owner = login(near, wallet)
    first, second = connect(near, owner), connect(far, owner)
    assert (reads(near, first, 2), reads(far, second, 2)) == ([200, 200], [200, 402])
    assert reads(near, connect(near), 3) == [200, 200, 402]  # what the address's own accounts share


def test_owners_that_signed_up_from_one_address__share_too_however_few_agents_each_has(
    limited: Limit,
) -> None:
    limits = {
        "welcome_credits": 0,
        "free_reads_per_owner_per_day": 3,
        "free_reads_per_owners_address_per_day": 4,
    }
    near, far = limited(**limits), limited(peer="198.51.100.7", **limits)
    agents = [connect(near, login(near, Account.create())) for _ in range(2)]
    assert [reads(near, agent, 4) for agent in agents] == [
        [200, 200, 200, 402],
        [200, 402, 402, 402],
    ]
    refused = near.get(PAGE, headers={KEY: agents[1]["api_key"]}).json()["detail"]
    assert (
        "of 3 that the agents of its owner share, of 4 that the agents of all owners of one "
        "network address share"
    ) in refused
    assert reads(far, connect(far, login(far, Account.create())), 1) == [200]


def test_the_agents_of_an_owner_of_before__share_with_each_other_alone(
    limited: Limit, wallet: LocalAccount, database: Database
) -> None:
    client = limited(
        welcome_credits=0, free_reads_per_owner_per_day=2, free_reads_per_owners_address_per_day=1
    )
    agent = connect(client, login(client, wallet))
    with database.write() as session:
        session.execute(text("update account set registered_from = null where kind = 'owner'"))
    assert reads(client, agent, 3) == [200, 200, 402]


def test_ipv6__shares_by_64(limited: Limit) -> None:
    limits = {"welcome_credits": 0, "free_reads_per_address_per_day": 1}
    near = [limited(peer=f"2001:db8:0:1::{n}", **limits) for n in (1, 2)]
    other = limited(peer="2001:db8:0:2::1", **limits)
    assert [reads(one, connect(one), 1) for one in (*near, other)] == [[200], [402], [200]]


def test_the_pool__says_what_is_left_of_it_and_how_it_is_shared(limited: Limit) -> None:
    client = limited(welcome_credits=0, free_reads_per_day=5, free_reads_per_address_per_day=6)
    first, second = connect(client), connect(client)
    left = [
        client.get(PAGE, headers={KEY: first["api_key"]}).headers["X-Free-Reads-Remaining"]
        for _ in range(5)
    ]
    assert left == ["4", "3", "2", "1", "0"]
    shown = client.get("/credits/balance", headers={KEY: second["api_key"]}).json()
    assert (shown["free_reads_remaining"], shown["free_reads_shared_remaining"]) == (1, 1)
    assert (
        client.get(PAGE, headers={KEY: second["api_key"]}).headers["X-Free-Reads-Remaining"] == "0"
    )
    refused = client.get(PAGE, headers={KEY: second["api_key"]})
    assert (reason(refused), refused.json()["service"]["retry_at"]) == (
        (402, "credit_insufficient"),
        MIDNIGHT,
    )
    assert (
        "an agent has 5 a day, of 6 that the unowned agents registered from its network address "
        "share"
    ) in refused.json()["detail"]


def test_the_pool__is_full_again_at_midnight(limited: Limit, clock: Clock) -> None:
    client = limited(welcome_credits=0, free_reads_per_address_per_day=1)
    agents = [connect(client), connect(client)]
    assert [reads(client, agent, 1) for agent in agents] == [[200], [402]]
    clock.pass_(hours=12)
    assert [reads(client, agent, 1) for agent in agents] == [[200], [402]]


@pytest.mark.slow
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "read-{n}"}])
def test_fifty_reads_at_once_of_ten_agents__exactly_the_pool_and_no_account_counts_more(
    limited: Limit, database: Database, headers: dict[str, str]
) -> None:
    client = limited(welcome_credits=0, free_reads_per_day=4, free_reads_per_address_per_day=23)
    agents = [connect(client) for _ in range(10)]

    def call(n: int) -> int:
        sent = {name: value.format(n=n) for name, value in headers.items()}
        return int(client.get(PAGE, headers={KEY: agents[n % 10]["api_key"], **sent}).status_code)

    assert at_once(50, call) == {200: 23, 402: 27}
    assert scalar(database, "select sum(n) from free_read_count") == 23
    assert scalar(database, "select max(n) from free_read_count") <= 4
    assert scalar(database, "select n from free_read_pool") == 23
