"""Vaults and their signals: what is free, what is locked, what is paid once (docs/fund.md)."""

from dataclasses import replace
from typing import Any

import pytest

from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.fund import planning
from core.fund.ledger import writer as signal_ledger
from core.fund.planning import SignalPlace
from core.fund.tables import FundPlan, FundSignal, FundSignalSale
from core.identity.tables import ApiKey
from tests.integration.api.conftest import Clock, at_once, reason
from tests.integration.api.fund.conftest import (
    BTC,
    ETH,
    Follower,
    Office,
    follower_of,
    vault_with,
)

DAY_S = 86_400


def test_a_vault_that_is_not_there__is_404_and_says_where_they_are(follower: Follower) -> None:
    answer = follower.get("/fund/vaults/99")
    assert reason(answer) == (404, "not_found")
    assert answer.json()["service"]["next"][0]["path"] == "/fund/vaults"


def test_a_signal__is_live_for_24_hours_and_then_free(
    follower: Follower, office: Office, vault: int, clock: Clock
) -> None:
    signal = office.publish(vault)
    clock.pass_(seconds=DAY_S - 1)
    assert follower.client.get(f"/fund/vaults/{vault}/signals").json()["signals"] == []
    assert follower.get(f"/fund/vaults/{vault}/signals/live").json()["locked_count"] == 1
    clock.pass_(seconds=1)
    (shown,) = follower.client.get(f"/fund/vaults/{vault}/signals").json()["signals"]
    assert (shown["signal_id"], shown["historical"]) == (signal, True)
    assert (shown["target_weight"], shown["target_leverage"]) == ("0.2500", "1.00")
    assert follower.get(f"/fund/vaults/{vault}/signals/live").json()["locked_count"] == 0
    read = follower.get(f"/fund/signals/{signal}")
    assert (read.status_code, follower.credits()) == (200, 100)


def test_the_live_list__answers_without_payment_and_counts_what_is_locked(
    follower: Follower, office: Office, vault: int
) -> None:
    first, _ = office.publish(vault), office.publish(vault, market=ETH)
    page = follower.get(f"/fund/vaults/{vault}/signals/live")
    assert (page.status_code, page.json()["locked_count"], page.json()["signals"]) == (200, 2, [])
    offer = page.json()["payment_required"]
    assert (offer["credits"], offer["resource"]["url"]) == (
        10,
        "http://testserver/fund/signals/2",
    )
    assert follower.get(f"/fund/signals/{first}").status_code == 200
    again = follower.get(f"/fund/vaults/{vault}/signals/live").json()
    assert ([one["signal_id"] for one in again["signals"]], again["locked_count"]) == ([first], 1)
    assert BTC not in page.text


def test_the_live_list__without_a_key_is_401(follower: Follower, vault: int) -> None:
    assert reason(follower.client.get(f"/fund/vaults/{vault}/signals/live")) == (
        401,
        "auth_required",
    )
    assert reason(follower.client.get(f"/fund/vaults/{vault}/signals", params={"live": 1})) == (
        401,
        "auth_required",
    )
    with_key = follower.get(f"/fund/vaults/{vault}/signals", live=1)
    assert (with_key.status_code, with_key.json()["locked_count"]) == (200, 0)


def test_a_live_signal__costs_ten_credits_once(
    follower: Follower, office: Office, vault: int
) -> None:
    signal = office.publish(vault)
    first, again = (follower.get(f"/fund/signals/{signal}") for _ in range(2))
    assert [one.headers.get("X-Credits-Charged") for one in (first, again)] == ["10", None]
    assert "X-Free-Reads-Remaining" not in first.headers
    assert (first.json()["target_weight"], follower.credits()) == ("0.2500", 90)
    assert first.json()["row_hash"] is None


def test_a_live_signal__without_credits_is_a_402_with_the_price_in_the_block(
    follower: Follower, office: Office, vault: int, client: object, deps: Deps, clock: Clock
) -> None:
    poor = follower_of(follower.client, deps, clock, amount=0)
    with deps.database.write() as session:
        credit_ledger.spend(session, poor.user_id, 3, "gone", {}, clock.now)
    refused = poor.get(f"/fund/signals/{office.publish(vault)}")
    assert reason(refused) == (402, "credit_insufficient")
    assert refused.json()["service"]["credit"] == {"needed": 10, "available": 7, "shortfall": 3}
    assert BTC not in refused.text


def test_reads_and_plans_at_once__are_charged_once(
    follower: Follower, office: Office, vault: int
) -> None:
    signal = office.publish(vault)
    assert follower.consent(vault).status_code == 200

    def call(number: int) -> int:
        if number % 2:
            return int(follower.plan(signal).status_code)
        return int(follower.get(f"/fund/signals/{signal}").status_code)

    assert at_once(32, call) == {200: 32}
    assert follower.credits() == 90


def test_a_plan_whose_credits_are_spent_meanwhile__is_the_402_and_leaves_nothing_sold(
    follower: Follower,
    office: Office,
    vault: int,
    deps: Deps,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signal, place_of = office.publish(vault), planning.place_of
    assert follower.consent(vault).status_code == 200

    def before_they_were_spent(*asked: Any) -> SignalPlace:
        found = place_of(*asked)
        assert found is not None
        return replace(found, credits=100)

    with deps.database.write() as written:
        credit_ledger.spend(written, follower.user_id, 91, "gone", {}, clock.now)
    monkeypatch.setattr(planning, "place_of", before_they_were_spent)
    assert reason(follower.plan(signal)) == (402, "credit_insufficient")
    with deps.database.read() as session:
        assert (session.query(FundSignalSale).count(), session.query(FundPlan).count()) == (0, 0)
    assert follower.credits() == 9


def test_a_later_signal_of_the_market__supersedes_in_its_vault_alone(
    follower: Follower, office: Office, vault: int, deps: Deps, clock: Clock
) -> None:
    other = vault_with(deps, clock)
    first, apart = office.publish(vault), office.publish(other)
    office.publish(vault, market=ETH)
    assert follower.get(f"/fund/signals/{first}").json()["superseded"] is False
    office.publish(vault, weight="0.1")
    assert follower.get(f"/fund/signals/{first}").json()["superseded"] is True
    assert follower.get(f"/fund/signals/{apart}").json()["superseded"] is False


def test_a_historical_signal__does_not_tell_the_market_of_a_live_one(
    follower: Follower, office: Office, vault: int, clock: Clock
) -> None:
    first = office.publish(vault)
    clock.pass_(hours=24)
    office.publish(vault, weight="0.1")

    def said() -> list[bool]:
        read = follower.get(f"/fund/signals/{first}").json()
        rows = follower.client.get(f"/fund/vaults/{vault}/signals").json()["signals"]
        return [row["superseded"] for row in (read, *rows)]

    assert said() == [False, False]
    clock.pass_(hours=24)  # the later one is historical, too, and listed before it
    assert said() == [True, False, True]


def test_a_key_without_spend__reads_no_live_signal(
    follower: Follower, office: Office, vault: int, deps: Deps
) -> None:
    signal = office.publish(vault)
    with deps.database.write() as session:
        key = session.query(ApiKey).filter(ApiKey.account_id == follower.user_id).one()
        key.scopes = ["read"]
    refused = follower.get(f"/fund/signals/{signal}")
    assert refused.status_code == 403
    assert (refused.json()["scope"], follower.credits()) == ("spend", 100)


def test_the_ledger_of_signals__is_sound_and_in_the_order_of_its_times(
    office: Office, vault: int, deps: Deps, clock: Clock
) -> None:
    office.publish(vault)
    clock.pass_(seconds=-30)
    office.publish(vault)
    with deps.database.read() as session:
        assert signal_ledger.verify(session) == []
        first, second = session.query(FundSignal).order_by(FundSignal.seq).all()
        assert first.at == second.at


def test_rules__are_frozen_again_with_another_hash_and_end_consents(
    follower: Follower, office: Office, vault: int
) -> None:
    assert follower.consent(vault).json()["is_current"] is True
    before = follower.client.get(f"/fund/vaults/{vault}").json()
    assert before["mirrors_count"] == 1
    universe = [{"market": BTC, "min_order_usd": "10"}]
    rules = {"mandate": "Weekly.", "max_leverage": "1", "universe": universe}
    frozen = office.post(f"/admin/fund/vaults/{vault}/rules", {"rules": rules})
    assert (frozen.status_code, frozen.json()["version"]) == (201, 2)
    after = follower.client.get(f"/fund/vaults/{vault}").json()
    assert after["rules_hash"] == frozen.json()["rules_hash"] != before["rules_hash"]
    assert (after["mirrors_count"], after["mandate"]) == (0, "Weekly.")
    stale = follower.consent(vault, rules_hash=before["rules_hash"])
    assert reason(stale) == (409, "rules_changed")
    assert stale.json()["service"]["next"][0]["path"] == f"/fund/vaults/{vault}"
    assert follower.get(f"/fund/vaults/{vault}/mirrors/me").json()["is_current"] is False


def test_rules_that_cannot_be__are_refused_by_field(office: Office, vault: int) -> None:
    def refused(**rules: object) -> str:
        said = {"mandate": "Weekly.", "max_leverage": "1.00"}
        said |= {"universe": [{"market": BTC, "min_order_usd": "10"}]}  # type: ignore[dict-item]
        answer = office.post(f"/admin/fund/vaults/{vault}/rules", {"rules": said | rules})
        assert answer.status_code == 400
        return str(answer.json()["detail"])

    assert refused(max_leverage="1.50").startswith("rules.max_leverage: a spot vault has 1.00")
    one = {"market": BTC, "min_order_usd": "10"}
    assert refused(universe=[one, one]).startswith("rules.universe: name each market once")
    session = {**one, "session": "XLON"}
    assert refused(universe=[session]).startswith("rules.universe.0.session: name a calendar")


def test_a_signal_that_the_rules_forbid__is_refused_by_field(office: Office, vault: int) -> None:
    path = f"/admin/fund/vaults/{vault}/signals"
    good = {"market": BTC, "target_weight": "0.25", "target_leverage": "1"}
    for field, value in (
        ("market", "kraken_btc_usd"),
        ("target_weight", "-0.1"),
        ("target_weight", "1.0001"),
        ("target_leverage", "1.01"),
    ):
        answer = office.post(path, good | {field: value})
        assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (400, field)


def test_a_paused_vault__takes_no_signal_until_it_is_resumed(office: Office, vault: int) -> None:
    path = f"/admin/fund/vaults/{vault}"
    assert office.post(f"{path}/pause").json()["mirroring_paused"] is True
    assert reason(office.post(f"{path}/pause")) == (409, "wrong_status")
    signal = {"market": BTC, "target_weight": "0.25", "target_leverage": "1"}
    assert reason(office.post(f"{path}/signals", signal)) == (409, "wrong_status")
    assert office.post(f"{path}/resume").json()["mirroring_paused"] is False
    assert office.post(f"{path}/signals", signal).status_code == 201


def test_liquidity__shows_each_market_with_its_cap(follower: Follower, vault: int) -> None:
    markets = follower.client.get(f"/fund/vaults/{vault}/liquidity").json()["markets"]
    btc, eth, share = markets
    assert (btc["grade"], btc["provisional"], btc["cap_usd"]) == ("B", False, "9259.200000")
    assert (eth["grade"], eth["cap_usd"]) == ("F", "0.000000")
    assert btc["session"] == {"state": "open", "next_open": None, "closes_at": None}
    # 2026-11-21 is a Saturday
    assert share["session"]["state"] == "closed"
    assert share["session"]["next_open"] == "2026-11-23T14:30:00Z"
    assert btc["daily_volatility_bps"] == "346.42"
