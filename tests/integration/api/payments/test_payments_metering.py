"""Free reads, then credits, then USDC: once, last, and never for a call that is refused."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from x402.schemas import PaymentPayload, PaymentRequirements, VerifyResponse

from api.payments.payment_config import PaymentConfig
from core.credits.ledger import writer as credit_ledger
from core.identity.tables import ApiKey
from tests.integration.api.payments.shop import PAGE, PRICE, Shop, decoded, reason
from tests.unit.core.chain.test_signatures import written_otherwise


def balance(shop: Shop, headers: dict[str, str]) -> dict[str, int]:
    return dict(shop.client.get("/credits/balance", headers=headers).json())


def test_the_free_reads__come_first_then_the_credits_then_usdc(shop: Shop) -> None:
    shop.open(free_reads_per_day=2, welcome_credits=1)
    agent = shop.agent()
    paid = [shop.get(headers=agent) for _ in range(3)]
    assert [one.status_code for one in paid] == [200, 200, 200]
    assert [one.headers["X-Free-Reads-Remaining"] for one in paid] == ["1", "0", "0"]
    assert [one.headers["X-Credits-Charged"] for one in paid] == ["0", "0", "1"]
    refused = shop.get(headers=agent)
    assert reason(refused) == (402, "credit_insufficient")
    assert refused.json()["service"]["credit"] == {"needed": 1, "available": 0, "shortfall": 1}
    assert refused.json()["service"]["retry_at"].endswith("T00:00:00Z")
    served = shop.get(shop.payment(), headers=agent)
    assert (served.status_code, shop.income) == (200, PRICE)


def test_a_payment__is_not_touched_while_a_free_read_covers_the_call(shop: Shop) -> None:
    agent, payment = shop.agent(), shop.payment()
    assert shop.get(payment, headers=agent).headers["X-Free-Reads-Remaining"] == "99"
    assert (shop.states(), shop.income) == ([], 0)
    assert shop.get(payment).status_code == 200


def test_a_payment__signed_in_another_form__is_settled(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By any facilitator: another than ours may know the one form of contracts alone."""
    payment, handed_on, verify = shop.payment(), list[str](), shop.settler.verify

    def seen(payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        handed_on.append(payload.payload["signature"])
        return verify(payload, requirements)

    monkeypatch.setattr(shop.settler, "verify", seen)
    signature = payment["payload"]["signature"]
    payment["payload"]["signature"] = written_otherwise(signature)["64 bytes"]
    assert (shop.get(payment).status_code, shop.income) == (200, PRICE)
    assert handed_on == [signature.lower()]


def test_a_page_that_is_not_there__costs_nothing(shop: Shop) -> None:
    shop.open(free_reads_per_day=0)
    agent, payment = shop.agent(), shop.payment()
    for path in (
        "/playbooks/size/none.md",
        "/playbooks/none/loop.md",
        "/playbooks/size/..%2F..%2Fmanifest.json",
        "/playbooks/size/",
    ):
        answer = shop.get(payment, path, agent)
        assert (answer.status_code, answer.json()["service"]["next"][0]["path"]) == (
            404,
            "/playbook",
        )
    assert balance(shop, agent)["available"] == 10
    assert (shop.states(), shop.income) == ([], 0)


def test_the_same_idempotency_key__is_charged_once_and_answered_again(shop: Shop) -> None:
    shop.open(free_reads_per_day=0, welcome_credits=1)
    headers = {**shop.agent(), "Idempotency-Key": "read-1"}
    first, again = shop.get(headers=headers), shop.get(headers=headers)
    assert (first.status_code, again.status_code, again.text) == (200, 200, first.text)
    assert again.headers["content-type"] == "text/markdown; charset=utf-8"
    assert again.headers["Idempotent-Replay"] == "true"
    assert balance(shop, headers)["available"] == 0
    shop.open(free_reads_per_day=0)
    paid = {**headers, "Idempotency-Key": "read-2"}
    payment = shop.payment()
    assert [shop.get(payment, headers=paid).status_code for _ in range(2)] == [200, 200]
    assert shop.income == PRICE


def test_free_reads__of_callers_at_once_are_exactly_the_days(shop: Shop) -> None:
    shop.open(free_reads_per_day=5, welcome_credits=0)
    agent = shop.agent()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: shop.get(headers=agent).status_code, range(16)))
    assert sorted(answers) == [200] * 5 + [402] * 11


@pytest.mark.slow
def test_credits__of_64_spenders_at_once_are_spent_exactly(shop: Shop) -> None:
    shop.open(free_reads_per_day=0, welcome_credits=100, daily_ceiling=10_000)
    agent = shop.agent()
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda _: shop.get(headers=agent).status_code, range(160)))
    assert sorted(answers) == [200] * 100 + [402] * 60
    assert balance(shop, agent)["total"] == 0
    entries = shop.client.get("/credits/ledger?limit=200", headers=agent).json()["entries"]
    assert [one["seq"] for one in entries] == list(range(101, 0, -1))
    with shop.database.read() as session:
        assert sum(credit_ledger.trial_balance(session).values()) == 0


def test_the_free_reads__return_at_midnight_utc(shop: Shop) -> None:
    day = shop.deps.clock().replace(hour=23, minute=59, second=59, microsecond=0)
    clock = {"now": day}
    object.__setattr__(shop.deps, "clock", lambda: clock["now"])
    shop.open(free_reads_per_day=1, welcome_credits=0)
    agent = shop.agent()
    assert shop.get(headers=agent).status_code == 200
    assert shop.get(headers=agent).status_code == 402
    clock["now"] = day + timedelta(seconds=1)
    assert shop.get(headers=agent).status_code == 200


@pytest.mark.parametrize(
    ("scopes", "expected"), [([], 403), (["tx"], 403), (["read"], 200), (["read", "spend"], 200)]
)
def test_a_free_read__needs_the_scope_read(shop: Shop, scopes: list[str], expected: int) -> None:
    agent = shop.agent()
    narrow(shop, scopes)
    assert shop.get(headers=agent).status_code == expected


def test_credits__need_the_scope_spend_too(shop: Shop) -> None:
    shop.open(free_reads_per_day=0)
    agent = shop.agent()
    narrow(shop, ["read"])
    refused = shop.get(headers=agent)
    assert (refused.status_code, refused.json()["error"], refused.json()["scope"]) == (
        403,
        "agent_key_scope",
        "spend",
    )


def narrow(shop: Shop, scopes: list[str]) -> None:
    with shop.database.write() as session:
        session.query(ApiKey).update({"scopes": scopes})


def test_without_key_and_payment__the_402_is_payable(shop: Shop) -> None:
    answer = shop.get()
    body = answer.json()
    assert reason(answer) == (402, "payment_required")
    assert list(body) == ["detail", "x402Version", "error", "resource", "accepts", "service"]
    assert (body["x402Version"], body["resource"]["url"], body["resource"]["mimeType"]) == (
        2,
        f"http://testserver{PAGE}",
        "text/markdown",
    )
    exact, vault = body["accepts"]
    assert exact == {
        "scheme": "exact",
        "network": "eip155:84532",
        "asset": shop.chain.contracts["usdc"],
        "amount": "10000",
        "payTo": shop.pay_to,
        "maxTimeoutSeconds": 60,
        "extra": {"name": "USDC", "version": "2"},
    }
    assert (vault["scheme"], vault["extra"]["adapter"]) == (
        "vault",
        shop.chain.contracts["x402_adapter"],
    )
    assert decoded(answer.headers["PAYMENT-REQUIRED"])["accepts"] == body["accepts"]
    assert answer.headers["Cache-Control"] == "no-store"


def test_without_a_payee__no_offer_is_made_and_credits_still_work(shop: Shop) -> None:
    shop.deps = shop.deps.with_part(PaymentConfig, None)
    shop.open(free_reads_per_day=0)
    assert "accepts" not in shop.get().text  # nor does a sentence speak of it
    assert shop.get(headers=shop.agent()).status_code == 200
    shop.open(free_reads_per_day=0, welcome_credits=0)
    poor = shop.get(headers=shop.agent())
    assert (poor.status_code, "accepts" in poor.text) == (402, False)
    assert ". Read again from" in poor.json()["detail"]


def test_the_402__says_in_a_sentence_what_the_read_costs(shop: Shop) -> None:
    assert (
        shop.get()
        .json()["detail"]
        .startswith(
            "This read costs 1 credit with an agent's key, or a payment described in accepts;"
        )
    )
    shop.open(free_reads_per_day=0, welcome_credits=0)
    refused = shop.get(headers=shop.agent()).json()["detail"]
    assert refused.startswith(
        "Today's free reads are used up and this read costs 1 credit; you have 0. Pay as "
        "described in accepts, or read again"
    )
