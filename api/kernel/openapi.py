"""OpenAPI 3.1 of the catalogue: fields of each call, its answers and its refusals."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from api.catalog import Auth, Row
from api.kernel.credentials import KEY_HEADER
from api.kernel.examples import example_bodies, examples_of
from api.kernel.http import IDEMPOTENCY_HEADER, JSON
from api.kernel.operation import Operation
from api.kernel.reasons import reasons_of
from api.kernel.refusals import REASONS

REF = "#/components/schemas/{model}"
SECURITY: Mapping[Auth, list[dict[str, list[str]]]] = {
    Auth.NONE: [],
    Auth.KEY: [{"AgentKey": []}],
    Auth.OWNER: [{"OwnerSession": []}],
    Auth.BEARER: [{"AgentBearer": []}],
    Auth.OPERATOR: [{"AgentKey": []}, {"OwnerSession": []}],
    Auth.KEY_OR_OWNER: [{"AgentKey": []}, {"OwnerSession": []}],
    Auth.KEY_OWNER_OR_BEARER: [{"AgentKey": []}, {"OwnerSession": []}, {"AgentBearer": []}],
    Auth.NONE_OR_OWNER: [{}, {"OwnerSession": []}],
    Auth.OPTIONAL: [{}, {"AgentKey": []}, {"OwnerSession": []}],
}
REFUSAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A refused call: what is wrong in one sentence, and for programs why and which calls fix it.",
    "required": ["detail"],
    "properties": {
        "detail": {"type": "string"},
        "service": {
            "type": "object",
            "required": ["reason", "error", "retry_safe", "who_fixes", "next"],
            "properties": {
                "reason": {"type": "string", "enum": sorted(REASONS)},
                "error": {"type": "string"},
                "retry_safe": {"type": "boolean", "description": "the same request can succeed later unchanged"},
                "who_fixes": {"type": "string", "enum": ["agent", "caller", "owner", "service"]},
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
        "auth": {"type": "string", "enum": [auth.value for auth in Auth]},
        "cost": {"type": "integer", "description": "credits"},
        "body": {"type": "object"},
    },
}

# What each area is about, in the order of the viewer; a test holds them to the catalogue's areas.
TAGS: Mapping[str, str] = {
    "discovery": "What this service offers, and whether it is up.",
    "identity": "Sign-in, registration and linking a wallet.",
    "agents": "An agent's own pages, and its owner's controls.",
    "mandates": "Mandates: drafts, signatures, vaults, the agent's actions, records and statements.",
    "transfers": "Reported transfers and balances.",
    "custody": "The custodial starter wallet.",
    "credits": "Credits and prices.",
    "playbooks": "Guides, some of which are paid for.",
    "safety": "Cases, notices and the protection level.",
    "tools": "The same calls as tools (MCP).",
}
ABOUT = (
    "Mandates for agents: an owner signs a budget with limits, a vault contract enforces it, and this service keeps the record. Agents "
    f"send their key in {KEY_HEADER}, owners their session in Authorization. Money is a string with six decimals; unknown is null."
)
IDEMPOTENCY_WORDS = "of your own making; the same key and body again get the first answer again, and nothing is written twice"

_PATH_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")


def document(operations: Iterable[Operation], title: str, version: str, base_url: str) -> dict[str, Any]:
    schemas: dict[str, Any] = {"Refusal": REFUSAL_SCHEMA, "NextCall": NEXT_CALL_SCHEMA}
    paths: dict[str, Any] = {}
    listed = tuple(operations)
    for operation in listed:
        row = operation.row
        path = _PATH_NAME.sub(r"{\1}", row.path)
        paths.setdefault(path, {})[row.method.lower()] = _entry(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": version,
            "description": ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
            "contact": {"name": title, "url": base_url},
        },
        "tags": [{"name": name, "description": words} for name, words in TAGS.items()],
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "examples": example_bodies(listed),
            "securitySchemes": {
                "AgentKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER},
                "OwnerSession": {"type": "http", "scheme": "bearer", "description": "from /auth/owner/login"},
                "AgentBearer": {"type": "http", "scheme": "bearer", "description": "from /auth/agent/connect"},
            },
        },
    }


def _entry(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    row = operation.row
    command = _schema(operation.command_type, schemas)
    in_path = _PATH_NAME.findall(row.path)
    takes_query = row.method in ("GET", "DELETE")
    entry: dict[str, Any] = {
        "operationId": row.key.replace(".", "_"),
        "summary": row.summary,
        "description": described(row),
        "tags": [row.area],
        "parameters": _parameters(row, command, in_path, takes_query),
        "responses": _responses(operation, schemas),
        "security": SECURITY[row.auth],
    }
    rest = {name: value for name, value in command.get("properties", {}).items() if name not in in_path}
    if rest and not takes_query:
        required = [name for name in command.get("required", []) if name in rest]
        schema = {"type": "object", "properties": rest, "required": required, "additionalProperties": False}
        body: dict[str, Any] = {"schema": schema} if row.example is None else {"schema": schema, "example": dict(row.example)}
        entry["requestBody"] = {"required": bool(required), "content": {"application/json": body}}
    return entry


def described(row: Row) -> str:
    """Who may make the call, and what it costs."""
    scope = "" if row.scope is None else f" An agent's key needs the scope {row.scope}."
    price = f" Price: {row.price_credits} credits." if row.price_credits else ""
    more = "" if row.more is None else f" {row.more}"
    return f"Credential: {row.auth.value}.{scope}{price}{more}"


def _schema(model: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    """The model's schema, what it refers to put among the components. Errors: as _put."""
    schema = model.model_json_schema(ref_template=REF)
    for name, part in schema.pop("$defs", {}).items():
        _put(schemas, name, part)
    return schema


def _put(schemas: dict[str, Any], name: str, schema: Mapping[str, Any]) -> None:
    """Errors: ValueError where two models of one name differ: one of them would document the other's answers."""
    if schemas.setdefault(name, schema) != schema:
        raise ValueError(f"two models are named {name}; rename one")


def _parameters(row: Row, command: Mapping[str, Any], in_path: list[str], takes_query: bool) -> list[dict[str, Any]]:
    properties: Mapping[str, Any] = command.get("properties", {})
    found = [{"name": name, "in": "path", "required": True, "schema": properties.get(name, {"type": "string"})} for name in in_path]
    if takes_query:
        required = command.get("required", [])
        query = [name for name in properties if name not in in_path]
        found += [{"name": name, "in": "query", "required": name in required, "schema": properties[name]} for name in query]
    if row.idempotent:
        schema = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"}
        header = {"name": IDEMPOTENCY_HEADER, "in": "header", "required": False, "description": IDEMPOTENCY_WORDS, "schema": schema}
        found.append(header)
    return found


def _responses(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    row = operation.row
    answer: dict[str, Any] = {"type": "object"}
    if operation.answer_type is not None:
        _put(schemas, operation.answer_type.__name__, _schema(operation.answer_type, schemas))
        answer = {"$ref": REF.format(model=operation.answer_type.__name__)}
    found: dict[str, Any] = {}
    for status in (row.status, *row.also):
        schema = answer if row.media_type == JSON else {"type": "string"}
        content = {row.media_type: {"schema": schema}} | {one: {"schema": {"type": "string"}} for one in row.also_as}
        found[str(status)] = {"description": "Answered", "content": content}
    if row.max_age_s is not None:
        found["304"] = {"description": "What you have is still current: If-None-Match named its ETag"}
    for status in sorted({REASONS[reason].status for reason in reasons_of(operation)}):
        found[str(status)] = _refusal(operation, status, answer if status in (row.status, *row.also) else None)
    return found


def _refusal(operation: Operation, status: int, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """`answer`: what else this status may carry."""
    examples = examples_of(operation, status)
    schema: dict[str, Any] = {"$ref": REF.format(model="Refusal")}
    content = {"schema": schema if answer is None else {"anyOf": [answer, schema]}, "examples": examples}
    return {"description": "Refused: " + ", ".join(sorted(examples)), "content": {"application/json": content}}
