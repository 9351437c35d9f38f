"""What an operation may refuse with, and that OpenAPI shows exactly that."""

from typing import Any

from api.catalogue import catalogue
from api.kernel import auth
from api.kernel.operation import Family, Operation
from api.kernel.reasons import reasons_of
from api.kernel.validation import command_of
from api.main import routed
from tests.each import each
from tests.unit.api.documented import document

BY_CALL = {(one.method, one.path): one for one in routed(catalogue())}


def responses(operation: Operation) -> dict[str, Any]:
    return dict(document()["paths"][operation.path][operation.method.lower()]["responses"])


@each("operation", routed(catalogue()), ids=lambda one: one.key)
def test_the_statuses_declared__are_those_that_are_possible(operation: Operation) -> None:
    refusals = {catalogue().reasons[reason].status for reason in reasons_of(operation, catalogue())}
    kept = {304} if operation.cache is not None else set()
    assert {int(status) for status in responses(operation)} == {
        *operation.statuses,
    } | refusals | kept


@each("operation", routed(catalogue()), ids=lambda one: one.key)
def test_every_reason_of_a_route__has_an_example_under_its_status(operation: Operation) -> None:
    shown = {
        name: int(status) for status, one in responses(operation).items() for name in _examples(one)
    }
    assert shown == {
        reason: catalogue().reasons[reason].status for reason in reasons_of(operation, catalogue())
    }


def _examples(response: dict[str, Any]) -> list[str]:
    return list(response.get("content", {}).get("application/json", {}).get("examples", {}))


@each("name", lambda: document()["components"]["examples"])
def test_an_example__is_the_body_of_a_refusal_whose_next_calls_can_be_made(name: str) -> None:
    body = document()["components"]["examples"][name]["value"]
    if name.endswith("_sentence"):
        reason = name.removesuffix("_sentence")
        has_code = catalogue().reasons[reason].status == 409
        code = {"error": reason} if has_code else {}
        assert body == {"detail": catalogue().reasons[reason].example} | code
        return
    assert (body["detail"], body["service"]["reason"]) == (catalogue().reasons[name].example, name)
    assert body["service"]["next"][-1]["path"] == "/agent/catalog"
    for call in body["service"]["next"]:
        values = _values(call)
        operation = BY_CALL[call["method"], values.pop("path")]
        command_of(operation.command, values | call.get("body", {}))


def _values(call: dict[str, Any]) -> dict[str, Any]:
    """The catalogue's path of this call, and what fills it."""
    segments = call["path"].split("/")
    for method, path in BY_CALL:
        pattern = path.split("/")
        same = len(pattern) == len(segments) and all(
            a == b or a.startswith("{") for a, b in zip(pattern, segments, strict=True)
        )
        if method == call["method"] and same:
            filled = {
                a.strip("{}"): b
                for a, b in zip(pattern, segments, strict=True)
                if a.startswith("{")
            }
            return {"path": path} | filled
    raise AssertionError(f"no such call: {call}")


def test_every_reason_that_some_route_answers__has_a_sentence() -> None:
    assert {reason for one in routed(catalogue()) for reason in reasons_of(one, catalogue())} <= {
        name for name, reason in catalogue().reasons.items() if reason.example
    }


@each(
    ("key", "has", "has_not"),
    [
        (
            "discovery.live",
            {"auth_invalid", "rate_limited"},
            {"auth_required", "not_found", "body_too_large", "secret_field_refused"},
        ),
        (
            "mandates.accept",
            {"auth_required", "scope_denied", "agent_not_designated", "idempotency_in_flight"},
            {"agent_key_scope"},
        ),
        ("mandates.create", {"scope_denied", "body_too_large"}, {"wrong_status"}),
    ],
)
def test_what_the_kernel_refuses__follows_from_the_row(
    key: str, has: set[str], has_not: set[str]
) -> None:
    found = set(reasons_of(next(one for one in routed(catalogue()) if one.key == key), catalogue()))
    assert has <= found
    assert not has_not & found


def test_wallet_routes__never_answer_the_cores_scope_refusal() -> None:
    wallet = [one for one in routed(catalogue()) if one.family is Family.WALLET]
    assert not any("agent_key_scope" in reasons_of(one, catalogue()) for one in wallet)
    assert all(
        one.auth is auth.ANYBODY or "secret_field_refused" in reasons_of(one, catalogue())
        for one in wallet
    )


@each("operation", routed(catalogue()), ids=lambda one: one.key)
def test_streams_alone__may_be_too_many(operation: Operation) -> None:
    said = "too_many_streams" in reasons_of(operation, catalogue())
    assert said == bool(operation.streams)
