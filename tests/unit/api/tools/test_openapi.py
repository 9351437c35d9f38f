"""The tool endpoint in OpenAPI."""

from typing import Any

from api.catalogue import catalogue
from tests.unit.api.documented import document


def endpoint() -> dict[str, Any]:
    return dict(document()["paths"]["/mcp"])


def test_openapi__has_every_call_of_the_catalogue_and_no_other() -> None:
    documented = {
        (method.upper(), path)
        for path, methods in document()["paths"].items()
        for method in methods
    }
    assert documented == {(row.method, row.path) for row in catalogue().operations}


def test_the_profile__is_one_of_three_and_may_be_left_out() -> None:
    (profile,) = endpoint()["post"]["parameters"]
    assert (profile["name"], profile["required"], profile["schema"]["enum"]) == (
        "profile",
        False,
        ["connector", "claw", "full"],
    )


def test_the_endpoint__takes_a_key_a_session_or_nothing() -> None:
    assert endpoint()["post"]["security"] == [{}, {"AgentKey": []}, {"OwnerSession": []}]
    assert endpoint()["get"]["security"] == []


def test_every_refusal_before_a_call__has_its_status() -> None:
    edge = ("origin_not_allowed", "body_too_large", "unsupported_media_type")
    pipeline = ("invalid_parameter", "auth_invalid", "rate_limited", "temporarily_unavailable")
    assert {str(catalogue().reasons[reason].status) for reason in edge + pipeline} <= set(
        endpoint()["post"]["responses"]
    )
