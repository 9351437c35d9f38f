"""What strangers send to one's reference or wallet hides nothing of one's own, and costs no more."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import event, text
from starlette.testclient import TestClient

from core.db.engine import Database
from core.reserve.rules import ReserveEventKind, ReserveFact
from tests.integration.api.conftest import connect, reason
from tests.integration.api.reserve.conftest import CHAIN, ONE, USDC, Chain, by, linked

CONVERSIONS, PURCHASES = "/reserve/me/conversions", "/reserve/me/purchases"
ROWS = 100_000
MOST_ROWS_READ = 2_000  # of a page of 100, by all its statements


def stranger(number: int) -> str:
    return "0x" + f"{number + 1:040x}"


def pages(client: TestClient, path: str, agent: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    found, cursor = [], None
    while True:
        query = {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
        answer = client.get(path, params=query, headers=by(agent))
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
        cursor = found[-1]["next_cursor"]
        if cursor is None:
            return found


@pytest.fixture
def mine(client: TestClient, agent: dict[str, Any], wallet: LocalAccount) -> str:
    return linked(client, agent, wallet)


@pytest.fixture
def ref(client: TestClient, agent: dict[str, Any]) -> str:
    return str(client.post("/reserve/me/ref", headers=by(agent)).json()["account_ref"])


def test_pages__have_each_conversion_once_own_first_each_newest_first(
    client: TestClient, agent: dict[str, Any], token: Chain, mine: str, ref: str
) -> None:
    for number in range(3):
        token.converted(mine, ref, ONE, USDC)
        token.converted(stranger(number), ref, ONE, USDC)
    token.credit()
    token.converted(mine, ref, ONE, USDC)
    found = pages(client, CONVERSIONS, agent, 2)
    rows = [one for page in found for one in (*page["held"], *page["credited"])]
    assert [one["block"] for one in rows] == [9, 7, 5, 3, 8, 6, 4]
    assert [one["is_own"] for one in rows] == [True] * 4 + [False] * 3


def test_what_ones_wallet_converts_for_another_account__is_not_ones_own(
    client: TestClient, agent: dict[str, Any], token: Chain, mine: str
) -> None:
    other = connect(client)
    ref = client.post("/reserve/me/ref", headers=by(other)).json()["account_ref"]
    token.converted(mine, ref, ONE, USDC)
    token.credit()
    assert pages(client, CONVERSIONS, agent, 10) == [
        {"held": [], "credited": [], "next_cursor": None}
    ]
    (page,) = pages(client, CONVERSIONS, other, 10)
    assert [one["is_own"] for one in page["credited"]] == [False]


def test_own_purchases__come_before_what_strangers_buy_for_the_wallet(
    client: TestClient, agent: dict[str, Any], token: Chain, mine: str
) -> None:
    token.bought(mine, 10 * USDC, ONE)
    for number in range(60):
        dust = ReserveFact(
            ReserveEventKind.BOUGHT, stranger(number), recipient=mine, tokens=1, usdc_e6=1
        )
        token.take(dust)
    found = client.get("/reserve/me", headers=by(agent)).json()
    assert [one["usdc"] for one in found["purchases"] if one["is_own"]] == ["10.000000"]
    assert found["purchases"][0]["is_own"]
    rows = [one for page in pages(client, PURCHASES, agent, 25) for one in page["purchases"]]
    assert len({one["block"] for one in rows}) == len(rows) == 61
    rest = client.get(
        PURCHASES, params={"cursor": found["next_purchases"]}, headers=by(agent)
    ).json()
    assert len(rest["purchases"]) == 11


@pytest.mark.parametrize("path", [CONVERSIONS, PURCHASES])
def test_a_cursor_of_another_list__is_refused(
    client: TestClient, agent: dict[str, Any], token: Chain, mine: str, ref: str, path: str
) -> None:
    for _ in range(2):
        token.converted(mine, ref, ONE, USDC)
        token.bought(mine, USDC, ONE)
    beside = ({CONVERSIONS, PURCHASES} - {path}).pop()
    cursor = pages(client, beside, agent, 1)[0]["next_cursor"]
    assert cursor is not None
    answer = client.get(path, params={"cursor": cursor}, headers=by(agent))
    assert reason(answer) == (400, "invalid_parameter")
    assert "cursor" in answer.json()["detail"]


# At a hundred thousand rows

DUST = """
insert into reserve_conversion (chain_id, block_hash, log_index, number, tx_hash, holder, account_ref, tokens, usdc_e6,
  status, occurrence, account_id, credits, tries, seen_at, credited_at)
select :chain, decode(lpad(to_hex(1000000 + n), 64, '0'), 'hex'), 0, 1000 + n, decode(lpad(to_hex(n), 64, '0'), 'hex'),
  decode(lpad(to_hex(n % 50000 + 1), 40, '0'), 'hex'), :ref, 1, 1, 'credited', 1, :account, 0, 0, now(), now()
from generate_series(1, :rows) n
"""
GIFTS = """
insert into reserve_event (chain_id, block_hash, log_index, number, at, tx_hash, kind, party, recipient, tokens, usdc_e6,
  reserve_after_e6, supply_after, owed_after_e6, is_paused_after)
select :chain, decode(lpad(to_hex(1000000 + n), 64, '0'), 'hex'), 0, 1000 + n, n, decode(lpad(to_hex(n), 64, '0'), 'hex'),
  'bought', decode(lpad(to_hex(n % 50000 + 1), 40, '0'), 'hex'), :wallet, 1, 1, 1, 1, 0, false
from generate_series(1, :rows) n
"""


@contextmanager
def statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """What is asked of the database meanwhile."""
    found: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        found.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def rows_read(node: dict[str, Any]) -> int:
    """By the scans of a plan, those that a filter removed too."""
    parts = node.get("Plans", [])
    if "Scan" in node["Node Type"]:
        read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        return int(read * node["Actual Loops"]) + sum(map(rows_read, parts))
    return sum(map(rows_read, parts))


@pytest.mark.slow
def test_a_page__among_a_hundred_thousand_rows_of_dust__reads_no_more_than_it_shows(
    client: TestClient,
    agent: dict[str, Any],
    token: Chain,
    mine: str,
    ref: str,
    database: Database,
) -> None:
    token.converted(mine, ref, 100 * ONE, 3 * USDC)
    token.bought(mine, 10 * USDC, ONE)
    raw = {"ref": bytes.fromhex(ref[2:]), "wallet": bytes.fromhex(mine[2:])}
    with database.write() as session:
        more = {"chain": CHAIN, "rows": ROWS, "account": agent["user_id"]}
        session.execute(text(DUST), raw | more)
        session.execute(text(GIFTS), raw | more)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("vacuum analyze reserve_conversion, reserve_event"))

    with statements(database) as asked:
        first = client.get("/reserve/me", headers=by(agent)).json()
        deep = {"cursor": first["next_conversions"], "limit": 100}
        page = client.get(CONVERSIONS, params=deep, headers=by(agent)).json()
    assert len(page["credited"]) == 100
    own = [*first["held"], *first["purchases"]]
    assert [one["usdc"] for one in own if one["is_own"]] == ["3.000000", "10.000000"]

    with database.engine.connect() as connection:
        plans = {
            statement: connection.exec_driver_sql(
                f"explain (analyze, format json) {statement}", parameters
            ).scalar_one()
            for statement, parameters in asked
            if "reserve_" in statement and statement.lstrip().lower().startswith("select")
        }
    assert len(plans) >= 5
    read = {
        statement: rows_read((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
        for statement, plan in plans.items()
    }
    assert {one: count for one, count in read.items() if count > MOST_ROWS_READ} == {}
