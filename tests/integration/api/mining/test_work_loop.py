"""A transcript of one complete loop, over a socket, by clients that know nothing of this service: plain
HTTP that makes the calls which answers name, and the official MCP client.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy import text

from api.kernel.operation import Deps
from api.main import create_app
from tests.integration.api.conftest import KEY
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, EVIDENCE, record
from tests.integration.api.serving import served

DISCOVERY = {"exchange": "binance", "symbol": "LINK/USDT", "entries": [CHAIN, CONTRACT]}
SEEN = {
    "verdict": "match",
    "observed_at": "2026-11-21T11:59:00Z",
    "observed_result": "The page names it.",
    "source_url": EVIDENCE,
}


@pytest.fixture
def url(deps: Deps, listed: None) -> Iterator[str]:
    with served(lambda _: create_app(deps)) as base_url:
        yield base_url


@pytest.fixture
def http(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=10) as client:
        yield client


def call(http: httpx2.Client, named: dict[str, Any], key: str | None = None) -> Any:
    """A call as an answer names it."""
    headers = {} if named["auth"].startswith("none") or key is None else {KEY: key}
    answer = http.request(named["method"], named["path"], json=named.get("body"), headers=headers)
    assert answer.is_success, answer.text
    return answer.json()


def post(http: httpx2.Client, path: str, key: str, body: Any = None, status: int = 200) -> Any:
    answer = http.post(path, json=body, headers={KEY: key})
    assert answer.status_code == status, answer.text
    return answer.json()


def own(http: httpx2.Client, path: str, key: str) -> Any:
    answer = http.get(path, headers={KEY: key})
    assert answer.status_code == 200, answer.text
    return answer.json()


def approve_all(http: httpx2.Client, operator: str, made: dict[str, Any]) -> None:
    for place in range(len(made["entries"])):
        path = f"/admin/mining/submissions/{made['submission_id']}/approve"
        post(http, path, operator, record(made, place))


def paid(http: httpx2.Client, key: str) -> tuple[int, str, int]:
    """Credits earned, points and credits of approvals: from four pages, which agree."""
    balance, status = own(http, "/credits/balance", key), own(http, "/agent/status", key)
    earned = own(http, "/earn/me", key)["total"]
    payouts = own(http, "/payouts/mine", key)["payouts"]
    assert balance["earned"] == status["credits"]["earned"]
    assert sum(one["paid_credit"] for one in payouts) == earned["credits"]
    assert status["contributions"]["points"] == earned["points"]
    return balance["earned"], earned["points"], earned["credits"]


def require_agreement(http: httpx2.Client, deps: Deps) -> None:
    """The public ledger, the day and the credit ledger say the same, to the credit."""
    rows = http.get("/earn/feed", params={"limit": 200}).json()["rows"]
    told = sum(row["credits"] for row in rows if row["kind"] == "paid")
    epoch = http.get("/earn/epoch").json()
    with deps.database.read() as session:
        posted = session.scalar(
            text("select sum(earned_delta) from credit_entry where kind='earn'")
        )
    assert told == epoch["instant_payout"]["day_budget_used_credit"] == posted == 200


def test_plain_http__follows_what_answers_name_from_no_key_to_paid(
    http: httpx2.Client, deps: Deps, operator: dict[str, str]
) -> None:
    nobody = http.post("/agent/mining/submit", json=DISCOVERY)
    assert nobody.status_code == 401
    register = nobody.json()["service"]["next"][0]
    miner, observer = (call(http, register)["api_key"] for _ in range(2))
    before = http.get("/agent/mining/fields/binance/LINK_USDT").json()
    made = post(http, "/agent/mining/submit", miner, DISCOVERY)
    task = http.get("/tasks/browse", params={"category": "reobserve"}).json()["tasks"][0]
    proof = SEEN | {"task_id": task["id"]}
    refused = http.post("/tasks/submit-proof", json=proof, headers={KEY: observer})
    assert (refused.status_code, refused.json()["error"]) == (409, "not_claimed")
    post(http, f"/tasks/{task['id']}/claim", observer, status=201)
    post(http, "/tasks/submit-proof", observer, proof, status=201)
    approve_all(http, operator[KEY], made)
    assert (before["total_credit_on_approval"], task["credit_on_approval"]) == (310, 60)
    assert paid(http, miner) == (140, "7.0", 140)
    assert paid(http, observer) == (60, "3.0", 60)
    loop = http.get("/earn/first-loop").json()
    assert [step["kind"] for step in loop["steps"]] == ["mine_submit", "mine_approved", "paid"]
    assert all(http.get(link["path"]).status_code == 200 for link in loop["links"])
    require_agreement(http, deps)


def test_the_official_mcp_client__registers_mines_re_observes_and_is_paid(
    url: str, http: httpx2.Client, deps: Deps, operator: dict[str, str]
) -> None:
    async def tool(key: str | None, name: str, **arguments: Any) -> Any:
        headers = {} if key is None else {KEY: key}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=10) as under,
            Client(streamable_http_client(f"{url}/mcp?profile=claw", http_client=under)) as client,
        ):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.structured_content
            return result.structured_content

    async def story() -> tuple[str, str, Any]:
        miner = (await tool(None, "agent_connect", agent_name="miner"))["api_key"]
        observer = (await tool(None, "agent_connect", agent_name="observer"))["api_key"]
        fields = await tool(miner, "get_mining_tasks", exchange="binance", symbol="LINK_USDT")
        assert fields["total_empty"] == 9
        made = await tool(miner, "submit_discovery", **DISCOVERY)
        (task_id, *_) = [one["id"] for one in (await tool(observer, "tasks_browse"))["tasks"]]
        claim = await tool(observer, "task_claim", id=task_id)
        assert claim["subject"]["value"] == CONTRACT["field_value"]
        await tool(observer, "task_submit_proof", task_id=task_id, **SEEN)
        rooms = (await tool(observer, "hive_list_rooms"))["rooms"]
        room = await tool(observer, "hive_read_room", id=rooms[0]["id"])
        newest = room["messages"][0]
        assert (newest["kind"], rooms[0]["id"]) == ("summary", made["room_id"])
        said = await tool(
            observer, "hive_post", id=made["room_id"], text="Seen.", reply_to=newest["id"]
        )
        assert said["fee_credits"] == 5
        return miner, observer, made

    miner, observer, made = asyncio.run(story())
    approve_all(http, operator[KEY], made)
    assert paid(http, miner) == (140, "7.0", 140)
    assert paid(http, observer) == (60, "3.0", 60)
    require_agreement(http, deps)
