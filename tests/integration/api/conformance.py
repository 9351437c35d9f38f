"""What holds for every answer of every test: its status and reason are declared, its body is of the
declared form, and its next calls can be made as written.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import httpx
from jsonschema_rs import Draft202012Validator
from pydantic import BaseModel
from starlette.routing import Match, Route

from api.catalogue import catalogue
from api.kernel.fields import QueryText
from api.kernel.operation import Operation
from api.kernel.reasons import reasons_of
from api.kernel.route import routes_of
from api.kernel.validation import command_of

EDGE = ("unknown_route", "method_not_allowed", "internal_error")  # of no operation


@cache
def _validator(answer_type: type[BaseModel]) -> Draft202012Validator:
    return Draft202012Validator(_closed(answer_type.model_json_schema()))


def _closed(schema: Any) -> Any:
    """The schema without fields that it does not name: callers may meet more, and yet each that is
    answered now is declared.
    """
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    return (
        closed | {"additionalProperties": False}
        if "properties" in schema and schema.get("type") == "object"
        else closed
    )


def require_declared_form(operation: Operation, body: Any) -> None:
    """Held to the schema that OpenAPI and the tools publish: all that it requires is there, and all
    that is there is in it.
    """
    if operation.answer is not None:
        faults = [
            f"{fault.instance_path}: {fault.message}"
            for fault in _validator(operation.answer).iter_errors(body)
        ]
        assert faults == [], f"{operation.key} answers what it does not declare"


class Conformance:
    """Call it with a response; it raises AssertionError."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_call = {(one.method, one.path): one for one in operations}
        self._routes = routes_of(self._by_call.values())

    def beside(self, operations: Iterable[Operation]) -> "Conformance":
        """Of these operations too."""
        more = Conformance(operations)
        more._by_call |= self._by_call
        more._routes += self._routes
        return more

    def __call__(self, response: httpx.Response) -> None:
        response.read()
        found = self._find(response.request.method, response.request.url.path)
        is_json = response.headers.get("Content-Type") == "application/json"
        if found is None or not is_json or response.request.method == "HEAD":
            return
        operation, _ = found
        body = response.json()
        service = body.get("service") if isinstance(body, dict) else None
        reason = service.get("reason") if isinstance(service, dict) else None
        if isinstance(service, dict) and reason in catalogue().reasons:
            assert reason in (*reasons_of(operation, catalogue()), *EDGE), (
                f"{operation.key} does not declare that it refuses with {reason}"
            )
            for call in service["next"]:
                self._require_callable(call)
        else:
            declared = [*operation.statuses]
            if not operation.block:
                declared += [
                    catalogue().reasons[one].status for one in reasons_of(operation, catalogue())
                ]
            assert response.status_code in declared, (
                f"{operation.key} does not declare that it answers {response.status_code}"
            )
            if response.status_code in operation.statuses:
                require_declared_form(operation, body)

    def _find(self, method: str, path: str) -> tuple[Operation, dict[str, Any]] | None:
        """The operation and the path's values; HEAD is answered as GET."""
        scope = {"type": "http", "method": method, "path": path, "headers": []}
        for route in self._routes:
            match, values = route.matches(scope)
            if match is Match.FULL:
                assert isinstance(route, Route)
                return self._by_call[
                    "GET" if method == "HEAD" else method, route.path.replace(":path", "")
                ], dict(values["path_params"])
        return None

    def _require_callable(self, call: Mapping[str, Any]) -> None:
        found = self._find(call["method"], call["path"])
        assert found is not None, f"no such call: {call}"
        operation, values = found
        # a call that its body prices refuses where credit does not cover it
        is_priced_by_body = "credit_insufficient" in operation.refuses
        assert call["cost"] == operation.price_credits or is_priced_by_body
        without = {"none"} if operation.auth.is_free else set[str]()
        assert call["auth"] in {operation.auth.name} | without
        in_path = {name: QueryText(value) for name, value in values.items()}  # as a request's
        command_of(operation.command, in_path | dict(call.get("body", {})))
