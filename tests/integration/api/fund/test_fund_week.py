"""A week of signals, lived by a follower who knows docs/fund.md and follows what refusals say is next.

Mon  the first signal    Tue  superseded    Thu  Thanksgiving    Fri  a half-day, new rules
Sat  paused    Sun  revoked, and what is a day old is free
"""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.market.tables import MarketListingState
from tests.integration.api.conftest import KEY, Clock
from tests.integration.api.fund.conftest import ADDRESS, BTC, SHARE, Office

PRICE = 10


@dataclass
class Stranger:
    """Knows a base URL, and no key at first."""

    client: TestClient
    deps: Deps
    clock: Clock
    headers: dict[str, str] = field(default_factory=dict)
    followed: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return self.client.request(method, path, json=body, headers=self.headers)

    def get(self, path: str) -> dict[str, Any]:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def follow(self, said: dict[str, Any]) -> dict[str, Any]:
        """The first call that a refusal names, exactly as it is written."""
        first = said["service"]["next"][0]
        assert "{" not in first["path"]
        self.followed.append(f"{first['method']} {first['path']}")
        answer = self.ask(first["method"], first["path"], first.get("body"))
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def consent(self, vault: dict[str, Any]) -> None:
        """To rules that hash to what they say."""
        text = json.dumps(
            vault["frozen_rules"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        assert vault["rules_hash"] == "0x" + hashlib.sha256(text.encode()).hexdigest()
        given = {"account_address": ADDRESS, "max_order_usd": 400, "max_leverage": 1}
        answer = self.ask(
            "POST",
            f"/fund/vaults/{vault['id']}/mirrors",
            given | {"rules_hash": vault["rules_hash"]},
        )
        assert answer.json()["is_current"] is True

    def plan(self, signal: int) -> Any:
        return self.ask("POST", f"/fund/signals/{signal}/plan", {"account_address": ADDRESS})

    def fill(self, signal: int, plan: dict[str, Any], factor: float = 1) -> Any:
        price = float(plan["order"]["reference_price"]) * factor
        said = {
            "account_address": ADDRESS,
            "filled_at": f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}",
            "price": price,
            "qty": float(plan["capped_notional_usd"]) / price,
            "side": plan["order"]["side"],
        }
        return self.ask("POST", f"/fund/signals/{signal}/fills", said)

    def held(self) -> int:
        return int(self.get("/credits/balance")["available"])

    def at(self, text: str) -> None:
        """The clock, and books that were seen just now."""
        self.clock.now = datetime.fromisoformat(text)
        with self.deps.database.write() as session:
            session.execute(update(MarketListingState).values(sampled_at=self.clock.now))


@pytest.fixture
def stranger(client: TestClient, deps: Deps, clock: Clock) -> Stranger:
    return Stranger(client, deps, clock)


def test_a_week__is_paid_once_and_every_refusal_leads_on(
    stranger: Stranger, office: Office, vault: int
) -> None:
    # Monday: no key, no consent, one signal, paid by its plan
    stranger.at("2026-11-23T15:00:00+00:00")
    monday = office.publish(vault, "0.6")
    refused = stranger.ask("GET", f"/fund/vaults/{vault}/signals/live")
    assert refused.status_code == 401
    stranger.headers = {KEY: stranger.follow(refused.json())["api_key"]}
    page = stranger.get(f"/fund/vaults/{vault}/signals/live")
    assert (page["locked_count"], page["signals"]) == (1, [])
    assert page["payment_required"]["resource"]["url"].endswith(f"/fund/signals/{monday}")
    refused = stranger.plan(monday)
    assert refused.json()["service"]["reason"] == "consent_missing"
    stranger.consent(stranger.follow(refused.json()))
    made = stranger.plan(monday).json()
    assert (made["disposition"], made["charged_credits"]) == ("capped", PRICE)
    assert (made["order"]["capped_by"], made["capped_notional_usd"]) == ("max_order", "400.000000")
    assert stranger.plan(monday).json()["charged"] is False
    assert stranger.fill(monday, made).json()["source"] == "self_report"
    assert stranger.fill(monday, made, 1.2).status_code == 400
    assert stranger.get(f"/fund/vaults/{vault}")["fills_count"] == 1
    assert stranger.held() == 0

    # Tuesday: a later signal supersedes; the follower has nothing to pay it with
    stranger.at("2026-11-24T14:00:00+00:00")
    tuesday = office.publish(vault, "0.3")
    superseded = stranger.plan(monday).json()
    assert (superseded["reason"], superseded["charged"]) == ("signal_superseded", False)
    assert stranger.follow(superseded)["locked_count"] == 1
    poor = stranger.plan(tuesday)
    assert (poor.status_code, poor.json()["service"]["credit"]["shortfall"]) == (402, PRICE)
    assert poor.json()["service"]["next"][0]["path"] == f"/fund/signals/{tuesday}"
    unpaid = stranger.fill(tuesday, made)
    assert unpaid.json()["service"]["reason"] == "signal_locked"

    # Thursday: Thanksgiving; the deferral says when New York opens again, and costs nothing
    stranger.at("2026-11-26T16:00:00+00:00")
    thursday = office.publish(vault, "0.1", SHARE)
    deferred = stranger.plan(thursday).json()
    assert (deferred["disposition"], deferred["retry_at"]) == ("deferred", "2026-11-27T14:30:00Z")
    assert "retry_at" in deferred["service"]["rule"]
    shown = {one["market"]: one["session"] for one in stranger.follow(deferred)["markets"]}
    assert shown[SHARE]["next_open"] == deferred["retry_at"] == deferred["session"]["next_open"]
    assert shown[BTC]["state"] == "open"

    # Friday: a half-day, to the second; the signal is a day old at 16:00, and free from then on
    stranger.at("2026-11-27T17:59:59+00:00")
    free = stranger.plan(thursday).json()
    assert (free["disposition"], free["charged"], free["historical"]) == ("ready", False, True)
    assert free["session"]["closes_at"] == "2026-11-27T18:00:00Z"
    stranger.at("2026-11-27T18:00:00+00:00")
    closed = stranger.plan(thursday).json()
    assert (closed["disposition"], closed["retry_at"]) == ("deferred", "2026-11-30T14:30:00Z")
    rules = {
        "mandate": "Large coins, daily.",
        "max_leverage": "1",
        "universe": [{"market": BTC, "min_order_usd": "10"}],
    }
    office.post(f"/admin/fund/vaults/{vault}/rules", {"rules": rules})
    changed = stranger.plan(tuesday)
    assert changed.json()["service"]["reason"] == "rules_changed"
    stranger.consent(stranger.follow(changed.json()))
    assert stranger.plan(tuesday).json()["historical"] is True

    # Saturday: paused
    stranger.at("2026-11-28T12:00:00+00:00")
    office.post(f"/admin/fund/vaults/{vault}/pause")
    paused = stranger.plan(tuesday).json()
    assert (paused["disposition"], paused["reason"]) == ("refused", "vault_paused")
    assert stranger.follow(paused)["mirroring_paused"] is True
    office.post(f"/admin/fund/vaults/{vault}/resume")
    assert stranger.plan(tuesday).json()["disposition"] == "ready"

    # Sunday: revoked; what was reported stays, as the follower's own word
    stranger.at("2026-11-29T12:00:00+00:00")
    stranger.ask("DELETE", f"/fund/vaults/{vault}/mirrors")
    revoked = stranger.plan(tuesday)
    assert revoked.json()["service"]["reason"] == "consent_missing"
    assert stranger.follow(revoked.json())["mirrors_count"] == 0
    mirror = stranger.get(f"/fund/vaults/{vault}/mirrors/me")
    assert mirror["revoked_at"] == "2026-11-29T12:00:00Z"
    assert [one["source"] for one in mirror["fills"]] == ["self_report"]
    assert len(stranger.get(f"/fund/vaults/{vault}/signals")["signals"]) == 3
    assert stranger.held() == 0
    assert len(stranger.followed) == 7
