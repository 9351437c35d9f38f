"""How each reason of section 7 comes about: each function sets the scene and answers the call that
is refused for it.

Nothing is pretended: a key's day is used up in its row, the database is stopped or was never
migrated, the call in flight is one that waits. Only the chain is a stage's own
(tests/integration/api/mandates/stage.py).
"""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
from eth_account import Account
from psycopg import sql
from sqlalchemy import make_url

from api.kernel.metrics import ApiMetrics
from api.main import create_app
from core.db.engine import Database
from tests.integration.api import probe
from tests.integration.api.conftest import BASE_URL, KEY
from tests.integration.api.document.refusal_cases import (
    WAIT_S,
    WALLET,
    Attempt,
    Scene,
    Told,
    administration,
    admit,
    by_http,
    plain,
    use_up_calls,
    wait_for_a_blocked_call,
)
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import ADAPTER, USDC
from tests.integration.api.probe import Gate

NOWHERE = "m_aaaaaaaaaa"
TX = "0x" + "ab" * 32
BUY = {"target": ADAPTER, "function": "buy(uint256)", "args": ["1"]}

# Who calls


def without_a_key(scene: Scene) -> Attempt:
    return Attempt(
        method="GET", path=f"{WALLET}/mandates/{{id}}", ids={"id": NOWHERE}, tool="mandate_get"
    )


def with_an_unknown_key(scene: Scene) -> Attempt:
    return replace(without_a_key(scene), who={KEY: "svc_key_x"})


def outside_its_scopes(scene: Scene) -> Attempt:
    mandate_id = scene.stage.signed()
    set_scopes(scene, scopes=["read"])
    return accepting(scene, mandate_id, scene.stage.agent)


def set_scopes(scene: Scene, **scopes: Any) -> None:
    answer = scene.client.put(
        f"/agents/{scene.stage.agent_id}/scopes",
        json={"scopes": None} | scopes,
        headers=scene.stage.owner,
    )
    assert answer.status_code == 200, answer.text


def above_the_keys_day(scene: Scene) -> Attempt:
    mandate_id = scene.stage.working()
    set_scopes(scene, per_day_usd="100")
    scene.stage.executed(mandate_id, 75 * USDC)
    return building(scene, mandate_id, "25.000001")


def of_anothers_agent(scene: Scene) -> Attempt:
    other, _ = scene.stage.new_agent()
    return Attempt(
        method="GET",
        path=f"{WALLET}/agents/{{id}}/policy",
        who=scene.stage.agent,
        ids={"id": other},
        tool="agent_policy_get",
    )


def above_the_days_calls(scene: Scene) -> Attempt:
    listing = Attempt(
        method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, tool="mandate_list"
    )
    use_up_calls(scene, listing, 2_000)
    return listing


# What is called


def of_an_unknown_mandate(scene: Scene) -> Attempt:
    return replace(without_a_key(scene), who=scene.stage.agent)


def reporting(scene: Scene, mandate_id: str, **fields: Any) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/events"
    return Attempt(
        method="POST",
        path=path,
        who=scene.stage.agent,
        ids={"id": mandate_id},
        fields=fields,
        tool="mandate_report_event",
    )


def of_a_draft(scene: Scene) -> Attempt:
    return reporting(scene, scene.stage.draft(), kind="note", why="Too early.")


def beyond_the_longest_page(scene: Scene) -> Attempt:
    return Attempt(
        method="GET",
        path=f"{WALLET}/mandates",
        who=scene.stage.agent,
        fields={"limit": 201},
        tool="mandate_list",
    )


def with_seven_decimals(scene: Scene) -> Attempt:
    return reporting(scene, scene.stage.working(), kind="fee", amount_usdc="0.0000001")


def accepting(scene: Scene, mandate_id: str, who: dict[str, str], **names: str) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/accept"
    return Attempt(
        method="POST",
        path=path,
        who=who,
        ids={"id": mandate_id},
        tool="mandate_accept",
        names=names,
    )


def of_a_mandate_that_names_another(scene: Scene) -> Attempt:
    other_id, other = scene.stage.new_agent(scene.stage.owner)
    return accepting(scene, scene.stage.signed(), other, agent=other_id)


def with_a_policy_that_says_no(scene: Scene) -> Attempt:
    mandate_id = scene.stage.signed()
    scene.stage.accept_mandates(scene.stage.agent_id, accepts=False)
    return accepting(scene, mandate_id, scene.stage.agent, agent=scene.stage.agent_id)


def of_an_agent_without_an_owner(scene: Scene) -> Attempt:
    agent_id, agent = scene.stage.new_agent()
    goal = {"budget_usdc": "1000", "horizon_days": 30, "stop_floor_bps": 500}
    fields = {"agent_id": agent_id, "title": "Buy units.", "goal": goal}
    return Attempt(
        method="POST", path=f"{WALLET}/proposals", who=agent, fields=fields, tool="mandate_propose"
    )


def of_more_than_is_idle(scene: Scene) -> Attempt:
    fields = {
        "chain_id": 84532,
        "asset": "USDC",
        "amount": "0.000001",
        "tx_hash": TX,
        "direction": "out",
    }
    names = {"agent": scene.stage.agent_id}
    return Attempt(
        method="POST",
        path=f"{WALLET}/transfers/report",
        who=scene.stage.agent,
        fields=fields,
        tool="transfer_report",
        names=names,
    )


def building(scene: Scene, mandate_id: str, amount: str) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/execute-call"
    fields = {**BUY, "amount_usdc": amount}
    return Attempt(
        method="POST",
        path=path,
        who=scene.stage.agent,
        ids={"id": mandate_id},
        fields=fields,
        tool="mandate_execute_call",
    )


def above_the_mandates_cash(scene: Scene) -> Attempt:
    mandate_id = scene.stage.working(per_tx_cap_usdc=None, daily_cap_usdc=None)
    scene.stage.executed(mandate_id, 400 * USDC)
    return building(scene, mandate_id, "600.000001")


def signed_by_another_wallet(scene: Scene) -> Attempt:
    mandate_id = scene.stage.draft()
    signature = scene.stage.sign_terms(mandate_id, Account.create())
    path = f"{WALLET}/mandates/{{id}}/sign"
    return Attempt(
        method="POST",
        path=path,
        who=scene.stage.owner,
        ids={"id": mandate_id},
        fields={"signature": signature},
    )


# What is sent twice


def with_a_used_key(scene: Scene) -> Attempt:
    first = replace(
        reporting(scene, scene.stage.working(), kind="note", why="One."), idempotency_key="a"
    )
    assert by_http(scene.client, first).status == 200
    return replace(first, fields={"kind": "note", "why": "Another."})


def while_the_first_is_served(scene: Scene) -> Attempt:
    """The first call holds its key and waits for the mandate's row, which the test has locked."""
    attempt = replace(
        reporting(scene, scene.stage.working(), kind="note", why="Once."), idempotency_key="a"
    )
    holder = scene.ends.enter_context(psycopg.connect(plain(scene.database_url)))
    holder.execute("select 1 from mandate where public_id = %s for update", [attempt.ids["id"]])
    pool = scene.ends.enter_context(ThreadPoolExecutor(1))
    first: Future[Told] = pool.submit(by_http, scene.client, attempt)
    scene.ends.callback(holder.rollback)  # before the pool is waited for, however the test ends
    scene.first_call = (holder, first)
    wait_for_a_blocked_call(scene)
    return attempt


def once_the_first_is_served(scene: Scene) -> None:
    assert scene.first_call is not None
    holder, first = scene.first_call
    holder.rollback()
    assert first.result(WAIT_S).status == 200


# What is not there


def without_a_database(scene: Scene) -> Attempt:
    listing = Attempt(
        method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, tool="mandate_list"
    )
    assert by_http(scene.client, listing).status == 200
    admit(scene, is_admitting=False)
    return listing


def without_migrations(scene: Scene) -> Attempt:
    """Another application, on a database that no migration was ever applied to."""
    name = f"{make_url(scene.database_url).database}_empty"
    with administration(scene.postgres) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    scene.ends.callback(drop, scene, name)
    scene.database_url = (
        make_url(scene.database_url).set(database=name).render_as_string(hide_password=False)
    )
    database = scene.ends.enter_context(closing(Database(scene.database_url)))
    app = create_app(
        replace(
            scene.deps,
            catalogue=probe.catalogue(Gate()),
            database=database,
            metrics=ApiMetrics(database),
        )
    )
    scene.client = scene.ends.enter_context(AppClient(app, base_url=BASE_URL))
    return Attempt(
        method="POST",
        path="/auth/agent/connect",
        fields={"agent_name": "quant"},
        tool="agent_connect",
    )


def drop(scene: Scene, name: str) -> None:
    with administration(scene.postgres) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def without_a_chain(scene: Scene) -> Attempt:
    """A draft needs what the factory lists, and no node answers."""
    goal = {"budget_usdc": "1000", "horizon_days": 30, "stop_floor_bps": 500}
    fields = {"agent_id": scene.stage.agent_id, "title": "Buy units.", "goal": goal}
    scene.stage.chain.is_down = True
    return Attempt(
        method="POST",
        path=f"{WALLET}/proposals",
        who=scene.stage.agent,
        fields=fields,
        tool="mandate_propose",
    )


# When the same call succeeds


def at_midnight(scene: Scene) -> None:
    scene.stage.clock.now = datetime(2026, 11, 22, tzinfo=UTC)


def once_money_came_back(scene: Scene) -> None:
    mandate_id = scene.stage.get("/mandates", scene.stage.agent)["mandates"][0]["id"]
    scene.stage.executed(mandate_id, 0, received=1)
