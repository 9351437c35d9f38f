"""A metered tool is paid in `_meta`: by hand, and by the stock x402 client over the official MCP
client.

No tool of the catalogue is metered yet, so the page of a playbook gets a tool here.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account import Account
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.types import ASGIApp
from x402 import x402Client
from x402.mcp import wrap_mcp_client_with_payment
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner

from api.kernel.operation import Deps
from api.kernel.tool import Profile, Tool, ToolKind
from api.main import create_app
from tests.integration.api.changed import catalogue_with
from tests.integration.api.payments.shop import (
    PAGE,
    PRICE,
    Shop,
    shop_on,
    usdc_where_stock_clients_know_it,
)
from tests.integration.api.serving import served
from tests.integration.chain_fixtures import DeployedChain

TOOL = "playbook_read"
ARGUMENTS = {"pb": "first-hour", "path": "loop.md"}


@pytest.fixture
def tooled(deployed: DeployedChain, deps: Deps) -> Iterator[Shop]:
    """A shop whose page is a tool too; its USDC stands where Base Sepolia has it, which the stock
    client knows.
    """
    usdc_where_stock_clients_know_it(deployed)
    tool = Tool(TOOL, "Read a page", ToolKind.READ, Profile.CONNECTOR)
    with_tool = catalogue_with("playbooks.read", tool=tool)
    opened = shop_on(deployed, replace(deps, catalogue=with_tool, clock=lambda: datetime.now(UTC)))
    with opened.client:
        yield opened


def called(
    shop: Shop, payment: Any = None, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    meta = {} if payment is None else {"_meta": {"x402/payment": payment}}
    params = {"name": TOOL, "arguments": ARGUMENTS, **meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = shop.client.post(
        "/mcp", json=body, headers={"Accept": "application/json", **(headers or {})}
    )
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["result"])


def said(result: dict[str, Any]) -> tuple[bool, int, str]:
    return (
        result["isError"],
        result["_meta"]["service/status"],
        result["structuredContent"]["service"]["reason"],
    )


def test_a_tool_unpaid__asks_for_payment_as_its_route_does(tooled: Shop) -> None:
    result, by_route = called(tooled), tooled.get()
    assert said(result) == (True, 402, "payment_required")
    assert result["structuredContent"] == by_route.json()
    assert result["structuredContent"]["accepts"][0]["amount"] == str(PRICE)
    assert result["structuredContent"]["x402Version"] == 2
    assert "x402/payment-response" not in result["_meta"]


def test_a_tool_paid_in_meta__answers_with_the_receipt_once(tooled: Shop) -> None:
    payment = tooled.payment()
    result = called(tooled, payment)
    assert (result["isError"], result["structuredContent"]["text"].splitlines()[0]) == (
        False,
        "# One turn of the loop",
    )
    receipt = result["_meta"]["x402/payment-response"]
    assert (receipt["success"], receipt["payer"]) == (True, tooled.payer.address)
    assert tooled.chain.reader.receipt(receipt["transaction"]) is not None
    assert said(called(tooled, payment)) == (True, 402, "payment_already_used")
    assert tooled.income == PRICE


def test_a_payment__serves_once_whether_by_tool_or_route(tooled: Shop) -> None:
    payment = tooled.payment()
    assert tooled.get(payment).status_code == 200
    assert said(called(tooled, payment)) == (True, 402, "payment_already_used")
    assert tooled.income == PRICE


@pytest.mark.parametrize("sent", [7, "no JSON", {"x402Version": 1}, {}])
def test_what_is_no_payment__is_refused_and_nothing_served(tooled: Shop, sent: Any) -> None:
    result = called(tooled, sent)
    assert said(result) == (True, 402, "payment_invalid")
    assert result["structuredContent"]["accepts"]
    assert tooled.income == 0


@dataclass
class Wire:
    """What the stock x402 client takes for an MCP client: a call is its params, a result has the
    wire's names.
    """

    client: Client

    async def call_tool(self, params: dict[str, Any], read_timeout_seconds: timedelta) -> Any:
        result = await self.client.call_tool(
            params["name"],
            params["arguments"],
            read_timeout_seconds=read_timeout_seconds.total_seconds(),
            meta=params.get("_meta"),
        )
        return SimpleNamespace(**result.model_dump(by_alias=True, mode="json"))


@pytest.fixture
def url(tooled: Shop) -> Iterator[str]:
    def app_at(base_url: str) -> ASGIApp:
        tooled.deps = replace(tooled.deps, base_url=base_url)
        return create_app(tooled.deps)

    with served(app_at) as base_url:
        yield f"{base_url}/mcp"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_stock_x402_client__pays_a_tool_unchanged(url: str, tooled: Shop, mode: str) -> None:
    async def story() -> Any:
        paying = register_exact_evm_client(x402Client(), EthAccountSigner(tooled.payer))
        async with Client(streamable_http_client(url), mode=mode) as client:
            return await wrap_mcp_client_with_payment(Wire(client), paying).call_tool(
                TOOL, ARGUMENTS
            )

    result = asyncio.run(story())
    assert (result.is_error, result.payment_made, tooled.income) == (False, True, PRICE)
    assert result.payment_response.success is True
    assert "# One turn of the loop" in result.content[0]["text"]
    print(
        f"tools/call {TOOL} ({PAGE}) -> paid {PRICE} base units, transaction "
        f"{result.payment_response.transaction}"
    )


def test_the_stock_x402_client__without_money__hears_why(url: str, tooled: Shop) -> None:
    async def story() -> Any:
        paying = register_exact_evm_client(x402Client(), EthAccountSigner(Account.create()))
        async with Client(streamable_http_client(url), mode="2026-07-28") as client:
            return await wrap_mcp_client_with_payment(Wire(client), paying).call_tool(
                TOOL, ARGUMENTS
            )

    result = asyncio.run(story())
    assert (result.is_error, tooled.income) == (True, 0)
    assert "payment_invalid" in result.content[0]["text"]
