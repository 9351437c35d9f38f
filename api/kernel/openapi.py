"""OpenAPI 3.1 of the catalogue: fields of each call, its answers and its refusals."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from api.kernel.auth import EVERY
from api.kernel.credentials import KEY_HEADER
from api.kernel.examples import example_bodies, examples_of
from api.kernel.http import IDEMPOTENCY_HEADER
from api.kernel.idempotency import pattern_of, words_of
from api.kernel.left_out import without_null
from api.kernel.operation import Catalogue, Events, Operation
from api.kernel.outcome import JSON
from api.kernel.reasons import reasons_of
from api.kernel.scopes import ANY_SCOPE

REF = "#/components/schemas/{model}"
# one event of a stream, as its fields: `data` is JSON text (docs/api-guide.md#events)
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {"type": "string"},
        "retry": {"type": "integer"},
    },
}


def _refusal_schema(catalogue: Catalogue) -> dict[str, Any]:
    return {
        "type": "object",
        "description": (
            "A refused call: what is wrong in one sentence, and for programs why and which calls "
            "fix it."
        ),
        "required": ["detail"],
        "properties": {
            "detail": {"type": "string"},
            "error": {
                "type": "string",
                "description": "the reason, of each 409 and of a missing scope",
            },
            "service": {
                "type": "object",
                "required": ["reason", "error", "retry_safe", "who_fixes", "next"],
                "properties": {
                    "reason": {"type": "string", "enum": sorted(catalogue.reasons)},
                    "error": {"type": "string"},
                    "retry_safe": {
                        "type": "boolean",
                        "description": "the same request can succeed later unchanged",
                    },
                    "who_fixes": {
                        "type": "string",
                        "enum": ["agent", "caller", "owner", "service"],
                    },
                    "next": {"type": "array", "items": {"$ref": REF.format(model="NextCall")}},
                    "remaining": {"description": "what is left of the limit that refused"},
                    "retry_at": {"type": "string", "format": "date-time"},
                    "missing": {"description": "what is lacking"},
                },
            },
        },
    }


NEXT_CALL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["method", "path", "auth", "cost"],
    "properties": {
        "method": {"type": "string"},
        "path": {"type": "string"},
        "auth": {"type": "string", "enum": [auth.name for auth in EVERY]},
        "cost": {"type": "integer", "description": "credits"},
        "body": {"type": "object", "additionalProperties": True},
    },
}

ABOUT = (
    "Mandates for agents: an owner signs a budget with limits, a vault contract enforces it, "
    f"and this service keeps the record. Agents send their key in {KEY_HEADER}, owners their "
    "session in Authorization. Money is a string with six decimals; unknown is null."
)
IDEMPOTENCY_WORDS = (
    "of your own making; the same key and body again get the first answer again, and nothing is "
    "written twice"
)

_PATH_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")


def document(
    operations: Iterable[Operation], catalogue: Catalogue, title: str, version: str, base_url: str
) -> dict[str, Any]:
    schemas: dict[str, Any] = {"Refusal": _refusal_schema(catalogue), "NextCall": NEXT_CALL_SCHEMA}
    paths: dict[str, Any] = {}
    listed = tuple(operations)
    for operation in listed:
        path = _PATH_NAME.sub(r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _entry(operation, schemas, catalogue)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": version,
            "description": ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
            "contact": {"name": title, "url": base_url},
        },
        "tags": [{"name": area.name, "description": area.about} for area in catalogue.areas],
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "examples": example_bodies(listed, catalogue),
            "securitySchemes": {
                "AgentKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER},
                "OwnerSession": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "from /auth/owner/login",
                },
                "AgentBearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "from /auth/agent/connect",
                },
            },
        },
    }


def _entry(operation: Operation, schemas: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    command = _schema(operation.command, schemas)
    in_path = _PATH_NAME.findall(operation.path)
    takes_query = operation.method in ("GET", "DELETE")
    entry: dict[str, Any] = {
        "operationId": operation.key.replace(".", "_"),
        "summary": operation.summary,
        "description": described(operation),
        "tags": [operation.area],
        "parameters": _parameters(operation, command, in_path, takes_query),
        "responses": _responses(operation, schemas, catalogue),
        "security": operation.auth.security,
    }
    rest = {
        name: value for name, value in command.get("properties", {}).items() if name not in in_path
    }
    if rest and not takes_query:
        required = [name for name in command.get("required", []) if name in rest]
        schema = {
            "type": "object",
            "properties": rest,
            "required": required,
            "additionalProperties": False,
        }
        body: dict[str, Any] = (
            {"schema": schema}
            if operation.example is None
            else {"schema": schema, "example": dict(operation.example)}
        )
        entry["requestBody"] = {"required": bool(required), "content": {"application/json": body}}
    return entry


def described(operation: Operation) -> str:
    """Who may make the call, and what it costs."""
    scope = _scope_words(operation.scope)
    price = f" Price: {operation.price_credits} credits." if operation.price_credits else ""
    more = "" if operation.more is None else f" {operation.more}"
    return f"Credential: {operation.auth.name}.{scope}{price}{more}"


def _scope_words(scope: str | None) -> str:
    if scope is None:
        return ""
    needed = "a scope, whichever" if scope == ANY_SCOPE else f"the scope {scope}"
    return f" An agent's key needs {needed}."


def _schema(model: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    """The model's schema, what it refers to put among the components. Errors: as _put."""
    schema = model.model_json_schema(ref_template=REF)
    for name, part in schema.pop("$defs", {}).items():
        _put(schemas, name, part)
    return schema


def _put(schemas: dict[str, Any], name: str, schema: Mapping[str, Any]) -> None:
    """Errors: ValueError where two models of one name differ: one of them would document the
    other's answers.
    """
    if schemas.setdefault(name, schema) != schema:
        raise ValueError(f"two models are named {name}; rename one")


def _parameters(
    operation: Operation, command: Mapping[str, Any], in_path: list[str], takes_query: bool
) -> list[dict[str, Any]]:
    properties: Mapping[str, Any] = command.get("properties", {})
    found = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": properties.get(name, {"type": "string"}),
        }
        for name in in_path
    ]
    if takes_query:
        required = command.get("required", [])
        query = [name for name in properties if name not in in_path]
        found += [
            {
                "name": name,
                "in": "query",
                "required": name in required,
                "schema": without_null(properties[name]),
            }
            for name in query
        ]
    if operation.idempotent:
        schema = {"type": "string", "pattern": f"^{pattern_of(operation)}$"}
        header = {
            "name": IDEMPOTENCY_HEADER,
            "in": "header",
            "required": False,
            "description": IDEMPOTENCY_WORDS + words_of(operation),
            "schema": schema,
        }
        found.append(header)
    return found


def _responses(
    operation: Operation, schemas: dict[str, Any], catalogue: Catalogue
) -> dict[str, Any]:
    answer: dict[str, Any] = EVENT if operation.answer is Events else {"type": "string"}
    if operation.media_type == JSON:
        _put(schemas, operation.answer.__name__, _schema(operation.answer, schemas))
        answer = {"$ref": REF.format(model=operation.answer.__name__)}
    found: dict[str, Any] = {}
    for status in (operation.status, *operation.also):
        content = {operation.media_type: {"schema": answer}} | {
            one: {"schema": {"type": "string"}} for one in operation.also_as
        }
        found[str(status)] = {"description": "Answered", "content": content}
    if operation.max_age_s is not None:
        found["304"] = {
            "description": "What you have is still current: If-None-Match named its ETag"
        }
    for status in sorted(
        {catalogue.reasons[reason].status for reason in reasons_of(operation, catalogue)}
    ):
        found[str(status)] = _refusal(
            operation,
            status,
            answer if status in (operation.status, *operation.also) else None,
            catalogue,
        )
    return found


def _refusal(
    operation: Operation, status: int, answer: Mapping[str, Any] | None, catalogue: Catalogue
) -> dict[str, Any]:
    """`answer`: what else this status may carry."""
    examples = examples_of(operation, status, catalogue)
    schema: dict[str, Any] = {"$ref": REF.format(model="Refusal")}
    content = {
        "schema": schema if answer is None else {"anyOf": [answer, schema]},
        "examples": examples,
    }
    return {
        "description": "Refused: " + ", ".join(sorted(examples)),
        "content": {"application/json": content},
    }
