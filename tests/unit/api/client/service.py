"""The world outside a client: answers that a test lines up, and the calls that came."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from api.client import Client, Payer, Retries

Answer = httpx.Response | Exception


def ok(**body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


def refusal(
    status: int, reason: str, *, headers: dict[str, str] | None = None, **block: Any
) -> httpx.Response:
    service = {
        "reason": reason,
        "error": reason,
        "retry_safe": False,
        "who_fixes": "caller",
        "next": [],
        **block,
    }
    return httpx.Response(
        status, json={"detail": f"It is {reason}.", "service": service}, headers=headers
    )


@dataclass
class Service:
    """Gives its answers in order; the call after the last one is a defect of the test."""

    answers: list[Answer]
    calls: list[httpx.Request] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    jitter: Callable[[], float] = lambda: 0.5

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.calls.append(request)
        answer = self.answers[len(self.calls) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, payer: Payer | None = None, **more: Any) -> Client:
        retries = Retries(jitter=self.jitter, sleep=self.waits.append)
        return Client(
            "http://service.example/",
            payer=payer,
            retries=retries,
            over=httpx.MockTransport(self),
            **more,
        )
