"""POST /mandate-wallet/transfers/report: what is taken, what is refused, and what it leaves in the
balances.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from core.db.engine import Database
from core.transfers import queries as repository
from core.transfers import reports as transfer_reports
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.rules import Failure, FourStates, Sighting
from core.transfers.tables import TransferReport
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, connect

PATH = "/mandate-wallet/transfers/report"
TX = "0x" + "ab" * 32
BODY: dict[str, Any] = {
    "chain_id": 84532,
    "asset": "USDC",
    "amount": "12.500000",
    "tx_hash": TX,
    "direction": "in",
}
USDC = 1_000_000


def key(agent: dict[str, Any]) -> dict[str, str]:
    return {KEY: agent["api_key"]}


def send(
    client: TestClient, agent: dict[str, Any], headers: dict[str, str] | None = None, **changes: Any
) -> httpx.Response:
    body = {name: value for name, value in (BODY | changes).items() if value is not ...}
    answer: httpx.Response = client.post(PATH, json=body, headers=key(agent) | (headers or {}))
    return answer


def balance(database: Database, agent: dict[str, Any]) -> FourStates:
    with database.read() as session:
        assert transfer_reports.verify(session, agent["user_id"]) == []
        return transfer_ledger.load_balance(session, agent["user_id"], 84532, "USDC")


def count(database: Database, table: type[Any]) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def tx(number: int) -> str:
    return "0x" + f"{number:064x}"


def chain_confirms(database: Database, clock: Clock, tx_hash: str) -> None:
    sighting = Sighting(
        block_hash=tx(9),
        block_number=9,
        at=0,
        is_safe=True,
        is_success=True,
        moved_e6=None,
        log_index=0,
    )
    with database.write() as session:
        report = repository.find_report(session, 84532, tx_hash)
        assert report is not None
        transfer_reports.confirm(session, report, sighting, clock.now)


def chain_fails(database: Database, clock: Clock, tx_hash: str, failure: Failure) -> None:
    with database.write() as session:
        report = repository.find_report(session, 84532, tx_hash)
        assert report is not None
        transfer_reports.fail(session, report, failure, None, clock.now)


def funded(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any], amount: str
) -> None:
    assert send(client, agent, amount=amount, tx_hash=tx(1)).status_code == 200
    chain_confirms(database, clock, tx(1))


# What is taken


@pytest.mark.row(
    "2.16 agent_id",
    "2.16 chain_id",
    "2.16 asset",
    "2.16 amount",
    "2.16 tx_hash",
    "2.16 direction",
    "2.16 reported_by",
    "2.16 reported_at",
    "2.16 status",
    "3.3 new to reported",
    "4 POST /transfers/report",
)
def test_a_report_of_money_in__is_in_transit_until_the_chain_confirms_it(
    client: TestClient, database: Database, agent: dict[str, Any]
) -> None:
    answer = send(client, agent, tx_hash="0x" + "AB" * 32)
    assert answer.status_code == 200
    assert answer.json() == {
        "recorded": True,
        "transfer": {
            "agent_id": str(agent["user_id"]),
            "chain_id": 84532,
            "asset": "USDC",
            "amount": "12.500000",
            "tx_hash": TX,
            "direction": "in",
            "reported_by": "agent",
            "reported_at": "2026-11-21T12:00:00Z",
            "confirmed_at": None,
            "status": "reported",
            "failure": None,
            "override_reason": None,
        },
        "balance": {
            "chain_id": 84532,
            "asset": "USDC",
            "idle": "0.000000",
            "reserved": "0.000000",
            "in_transit": "12.500000",
            "delivered": "0.000000",
        },
    }
    assert balance(database, agent) == FourStates(in_transit_e6=12_500_000)


def test_a_report_of_money_out__up_to_idle_exactly__leaves_idle_at_zero(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    funded(client, database, clock, agent, "10")
    answer = send(client, agent, amount="10.000000", direction="out")
    assert answer.status_code == 200
    assert answer.json()["transfer"]["override_reason"] is None
    assert balance(database, agent) == FourStates(in_transit_e6=10 * USDC)


# What is refused


@pytest.mark.row("2.16 amount", "2.16 direction", "2.16 tx_hash")
@each(
    ("changes", "reason", "field"),
    [
        ({"chain_id": 1}, "invalid_parameter", "chain_id"),
        ({"chain_id": "84532"}, "invalid_number", "chain_id"),
        ({"chain_id": ...}, "invalid_parameter", "chain_id"),
        ({"asset": "DOGE"}, "invalid_parameter", "asset"),
        ({"amount": "0"}, "invalid_number", "amount"),
        ({"amount": "1000000000000.000001"}, "invalid_number", "amount"),
        ({"tx_hash": "0x" + "ab" * 31}, "invalid_parameter", "tx_hash"),
        ({"direction": "sideways"}, "invalid_parameter", "direction"),
        ({"note": "hi"}, "invalid_parameter", "note"),
        ({"api_key": "x"}, "secret_field_refused", "api_key"),
    ],
)
def test_a_field_that_breaks_its_rule__is_named(
    client: TestClient,
    database: Database,
    agent: dict[str, Any],
    changes: dict[str, Any],
    reason: str,
    field: str,
) -> None:
    answer = send(client, agent, **changes)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (400, reason)
    assert field in answer.json()["detail"]
    assert count(database, TransferReport) == 0


# Once a transaction


@pytest.mark.row("4 POST /transfers/report", "2.16 confirmed_at")
def test_the_same_transaction_again__is_refused_and_shows_where_it_stands(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    send(client, agent)
    chain_confirms(database, clock, TX)
    answer = send(client, agent, amount="99", direction="out", tx_hash="0x" + "AB" * 32)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "duplicate_transfer")
    assert (answer.json()["transfer"]["status"], answer.json()["transfer"]["amount"]) == (
        "confirmed",
        "12.500000",
    )
    assert balance(database, agent) == FourStates(idle_e6=12_500_000)


def test_the_same_transaction_by_another_account__is_refused_and_says_nothing_of_the_first(
    client: TestClient, database: Database, agent: dict[str, Any]
) -> None:
    other = connect(client)
    send(client, agent)
    answer = send(client, other)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "duplicate_transfer")
    assert "transfer" not in answer.json()
    assert str(agent["user_id"]) not in answer.text
    assert balance(database, other) == FourStates()


def test_a_report_that_the_chain_contradicts__gives_its_transaction_free(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    other = connect(client)
    send(client, agent)
    chain_fails(database, clock, TX, Failure.CONTRADICTED)
    assert send(client, other).status_code == 200
    assert send(client, agent).status_code == 409
    assert (balance(database, agent), balance(database, other)) == (
        FourStates(),
        FourStates(in_transit_e6=12_500_000),
    )


@pytest.mark.parametrize("failure", [Failure.NOT_SEEN, Failure.REVERTED, Failure.BLOCK_REPLACED])
def test_a_report_that_may_come_back__keeps_its_transaction(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any], failure: Failure
) -> None:
    send(client, agent)
    chain_fails(database, clock, TX, failure)
    answer = send(client, agent)
    assert (
        answer.status_code,
        answer.json()["transfer"]["status"],
        answer.json()["transfer"]["failure"],
    ) == (409, "failed", failure.value)


def test_eight_reports_of_one_transaction_at_once__one_is_taken(
    client: TestClient, database: Database
) -> None:
    agents = [connect(client) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: send(client, agents[number % 4]), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert {
        answer.json()["service"]["reason"] for answer in answers if answer.status_code == 409
    } == {"duplicate_transfer"}
    assert sum(balance(database, agent).in_transit_e6 for agent in agents) == 12_500_000


@pytest.mark.slow
def test_one_transaction_in_and_out_at_once__one_is_taken_and_none_waits_for_ever(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    """In used to insert before it held the ledger, out after: each could wait for the other."""
    funded(client, database, clock, agent, "100")
    for number in range(6):
        with ThreadPoolExecutor(8) as pool:
            ways = ["in", "out"] * 4
            taken = list(
                pool.map(
                    lambda way: (
                        send(
                            client,
                            agent,
                            tx_hash=tx(200 + number),  # noqa: B023
                            amount="1",
                            direction=way,
                        ).status_code
                    ),
                    ways,
                )
            )
        assert sorted(taken) == [200] + [409] * 7
    balance(database, agent)


def test_eight_reports_of_money_out_at_once__take_no_more_than_idle(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    funded(client, database, clock, agent, "10")
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda number: send(
                    client, agent, amount="4", direction="out", tx_hash=tx(100 + number)
                ),
                range(8),
            )
        )
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [409] * 6
    assert balance(database, agent) == FourStates(idle_e6=2 * USDC, in_transit_e6=8 * USDC)


# Balances
