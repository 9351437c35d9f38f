"""The tool endpoint in OpenAPI: its envelope.

What the messages say is MCP's to describe, each tool's arguments tools/list's.
"""

from collections.abc import Mapping
from typing import Any

from api.kernel.catalogue import Catalogue
from api.kernel.openapi import described
from api.kernel.operation import Operation
from api.kernel.tool import Profile

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
_REFUSAL = {
    "description": "Refused",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}},
}
_PROFILE = {
    "name": "profile",
    "in": "query",
    "required": False,
    "schema": {
        "type": "string",
        "enum": [profile.value for profile in Profile],
        "default": Profile.CONNECTOR.value,
    },
}


def _entry(operation: Operation, responses: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": operation.key.replace(".", "_"),
        "summary": operation.summary,
        "description": described(operation),
        "tags": [operation.area],
        "parameters": [_PROFILE],
        "responses": dict(responses),
        "security": operation.auth.security,
    }


_MESSAGE = {
    "description": "one JSON-RPC 2.0 message",
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": {"type": "object", "additionalProperties": True},
    },
}
_ANSWERED = {
    "200": {
        "description": "The JSON-RPC answer; a refused tool call is a result with isError",
        "content": {
            "application/json": {"schema": {"type": "object", "additionalProperties": True}}
        },
    },
    "202": {"description": "The notification was accepted"},
    "404": {
        "description": "The method does not exist (protocol 2026-07-28)",
        "content": _REFUSED["content"],
    },
    "406": {"description": "Accept lacks application/json"},
}


def paths(catalogue: Catalogue) -> Mapping[str, Any]:
    endpoint, page = catalogue.by_key["tools.endpoint"], catalogue.by_key["tools.help"]
    refused = dict.fromkeys(("400", "401", "403", "413", "415", "429", "503"), _REFUSED)
    shown = {
        "200": {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}}
    }
    return {
        endpoint.path: {
            "post": _entry(endpoint, _ANSWERED | refused)
            | {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _MESSAGE}},
                }
            },
            "get": _entry(
                page, shown | dict.fromkeys(("400", "401", "405", "429", "503"), _REFUSAL)
            ),
        }
    }
