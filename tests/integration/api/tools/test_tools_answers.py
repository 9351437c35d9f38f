"""Every tool's every answer holds to the schema that is published for it, over a world with rows in all that
the tools read.

The calls are written as models and generated clients write them: null for each optional argument that
they have nothing for, in objects too, and whole numbers with a fraction of zeros.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import func, select

from api.catalogue import catalogue
from api.kernel.operation import Deps
from api.tools.fitting import MOST_CHARACTERS
from api.tools.registry import entries_of
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database
from core.fund import simulated as simulated_fund
from core.fund.accounts import FundSetup
from core.fund.rules.plan import FollowerAccount
from core.fund.tables import FundSignal
from core.market import statistics
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import ADDRESS, KnownAccounts
from tests.integration.api.mandates.stage import ADAPTER, CONTRACTS, Stage
from tests.integration.api.mandates.test_mandates_adapters import HELD, ManyAdapters
from tests.integration.api.reserve.conftest import ONE, OTHER, TOKEN, Chain
from tests.integration.api.tools.conftest import call
from tests.integration.scenes import Scene, Scenes, partitioned
from tests.market_rows import add_market
from tests.world.mandates import Place
from tests.world.seed import seed

TOOLS = entries_of(catalogue())
SIMULATED_AGENTS = 8
TX = "0x" + "ab" * 32
Arguments = Mapping[str, Any]


@pytest.fixture
def deps(deps: Deps) -> Deps:
    accounts = KnownAccounts({ADDRESS: FollowerAccount(1_000_000_000, {})})
    return replace(deps, contracts={**deps.contracts, "reserve_token": TOKEN}).with_part(
        FundSetup, FundSetup(accounts)
    )


@pytest.fixture
def chain(clock: Clock) -> ManyAdapters:
    return ManyAdapters(mined_at=int(clock.now.timestamp()))


@pytest.fixture
def origin(people: Scene, scenes: Scenes) -> str:
    return scenes.play("what tools read", people.database, _fill).database


def _fill(database: Database) -> None:
    now = Clock().now
    partitioned(database, now)
    with database.write() as session:
        add_market(session, now)
        statistics.summarise(session, now)
        simulated_fund.add_simulated(session, now)
    place = Place(84532, CONTRACTS["factory"], CONTRACTS["usdc"], ADAPTER)
    seed(database, place, now, agents=SIMULATED_AGENTS, days=3)
    Chain(database, Clock()).bought(OTHER, 102_000_000, 10_000 * ONE)


@dataclass
class Asked:
    """Asks tools and holds what they say to their schemas. `tools`: those that answered."""

    stage: Stage
    tools: set[str] = field(default_factory=set)

    def __call__(self, tool: str, who: dict[str, str] | None = None, /, **given: Any) -> Any:
        schema = TOOLS[tool].described.input_schema
        written = as_models_write(given, schema, schema.get("$defs", {}))
        assert written.keys() == schema["properties"].keys(), tool
        Draft202012Validator(schema).validate(written)
        answer = self._said(tool, who, written)
        assert answer["isError"] is False, (tool, answer["structuredContent"])
        self.tools.add(tool)
        return answer["structuredContent"]

    def refused(self, tool: str) -> None:
        answer = self._said(tool, None, {"no_argument": 1})
        assert answer["isError"] is True, tool

    def _said(self, tool: str, who: dict[str, str] | None, written: Arguments) -> dict[str, Any]:
        answer = call(self.stage.client, tool, who, **written)
        (content,) = answer["content"]
        assert json.loads(content["text"]) == answer["structuredContent"], tool
        assert len(content["text"]) <= MOST_CHARACTERS, tool
        faults = Draft202012Validator(TOOLS[tool].described.output_schema).iter_errors(
            answer["structuredContent"]
        )
        assert [fault.message for fault in faults] == [], tool
        return answer


def as_models_write(value: Any, schema: Arguments, defs: Arguments) -> Any:
    """The same value: null where it has nothing for a field, and 5.0 for 5."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list):
        return [as_models_write(one, schema.get("items", {}), defs) for one in value]
    if not isinstance(value, dict):
        return value
    fields = _fields(schema, defs)
    optional = fields.keys() - _required(schema, defs)
    return dict.fromkeys(sorted(optional), None) | {
        name: as_models_write(one, fields.get(name, {}), defs) for name, one in value.items()
    }


def _objects(schema: Arguments, defs: Arguments) -> list[Arguments]:
    if "$ref" in schema:
        return _objects(defs[schema["$ref"].rpartition("/")[2]], defs)
    inner = [found for one in schema.get("anyOf", ()) for found in _objects(one, defs)]
    return [schema, *inner] if "properties" in schema else inner


def _fields(schema: Arguments, defs: Arguments) -> dict[str, Any]:
    return {
        name: one for found in _objects(schema, defs) for name, one in found["properties"].items()
    }


def _required(schema: Arguments, defs: Arguments) -> set[str]:
    return {name for found in _objects(schema, defs) for name in found.get("required", ())}


def test_every_tool__answers_what_its_schema_says(
    stage: Stage, mandate_id: str, chain: ManyAdapters
) -> None:
    agent, owner, ask = stage.agent, stage.owner, Asked(stage)
    with stage.database.write() as session:
        credit_ledger.earn(session, int(stage.agent_id), 100, "test", {}, stage.clock.now)
    assert ask("agent_connect", agent_name="quant")["api_key"]

    # the market
    assert ask("search_tokens", q="b", limit=100)["rows"]
    assert ask("get_price", token_id="binance_btc_usdt")["price"]
    assert ask("get_price_stats", token_id="binance_btc_usdt", days=90, series=True)["series"]
    assert ask("get_price_stats", token_id="mexc_dust_usdt", days=7)
    assert ask("get_stats")["figures"] is not None
    warnings = ask("get_warnings", all=True, limit=200)
    assert warnings["warnings"]
    for name in ("exchange", "token", "type", "severity"):
        filtered: dict[str, Any] = {name: warnings["warnings"][0][name]}
        assert ask("get_warnings", all=True, **filtered)["warnings"]

    # mining, tasks and rooms
    at = {"exchange": "binance", "symbol": "LINK_USDT"}
    assert ask("get_mining_tasks", **at)["groups"]
    entry = {
        "field_name": "website_url",
        "field_value": "https://chain.link",
        "evidence_url": "https://chain.link",
    }
    assert ask("submit_discovery", agent, exchange="binance", symbol="LINK/USDT", entries=[entry])[
        "entries"
    ]
    room = ask("hive_list_rooms", limit=200)["rooms"][0]
    assert ask("hive_read_room", id=room["id"], limit=200)["messages"]
    assert ask("hive_post", agent, id=room["id"], text="Seen today.")["id"]
    tasks = ask("tasks_browse", limit=200)["tasks"]
    others = [one for one in tasks if one["category"] == "reobserve"]
    task = next(one for one in others if one["subject"]["token_id"] != "binance_link_usdt")
    assert ask("task_claim", agent, id=task["id"])["claim_id"]
    proof = {
        "verdict": "match",
        "observed_at": "2026-11-21T12:00:00Z",
        "observed_result": "The page is there.",
        "source_url": "https://example.com/seen",
    }
    assert ask("task_submit_proof", agent, task_id=task["id"], **proof)["claim_id"]

    # the fund and the reserve
    vault = stage.client.get("/fund/vaults").json()["vaults"][-1]["id"]
    assert ask("fund_signals", vault_id=vault, limit=200)["signals"]
    live = ask("fund_signals", agent, vault_id=vault, live=True)
    said = stage.client.get(f"/fund/vaults/{vault}").json()
    consent = {
        "account_address": ADDRESS,
        "max_order_usd": "500.00",
        "max_leverage": "1.00",
        "rules_hash": said["rules_hash"],
    }
    made = stage.client.post(f"/fund/vaults/{vault}/mirrors", json=consent, headers=agent)
    assert made.status_code == 200, made.text
    with stage.database.read() as session:
        newest = session.scalar(
            select(func.max(FundSignal.seq)).where(
                FundSignal.vault_id == vault, FundSignal.market == "binance_btc_usdt"
            )
        )
    assert live["locked_count"]
    plan = ask("fund_signal_plan", agent, signal_id=newest, account_address=ADDRESS)
    assert plan["charged_credits"]
    assert ask("fund_signals", agent, vault_id=vault, live=True)["signals"]
    assert ask("reserve_state")
    assert ask("reserve_quote", usd=5)
    assert ask("reserve_quote", usd=0.00005)
    topics = {rule["topic"] for rule in ask("get_rules")["rules"]}
    assert all(ask("get_rules", topic=topic)["rules"] for topic in topics)

    # a mandate
    mine = {"id": stage.agent_id}
    assert ask("agent_policy_get", agent, **mine)
    policy = {
        "accepts_mandates": True,
        "slippage_bps": 50,
        "hold_ratio": 0.25,
        "per_tx_cap_usdc": 200,
        "stop_conditions": {"drawdown": 0.1},
        "auto_vs_approval": {"above_usdc": 50},
    }
    assert ask("agent_policy_set", owner, **mine, **policy)["slippage_bps"] == 50
    goal = {"budget_usdc": 1_000, "horizon_days": 30, "stop_floor_bps": 500}
    proposed = ask("mandate_propose", agent, agent_id=stage.agent_id, title="Buy units", goal=goal)
    assert proposed["mandate"]["horizon_days"] == 30
    offered = stage.signed()
    offers = ask("mandate_offers", agent, **mine, limit=5)["offers"]
    assert {one["id"] for one in offers} == {mandate_id, offered}
    assert ask("mandate_accept", agent, id=mandate_id)["mandate"]
    built = {"id": mandate_id, "target": ADAPTER, "amount_usdc": 10}
    assert ask("mandate_execute_call", agent, **built, function="buy(uint256)", args=[1_000_000])[
        "transaction"
    ]
    reported = {
        "kind": "buy",
        "amount_usdc": 10,
        "tx_hash": TX,
        "why": "Rates moved (clause 5).",
        "payload": {"target": {"chain_id": 84532, "address": ADAPTER}, "position": {"id": "p1"}},
    }
    assert ask("mandate_report_event", agent, id=mandate_id, **reported)["violation"] is False
    refusal = {"reason": "OverPerTxCap", "amount_usdc": 300, "tx_hash": "0x" + "cd" * 32}
    assert ask("mandate_report_refusal", agent, id=mandate_id, **refusal)
    for who in (agent, owner):
        assert ask("mandate_list", who, limit=50, status="working")["mandates"]
        assert ask("mandate_get", who, id=mandate_id)["mandate"]["status"] == "working"
        assert ask("mandate_approvals", who, id=mandate_id)
        assert ask("mandate_unwind_call", who, id=mandate_id, adapter=ADAPTER)
    chain.says = {ADAPTER: HELD}
    assert ask("mandate_unwind_call", owner, id=mandate_id, adapter=ADAPTER)["data"]
    assert ask("mandate_stop", agent, id=mandate_id)["call"]
    moved = {"chain_id": 84532, "asset": "USDC", "amount": 12.5, "tx_hash": TX, "direction": "in"}
    assert ask("transfer_report", agent, **moved)
    assert ask("agent_balances", agent, **mine)["balances"]

    assert ask.tools == set(TOOLS)
    for tool in TOOLS:
        ask.refused(tool)
