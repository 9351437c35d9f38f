"""Every route x every credential answers as the matrix says, and the page shows that matrix."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pytest
from eth_account import Account

from api.catalogue import catalogue
from api.kernel.operation import Operation
from api.kernel.tokens import token_hash
from core.identity import queries as identity
from core.identity.tables import ApiKey
from core.identity.tables import Session as SessionRow
from core.money import UsdcE6
from core.sponsored.tables import SponsoredBuy
from tests.each import each
from tests.integration.api.conftest import KEY, PEPPER, bearer, connect, login
from tests.integration.api.mandates.conftest import on_stage
from tests.integration.api.mandates.stage import ADAPTER, BUY, DRAFT, Stage
from tests.integration.api.matrix import PAGE, SERVED, Who, expected, page
from tests.integration.scenes import Scene, Scenes

KEEPS_OUT = {
    "auth_required", "auth_invalid", "scope_denied", "agent_key_scope", "not_owner", "not_found",
    "not_authorized",
    "agent_not_designated",
}  # fmt: skip
WALLET, SIGNATURE = "0x" + "ab" * 20, "0x" + "12" * 65
BUY_ID = "sb_" + "a" * 16
PATHS = {
    "/sponsored/{id}": f"/sponsored/{BUY_ID}",
    "{atom_id}": "first-call",
    "{pb}": "first-hour",
    "{token}": "BTC",
    "{path}": "loop.md",
    "/violations/{id}": "/violations/1",
    "/tasks/{id}": "/tasks/1",
    "/claims/{id}": "/claims/1",
    "/submissions/{id}": "/submissions/1",
    "{feed_key}": "board",
    "{report_id}": "1",
    "{account_ref}": "0x" + "ab" * 32,
    "{token_id}": "binance_btc_usdt",
    "{exchange}": "binance",
    "{symbol}": "BTC_USDT",
    "/hive/rooms/{id}": "/hive/rooms/1",
    "/hive/messages/{id}": "/hive/messages/1",
    "/fund/vaults/{id}": "/fund/vaults/99",
    "/fund/signals/{id}": "/fund/signals/99",
    "/fund/indices/{id}": "/fund/indices/99",
    "/fund/applications/{id}": "/fund/applications/99",
    "{signal_id}": "99",
    "/vault-requests/{id}": "/vault-requests/99",
}
# their path names what there is not: that it is not found says that the caller came in
MADE_UP = ("safety.case_close", "tasks.verdict", "fund.")
LISTING = {"product_type": "model", "title": "A model", "summary": "", "price_model": "free"}
RPC = {"Accept": "application/json, text/event-stream"}
OWN = Account.from_key("0x" + "22" * 32).address  # the stage's owner
# What a call needs beside its path to reach its service.
FIELDS: dict[str, dict[str, Any]] = {
    "rooms.post": {"text": "hello"},
    "tasks.verdict": {"verdict": "verified", "note": "x"},
    "identity.nonce": {"wallet_address": WALLET},
    "identity.login": {"message": "x", "signature": SIGNATURE},
    "identity.link": {"wallet_address": WALLET, "signature": SIGNATURE},
    "identity.register": {"wallet_address": WALLET, "signature": SIGNATURE, "agent_name": "a"},
    "identity.register_external": {"external_id": "x", "agent_name": "a"},
    "identity.recover": {},  # a wrong code would read as a wrong credential
    "agents.scopes_set": {"scopes": None},
    "agents.persona": {"persona": "calm"},
    "agents.unlink": {"signature": SIGNATURE},
    "agents.confirm_wallet": {"wallet_address": WALLET},
    "safety.defense_set": {"level": 0},
    "safety.case_open": {"agent_id": "1", "rule": "x", "deadline": "2030-01-01T00:00:00Z"},
    "tools.endpoint": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "mandates.create": DRAFT,
    "mandates.update": DRAFT,
    "mandates.assign": {"agent_id": "1"},
    "mandates.sign": {"signature": SIGNATURE},
    "mandates.deposit_call": {"amount_usdc": "1"},
    "mandates.report_event": {"kind": "note"},
    "mandates.report_refusal": {"reason": "OverPerTxCap"},
    "mandates.execute_call": {"target": ADAPTER, "selector": BUY, "amount_usdc": "1"},
    "subscriptions.preview": {"tier": 1, "months": 1},
    "subscriptions.subscribe": {"tier": 1, "months": 1},
    "targets.add": {"exchange": "binance", "symbol": "BTC/USDT"},
    "targets.remove": {"exchange": "binance", "symbol": "BTC/USDT"},
    "feeds.subscribe": {"feed_key": "board"},
    "reports.order": {"exchange": "binance", "symbol": "BTC/USDT"},
    "reports.list": {"exchange": "binance", "symbol": "BTC/USDT"},
    "perps.bind": {"owner_address": OWN, "agent_address": ADAPTER},
    "gallery.create": LISTING,
    "fund.consent": {
        "account_address": WALLET, "max_order_usd": "1", "max_leverage": "1",
        "rules_hash": "0x" + "ab" * 32,
    },
    "fund.plan": {"account_address": WALLET},
    "fund.report_fill": {
        "account_address": WALLET, "filled_at": "2026-11-21T12:00:00Z", "price": "1", "qty": "1",
        "side": "buy",
    },
    "fund.publish": {"market": "binance_btc_usdt", "target_weight": "0", "target_leverage": "1"},
    "fund.freeze": {
        "rules": {
            "mandate": "x", "max_leverage": "1",
            "universe": [{"market": "binance_btc_usdt", "min_order_usd": "10"}],
        }
    },
    "fund.mark_created": {"address": WALLET},
    "fund.apply": {
        "fund_type": "active", "plan_text": "x", "rebalance_cadence": "weekly", "leverage": "1",
        "fee_bps": 0, "tvl_cap_usd": "1",
    },
    "fund.reject_application": {"reason": "x"},
    "fund.reject_creation": {"reason": "x"},
    "transfers.report": {
        "chain_id": 84532, "asset": "USDC", "amount": "1", "tx_hash": "0x" + "ab" * 32,
        "direction": "in",
    },
}  # fmt: skip


@dataclass
class Callers(Stage):
    """A working mandate's people, and everyone else who may knock; the owner signs in when its turn
    comes.
    """

    headers: dict[Who, dict[str, str]] = field(default_factory=dict)
    listing_id: str = ""


@pytest.fixture
def people(scenes: Scenes, template: str) -> Scene:
    return scenes.play("callers", template, on_stage(_callers))


def _callers(stage: Stage) -> Callers:
    stage.enter()
    stage.mandate_id = stage.working()
    listing = stage.post("/gallery", stage.agent, LISTING, status=201)
    with stage.database.write() as session:
        session.add(_quote(stage))
    return Callers(**vars(stage), headers=_headers(stage), listing_id=listing["id"])


def _quote(stage: Stage) -> SponsoredBuy:
    """A sponsored buy that the stage's agent asked for and did not hand in."""
    now = stage.clock.now
    return SponsoredBuy(
        id=BUY_ID, chain_id=84532, account_id=int(stage.agent_id), buyer=OWN, recipient=OWN,
        reserve_token=WALLET, batch=WALLET, treasury=WALLET, amount_usdc_e6=UsdcE6(5_000_000),
        fee_usdc_e6=UsdcE6(1_000), credit_usdc_e6=UsdcE6(0), tokens=1, min_tokens=1,
        salt="0x" + "01" * 32, buy_nonce="0x" + "02" * 32, fee_nonce="0x" + "03" * 32,
        covers_wei=1, valid_before=int(now.timestamp()) + 600,
        expires_at=now + timedelta(seconds=60), created_at=now,
    )  # fmt: skip


def _headers(stage: Stage) -> dict[Who, dict[str, str]]:
    revoked, narrowed = (
        connect(stage.client)["api_key"],
        connect(stage.client, stage.owner)["api_key"],
    )
    expired = login(stage.client, Account.create())
    other = connect(stage.client)
    now = stage.clock.now
    with stage.database.write() as session:
        hashes = {
            name: token_hash(PEPPER, key)
            for name, key in (("revoked", revoked), ("narrowed", narrowed))
        }
        session.query(ApiKey).filter_by(key_hash=hashes["revoked"]).one().revoked_at = now
        session.query(ApiKey).filter_by(key_hash=hashes["narrowed"]).one().scopes = []
        token = expired["Authorization"].removeprefix("Bearer ")
        session.query(SessionRow).filter_by(
            token_hash=token_hash(PEPPER, token)
        ).one().expires_at = now - timedelta(seconds=1)
        identity.set_operator_key(session, token_hash(PEPPER, "the operator"), now)
    return {
        Who.NOBODY: {},
        Who.GARBAGE_KEY: {KEY: "svc_key_garbage"},
        Who.GARBAGE_BEARER: bearer("svc_own_garbage"),
        Who.REVOKED_KEY: {KEY: revoked},
        Who.EXPIRED_SESSION: expired,
        Who.KEY_AND_GARBAGE: stage.agent | bearer("garbage"),
        Who.NARROWED_KEY: {KEY: narrowed},
        Who.STRANGERS_KEY: {KEY: other["api_key"]},
        Who.AGENT: stage.agent,
        Who.CONNECTS_BEARER: bearer(other["bearer_token"]),
        Who.OPERATOR: {KEY: "the operator"},
        Who.STRANGER: stage.new_owner(),
        Who.KEY_AND_OWNER: {KEY: other["api_key"]} | login(stage.client, stage.owner_wallet),
    }


# They change who may call: each has a stage of its own.
EVICTING = ("agents.rotate_key", "agents.undo_recovery", "identity.logout")


@pytest.mark.row("5 the owner's session is required")
@each(
    "row",
    [one for one in catalogue().operations if one.key not in EVICTING],
    ids=lambda row: row.key,
)
def test_each_credential__gets_what_the_matrix_says(stage: Callers, row: Operation) -> None:
    _as_the_matrix_says(stage, row)


@pytest.mark.parametrize("key", EVICTING)
def test_an_eviction__gets_what_the_matrix_says(stage: Callers, key: str) -> None:
    _as_the_matrix_says(stage, catalogue().by_key[key])


def _as_the_matrix_says(stage: Callers, row: Operation) -> None:
    path = row.path.replace("/mandates/{id}", f"/mandates/{stage.mandate_id}").replace(
        "/agents/{id}", f"/agents/{stage.agent_id}"
    )
    path = path.replace("/gallery/{id}", f"/gallery/{stage.listing_id}")
    path = path.replace("/hall/{agent_id}", f"/hall/{stage.agent_id}")
    for name, filled in PATHS.items():
        path = path.replace(name, filled)
    assert "{" not in path, (
        f"{path}: say in PATHS what fills it; if nothing is there, name the call in MADE_UP too, and the "
        "path in OF_NOBODY (matrix.py)"
    )
    found = {who.says: _answer(stage, row, path, sent) for who, sent in stage.headers.items()}
    again = login(stage.client, stage.owner_wallet)  # what evicts ends the owner's other sessions
    found |= {Who.OWNER.says: _answer(stage, row, path, again)}
    assert found == {who.says: expected(row, who) for who in Who}


def _answer(stage: Stage, row: Operation, path: str, sent: dict[str, str]) -> str:
    fields = FIELDS.get(row.key, dict(row.example or {}))
    answer: httpx.Response = (
        stage.client.request(row.method, path, params=fields, headers=sent)
        if row.method == "GET"
        else stage.client.request(row.method, path, json=fields, headers={**sent, **RPC})
    )
    if answer.status_code < 400:
        return SERVED
    body = answer.json()
    # the tools answer in the protocol's own form
    refused = body["error"].get("data", {}) if "jsonrpc" in body else body
    reason = str(refused.get("service", {}).get("reason"))
    if refused.get("detail") == "not authorized":  # also where a core route has no block
        reason = "not_authorized"
    if reason == "not_found" and ("{id}" not in row.path or row.key.startswith(MADE_UP)):
        return SERVED
    return reason if reason in KEEPS_OUT else SERVED


def test_the_page__shows_the_matrix() -> None:
    assert PAGE.read_text() == page(), (
        "run `python -m tests.integration.api.matrix` and commit the page"
    )
