"""Consents, plans and fills, over the real pipeline (docs/fund.md#plans)."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from api.kernel.operation import Deps
from core.credits.tables import CreditEntry
from core.fund.rules.frozen import FundKind
from core.fund.rules.plan import FollowerAccount
from core.fund.tables import FundPlan, FundSignalSale
from core.identity.tables import ApiKey
from core.market.tables import MarketListingState
from tests.each import each
from tests.integration.api.conftest import Clock, reason
from tests.integration.api.fund.conftest import (
    ADDRESS,
    BTC,
    SHARE,
    USD,
    Follower,
    KnownAccounts,
    Office,
    vault_with,
)

OTHER = "0x2222222222222222222222222222222222222222"


@pytest.fixture
def mirrored(follower: Follower, vault: int) -> int:
    assert follower.consent(vault).status_code == 200
    return vault


def planned(follower: Follower, signal: int) -> dict[str, Any]:
    answer = follower.plan(signal)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


# Consents


def test_a_consent__is_given_shown_replaced_and_revoked(follower: Follower, vault: int) -> None:
    path = f"/fund/vaults/{vault}/mirrors"
    assert reason(follower.get(f"{path}/me")) == (404, "not_found")
    given = follower.consent(vault).json()
    assert (given["account_address"], given["max_order_usd"]) == (ADDRESS, "500.000000")
    assert follower.consent(vault, max_order_usd="50").json()["max_order_usd"] == "50.000000"
    assert follower.client.get(f"/fund/vaults/{vault}").json()["mirrors_count"] == 1
    assert follower.client.delete(path, headers=follower.key).status_code == 200
    assert follower.client.get(f"/fund/vaults/{vault}").json()["mirrors_count"] == 0
    own = follower.get(f"{path}/me").json()
    assert (own["is_current"], own["revoked_at"]) == (False, "2026-11-21T12:00:00Z")
    again = follower.client.delete(path, headers=follower.key)
    assert reason(again) == (409, "consent_missing")


def test_a_consent_above_the_vaults_leverage__is_refused(follower: Follower, vault: int) -> None:
    answer = follower.consent(vault, max_leverage="1.01")
    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        "max_leverage: the vault's rules allow 1.00 at most.",
    )


def test_a_consent__with_a_size_of_zero_or_a_key_of_another_form_is_refused(
    follower: Follower, vault: int
) -> None:
    for field, value in (
        ("max_order_usd", "0"),
        ("rules_hash", "0x12"),
        ("account_address", "0x12"),
        ("api_key", "secret"),
    ):
        answer = follower.consent(vault, **{field: value})
        assert (answer.status_code, field in answer.json()["detail"]) == (400, True)


# Plans that are made


def test_a_plan__is_an_order_of_the_followers_size_and_charged_once(
    follower: Follower, office: Office, mirrored: int
) -> None:
    signal = office.publish(mirrored)
    plan = planned(follower, signal)
    assert (plan["disposition"], plan["reason"], plan["historical"]) == ("ready", None, False)
    assert (plan["charged"], plan["charged_credits"], follower.credits()) == (True, 10, 90)
    assert (plan["capped_notional_usd"], plan["nav_usd"]) == ("250.000000", "1000.000000")
    assert plan["order"] == {
        "side": "buy",
        "reduce_only": False,
        "target_notional_usd": "250.000000",
        "position_notional_usd": "0.000000",
        "wanted_notional_usd": "250.000000",
        "capped_notional_usd": "250.000000",
        "capped_by": None,
        "reference_price": "91250.5",
    }
    # the walk: 250 of the 50,000 within 0.5 %, at its far edge, 50.01; the root law has 0.78
    assert (plan["grade"], plan["impact_bps"]) == ("B", "50.01")
    again = planned(follower, signal)
    assert (again["charged"], again["charged_credits"], follower.credits()) == (False, 0, 90)
    assert follower.get(f"/fund/signals/{signal}").status_code == 200
    assert follower.credits() == 90


def test_a_historical_signal__is_planned_for_free_even_if_it_is_superseded(
    follower: Follower, office: Office, mirrored: int, clock: Clock, deps: Deps
) -> None:
    signal = office.publish(mirrored)
    office.publish(mirrored, weight="0.5")
    clock.pass_(hours=24)
    freshen(deps, clock.now)
    plan = planned(follower, signal)
    assert (plan["disposition"], plan["historical"], plan["charged"]) == ("ready", True, False)
    assert follower.credits() == 100


def freshen(deps: Deps, now: datetime) -> None:
    with deps.database.write() as session:
        for state in session.query(MarketListingState):
            state.sampled_at = now


# Plans that are not made


def test_a_plan_without_a_consent_or_with_an_old_one__is_refused_with_the_next_call(
    follower: Follower, office: Office, vault: int
) -> None:
    signal = office.publish(vault)
    missing = follower.plan(signal)
    assert reason(missing) == (409, "consent_missing")
    assert missing.json()["service"]["next"][0]["path"] == f"/fund/vaults/{vault}"
    follower.consent(vault)
    universe = [{"market": BTC, "min_order_usd": "10"}]
    rules = {"mandate": "Weekly.", "max_leverage": "1", "universe": universe}
    office.post(f"/admin/fund/vaults/{vault}/rules", {"rules": rules})
    assert reason(follower.plan(signal)) == (409, "rules_changed")
    assert follower.credits() == 100


def test_a_plan_for_another_account__is_refused(
    follower: Follower, office: Office, mirrored: int
) -> None:
    answer = follower.plan(office.publish(mirrored), address=OTHER)
    assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (400, "account_address")
    assert follower.credits() == 100


def test_a_plan_of_an_unknown_signal__is_404(follower: Follower, mirrored: int) -> None:
    assert reason(follower.plan(12)) == (404, "not_found")


def test_a_plan_by_a_key_without_spend__is_refused_and_leaves_nothing_sold(
    follower: Follower, office: Office, mirrored: int, deps: Deps
) -> None:
    signal = office.publish(mirrored)
    for scopes, status in ((["read"], 403), (None, 200)):
        with deps.database.write() as session:
            for key in session.query(ApiKey).filter(ApiKey.account_id == follower.user_id):
                key.scopes = scopes
        assert follower.plan(signal).status_code == status
        with deps.database.read() as session:
            rows = session.query(FundSignalSale).count(), session.query(FundPlan).count()
        assert rows == ((0, 0) if scopes else (1, 1))
    assert follower.credits() == 90


CHECKS = ("paused", "superseded", "session", "account", "grade", "leverage", "minimum")
PAID = ("leverage", "minimum")  # what only who paid is told
REASONS = {
    "paused": ("refused", "vault_paused"),
    "superseded": ("refused", "signal_superseded"),
    "session": ("deferred", "session_closed"),
    "account": ("refused", "account_unknown"),
    "grade": ("refused", "grade_f"),
    "leverage": ("refused", "leverage_above_consent"),
    "minimum": ("skipped", "order_too_small"),
}


def test_each_check_that_fails__is_named_and_charged_as_the_signal_says(
    follower: Follower,
    office: Office,
    markets: None,
    accounts: KnownAccounts,
    deps: Deps,
    clock: Clock,
) -> None:
    """Each alone; tests/unit/core/fund/test_plan.py has all combinations."""
    vault = vault_with(deps, clock, FundKind.PERP, most_leverage_e2=500)
    follower.consent(vault, max_leverage="2.00")
    monday = datetime.fromisoformat("2026-11-23T15:00:00+00:00")
    wrong = []
    for first in CHECKS:
        fails = {check: check == first for check in CHECKS}
        clock.now = monday + timedelta(hours=9 if fails["session"] else 0)
        market = SHARE if fails["session"] else BTC
        leverage = "3.00" if fails["leverage"] else "1.00"
        signal = office.publish(vault, market=market, leverage=leverage)
        if fails["superseded"]:
            office.publish(vault, market=market, leverage=leverage)
        nav = USD if fails["minimum"] else 1_000 * USD
        accounts.known = {} if fails["account"] else {ADDRESS: FollowerAccount(nav, {})}
        with deps.database.write() as session:
            for state in session.query(MarketListingState):
                state.sampled_at = clock.now
                state.grade = "F" if fails["grade"] else "B"
        if fails["paused"]:
            office.post(f"/admin/fund/vaults/{vault}/pause")
        plan = planned(follower, signal)
        if fails["paused"]:
            office.post(f"/admin/fund/vaults/{vault}/resume")
        got = plan["disposition"], plan["reason"]
        is_wrong = got != REASONS[first] or plan["charged"] is not (first in PAID)
        if is_wrong or plan["order"] is not None:
            wrong.append((fails, got))
        block = plan["service"]
        if not (block["field"] and block["rule"] and block["next"]):
            wrong.append((fails, block))
    assert wrong == []
    assert follower.credits() == 100 - len(PAID) * 10
    with deps.database.read() as session:
        assert session.query(CreditEntry).filter(CreditEntry.kind == "spend").count() == len(PAID)


def test_a_free_plan_of_a_locked_signal__does_not_tell_its_market(
    follower: Follower,
    office: Office,
    mirrored: int,
    accounts: KnownAccounts,
    clock: Clock,
    deps: Deps,
) -> None:
    clock.now = datetime.fromisoformat("2026-11-23T15:00:00+00:00")  # New York is open
    freshen(deps, clock.now)
    signals = [office.publish(mirrored, market=market) for market in (BTC, SHARE)]
    accounts.known = {}

    def told(signal: int) -> list[Any]:
        plan = planned(follower, signal)
        return [plan[name] for name in ("reason", "grade", "provisional", "session")]

    hidden = [
        "account_unknown",
        None,
        True,
        {"state": "open", "next_open": None, "closes_at": None},
    ]
    assert [told(signal) for signal in signals] == [hidden, hidden]
    assert follower.get(f"/fund/signals/{signals[1]}").status_code == 200
    closes = {"state": "open", "next_open": None, "closes_at": "2026-11-23T21:00:00Z"}
    assert told(signals[1]) == ["account_unknown", "B", False, closes]


# Fills


def fill(**changes: Any) -> dict[str, Any]:
    return {
        "account_address": ADDRESS,
        "filled_at": "2026-11-21T12:00:00Z",
        "price": "91250.5",
        "qty": "0.0027",
        "side": "buy",
        **changes,
    }


def test_a_fill__is_kept_once_as_a_self_report_and_counted(
    follower: Follower, office: Office, mirrored: int
) -> None:
    signal = office.publish(mirrored)
    planned(follower, signal)
    path = f"/fund/signals/{signal}/fills"
    first, again = (follower.post(path, fill(venue_order_id="x-1")) for _ in range(2))
    assert [first.status_code, again.status_code] == [201, 200]
    assert (first.json()["source"], first.json()["qty"]) == ("self_report", "0.0027")
    assert follower.post(path, fill()).status_code == 201
    own = follower.get(f"/fund/vaults/{mirrored}/mirrors/me").json()
    assert [one["source"] for one in own["fills"]] == ["self_report"] * 2
    assert follower.client.get(f"/fund/vaults/{mirrored}").json()["fills_count"] == 2
    assert follower.credits() == 90


@each(
    ("written", "kept"),
    [
        ("5e-05", "0.00005"),  # as Python writes 0.00005
        ("1e-7", "0.0000001"),  # as JavaScript writes it
        ("1.5E+2", "150"),
        ("0.000050", "0.00005"),
        ("3", "3"),
    ],
)
def test_a_fills_number__is_taken_as_json_writes_it(
    follower: Follower, office: Office, mirrored: int, written: str, kept: str
) -> None:
    signal = office.publish(mirrored)
    planned(follower, signal)
    body = json.dumps(fill()).replace('"0.0027"', written)
    answer = follower.client.post(
        f"/fund/signals/{signal}/fills",
        content=body,
        headers=follower.key | {"Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["qty"]) == (201, kept)


def test_a_fills_time__may_have_nanoseconds(
    follower: Follower, office: Office, mirrored: int
) -> None:
    signal = office.publish(mirrored)
    planned(follower, signal)
    said = fill(filled_at="2026-11-21T12:00:00.000000999Z")
    answer = follower.post(f"/fund/signals/{signal}/fills", said)
    assert (answer.status_code, answer.json()["filled_at"]) == (201, "2026-11-21T12:00:00Z")


@pytest.fixture
def bought(follower: Follower, office: Office, mirrored: int) -> int:
    """A signal that the follower has a plan of."""
    signal = office.publish(mirrored)
    planned(follower, signal)
    return signal


@each(
    ("field", "value"),
    [
        ("price", "109500.6"),  # 20 % above
        ("price", "73000.4"),  # 20 % below
        ("price", "100375.55000001"),  # 10 % and a little
        ("price", "0"),
        ("qty", "0"),
        ("qty", "1e5"),
        ("qty", ".5"),
        ("qty", 1e15),
        ("qty", 1e99),
        ("qty", 1e-19),
        ("filled_at", "2026-11-21T11:59:59Z"),
        ("filled_at", "2026-11-21T12:00:01Z"),
        ("side", "hold"),
        ("account_address", OTHER),
    ],
)
def test_a_fill_that_cannot_be__is_400_names_its_field_and_is_not_counted(
    follower: Follower, mirrored: int, bought: int, field: str, value: Any
) -> None:
    answer = follower.post(f"/fund/signals/{bought}/fills", fill(**{field: value}))
    assert (answer.status_code, field in answer.json()["detail"]) == (400, True)
    assert follower.client.get(f"/fund/vaults/{mirrored}").json()["fills_count"] == 0


def test_a_fill_of_a_live_signal_that_was_not_paid__is_refused(
    follower: Follower, office: Office, mirrored: int
) -> None:
    answer = follower.post(f"/fund/signals/{office.publish(mirrored)}/fills", fill())
    assert reason(answer) == (409, "signal_locked")
