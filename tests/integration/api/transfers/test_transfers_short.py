"""Balances of an account whose ledger is short of facts of the chain: what they may move is not
known, and nobody is refused for it.
"""

from typing import Any

import pytest
from eth_account import Account
from starlette.testclient import TestClient

from core.db.engine import Database
from core.hexes import bytes_of
from core.quarantine import queries as quarantine
from core.quarantine.queries import NewHeld
from tests.integration.api.conftest import Clock, connect, login
from tests.integration.api.transfers.test_transfers_report import funded, key, send, tx

WHY = (
    "The record is short of facts of the chain (1) from block 7 on; they are held back and not "
    "lost. The chain itself is the truth meanwhile."
)
FACT = NewHeld(
    base_key=f"log:{tx(1)}:0",
    block_number=7,
    block_hash=bytes_of(tx(7)),
    tx_hash=bytes_of(tx(1)),
    log_index=0,
    address=None,
    topic=None,
    reason="database",
    note="no",
    fact=b"{}",
    tries=1,
)


def hold(database: Database, clock: Clock, agent: dict[str, Any]) -> None:
    with database.write() as session:
        quarantine.hold(session, 84532, quarantine.ACCOUNT, agent["user_id"], [FACT], clock.now)


@pytest.fixture
def agent(client: TestClient, database: Database, clock: Clock) -> dict[str, Any]:
    """1 USDC is idle by the ledger; a deposit of more is held back."""
    found = connect(client)
    funded(client, database, clock, found, "1.000000")
    hold(database, clock, found)
    return found


def test_balances__are_null_and_say_why(client: TestClient, agent: dict[str, Any]) -> None:
    answer = client.get(
        f"/mandate-wallet/agents/{agent['user_id']}/balances", headers=key(agent)
    ).json()
    [balance] = answer["balances"]
    assert (answer["data_issue"], answer["data_issue_reason"]) == (True, WHY)
    assert (balance["idle"], balance["in_transit"], balance["delivered"], balance["reserved"]) == (
        None,
        None,
        None,
        "0.000000",
    )
    assert (balance["data_issue"], balance["data_issue_reason"]) == (True, WHY)


@pytest.mark.slow
def test_a_report_out__is_refused_by_a_reason_that_the_service_fixes(
    client: TestClient, agent: dict[str, Any]
) -> None:
    answer = send(client, agent, direction="out", amount="3.000000", tx_hash=tx(3))
    service = answer.json()["service"]
    assert (answer.status_code, service["reason"], service["retry_safe"], service["who_fixes"]) == (
        503,
        "record_short",
        True,
        "service",
    )
    assert "remaining" not in service
    assert service["next"][0]["path"] == f"/mandate-wallet/agents/{agent['user_id']}/balances"


def test_a_report_in__is_taken_and_its_balance_is_not_known(
    client: TestClient, agent: dict[str, Any]
) -> None:
    answer = send(client, agent, tx_hash=tx(4))
    assert answer.status_code == 200
    assert (answer.json()["balance"]["in_transit"], answer.json()["balance"]["data_issue"]) == (
        None,
        True,
    )


def test_a_report_out__with_the_owners_leave__is_taken(
    client: TestClient, database: Database, clock: Clock
) -> None:
    owner = login(client, Account.from_key("0x" + "22" * 32))
    agent = connect(client, owner)
    policy = {"auto_vs_approval": {"allow_overdraft": True}}
    assert (
        client.put(
            f"/mandate-wallet/agents/{agent['user_id']}/policy", json=policy, headers=owner
        ).status_code
        == 200
    )
    hold(database, clock, agent)
    answer = send(client, agent, amount="3", direction="out")
    assert answer.json()["transfer"]["override_reason"] == "allow_overdraft: idle was not known"
