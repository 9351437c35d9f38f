"""A tool answers at most 60,000 characters, however much there is."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from api.catalogue import catalogue
from api.tools import server
from api.tools.registry import entries_of
from tests.integration.api.mandates.stage import DRAFT, Stage
from tests.integration.api.tools.conftest import call

SHORT = 6_000


def text_of(result: dict[str, Any]) -> str:
    (content,) = result["content"]
    return str(content["text"])


def test_a_long_list__has_fewer_rows_and_its_cursor_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 mandates were half a million characters, which hosts cut in the middle."""
    made = [
        stage.post("/mandates", stage.owner, DRAFT, status=201)["mandate"]["id"] for _ in range(7)
    ]
    whole = text_of(call(stage.client, "mandate_list", stage.owner, limit=50))
    assert len(whole) > SHORT
    monkeypatch.setattr(server, "MOST_CHARACTERS", SHORT)
    found, cursor = list[str](), None
    while True:
        result = call(stage.client, "mandate_list", stage.owner, limit=50, cursor=cursor)
        body = result["structuredContent"]
        assert len(text_of(result)) <= SHORT
        Draft202012Validator(
            entries_of(catalogue())["mandate_list"].described.output_schema
        ).validate(body)
        found += [one["id"] for one in body["mandates"]]
        cursor = body.get("next_cursor")
        if cursor is None:
            break
    assert sorted(found) == sorted(made)
    assert json.loads(whole)["mandates"]
