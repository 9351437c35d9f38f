"""Priority targets: who may add them, which of them are active, and their captures
(docs/subscriptions.md#targets).
"""

from dataclasses import replace
from typing import Any

import pytest

from api.kernel.operation import Deps
from core.market.ledger import writer
from core.market.ledger.writer import NewWarning
from core.subscriptions.rules import Tier
from core.targets import queries, views
from core.targets.rules import TargetLimits
from tests.integration.api.conftest import Clock, Limit, reason
from tests.integration.api.subscriptions.conftest import BASES, Subscriber, measured, subscriber_of

pytestmark = pytest.mark.usefixtures("listed")

LIMITS = TargetLimits(20, 100)


def add(subscriber: Subscriber, base: str = "BTC", **body: Any) -> Any:
    pair = {"exchange": "binance", "symbol": f"{base}/USDT"}
    return subscriber.post("/agent/targets/add", pair | body)


def remove(subscriber: Subscriber, base: str = "BTC") -> Any:
    return subscriber.post(
        "/agent/targets/remove", {"exchange": "binance", "symbol": f"{base}/USDT"}
    )


def shown(subscriber: Subscriber) -> list[tuple[str, str]]:
    found = subscriber.get("/agent/targets").json()["targets"]
    return [(one["symbol"], one["state"]) for one in found]


def scanned(deps: Deps, clock: Clock, limits: TargetLimits = LIMITS) -> int:
    with deps.database.read() as session:
        return len(views.active(session, clock.now, limits))


def test_free__is_refused_with_the_calls_that_subscribe(subscriber: Subscriber) -> None:
    refused = add(subscriber)
    assert reason(refused) == (403, "tier_required")
    block = refused.json()["service"]
    assert block["missing"] == "tier_1"
    calls = [(one["path"], one.get("body"), one["cost"]) for one in block["next"]]
    order = {"tier": 1, "months": 1}
    assert calls[:2] == [
        ("/subscriptions/upgrade/preview", order, 0),
        ("/subscriptions/credits/subscribe", order, 10_000),
    ]


def test_the_next_calls__lead_to_a_target_as_they_are_written(subscriber: Subscriber) -> None:
    for call in add(subscriber).json()["service"]["next"][:2]:
        assert subscriber.post(call["path"], call["body"]).status_code == 200
    assert add(subscriber).status_code == 200


def test_a_target__is_added_once_scanned_listed_and_removed(
    subscriber: Subscriber, deps: Deps, clock: Clock
) -> None:
    subscriber.subscribed(1)
    added = add(subscriber).json()
    assert (added["ok"], added["exchange"], added["symbol"]) == (True, "binance", "BTC/USDT")
    assert (added["priority_pool"], added["simulated"]) == (True, True)
    assert [one["path"] for one in added["next_steps"]] == [
        "/agent/research/binance/BTC_USDT",
        "/reports/pair_pdf",
        "/agent/targets",
    ]
    assert add(subscriber).json() == added
    assert shown(subscriber) == [("BTC/USDT", "active")]
    assert scanned(deps, clock) == 1
    assert remove(subscriber).status_code == 200
    assert shown(subscriber) == []
    assert reason(remove(subscriber)) == (404, "not_found")


def test_the_next_steps__can_be_called_as_they_are_written(
    subscriber: Subscriber, deps: Deps, clock: Clock
) -> None:
    with deps.database.write() as session:
        measured(session, clock.now)
    subscriber.subscribed(1)
    research, report, own = add(subscriber).json()["next_steps"]
    assert [one["method"] for one in (research, report, own)] == ["GET", "POST", "GET"]
    assert subscriber.get(research["path"]).json()["meta"]["symbol"] == "BTC/USDT"
    assert subscriber.post(report["path"], report["body"]).status_code == 200
    assert [one["symbol"] for one in subscriber.get(own["path"]).json()["targets"]] == ["BTC/USDT"]


def test_captures__are_tier_2s(subscriber: Subscriber) -> None:
    subscriber.subscribed(1)
    assert add(subscriber, microburst_hf_captures=0).status_code == 200
    refused = add(subscriber, microburst_hf_captures=1)
    assert (reason(refused), refused.json()["service"]["missing"]) == (
        (403, "tier_required"),
        "tier_2",
    )
    subscriber.subscribed(2)
    assert add(subscriber, microburst_hf_captures=100).json()["microburst_hf_captures"] == 100
    assert add(subscriber).json()["microburst_hf_captures"] == 100
    assert add(subscriber, microburst_hf_captures=101).status_code == 400


def test_at_the_limit__another_target_is_refused_and_an_upgrade_makes_room(
    limited: Limit, deps: Deps, clock: Clock
) -> None:
    subscriber = subscriber_of(limited(targets_tier_1=1, targets_tier_2=2), deps, clock)
    subscriber.subscribed(1)
    assert add(subscriber, "BTC").status_code == 200
    assert reason(add(subscriber, "ETH")) == (409, "target_limit")
    subscriber.subscribed(2)
    assert add(subscriber, "ETH").status_code == 200
    assert reason(add(subscriber, "SOL")) == (409, "target_limit")


def test_the_end_of_a_tier__pauses_targets_and_another_period_wakes_the_oldest(
    limited: Limit, deps: Deps, clock: Clock
) -> None:
    subscriber = subscriber_of(limited(targets_tier_1=1, targets_tier_2=3), deps, clock)
    limits = TargetLimits(1, 3)
    subscriber.subscribed(2)
    subscriber.subscribed(1)
    for base in BASES:
        add(subscriber, base)
        clock.pass_(seconds=1)
    assert scanned(deps, clock, limits) == 3
    clock.pass_(days=30)
    assert shown(subscriber) == [
        ("BTC/USDT", "active"),
        ("ETH/USDT", "paused"),
        ("SOL/USDT", "paused"),
    ]
    assert subscriber.account()["targets"] == {"active": 1, "paused": 2, "limit": 1}
    assert scanned(deps, clock, limits) == 1
    clock.pass_(days=30)
    assert [state for _, state in shown(subscriber)] == ["paused"] * 3
    assert scanned(deps, clock, limits) == 0


def test_a_pair_of_two_subscribers__is_scanned_once(
    subscriber: Subscriber, deps: Deps, clock: Clock
) -> None:
    other = subscriber_of(subscriber.client, deps, clock)
    for one in (subscriber, other):
        one.subscribed(1)
        add(one)
    assert scanned(deps, clock) == 1


def test_captures__are_counted_a_day_and_stop_with_the_tier(
    subscriber: Subscriber, deps: Deps, clock: Clock
) -> None:
    subscriber.subscribed(2)
    add(subscriber, microburst_hf_captures=2)

    def capture() -> int:
        with deps.database.write() as session:
            (listing_id,) = views.active(session, clock.now, LIMITS) or (0,)
            ids = views.captured(session, listing_id, clock.now, LIMITS)
            return queries.take_captures(session, ids, clock.now.date())

    assert [capture() for _ in range(3)] == [1, 1, 0]
    used = subscriber.get("/agent/targets").json()["targets"][0]["captures_used_today"]
    assert used == 2
    clock.pass_(days=1)
    assert [capture() for _ in range(3)] == [1, 1, 0]
    clock.pass_(days=30)
    assert capture() == 0
    assert subscriber.account()["tier"] == Tier.FREE


def test_the_list__shows_the_last_scan_and_the_worst_open_warning(
    subscriber: Subscriber, deps: Deps, clock: Clock
) -> None:
    subscriber.subscribed(1)
    add(subscriber)

    def scan() -> Any:
        return subscriber.get("/agent/targets").json()["targets"][0]["scan"]

    assert scan() is None
    with deps.database.write() as session:
        asset_id = measured(session, clock.now)
    assert (scan()["grade"], scan()["outlook"], scan()["fault"]) == ("B", "clear", None)
    warning = NewWarning(
        exchange="binance",
        asset_id=asset_id,
        token="BTC",
        listing_id=None,
        type="depth_collapse",
        severity="warning",
        is_predictive=True,
        evidence={},
        rule_version="warnings_v1",
    )
    elsewhere = replace(warning, exchange="upbit", severity="critical")
    with deps.database.write() as session:
        writer.write(session, [warning, elsewhere], [])
    assert scan()["outlook"] == "warning"
