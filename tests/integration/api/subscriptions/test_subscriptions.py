"""Tiers from preview to purchase to the ceiling that they give (docs/subscriptions.md)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.credits.tables import CreditEntry
from core.subscriptions.tables import SubscriptionPurchase
from tests.each import each
from tests.integration.api.conftest import Clock, Limit, reason
from tests.integration.api.subscriptions.conftest import Subscriber, subscriber_of

HAD = 1_000_010  # earned and welcome


def test_a_purchase__charges_what_the_preview_said_and_shows_in_the_account(
    subscriber: Subscriber,
) -> None:
    preview = subscriber.preview(1, 2)
    assert (preview["price_credits"], preview["until"]) == (20_000, "2027-01-20T12:00:00Z")
    assert subscriber.available() == HAD
    bought = subscriber.subscribed(1, 2, preview_id=preview["preview_id"])
    assert (bought["kind"], bought["price_credits"]) == ("new", 20_000)
    assert subscriber.available() == HAD - 20_000
    account = subscriber.account()
    assert (account["status"], account["tier"], account["calls_per_day"]) == ("active", 1, 5_000)
    assert (account["tier_until"], account["next"]) == ("2027-01-20T12:00:00Z", None)
    assert [one["price_credits"] for one in account["purchases"]] == [20_000]


def test_the_ceiling__follows_the_tier_from_the_next_call_and_falls_at_its_end(
    subscriber: Subscriber, clock: Clock
) -> None:
    def ceiling() -> str:
        return str(subscriber.get("/credits/balance").headers["X-RateLimit-Limit"])

    assert ceiling() == "2000"
    subscriber.subscribed(1)
    assert ceiling() == "5000"
    subscriber.subscribed(2)
    assert ceiling() == "10000"
    clock.pass_(days=30, microseconds=-1)
    assert ceiling() == "10000"
    clock.pass_(microseconds=1)
    assert ceiling() == "2000"
    assert subscriber.account()["status"] == "expired"


def test_an_agents_status__has_its_tier(subscriber: Subscriber, clock: Clock) -> None:
    def tiers() -> tuple[str, str | None]:
        found = subscriber.get("/agent/status").json()["tiers"]
        return found["subscription"], found["subscription_until"]

    assert tiers() == ("free", None)
    subscriber.subscribed(2)
    assert tiers() == ("tier_2", "2026-12-21T12:00:00Z")
    clock.pass_(days=30)
    assert tiers() == ("free", "2026-12-21T12:00:00Z")


def test_an_upgrade_after_ten_days__costs_two_thirds_of_the_difference(
    subscriber: Subscriber, clock: Clock
) -> None:
    subscriber.subscribed(1)
    clock.pass_(days=10)
    preview = subscriber.preview(2)
    assert (preview["kind"], preview["months"], preview["price_credits"]) == ("upgrade", 0, 10_000)
    bought = subscriber.subscribed(2)
    assert (bought["price_credits"], bought["until"]) == (10_000, "2026-12-21T12:00:00Z")
    assert (bought["current_tier"], bought["calls_per_day"]) == (2, 10_000)


def test_a_downgrade__is_paid_now_and_begins_at_the_end_of_tier_2(
    subscriber: Subscriber, clock: Clock
) -> None:
    subscriber.subscribed(2)
    bought = subscriber.subscribed(1)
    assert (bought["kind"], bought["starts_at"]) == ("downgrade", "2026-12-21T12:00:00Z")
    account = subscriber.account()
    assert (account["tier"], account["tier_until"]) == (2, "2026-12-21T12:00:00Z")
    assert account["next"] == {"tier": 1, "starts_at": "2026-12-21T12:00:00Z"}
    clock.pass_(days=30)
    assert subscriber.account()["tier"] == 1
    clock.pass_(days=30)
    assert subscriber.account()["tier"] == 0


def test_a_preview__keeps_its_price_for_five_minutes(subscriber: Subscriber, clock: Clock) -> None:
    subscriber.subscribed(1)
    kept, late = subscriber.preview(2), subscriber.preview(2)
    clock.pass_(minutes=5)
    assert subscriber.preview(2)["price_credits"] == 14_999
    clock.pass_(microseconds=1)
    expired = subscriber.subscribe(2, preview_id=late["preview_id"])
    assert reason(expired) == (409, "preview_expired")
    clock.now -= timedelta(microseconds=1)
    bought = subscriber.subscribed(2, preview_id=kept["preview_id"])
    assert bought["price_credits"] == kept["price_credits"] == 15_000


def test_a_preview__buys_once(subscriber: Subscriber, clock: Clock) -> None:
    named = subscriber.preview(1)["preview_id"]
    first = subscriber.subscribed(1, preview_id=named)
    clock.pass_(hours=1)
    assert subscriber.subscribed(1, preview_id=named) == first
    assert subscriber.available() == HAD - 10_000


def test_a_preview_before_another_purchase__is_a_changed_price(subscriber: Subscriber) -> None:
    named = subscriber.preview(2)["preview_id"]
    subscriber.subscribed(1)
    refused = subscriber.subscribe(2, preview_id=named)
    assert reason(refused) == (409, "price_changed")
    assert refused.json()["detail"].startswith("The price is now 15000 credits")
    assert subscriber.available() == HAD - 10_000


@each("sent", ["x", "é", "A" * 38, "A" * 64])
def test_a_made_up_preview__is_refused_by_its_field(subscriber: Subscriber, sent: str) -> None:
    refused = subscriber.subscribe(1, preview_id=sent)
    assert reason(refused) == (400, "invalid_parameter")
    assert refused.json()["detail"].startswith("preview_id: ")


def test_another_accounts_preview__is_refused(
    subscriber: Subscriber, client: TestClient, deps: Deps, clock: Clock
) -> None:
    other = subscriber_of(client, deps, clock)
    refused = subscriber.subscribe(1, preview_id=other.preview(1)["preview_id"])
    assert reason(refused) == (400, "invalid_parameter")


def test_a_preview_of_another_tier__is_refused(subscriber: Subscriber) -> None:
    refused = subscriber.subscribe(2, preview_id=subscriber.preview(1)["preview_id"])
    assert refused.json()["detail"] == (
        "preview_id: it is of tier 1 for 1 months; send the same tier and months."
    )


def test_above_max_credits__nothing_is_charged(subscriber: Subscriber) -> None:
    refused = subscriber.subscribe(1, max_credits=9_999)
    assert reason(refused) == (409, "price_changed")
    assert subscriber.available() == HAD
    assert subscriber.subscribed(1, max_credits=10_000)["price_credits"] == 10_000


def test_too_little_credit__is_402_without_accepts_and_moves_nothing(
    client: TestClient, deps: Deps, clock: Clock
) -> None:
    poor = subscriber_of(client, deps, clock, amount=9_989)
    refused = poor.subscribe(1)
    assert reason(refused) == (402, "credit_insufficient")
    assert "accepts" not in refused.json()
    assert refused.json()["service"]["credit"] == {
        "needed": 10_000,
        "available": 9_999,
        "shortfall": 1,
    }
    assert poor.available() == 9_999
    assert poor.account()["status"] == "none"


def test_prices__say_that_subscriptions_charge(client: TestClient) -> None:
    found = {one["key"]: one for one in client.get("/prices").json()["prices"]}
    assert [
        (found[f"subscription_tier_{tier}_month"]["credits"], found[f"subscription_tier_{tier}_month"]["status"])
        for tier in (1, 2)
    ] == [(10_000, "charging"), (25_000, "charging")]  # fmt: skip


@pytest.mark.slow
def test_subscribes_at_once_with_keys_of_their_own__never_spend_what_is_not_there(
    limited: Limit, deps: Deps, clock: Clock
) -> None:
    subscriber = subscriber_of(limited(), deps, clock, amount=35_000)

    def one(n: int) -> int:
        key = {"Idempotency-Key": f"key-{n}"}
        body = {"tier": 1, "months": 1}
        answer = subscriber.post("/subscriptions/credits/subscribe", body, **key)
        return int(answer.status_code)

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(one, range(16)))
    assert (statuses.count(200), statuses.count(402)) == (3, 13)
    assert subscriber.available() == 35_010 - 30_000
    assert _charged(subscriber) == (3, 30_000)
    with subscriber.database.read() as session:
        assert sum(credit_ledger.trial_balance(session).values()) == 0


def _charged(subscriber: Subscriber) -> tuple[int, int]:
    """Purchases, and what they cost together; the ledger's postings say the same."""
    with subscriber.database.read() as session:
        mine = SubscriptionPurchase.account_id == subscriber.user_id
        bought = session.execute(
            select(func.count(), func.sum(SubscriptionPurchase.price_credits)).where(mine)
        ).one()
        posted = session.execute(
            select(func.count(), func.sum(CreditEntry.counter_delta)).where(
                CreditEntry.account_id == subscriber.user_id, CreditEntry.kind == "spend"
            )
        ).one()
    assert tuple(map(int, bought)) == tuple(map(int, posted))
    return int(bought[0]), int(bought[1])
