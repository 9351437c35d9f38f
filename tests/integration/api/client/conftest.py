"""The Python client over the application in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from api.client import Client, Retries
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.mandates.conftest import (
    chain,
    deps,
    mandate_id,
    origin,
    people,
    stage,
)

__all__ = ["chain", "deps", "mandate_id", "origin", "people", "stage"]


@dataclass
class Wire(httpx.BaseTransport):
    """Carries calls to the application.

    `losses`: as many answers are lost on the way back, after the call was served.
    """

    app: TestClient
    losses: int = 0
    served: int = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.app.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        self.served += 1
        if self.losses:
            self.losses -= 1
            raise httpx.ReadError("the connection broke")
        return httpx.Response(
            answer.status_code, content=answer.content, headers=dict(answer.headers)
        )


@pytest.fixture
def wire(client: TestClient) -> Wire:
    return Wire(client)


Connect = Callable[..., Client]


@pytest.fixture
def caller(wire: Wire) -> Connect:
    """A client of the application: `caller(key="...")`."""

    def build(**credentials: Any) -> Client:
        return Client(
            BASE_URL, over=wire, retries=Retries(sleep=lambda seconds: None), **credentials
        )

    return build
