"""The tool endpoint in OpenAPI: its envelope. What the messages say is MCP's to describe, each tool's arguments tools/list's."""

from collections.abc import Mapping
from typing import Any

from api.catalog import ROWS, Profile
from api.kernel.openapi import SECURITY, described

_REFUSED: Mapping[str, Any] = {
    "description": "Refused before a tool was called: a JSON-RPC error whose data is the refusal.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["jsonrpc", "error"],
                "properties": {
                    "jsonrpc": {"const": "2.0"},
                    "id": {"type": ["string", "integer", "null"]},
                    "error": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {
                            "code": {"type": "integer"},
                            "message": {"type": "string"},
                            "data": {"description": "the refusal, with its detail and service"},
                        },
                    },
                },
            }
        }
    },
}
_REFUSAL = {"description": "Refused", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}}
_PROFILE = {
    "name": "profile",
    "in": "query",
    "required": False,
    "schema": {"type": "string", "enum": [profile.value for profile in Profile], "default": Profile.CONNECTOR.value},
}


def _entry(key: str, responses: Mapping[str, Any]) -> dict[str, Any]:
    row = ROWS[key]
    return {
        "operationId": key.replace(".", "_"),
        "summary": row.summary,
        "description": described(row),
        "tags": [row.area],
        "parameters": [_PROFILE],
        "responses": dict(responses),
        "security": SECURITY[row.auth],
    }


_MESSAGE = {
    "description": "one JSON-RPC 2.0 message",
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
}
_ANSWERED = {
    "200": {
        "description": "The JSON-RPC answer; a refused tool call is a result with isError",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    "202": {"description": "A notification was taken"},
    "404": {"description": "The method does not exist (protocol 2026-07-28)", "content": _REFUSED["content"]},
    "406": {"description": "Accept lacks application/json"},
}

PATHS: Mapping[str, Any] = {
    "/mcp": {
        "post": _entry("tools.endpoint", _ANSWERED | dict.fromkeys(("400", "401", "403", "413", "415", "429", "503"), _REFUSED))
        | {"requestBody": {"required": True, "content": {"application/json": {"schema": _MESSAGE}}}},
        "get": _entry(
            "tools.help",
            {"200": {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}}}
            | dict.fromkeys(("400", "401", "405", "429", "503"), _REFUSAL),
        ),
    }
}
