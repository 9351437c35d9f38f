"""What the protocol answers everybody alike is written once: tools/list, initialize, ping and the
like are bytes, one for each profile and protocol version.

    message ---- the same for everybody? --no---> the MCP server (milliseconds of the event loop)
                      |yes                             |
                      +-- kept: its bytes, with this message's id
                      +-- not yet: the MCP server, and kept from then on

Laws
- An answer depends on the profile, the method and the protocol version alone, so there are never
  more than a few dozen, whatever is sent.
- What the MCP server would refuse goes to the MCP server: headers, version, cursor or envelope
  that are not as the protocol has them. A refusal is never kept.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Send

from api.kernel.tool import Profile

INITIALIZE: Final = "initialize"
ALIKE: Final = frozenset(
    {INITIALIZE, "ping", "server/discover", "tools/list", "resources/templates/list"}
)
OTHER: Final = "other"  # a version that nobody knows: the answer offers the newest


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """What an answer depends on. `version`: of the header; `offered`: of a first message."""

    profile: Profile
    method: str
    version: str | None
    offered: str | None


def place_of(message: Mapping[str, Any], profile: Profile, request: Request) -> AnswerPlace | None:
    """None: the answer is not everybody's, or the server has something to refuse."""
    match message:
        case {"jsonrpc": "2.0", "id": str() | int() as own, "method": str(method)}:
            params = message.get("params", {})
        case _:
            return None
    if method not in ALIKE or isinstance(own, bool) or not isinstance(params, dict):
        return None
    if params.get("cursor") is not None:
        return None
    if not check_accept_headers(request)[0]:
        return None
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS:
        if not isinstance(params.get("_meta", {}), dict):
            return None
        return (
            AnswerPlace(profile, method, version, _offered(params)) if _says_who(message) else None
        )
    found = classify_inbound_request(dict(message), headers=request.headers)
    return (
        AnswerPlace(profile, method, version, None)
        if isinstance(found, InboundModernRoute)
        else None
    )


def _says_who(message: Mapping[str, Any]) -> bool:
    """Whether a first message has what the protocol wants in it; others need nothing."""
    match message:
        case {
            "method": "initialize",
            "params": {
                "protocolVersion": str(),
                "capabilities": {},
                "clientInfo": {"name": str(), "version": str()},
            },
        }:
            return True
    return bool(message["method"] != INITIALIZE)


def _offered(params: Mapping[str, Any]) -> str | None:
    version = params.get("protocolVersion")
    return version if version in (None, *HANDSHAKE_PROTOCOL_VERSIONS) else OTHER


class ProtocolAnswers:
    """The event loop alone uses it."""

    def __init__(self) -> None:
        self._after_id: dict[AnswerPlace, bytes] = {}

    def find(self, place: AnswerPlace | None, message: Mapping[str, Any]) -> Response | None:
        """The answer to this message, with its id."""
        rest = None if place is None else self._after_id.get(place)
        return (
            None if rest is None else Response(_head(message) + rest, media_type="application/json")
        )

    def keeping(self, place: AnswerPlace, message: Mapping[str, Any], send: Send) -> Send:
        """Sends on, and keeps what is sent if it is the result."""
        statuses: list[int] = []

        async def send_and_keep(part: Message) -> None:
            if part["type"] == "http.response.start":
                statuses.append(part["status"])
            elif statuses == [200] and not part.get("more_body", False):
                self._keep(place, _head(message), part.get("body", b""))
            await send(part)

        return send_and_keep

    def _keep(self, place: AnswerPlace, head: bytes, body: bytes) -> None:
        rest = body.removeprefix(head)
        if rest != body and rest.startswith(b'"result":'):
            self._after_id[place] = rest


def _head(message: Mapping[str, Any]) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + json.dumps(message["id"]).encode() + b","
