"""The MCP server: lists the tools of a profile, and makes a tool's call through the one pipeline;
notes are its resources (api/tools/resources.py).

Laws
- A tool's call is its twin's call: the same operation, fields, credentials, ceiling and idempotency
  scope (docs/rules.md#tools).
- Whatever the pipeline answers is the tool's result, structured and as text: a refusal is `isError`
  with the body that the route would answer. Protocol errors are left for what is no call of ours:
  an unknown tool is -32602.
- What HTTP says beside a body is in `_meta`: of the result `service/status` and
  `service/headers` (ceiling, replay), and of both what x402 names (api/tools/payment.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)
from starlette.requests import Request

from api.areas.discovery.service.document import INSTRUCTIONS, NAME, VERSION
from api.kernel.body import require_storable
from api.kernel.http import enter, json_text
from api.kernel.operation import Deps, Operation, Refusal
from api.kernel.outcome import Outcome
from api.kernel.pipeline import SentFields
from api.kernel.sale import SentPayment
from api.kernel.tool import ID, Profile
from api.kernel.validation import command_of
from api.tools import resources
from api.tools.fitting import MOST_CHARACTERS, fitted
from api.tools.payment import payment_of, receipt_meta
from api.tools.registry import IDEMPOTENCY_ARGUMENT, ToolEntry

LIST_FRESH_MS = 300_000  # the list changes with the service's version only

Context = ServerRequestContext[Any, Request]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the endpoint hands to the server beside the message: the profile, and the arguments with
    their numbers' text.

    `operation`: the twin of a message that is a call, else the endpoint's own. `headers`: of the HTTP answer, which the
    endpoint sends; a call adds the ceiling's.
    """

    profile: Profile
    arguments: Mapping[str, Any]
    operation: Operation
    headers: dict[str, str] = field(default_factory=dict)


def server_of(entries: Mapping[str, ToolEntry], deps: Deps) -> Server[Any]:
    async def list_tools(
        context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        if params is not None and params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "The list has one page; ask for it without a cursor.")
        profile = _request(context).state.exchange.profile
        return ListToolsResult(
            tools=[entry.described for entry in entries.values() if profile.shows(entry.tool)]
        )

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        entry = _shown(entries, params.name, _request(context).state.exchange.profile)
        return result_of(await _performed(entry, _request(context), deps, payment_of(params.meta)))

    async def list_resources(
        context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        cursor = None if params is None else params.cursor
        message = {"id": 0, "method": resources.LIST, "params": {"cursor": cursor}}
        outcome = await _of_resource(message, _request(context), deps)
        return resources.listing(outcome, is_first=cursor is None)

    async def list_templates(
        context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(
        context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        message = {"id": 0, "method": resources.READ, "params": {"uri": params.uri}}
        outcome = await _of_resource(message, _request(context), deps)
        return resources.contents(params.uri, outcome)

    return Server(
        NAME,
        version=VERSION,
        instructions="\n".join(INSTRUCTIONS),
        website_url=deps.base_url,
        cache_hints={"tools/list": CacheHint(LIST_FRESH_MS, "public"), **resources.HINTS},
        get_tool_input_schema=lambda name: (
            entries[name].described.input_schema if name in entries else None
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def _of_resource(message: Mapping[str, Any], request: Request, deps: Deps) -> Outcome:
    """Errors: MCPError."""
    call = resources.call_of(message)
    if call is None:
        raise resources.none_of(str(message["params"].get("uri", "")))
    outcome = await resources.performed(call, request, deps)
    request.state.exchange.headers.update(outcome.headers)
    return outcome


def result_of(outcome: Outcome) -> CallToolResult:
    body = fitted(outcome.body)
    return CallToolResult(
        content=[TextContent(text=json_text(body))],
        structured_content=dict(body),
        is_error=outcome.status >= 400,
        meta={"service/status": outcome.status, "service/headers": dict(outcome.headers)}
        | receipt_meta(outcome),
    )


def _request(context: Context) -> Request:
    """The HTTP request; its state holds the exchange."""
    assert context.request is not None, "the endpoint is served by HTTP alone"
    return context.request


def _shown(entries: Mapping[str, ToolEntry], name: str, profile: Profile) -> ToolEntry:
    """Errors: MCPError -32602 that says where the tool is, or that there is none."""
    entry = entries.get(name)
    if entry is None:
        raise MCPError(
            INVALID_PARAMS, f"There is no tool {name[:80]!r}; tools/list names those that exist."
        )
    if not profile.shows(entry.tool):
        raise MCPError(
            INVALID_PARAMS,
            f"The profile {profile} does not show {name}; connect with "
            f"?profile={entry.tool.profile}.",
        )
    return entry


async def _performed(
    entry: ToolEntry, request: Request, deps: Deps, payment: SentPayment
) -> Outcome:
    exchange: Exchange = request.state.exchange
    outcome = await enter(
        request,
        entry.operation,
        partial(_read, entry, exchange.arguments),
        deps,
        payment,
        most_characters=MOST_CHARACTERS,
    )
    exchange.headers.update(outcome.headers)
    return outcome


def _read(entry: ToolEntry, arguments: Mapping[str, Any]) -> SentFields:
    """The command's fields, with the idempotency key; arguments are judged by their own names."""
    fields = dict(arguments)
    key = fields.pop(IDEMPOTENCY_ARGUMENT, None) if entry.operation.idempotent else None
    try:
        require_storable(fields)
    except Refusal as refusal:
        return SentFields({}, refusal)  # what can't be stored can't be put into a next call either
    if key is not None and not isinstance(key, str):
        return SentFields(
            fields, Refusal("invalid_parameter", f"{IDEMPOTENCY_ARGUMENT}: write a text.")
        )
    return _by_argument(entry, fields, key)


def _by_argument(entry: ToolEntry, sent: dict[str, Any], key: str | None) -> SentFields:
    """With the twin's id, which this tool's argument names otherwise."""
    name = entry.tool.id_argument
    if name == ID:
        return SentFields(sent, None, key)
    fields = {ID if field == name else field: value for field, value in sent.items()}
    try:
        if ID in sent:
            raise Refusal("invalid_parameter", f"{ID}: write it as {name}; this tool has no {ID}.")
        command_of(entry.operation.command, fields, {ID: name})
    except Refusal as refusal:
        return SentFields(fields, refusal, key)
    return SentFields(fields, None, key)
