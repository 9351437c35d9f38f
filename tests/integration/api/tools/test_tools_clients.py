"""The official client of both protocol eras, over a socket, against the server that the product
runs.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from api.kernel.operation import Deps
from api.main import create_app
from tests.integration.api.conftest import KEY
from tests.integration.api.serving import served
from tests.integration.api.tools.conftest import CONNECTOR

MODES = pytest.mark.parametrize(
    ("mode", "version"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
    ids=["legacy", "auto", "pinned"],
)

# initialize, notifications/initialized or server/discover, then tools/list and two calls
# (docs/mcp.md, Counting)
MESSAGES = {"legacy": 5, "auto": 4, "2026-07-28": 3}


@pytest.fixture
def url(deps: Deps) -> Iterator[str]:
    with served(lambda _: create_app(deps)) as base_url:
        yield f"{base_url}/mcp"


@asynccontextmanager
async def connected(url: str, mode: str, **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=10) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@MODES
def test_a_client__registers_and_acts_with_its_new_key(url: str, mode: str, version: str) -> None:
    async def story() -> None:
        async with connected(url, mode) as nobody:
            assert nobody.protocol_version == version
            tools = {tool.name for tool in (await nobody.list_tools()).tools}
            assert tools == CONNECTOR
            made = (
                await nobody.call_tool("agent_connect", {"agent_name": "quant"})
            ).structured_content
        async with connected(f"{url}?profile=full", mode, **{KEY: made["api_key"]}) as agent:
            tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
            assert tools["mandate_get"].annotations is not None
            assert tools["mandate_get"].annotations.read_only_hint is True
            result = await agent.call_tool("mandate_list", {"limit": 5})
            assert (result.is_error, result.structured_content) == (
                False,
                {"mandates": [], "next_cursor": None},
            )
            refused = await agent.call_tool("mandate_get", {"id": "m_aaaaaaaaaa"})
            assert refused.meta is not None
            assert (
                int(refused.meta["service/headers"]["X-RateLimit-Remaining"])
                == 2_000 - MESSAGES[mode]
            )

    asyncio.run(story())


@MODES
def test_a_client__reads_why_a_call_was_refused(url: str, mode: str, version: str) -> None:
    async def story() -> Any:
        async with connected(f"{url}?profile=full", mode) as nobody:
            return await nobody.call_tool("mandate_get", {"id": "m_aaaaaaaaaa"})

    result = asyncio.run(story())
    assert result.is_error is True
    assert result.structured_content["service"]["reason"] == "auth_required"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_with_an_invalid_key__hears_so_when_it_connects(url: str, mode: str) -> None:
    async def story() -> None:
        async with connected(url, mode, **{KEY: "svc_key_x"}):
            pytest.fail("the key is not valid")

    # the client wraps it in groups, in each mode others
    with pytest.raises(BaseException) as raised:
        asyncio.run(story())
    assert "is not valid" in "".join(_sentences(raised.value))


def _sentences(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _sentences(one)
    yield str(error)


@pytest.mark.slow
def test_ten_clients_at_once__are_each_answered(url: str) -> None:
    async def one(number: int) -> int:
        async with connected(url, "legacy" if number % 2 else "auto") as client:
            made = (
                await client.call_tool("agent_connect", {"agent_name": f"agent {number}"})
            ).structured_content
            return int(made["user_id"])

    async def story() -> list[int]:
        return await asyncio.gather(*(one(number) for number in range(10)))

    assert len(set(asyncio.run(story()))) == 10
