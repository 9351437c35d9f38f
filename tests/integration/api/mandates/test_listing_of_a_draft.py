"""A draft takes its strategy from a listing, with the parameters that its owner chose."""

from typing import Any

import pytest

from api.areas.gallery.operations import EXAMPLE
from tests.each import each
from tests.integration.api.conftest import reason
from tests.integration.api.mandates.stage import DRAFT, Stage


@pytest.fixture
def listing_id(stage: Stage) -> str:
    body = {**EXAMPLE, "status": "listed"}
    return str(stage.post("/gallery", stage.agent, body, status=201)["id"])


def strategy_row(stage: Stage, listing_id: str, **params: Any) -> dict[str, Any]:
    return {
        "listing_id": listing_id,
        "name": "Slow units",
        "product_type": "strategy_template",
        "operator": stage.client.get(f"/mandate-wallet/gallery/{listing_id}").json()["operator"],
        "runner_agent_id": stage.agent_id,
        "markets": ["test venue"],
        "params": {"parts": 6, "hold_ratio": "0.250000"} | params,
    }


@pytest.mark.row("2.1 strategy listing_id")
def test_a_draft__reads_its_strategy_from_the_listing(
    stage: Stage,
    listing_id: str,
) -> None:
    body = {**DRAFT, "listing_id": listing_id, "listing_params": {"parts": 24}}
    drafted = stage.post("/mandates", stage.owner, body, status=201)["mandate"]
    assert drafted["strategy"] == strategy_row(stage, listing_id, parts=24)
    path = f"/mandates/{drafted['id']}"
    read = stage.get(path, stage.owner)
    assert read["card_header"]["strategy"]["text_en"].startswith("Strategy: Slow units.")
    again = {**DRAFT, "listing_id": listing_id, "listing_params": {"hold_ratio": "1"}}
    updated = stage.call("PUT", path, stage.owner, again).json()["mandate"]
    assert updated["strategy"] == strategy_row(stage, listing_id, hold_ratio="1.000000")
    assert stage.call("PUT", path, stage.owner, DRAFT).json()["mandate"]["strategy"] is None


@each(
    ("params", "field", "kind"),
    [
        ({"parts": 0}, "listing_params.parts", "invalid_number"),
        ({"parts": 25}, "listing_params.parts", "invalid_number"),
        ({"parts": "1.5"}, "listing_params.parts", "invalid_number"),
        ({"parts": "NaN"}, "listing_params.parts", "invalid_number"),
        ({"hold_ratio": "1.000001"}, "listing_params.hold_ratio", "invalid_number"),
        ({"speed": 1}, "listing_params.speed", "invalid_parameter"),
    ],
)
def test_an_edited_parameter_outside_its_range__is_refused(
    stage: Stage,
    listing_id: str,
    params: dict[str, Any],
    field: str,
    kind: str,
) -> None:
    body = {**DRAFT, "listing_id": listing_id, "listing_params": params}
    refused = stage.call("POST", "/mandates", stage.owner, body)
    assert reason(refused) == (400, kind)
    assert refused.json()["detail"].startswith(f"{field}: ")


def test_what_is_not_listed__is_no_strategy(
    stage: Stage,
    listing_id: str,
) -> None:
    draft_id = str(stage.post("/gallery", stage.agent, dict(EXAMPLE), status=201)["id"])
    stage.post(f"/gallery/{listing_id}/withdraw", stage.agent)
    for unlisted in (draft_id, listing_id, "l_aaaaaaaaaa", "x"):
        refused = stage.call("POST", "/mandates", stage.owner, {**DRAFT, "listing_id": unlisted})
        assert reason(refused) == (400, "invalid_parameter")
        assert refused.json()["service"]["next"][0]["path"] == "/mandate-wallet/gallery"
    alone = stage.call("POST", "/mandates", stage.owner, {**DRAFT, "listing_params": {"parts": 1}})
    assert alone.json()["detail"] == "listing_params: send listing_id with it."
