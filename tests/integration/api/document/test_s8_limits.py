"""Section 8 of the document, and the other rules of section 7: each figure at its boundary, by HTTP
and as a tool's call.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.operation import Deps, Family
from core.db.embedded import EmbeddedPostgres
from tests.integration.api.conftest import reason
from tests.integration.api.document.refusal_cases import (
    DOORS,
    WALLET,
    Attempt,
    Scene,
    by_http,
    set_up,
    use_up_calls,
)
from tests.integration.api.mandates.stage import Stage


@pytest.fixture
def scene(
    stage: Stage, deps: Deps, postgres: EmbeddedPostgres, database_url: str
) -> Iterator[Scene]:
    with set_up(stage, deps, postgres, database_url) as ready:
        yield ready


# Counts


@pytest.mark.row("8 requests per key")
@pytest.mark.parametrize("door", DOORS)
def test_the_2000th_call_of_a_keys_day__is_served_and_the_next_is_not(
    scene: Scene, door: str
) -> None:
    listing = Attempt(
        method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, tool="mandate_list"
    )
    use_up_calls(scene, listing, 1_999)
    answers = [DOORS[door](scene.client, listing) for _ in range(2)]
    assert [one.status for one in answers] == [200, 429]
    assert answers[1].body["detail"].startswith("Today's 2000 calls are used up")
    scene.stage.clock.now = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    assert by_http(scene.client, listing).status == 429
    scene.stage.clock.pass_(seconds=1)
    assert by_http(scene.client, listing).status == 200


# Forms


@pytest.mark.row("7 a body with a secret-like field is refused 400")
@pytest.mark.parametrize(
    "fields", [{"api_key": "hunter2"}, {"payload": [{"deep": {"exchangeApiSecret": "hunter2"}}]}]
)
def test_a_secret_like_field__is_refused_by_every_wallet_route_whoever_calls(
    scene: Scene, fields: Mapping[str, Any]
) -> None:
    writes = [
        row
        for row in catalogue().operations
        if row.family is Family.WALLET and row.method in ("POST", "PUT")
    ]
    assert len(writes) > 10
    for row in writes:
        path = row.path.format(id="1" if "/agents/" in row.path else "m_aaaaaaaaaa")
        for who in ({}, scene.stage.agent, scene.stage.owner):
            answer = scene.client.request(row.method, path, json=fields, headers=who)
            assert reason(answer) == (400, "secret_field_refused"), row.key
            assert answer.json()["service"]["retry_safe"] is False
            assert "hunter2" not in answer.text


# A mandate's own


# Section 7, beside its table
