"""One idempotency key, however many payments are sent with it: the call is served and charged
once.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from httpx import Response
from sqlalchemy import text

from api.payments.exact import LEASE
from core.payments import queries as payments
from tests.integration.api.conftest import KEY, login
from tests.integration.api.payments.shop import PAGE, PRICE, Shop, encoded, reason, said
from tests.integration.api.payments.test_payments_crash import after, crash

REPLAYED = "Idempotent-Replay"


@pytest.fixture
def agent(shop: Shop) -> dict[str, str]:
    """Headers of an agent that can pay by payments alone, with an idempotency key."""
    shop.open(free_reads_per_day=0, welcome_credits=0)
    return {**shop.agent(), "Idempotency-Key": "page-1"}


def slow_to_settle(shop: Shop) -> tuple[threading.Event, threading.Event]:
    """(is settling, may go on) of the facilitator."""
    begun, may_end = threading.Event(), threading.Event()

    def settle(real: Any) -> Any:
        begun.set()
        assert may_end.wait(20)
        return real()

    shop.settler.on_settle = settle
    return begun, may_end


def while_it_settles(
    shop: Shop, agent: dict[str, str], first: dict[str, Any], second: dict[str, Any]
) -> tuple[Response, Response]:
    begun, may_end = slow_to_settle(shop)
    with ThreadPoolExecutor(1) as pool:
        paying = pool.submit(shop.get, first, headers=agent)
        assert begun.wait(20)
        beside = shop.get(second, headers=agent)
        may_end.set()
        return paying.result(30), beside


def test_a_key__with_another_payment_while_one_settles__is_in_flight_before_anything_is_taken(
    shop: Shop, agent: dict[str, str]
) -> None:
    served, beside = while_it_settles(shop, agent, shop.payment(), shop.payment())
    assert reason(beside) == (409, "idempotency_in_flight")
    assert beside.json()["service"]["retry_safe"] is True
    assert served.status_code == 200
    assert shop.income == PRICE


def test_a_key__with_the_same_payment_while_it_settles__is_in_flight_and_not_already_used(
    shop: Shop, agent: dict[str, str]
) -> None:
    payment = shop.payment()
    served, beside = while_it_settles(shop, agent, payment, payment)
    assert reason(beside) == (409, "idempotency_in_flight")
    assert (served.status_code, shop.income) == (200, PRICE)


ADVISORY_SPACES = "select distinct objsubid from pg_locks where locktype = 'advisory'"
TWO_INTEGERS = 2


def test_a_key__however_it_is_made__takes_no_lock_that_a_keeper_or_an_indexer_takes(
    shop: Shop, agent: dict[str, str]
) -> None:
    """Its lock was PostgreSQL's hash of the key, which can be inverted: a key that was computed in
    a minute held the keeper's fence for as long as a payment settled.
    """
    begun, may_end = slow_to_settle(shop)
    with ThreadPoolExecutor(1) as pool:
        paying = pool.submit(shop.get, shop.payment(), headers=agent)
        assert begun.wait(20)
        with shop.database.read() as session:
            taken = set(session.scalars(text(ADVISORY_SPACES)))
        may_end.set()
        assert paying.result(30).status_code == 200
    assert taken == {TWO_INTEGERS}


def test_a_key__with_another_payment_later__gets_the_first_answer_and_leaves_the_payment_alone(
    shop: Shop, agent: dict[str, str]
) -> None:
    first = shop.get(shop.payment(), headers=agent)
    again = shop.get(shop.payment(), headers=agent)
    assert (first.status_code, again.status_code, again.text == first.text) == (200, 200, True)
    assert (first.headers.get(REPLAYED), again.headers.get(REPLAYED)) == (None, "true")
    assert shop.income == PRICE


def test_a_key__with_eight_payments_at_once__is_charged_once(
    shop: Shop, agent: dict[str, str]
) -> None:
    many = [shop.payment() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda one: shop.get(one, headers=agent), many))
    kinds = Counter((one.status_code, one.headers.get(REPLAYED)) for one in answers)
    assert set(kinds) <= {(200, None), (200, "true"), (409, None)}
    assert kinds[(200, None)] <= 1
    assert shop.income <= PRICE
    assert shop.get(shop.payment(), headers=agent).status_code == 200
    assert shop.income == PRICE


def lost_after_settling(
    shop: Shop, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch, where: str
) -> dict[str, Any]:
    """The payment of a call that died when its payment had settled: at `where`."""
    payment = shop.payment()
    with monkeypatch.context() as patch:
        if where == "answer of the settler":
            patch.setattr(shop.settler, "on_settle", lambda real: after(real)())
        else:
            patch.setattr(payments, where, crash)
        # A crash of the process ends the connection; here the exception does.
        answer = shop.get(payment, headers=agent)
    assert (answer.status_code, shop.income) == (500, PRICE)
    return payment


@pytest.mark.parametrize("where", ["answer of the settler", "mark_settled", "mark_served"])
def test_a_key__whose_payment_settled_when_its_call_died__serves_by_it_and_takes_no_other(
    shop: Shop, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    first = lost_after_settling(shop, agent, monkeypatch, where)
    other = shop.payment()
    answer = shop.get(other, headers=agent)
    assert (answer.status_code, shop.income) == (200, PRICE)
    assert shop.get(other, headers=agent).headers[REPLAYED] == "true"
    without = {name: value for name, value in agent.items() if name != "Idempotency-Key"}
    assert reason(shop.get(first, headers=without)) == (402, "payment_already_used")
    assert (shop.get(other, headers=without).status_code, shop.income) == (200, 2 * PRICE)


def test_a_key__whose_payment_may_still_settle__takes_no_other_until_the_lease_is_over(
    shop: Shop, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shop.settler, "on_settle", crash)
        assert shop.get(shop.payment(validBefore=str(2**40)), headers=agent).status_code == 500
    held = shop.get(shop.payment(), headers=agent)
    assert reason(held) == (503, "settlement_pending")
    assert (held.json()["service"]["retry_safe"], held.headers["Retry-After"]) == (True, "5")
    assert shop.income == 0
    object.__setattr__(shop.deps, "clock", lambda: datetime.now(UTC) + LEASE)
    shop.open(free_reads_per_day=0, welcome_credits=0)
    later = shop.payment(validBefore=str(2**40))
    assert (shop.get(later, headers=agent).status_code, shop.income) == (200, PRICE)


def test_a_key__whose_payment_failed__takes_another(shop: Shop, agent: dict[str, str]) -> None:
    shop.settler.on_settle = lambda real: said(error_reason="transaction_failed")
    assert reason(shop.get(shop.payment(), headers=agent)) == (402, "payment_invalid")
    shop.settler.on_settle = lambda real: real()
    assert (shop.get(shop.payment(), headers=agent).status_code, shop.income) == (200, PRICE)


@pytest.fixture
def rotated(shop: Shop) -> tuple[dict[str, str], Callable[[], dict[str, str]]]:
    """Headers of an owner's agent with an idempotency key, and what makes them those of its next
    secrets.
    """
    shop.open(free_reads_per_day=0, welcome_credits=0)
    owner = login(shop.client, Account.create())
    made = shop.client.post("/auth/agent/connect", json={"agent_name": "r"}, headers=owner).json()
    key = {"Idempotency-Key": "page-1"}

    def rotate() -> dict[str, str]:
        answer = shop.client.post(f"/agents/{made['user_id']}/keys/rotate", headers=owner)
        return {KEY: answer.json()["api_key"], **key}

    return {KEY: made["api_key"], **key}, rotate


@pytest.mark.parametrize("where", ["answer of the settler", "mark_settled", "mark_served"])
def test_a_key__whose_payment_settled_before_a_rotation__pays_once(
    shop: Shop,
    rotated: tuple[dict[str, str], Callable[[], dict[str, str]]],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    """The slot held the generation of the secrets: after a rotation its payment was not found."""
    agent, rotate = rotated
    lost_after_settling(shop, agent, monkeypatch, where)
    assert (shop.get(shop.payment(), headers=rotate()).status_code, shop.income) == (200, PRICE)


def test_a_key__that_was_served_before_a_rotation__gets_that_answer_and_pays_once(
    shop: Shop, rotated: tuple[dict[str, str], Callable[[], dict[str, str]]]
) -> None:
    agent, rotate = rotated
    first = shop.get(shop.payment(), headers=agent)
    again = shop.get(shop.payment(), headers=rotate())
    assert (again.status_code, again.headers[REPLAYED]) == (200, "true")
    assert (again.text, shop.income) == (first.text, PRICE)


def test_another_key__or_none__is_another_call(
    shop: Shop, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost_after_settling(shop, agent, monkeypatch, "mark_served")
    other = {**agent, "Idempotency-Key": "page-2"}
    assert (shop.get(shop.payment(), headers=other).status_code, shop.income) == (200, 2 * PRICE)


@pytest.mark.parametrize("keyed", [False, True])
def test_head__takes_no_payment_free_read_or_credit__and_says_what_get_costs(
    shop: Shop, keyed: bool
) -> None:
    headers = shop.agent() if keyed else {}
    payment = shop.payment()
    answer = shop.client.head(PAGE, headers={**headers, "PAYMENT-SIGNATURE": encoded(payment)})
    assert (answer.status_code, answer.content) == (402, b"")
    assert "PAYMENT-REQUIRED" in answer.headers
    assert "PAYMENT-RESPONSE" not in answer.headers
    assert (shop.income, shop.states()) == (0, [])
    if keyed:
        assert shop.get(headers=headers).headers["X-Free-Reads-Remaining"] == "99"
    else:
        assert shop.get(payment).status_code == 200
