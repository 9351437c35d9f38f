"""What the tool endpoint answers everybody alike is written once, and kept as other answers are
(api/kernel/kept_answers.py): what the protocol says (tools/list, initialize, ping), and without a
key what a read says that the service keeps (a tool's call, a list of notes).

    message ---- the same for everybody? --no---> the MCP server (milliseconds of the event loop)
                      |yes                             |
                      +-- kept: its bytes, with this message's id
                      +-- not yet: the MCP server, and kept from then on

Laws
- An answer depends on the profile, the method, the protocol version and, of a read, its arguments
  alone.
- What the MCP server would refuse goes to the MCP server: headers, version, cursor or envelope
  that are not as the protocol has them. A refusal is never kept.
- What a client may keep for a while is kept for so much less, so that no copy is older than the
  read may be.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
)
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.methods import validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Send

from api.kernel.kept_answers import MOST_PLACE, Place
from api.kernel.operation import Operation
from api.kernel.tool import Profile
from api.tools.resources import HINTS

INITIALIZE: Final = "initialize"
ALIKE: Final = frozenset(
    {INITIALIZE, "ping", "server/discover", "tools/list", "resources/templates/list"}
)
ALIKE_KEPT_S: Final = 300  # they change with the service's version only
OTHER: Final = "other"  # a version that nobody knows: the answer offers the newest
OF_THE_PROTOCOL: Final = "io.modelcontextprotocol/"
PROGRESS: Final = "progressToken"


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Where an answer is kept, and how long."""

    place: Place
    kept_s: int


def place_of(
    message: Mapping[str, Any], profile: Profile, request: Request, read: Operation | None
) -> AnswerPlace | None:
    """None: the answer is not everybody's, or the server has something to refuse. `read`: the twin
    of a message that is a call.
    """
    match message:
        case {"jsonrpc": "2.0", "id": str() | int() as own, "method": str(method)}:
            params = message.get("params", {})
        case _:
            return None
    if isinstance(own, bool) or not isinstance(params, dict):
        return None
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if not check_accept_headers(request)[0] or not _is_of_protocol(message, version, request):
        return None
    asked = _asked_of_protocol(method, params) if read is None else _asked_of(read, method, params)
    if asked is None:
        return None
    return AnswerPlace((f"{profile} {version}", method, asked[0]), asked[1])


def _asked_of_protocol(method: str, params: Mapping[str, Any]) -> tuple[bytes, int] | None:
    if method not in ALIKE or params.get("cursor") is not None:
        return None
    if method != INITIALIZE:
        return b"", ALIKE_KEPT_S
    version = params["protocolVersion"]
    offered = version if version in HANDSHAKE_PROTOCOL_VERSIONS else OTHER
    return offered.encode(), ALIKE_KEPT_S


def _asked_of(read: Operation, method: str, params: Mapping[str, Any]) -> tuple[bytes, int] | None:
    """A read's arguments, where they are short and plain."""
    if read.cache is None or not read.cache.keeps:
        return None
    meta = params.get("_meta") or {}
    if any(not name.startswith((OF_THE_PROTOCOL, PROGRESS)) for name in meta):
        return None
    try:
        asked = json.dumps({**params, "_meta": None}, sort_keys=True).encode()
    except (TypeError, RecursionError):  # a number that has a text of its own; nested too deep
        return None
    hint = next((hint for hinted, hint in HINTS.items() if hinted == method), None)
    kept_s = read.cache.max_age_s - (0 if hint is None else hint.ttl_ms // 1000)
    return (asked, kept_s) if len(asked) <= MOST_PLACE else None


def _is_of_protocol(message: Mapping[str, Any], version: str | None, request: Request) -> bool:
    if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        found = classify_inbound_request(dict(message), headers=request.headers)
        if not isinstance(found, InboundModernRoute):
            return False
    try:
        of = version or DEFAULT_NEGOTIATED_VERSION
        validate_client_request(message["method"], of, message.get("params"))
    except (KeyError, ValueError):  # no method of this version; its parameters are others
        return False
    return True


def head_of(message: Mapping[str, Any]) -> bytes:
    """The first bytes of the answer to this message; the others are kept."""
    return b'{"jsonrpc":"2.0","id":' + json.dumps(message["id"]).encode() + b","


def keeping(message: Mapping[str, Any], keep: Callable[[Response], None], send: Send) -> Send:
    """Sends on, and hands what follows the head to `keep` if it is a result."""
    statuses: list[int] = []

    async def send_and_keep(part: Message) -> None:
        if part["type"] == "http.response.start":
            statuses.append(part["status"])
        elif statuses == [200] and not part.get("more_body", False):
            body = part.get("body", b"")
            rest = body.removeprefix(head_of(message))
            if rest != body and rest.startswith(b'"result":') and b'"isError":true' not in rest:
                keep(Response(rest, media_type="application/json"))
        await send(part)

    return send_and_keep
