"""How many reports of an account may be open at once."""

from typing import Any

import httpx
import pytest
from eth_account import Account
from sqlalchemy import select
from starlette.testclient import TestClient

from core.db.engine import Database
from core.transfers.rules import Failure, FourStates
from core.transfers.tables import TransferReport
from tests.integration.api.conftest import Clock, at_once, connect, login
from tests.integration.api.transfers.test_transfers_report import (
    balance,
    chain_confirms,
    chain_fails,
    count,
    send,
    tx,
)

# How many may be open


def numbered(client: TestClient, agent: dict[str, Any], n: int, **changes: Any) -> httpx.Response:
    return send(client, agent, tx_hash=tx(1000 + n), **changes)


@pytest.mark.slow
def test_the_twenty_first_open_report__is_refused_and_says_when_it_is_possible(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    assert [numbered(client, agent, n).status_code for n in range(20)] == [200] * 20
    refused = numbered(client, agent, 20)
    block = refused.json()["service"]
    assert (refused.status_code, block["reason"], block["remaining"]) == (
        429,
        "rate_limited",
        {"open_transfer_reports": 0},
    )
    assert block["retry_at"] == "2026-11-21T13:00:00Z"
    assert block["next"][0]["path"] == f"/mandate-wallet/agents/{agent['user_id']}/balances"
    assert count(database, TransferReport) == 20
    assert numbered(client, agent, 0).json()["service"]["reason"] == "duplicate_transfer"
    chain_confirms(database, clock, tx(1005))
    assert [numbered(client, agent, n).status_code for n in (20, 21)] == [200, 429]


def test_another_agent_of_the_owner__has_twenty_of_its_own(client: TestClient) -> None:
    owner = login(client, Account.from_key("0x" + "22" * 32))
    first, second = connect(client, owner), connect(client, owner)
    assert [numbered(client, first, n).status_code for n in range(21)] == [200] * 20 + [429]
    assert numbered(client, second, 21).status_code == 200


def test_while_no_report_can_have_ended__retry_at_is_later_than_now(
    client: TestClient, clock: Clock, agent: dict[str, Any]
) -> None:
    for n in range(20):
        numbered(client, agent, n)
    clock.pass_(hours=3)
    assert numbered(client, agent, 20).json()["service"]["retry_at"] == "2026-11-21T15:01:00Z"


@pytest.mark.slow
def test_fifty_reports_at_once__exactly_twenty_are_taken(
    client: TestClient, database: Database, agent: dict[str, Any]
) -> None:
    taken = at_once(50, lambda n: numbered(client, agent, n).status_code)
    assert taken == {200: 20, 429: 30}
    assert count(database, TransferReport) == 20
    assert balance(database, agent) == FourStates(in_transit_e6=20 * 12_500_000)


def watched(database: Database) -> list[str]:
    """Transactions that are still looked up, in the order of their reports."""
    with database.read() as session:
        query = (
            select(TransferReport.tx_hash)
            .where(TransferReport.next_look_at.is_not(None))
            .order_by(TransferReport.id)
        )
        return ["0x" + one.hex() for one in session.scalars(query)]


@pytest.mark.slow
def test_a_new_report__takes_the_place_of_the_oldest_that_failed_unseen(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    for n in range(20):
        numbered(client, agent, n)
        chain_fails(
            database, clock, tx(1000 + n), Failure.NOT_SEEN if n else Failure.BLOCK_REPLACED
        )
    assert len(watched(database)) == 20
    assert [numbered(client, agent, n).status_code for n in (20, 21)] == [200, 200]
    assert watched(database) == [tx(1000), *(tx(1000 + n) for n in range(2, 22))]
    assert balance(database, agent) == FourStates(in_transit_e6=2 * 12_500_000)
