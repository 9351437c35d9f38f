"""A transport that answers from hand-written payloads, each in its venue's own shape."""

import asyncio
import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

from indexer.venues.transport import VenueAnswer, VenueRequest

T = TypeVar("T")
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
MS = int(NOW.timestamp() * 1_000)


def asked(call: Awaitable[T]) -> T:
    async def run() -> T:
        return await call

    return asyncio.run(run())


@dataclass
class PayloadTransport:
    """By path, without the host. What has no payload ends the test: nothing leaves the machine."""

    payloads: Mapping[str, object]
    sent: list[str] = field(default_factory=list)

    async def send(self, request: VenueRequest) -> VenueAnswer:
        parts = urlsplit(request.url)
        path = parts.path
        if "product_type=FUTURE" in parts.query:  # coinbase: one path, two kinds of products
            path += "?FUTURE"
        self.sent.append(f"{request.method} {path}")
        if path not in self.payloads:
            raise AssertionError(f"no payload for {request.url}")
        found = self.payloads[path]
        if isinstance(found, VenueAnswer):
            return found
        return VenueAnswer(200, json.dumps(found), {"Content-Type": "application/json"})

    async def close(self) -> None:
        """There is nothing to let go of."""
