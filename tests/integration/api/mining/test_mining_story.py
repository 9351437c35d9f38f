"""One complete loop, register, mine, review, paid: by the Python client, and by tools."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from api.client import Client, Refused, Retries
from tests.integration.api.client.conftest import Wire
from tests.integration.api.conftest import BASE_URL, KEY, connect
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, LINK, Mine, entry, key, record
from tests.integration.api.tools.conftest import call
from tests.integration.api.tools.test_tools_parity import same


def client_of(app: TestClient, **credentials: Any) -> Client:
    return Client(
        BASE_URL, over=Wire(app), retries=Retries(sleep=lambda seconds: None), **credentials
    )


def test_an_agent__registers_mines_is_reviewed_and_paid_by_the_client(mine: Mine) -> None:
    agent = client_of(mine.client).connect("quant")
    reviewer = client_of(mine.client, key=mine.operator[KEY])
    before = agent.mining.fields("binance", "LINK_USDT")
    assert before["total_credit_on_approval"] == 310
    entries: Any = [CHAIN, CONTRACT]
    made = agent.mining.submit(exchange="binance", symbol="LINK/USDT", entries=entries)
    other = client_of(mine.client).connect("other")
    mine.set_apart({"user_id": int(other.agents.status()["user_id"])})
    task_id = made["entries"][1]["task_id"]
    other.tasks.claim(task_id)
    other.tasks.submit_proof(
        task_id=task_id,
        verdict="match",
        observed_at="2026-11-21T11:59:00Z",
        observed_result="The page names it.",
        source_url="https://docs.chain.link/contracts",
    )
    waiting: Any = reviewer.queue.list(kind="submission")["items"]
    assert [one["submission"]["field_value"] for one in waiting] == ["ethereum", LINK]
    for place in (0, 1):
        reviewer.mining.approve(made["submission_id"], **record(made, place))
    assert agent.mining.balance()["credit_balance"] == 150  # 10 at registration, 40 and 100
    assert other.mining.balance()["credit_balance"] == 70  # 10 and a re-observation
    assert agent.mining.submissions()["submissions"][0]["status"] == "approved"
    assert agent.mining.fields("binance", "LINK_USDT")["total_credit_on_approval"] == 170
    with pytest.raises(Refused) as refused:
        agent.mining.submit(exchange="binance", symbol="LINK/USDT", entries=entries[:1])
    assert refused.value.status == 400


def test_a_status__counts_verified_work_as_the_strip_and_earnings_do(mine: Mine) -> None:
    miner, observer = (connect(mine.client, agent_name=name) for name in ("miner", "observer"))
    made = mine.submit(miner, CHAIN, CONTRACT)
    mine.re_observe(observer, made["entries"][0]["task_id"])
    mine.approve(made, 0)
    shown = {}
    for agent in (miner, observer):
        status = mine.client.get("/agent/status", headers=key(agent)).json()
        earned = mine.client.get("/earn/me", headers=key(agent)).json()["total"]
        path = f"/mandate-wallet/agents/{agent['user_id']}/record"
        strip = mine.client.get(path).json()
        done = status["contributions"]
        assert done["points"] == earned["points"]
        assert strip["work"] == {
            "verified_task_claims": done["task_claims"],
            "finalized_kg_claims": done["mining_submissions"],
        }
        assert status["reputation"] == strip["ladder"]
        assert status["tiers"]["standing"] == strip["posting_tier"]["tier"] == "none"
        shown[status["agent_name"]] = (
            done["mining_submissions"],
            done["task_claims"],
            done["points"],
        )
    assert shown == {"miner": (1, 0, "2.0"), "observer": (0, 1, "3.0")}


def test_the_tools__answer_what_their_routes_answer(mine: Mine) -> None:
    agent = connect(mine.client)
    who = key(agent)
    named = {"exchange": "binance", "symbol": "LINK_USDT"}
    route = "/agent/mining/fields/binance/LINK_USDT"
    same(call(mine.client, "get_mining_tasks", who, **named), mine.client.get(route))
    body = {"exchange": "binance", "symbol": "LINK/USDT", "entries": [CHAIN]}
    path, once = "/agent/mining/submit", {"Idempotency-Key": "once"}
    sent = mine.client.post(path, json=body, headers=who | once)
    again = call(mine.client, "submit_discovery", who, idempotency_key="once", **body)
    assert again["structuredContent"] == sent.json()
    assert mine.rows()["mining_submission"] == 1
    for refused in (body, body | {"exchange": "Binance"}, body | {"entries": [entry("colour")]}):
        answer = mine.client.post(path, json=refused, headers=who)
        assert answer.status_code >= 400
        same(call(mine.client, "submit_discovery", who, **refused), answer)
