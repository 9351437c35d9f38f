import json

import pytest

from api.areas.mandates.views import record as mandate_record
from core.canonical import canonical_json
from core.mandate.rules import events as ev
from core.mandate.rules.record import FirstForm, row_hash
from core.selectors import selector_of
from tests.integration.api.mandates.stage import USDC, Stage, address, reason


def test_read__money_out_where_no_adapter_values_it__is_named_beside_the_public_stop(
    stage: Stage,
) -> None:
    venue, buy, sell = address(7), selector_of("buy(uint256)"), selector_of("sell(uint256)")
    functions = [{"signature": "buy(uint256)"}, {"signature": "sell(uint256)", "exit": True}]
    mandate_id = stage.working(
        allowed_targets=[{"address": venue, "functions": functions, "unpinned": True}]
    )
    path = f"/mandates/{mandate_id}"
    assert stage.get(path, stage.owner)["progress"]["public_stop"] == {
        "on": True,
        "reason": None,
        "at_cost_usdc": "0.000000",
    }
    stage.chain_says(mandate_id, ev.Executed(0, venue, buy, 80 * USDC, 20 * USDC, 0))
    read = stage.get(path, stage.owner)
    assert read["progress"]["public_stop"] == {
        "on": True,
        "reason": None,
        "at_cost_usdc": "60.000000",
    }
    assert f"Money at {venue} counts at cost" in read["clauses"][3]["text_en"]
    stage.chain_says(mandate_id, ev.Executed(1, venue, sell, 0, 60 * USDC, 0))
    assert stage.get(path, stage.agent)["progress"]["public_stop"]["on"] is True


def test_steps__are_paged_without_loss(stage: Stage, mandate_id: str) -> None:
    for _ in range(7):
        stage.clock.pass_(seconds=2)
        stage.executed(mandate_id, USDC)
    whole = stage.get(f"/mandates/{mandate_id}/steps", stage.owner, limit=200)["steps"]
    paged, cursor = [], None
    while True:
        page = stage.get(
            f"/mandates/{mandate_id}/steps",
            stage.owner,
            limit=3,
            **({} if cursor is None else {"cursor": cursor}),
        )
        paged += page["steps"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == whole
    assert reason(stage.call("GET", f"/mandates/{mandate_id}/steps", stage.owner, cursor="x")) == (
        400,
        "invalid_parameter",
    )


def test_ledger__is_paged_newest_first(stage: Stage, mandate_id: str) -> None:
    first = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner, limit=2)
    rest = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner, cursor=first["next_cursor"])
    assert [one["id"] for one in first["events"] + rest["events"]] == [3, 2, 1]
    assert [one["kind"] for one in rest["events"]] == ["signed"] and rest["next_cursor"] is None


def test_record__is_canonical_lines_from_the_terms_over_the_rows_to_the_head(
    stage: Stage, mandate_id: str
) -> None:
    stage.executed(mandate_id, USDC)
    answer = stage.call("GET", f"/mandates/{mandate_id}/record", stage.agent)
    assert answer.headers["content-type"] == "application/x-ndjson" and answer.text.endswith("\n")
    lines = answer.text.splitlines()
    first, *rows, last = map(json.loads, lines)
    assert [canonical_json(json.loads(line)).decode() for line in lines] == lines
    assert first.keys() == {*FirstForm.__struct_fields__} and (
        first["format"],
        first["version"],
        first["mandate_id"],
    ) == ("mandate-record", 2, mandate_id)
    before = first["genesis_hash"]
    for row in rows:
        assert row["prev_hash"] == before
        before = row_hash(before, canonical_json(row["body"]))
        assert row["row_hash"] == before
    assert (last["head"]["seq"], last["head"]["row_hash"], last["head"]["as_of"]) == (
        4,
        before,
        None,
    )
    totals = last["head"]["totals"]
    assert (totals["status"], totals["cash_usdc"], totals["spent_usdc"]) == (
        "working",
        "999.000000",
        "1.000000",
    )


def test_record__of_more_rows_than_one_batch__has_each_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mandate_record, "BATCH_ROWS", 2)
    mandate_id = stage.working()
    stage.executed(mandate_id, USDC)
    lines = stage.call("GET", f"/mandates/{mandate_id}/record", stage.owner).text.splitlines()
    assert [json.loads(line)["body"]["seq"] for line in lines[1:-1]] == [1, 2, 3, 4]
