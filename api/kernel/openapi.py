"""OpenAPI 3.1 of the application: FastAPI writes it from the routes, and this adds what each call
takes and how it is refused.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.routing import BaseRoute

from api.kernel.auth import EVERY
from api.kernel.catalogue import Catalogue
from api.kernel.credentials import KEY_HEADER
from api.kernel.http import IDEMPOTENCY_HEADER
from api.kernel.idempotency import pattern_of, words_of
from api.kernel.left_out import without_null
from api.kernel.operation import Operation, Refusal
from api.kernel.outcome import JSON
from api.kernel.reasons import reasons_of
from api.kernel.refusals import has_block_everywhere, refused
from api.kernel.route import OperationRoute
from api.kernel.scopes import ANY_SCOPE

REF = "#/components/schemas/{model}"
SECURITY_SCHEMES: Mapping[str, Any] = {
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
}


def _refusal_schema(catalogue: Catalogue) -> dict[str, Any]:
    return {
        "type": "object",
        "description": (
            "A refused call: what is wrong in one sentence, and, for programs, the reason "
            "and the calls that fix it."
        ),
        "required": ["detail"],
        "properties": {
            "detail": {"type": "string"},
            "error": {
                "type": "string",
                "description": "reason code, for every 409 and for a missing scope",
            },
            "service": {
                "type": "object",
                "required": ["reason", "error", "retry_safe", "who_fixes", "next"],
                "properties": {
                    "reason": {"type": "string", "enum": sorted(catalogue.reasons)},
                    "error": {"type": "string"},
                    "retry_safe": {
                        "type": "boolean",
                        "description": "true: the same request, unchanged, can succeed later",
                    },
                    "who_fixes": {
                        "type": "string",
                        "enum": ["agent", "caller", "owner", "service"],
                    },
                    "next": {"type": "array", "items": {"$ref": REF.format(model="NextCall")}},
                    "remaining": {"description": "what is left of the limit that was exceeded"},
                    "retry_at": {"type": "string", "format": "date-time"},
                    "missing": {"description": "what is missing"},
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
        "cost": {"type": "integer", "description": "credits per call"},
        "body": {"type": "object", "additionalProperties": True},
    },
}

ABOUT = (
    "Mandates for agents: an owner signs a budget with limits, a vault contract enforces it, "
    f"and this service keeps the record. Agents send their key in {KEY_HEADER}, owners their "
    "session in Authorization. Money is a string with six decimals; unknown is null."
)
IDEMPOTENCY_WORDS = (
    "any string you choose; sending the same key and body again returns the first answer and writes "
    "nothing twice"
)

# of what the examples of refusals say
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
IDS = {"mandates": "m_abcdefghij", "agents": "1001"}

_PATH_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")


def document(
    routes: Sequence[BaseRoute], catalogue: Catalogue, title: str, version: str, base_url: str
) -> dict[str, Any]:
    """FastAPI's, with what it cannot know: what a call takes, since we read that, how callers prove
    who they are, and how each call is refused.
    """
    found = get_openapi(
        title=title,
        version=version,
        description=ABOUT,
        license_info={"name": "MIT", "identifier": "MIT"},
        contact={"name": title, "url": base_url},
        tags=[{"name": area.name, "description": area.about} for area in catalogue.areas],
        servers=[{"url": base_url}],
        routes=routes,
    )
    operations = [route.operation for route in routes if isinstance(route, OperationRoute)]
    components = found["components"]
    components["schemas"] |= {"Refusal": _refusal_schema(catalogue), "NextCall": NEXT_CALL_SCHEMA}
    components["examples"] = _example_bodies(operations, catalogue)
    components["securitySchemes"] = SECURITY_SCHEMES
    for operation in operations:
        entry = found["paths"][_PATH_NAME.sub(r"{\1}", operation.path)][operation.method.lower()]
        entry |= {"description": described(operation), "security": operation.auth.security}
        entry |= _taken(operation, components["schemas"])
        _add_refusals(entry["responses"], operation, catalogue)
    _say_what_it_is_not(found)
    return found


def _say_what_it_is_not(schema: Any) -> None:
    """Of a constant of true: a boolean that is not false; of a text beside other types: a list of one.
    Code generators make a text of the first, and take nothing but the second.
    """
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            _say_what_it_is_not(part)
    if isinstance(schema, dict) and isinstance(schema.get("const"), bool):
        schema["not"] = {"const": not schema.pop("const")}
    for kind in schema.get("anyOf", ()) if isinstance(schema, dict) else ():
        if "const" in kind:
            kind["enum"] = [kind.pop("const")]


def _taken(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    """What a call takes: its parameters, and its body if it has one."""
    command = _schema(operation.command, schemas)
    in_path = _PATH_NAME.findall(operation.path)
    takes_query = operation.method in ("GET", "DELETE")
    taken: dict[str, Any] = {"parameters": _parameters(operation, command, in_path, takes_query)}
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
        taken["requestBody"] = {"required": bool(required), "content": {JSON: body}}
    return taken


def described(operation: Operation) -> str:
    """Who may make the call, and what it costs."""
    needed = (
        "at least one scope" if operation.scope == ANY_SCOPE else f"the scope {operation.scope}"
    )
    scope = "" if operation.scope is None else f" An agent's key needs {needed}."
    price = f" Price: {operation.price_credits} credits." if operation.price_credits else ""
    more = "" if operation.more is None else f" {operation.more}"
    return f"Credential: {operation.auth.name}.{scope}{price}{more}"


def _schema(model: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    """The model's schema, what it refers to put among the components.

    Errors: ValueError where two models of one name differ: one of them would document the other's
    answers.
    """
    schema = model.model_json_schema(ref_template=REF)
    for name, part in schema.pop("$defs", {}).items():
        if schemas.setdefault(name, part) != part:
            raise ValueError(f"two models are named {name}; rename one")
    return schema


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


def _add_refusals(responses: dict[str, Any], operation: Operation, catalogue: Catalogue) -> None:
    """A status that may be an answer as well keeps that."""
    statuses = {catalogue.reasons[reason].status for reason in reasons_of(operation, catalogue)}
    for status in sorted(statuses):
        examples = _examples_of(operation, status, catalogue)
        answered = responses.get(str(status), {}).get("content", {}).get(JSON)
        schema: dict[str, Any] = {"$ref": REF.format(model="Refusal")}
        schema = schema if answered is None else {"anyOf": [answered["schema"], schema]}
        responses[str(status)] = {
            "description": "Refused: " + ", ".join(sorted(examples)),
            "content": {JSON: {"schema": schema, "examples": examples}},
        }


def _examples_of(operation: Operation, status: int, catalogue: Catalogue) -> Mapping[str, Any]:
    """Reason -> reference to its example, of the reasons that this operation answers with this
    status.
    """
    found = [
        reason
        for reason in reasons_of(operation, catalogue)
        if catalogue.reasons[reason].status == status
    ]
    return {
        reason: {"$ref": "#/components/examples/" + _name_of_example(reason, operation, catalogue)}
        for reason in found
    }


def _example_bodies(operations: Iterable[Operation], catalogue: Catalogue) -> Mapping[str, Any]:
    """The examples that those references name: the very bodies that the kernel makes."""
    return {
        _name_of_example(reason, one, catalogue): {"value": _example(reason, one, catalogue)}
        for one in operations
        for reason in reasons_of(one, catalogue)
    }


def _name_of_example(reason: str, operation: Operation, catalogue: Catalogue) -> str:
    """A refusal without the block is a sentence alone."""
    status = catalogue.reasons[reason].status
    has_block = operation.block or has_block_everywhere(reason, status)
    return reason if has_block else reason + "_sentence"


def _example(reason: str, operation: Operation, catalogue: Catalogue) -> Mapping[str, Any]:
    retry_at = MIDNIGHT if reason in ("rate_limited", "wallet_waits") else None
    return refused(
        Refusal(reason, catalogue.reasons[reason].example, retry_at=retry_at),
        operation,
        IDS,
        NOW,
        catalogue,
    ).body
