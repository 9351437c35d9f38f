"""A call that dies anywhere between verify and serve: the same payment, sent again, is neither
charged nor served twice.

The table of docs/payments.md is what this test sees.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from api.payments import exact
from core.payments import queries as payments
from tests.integration.api.payments.shop import PRICE, Shop, reason

DOCS = Path(__file__).parents[4] / "docs" / "payments.md"
HEAD = "| the call dies | row | charged | the same payment again | charged | a third time |"


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


POINTS: dict[str, Callable[[Shop, pytest.MonkeyPatch], None]] = {
    "while it is verified": at_verify,
    "before the claim commits": at_claim,
    "claimed, before it is sent": before_settle,
    "sent, the answer is lost": after_settle,
    "settled, before that commits": at_settled,
    "settled, before it is served": before_serve,
    "before the serve commits": at_serve,
    "served, the answer is lost": after_serve,
}


def shown(answer: Response) -> str:
    return "served" if answer.status_code == 200 else " ".join(map(str, reason(answer)))


def row_of_table(shop: Shop, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    payment = shop.payment()
    with monkeypatch.context() as patched:
        POINTS[name](shop, patched)
        died = shop.get(payment)
    assert reason(died) == (500, "internal_error")
    state, charged = ", ".join(shop.states()) or "none", shop.income // PRICE
    again = shown(shop.get(payment))
    return (
        f"| {name} | {state} | {charged} | {again} | {shop.income // PRICE} | "
        f"{shown(shop.get(payment))} |"
    )


@pytest.mark.parametrize("name", POINTS)
def test_a_call__that_dies__leaves_a_payment_that_serves_at_most_once(
    shop: Shop, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.client = TestClient(
        shop.client.app, base_url="http://testserver", raise_server_exceptions=False
    )
    row = row_of_table(shop, name, monkeypatch)
    print(row)
    assert row in DOCS.read_text().splitlines()
    assert (shop.income, shop.states()) == (PRICE, ["served"])


def test_the_table_of_the_docs__has_a_row_for_each_point() -> None:
    lines = DOCS.read_text().splitlines()
    start = lines.index(HEAD) + 2
    assert [
        line.split(" | ")[0].removeprefix("| ") for line in lines[start : start + len(POINTS)]
    ] == list(POINTS)
