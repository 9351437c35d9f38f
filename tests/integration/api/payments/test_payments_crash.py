"""A call that dies anywhere between verify and serve: the same payment, sent again, is neither
charged nor served twice.
"""

from collections.abc import Callable
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from api.payments import exact
from core.payments import queries as payments
from tests.integration.api.payments.shop import PRICE, Shop, reason

AGAIN = "402 payment_already_used"


class Crash(Exception):
    """Ends a call where it stands; nothing in the service knows it."""


def crash(*_: Any, **__: Any) -> Any:
    raise Crash


def after(real: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise Crash

    return run


def at_verify(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop.settler, "on_verify", crash)


def at_claim(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payments, "claim", after(payments.claim))


def before_settle(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop.settler, "on_settle", crash)


def after_settle(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop.settler, "on_settle", lambda real: after(real)())


def at_settled(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payments, "mark_settled", after(payments.mark_settled))


def before_serve(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payments, "mark_served", crash)


def at_serve(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payments, "mark_served", after(payments.mark_served))


def after_serve(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "receipt_header", crash)


# where it dies; what is left: the payment's row, how often it was charged, the answer to it sent again
POINTS: dict[str, tuple[Callable[[Shop, pytest.MonkeyPatch], None], str, int, str]] = {
    "while it is verified": (at_verify, "none", 0, "served"),
    "before the claim commits": (at_claim, "none", 0, "served"),
    "claimed, before it is sent": (before_settle, "claimed", 0, "served"),
    "sent, the answer is lost": (after_settle, "claimed", 1, "served"),
    "settled, before that commits": (at_settled, "claimed", 1, "served"),
    "settled, before it is served": (before_serve, "settled", 1, "served"),
    "before the serve commits": (at_serve, "settled", 1, "served"),
    "served, the answer is lost": (after_serve, "served", 1, AGAIN),
}


def shown(answer: Response) -> str:
    return "served" if answer.status_code == 200 else " ".join(map(str, reason(answer)))


@pytest.mark.parametrize("name", POINTS)
def test_a_call__that_dies__leaves_a_payment_that_serves_at_most_once(
    shop: Shop, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.client = TestClient(
        shop.client.app, base_url="http://testserver", raise_server_exceptions=False
    )
    kill, row, charged, again = POINTS[name]
    payment = shop.payment()
    with monkeypatch.context() as patched:
        kill(shop, patched)
        died = shop.get(payment)
    assert reason(died) == (500, "internal_error")
    assert (", ".join(shop.states()) or "none", shop.income // PRICE) == (row, charged)
    assert shown(shop.get(payment)) == again
    assert shown(shop.get(payment)) == AGAIN
    assert (shop.income, shop.states()) == (PRICE, ["served"])
