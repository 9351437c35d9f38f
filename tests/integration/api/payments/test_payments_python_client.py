"""This project's own client pays the shop: a real facilitator and chain, answers that are lost,
limits that hold.
"""

from dataclasses import dataclass
from typing import Any

import httpx
from starlette.testclient import TestClient

from api.client import Client, Payer, Retries
from tests.integration.api.payments.shop import BASE_URL, KEY, PRICE, Shop


@dataclass
class Wire(httpx.BaseTransport):
    """Carries calls to the shop.

    `lost_when_paid`: as many answers to paid calls are lost, after they were served.
    """

    app: TestClient
    lost_when_paid: int = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.app.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        if "payment-signature" in request.headers and self.lost_when_paid:
            self.lost_when_paid -= 1
            raise httpx.ReadError("the connection broke")
        return httpx.Response(
            answer.status_code, content=answer.content, headers=dict(answer.headers)
        )


def reader(shop: Shop, key: str | None = None, *, losses: int = 0, **limits: Any) -> Client:
    payer = Payer(shop.payer, asset=shop.chain.contracts["usdc"], **limits)
    return Client(
        BASE_URL,
        key,
        payer=payer,
        over=Wire(shop.client, losses),
        retries=Retries(sleep=lambda seconds: None),
    )


def receipts(client: Client) -> list[tuple[str, bool]]:
    assert client.payer is not None
    return [(one.amount_usdc, one.transaction is not None) for one in client.payer.receipts]


def test_a_page__is_paid_and_comes(shop: Shop) -> None:
    client = reader(shop)

    page = client.playbooks.read("first-hour", "loop.md")

    assert page["text"].startswith("#")
    assert (receipts(client), shop.income) == ([("0.010000", True)], PRICE)


def test_a_paid_page_whose_answer_is_lost__is_paid_once(shop: Shop) -> None:
    shop.open(free_reads_per_day=0, welcome_credits=0)
    client = reader(shop, shop.agent()[KEY], losses=1)

    assert client.playbooks.read("first-hour", "loop.md")["text"].startswith("#")

    assert shop.income == PRICE
