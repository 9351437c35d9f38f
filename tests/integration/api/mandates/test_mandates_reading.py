import json

import pytest

from core.canonical import canonical_json
from core.mandate import record as mandate_record
from core.mandate.rules import events as ev
from core.mandate.rules.clauses import CLAUSE_KEYS
from core.mandate.rules.record import row_hash
from core.mandate.rules.record_file import FirstForm
from core.selectors import selector_of
from tests.integration.api.mandates.stage import ADAPTER, KEEPER, SELL, USDC, Stage, address, reason


@pytest.mark.row("4 GET /mandates/{id}")
def test_read__has_every_part_of_a_mandate(stage: Stage, mandate_id: str) -> None:
    read = stage.get(f"/mandates/{mandate_id}", stage.agent)
    assert [clause["key"] for clause in read["clauses"]] == list(CLAUSE_KEYS)
    assert read["card_header"]["who"]["params"] == {
        "agent_id": stage.agent_id,
        "name": "quant",
        "wallet": stage.agent_wallet.address,
    }
    assert read["limits"]["used"] == {
        "left_today": {"value": "450.000000", "source": "chain", "basis": "daily_cap_rolling_24h"},
        "left_total": {"value": "1000.000000", "source": "chain", "basis": "own_cash"},
        "per_action_max": {"value": "200.000000", "source": "terms", "basis": "per_tx_cap"},
        "window_frees_at": {"value": None, "source": "chain", "basis": "window_empty"},
    }
    assert read["chain_state"] == {
        "stopped": False,
        "settled": False,
        "agent": stage.agent_wallet.address,
        "agent_known": True,
    }
    assert (read["lock"]["withdrawable"], read["lock"]["reason"]) == (False, "working")
    assert (read["progress"]["cash"], read["progress"]["leave_now_est"]) == (
        "1000.000000",
        "1000.000000",
    )
    assert read["fees"] == read["progress"]["fees"]
    assert {step["code"] for step in read["steps"]} >= {"control_vaultcreated", "funding_deposit"}
    assert read["steps"][-1]["kind"] == "instruction"
    assert "settle_note" not in read and read["next_cursor"] is None


def test_read__after_the_keepers_stop__has_the_shape_of_an_end(
    stage: Stage, mandate_id: str
) -> None:
    stage.executed(mandate_id, 200 * USDC)
    stopped = ev.Stopped(KEEPER, "0x" + b"stop_line".ljust(32, b"\0").hex(), 940 * USDC, 0, True)
    stage.chain_says(mandate_id, ev.Marked(940 * USDC, 0), stopped)
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    unknown = {"value": None, "source": "none", "basis": "mandate_not_working"}
    assert set(map(str, read["limits"]["used"].values())) == {str(unknown)}
    assert read["mandate"]["status"] == "stopped" and read["settle_note"]
    assert read["chain_state"]["stopped"] is True and read["chain_state"]["agent"] is None
    assert read["lock"]["message"].startswith("The keeper stopped it at 2026-11-21 12:00:00 UTC.")
    assert [rule["key"] for rule in read["progress"]["rules"] if not rule["ok"]] == ["stop_line"]
    assert (read["progress"]["worth_est"], read["progress"]["worth_source"]) == (
        "940.000000",
        "chain_mark",
    )


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


def test_no_answer__carries_the_owners_internal_id(stage: Stage, mandate_id: str) -> None:
    texts = [
        stage.call("GET", f"/mandates/{mandate_id}{path}", stage.owner).text
        for path in ("", "/ledger", "/record", "/terms", "/steps")
    ]
    assert not any("owner_id" in text for text in texts)


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


def test_record__counts_as_one_call_and_is_refused_to_a_stranger(
    stage: Stage, mandate_id: str
) -> None:
    left = [
        int(
            stage.call("GET", f"/mandates/{mandate_id}/record", stage.agent).headers[
                "x-ratelimit-remaining"
            ]
        )
        for _ in range(2)
    ]
    assert left[0] - left[1] == 1
    assert stage.call("GET", f"/mandates/{mandate_id}/record", {}).status_code == 401


def test_approvals__are_reports_above_the_asking_line_and_nothing_waits(stage: Stage) -> None:
    mandate_id = stage.working(approval_above_usdc="50")
    for amount in ("50", "50.000001"):
        body = {"kind": "buy", "amount_usdc": amount, "payload": {"target": ADAPTER}}
        stage.post(f"/mandates/{mandate_id}/events", stage.agent, body)
    assert [
        one["amount_usdc"]
        for one in stage.get(f"/mandates/{mandate_id}/approvals", stage.owner)["items"]
    ] == ["50.000001"]
    assert stage.get(f"/mandates/{stage.working()}/approvals", stage.agent)["items"] == []


def test_statement__of_a_week_without_rows__is_all_zero_and_balances(
    stage: Stage, mandate_id: str
) -> None:
    stage.later(days=15)
    empty = stage.get(f"/mandates/{mandate_id}/statement", stage.owner, week="2026-W48")
    assert empty["period"]["week"] == "2026-W48" and empty["period"]["is_complete"] is True
    assert set(empty["flows"].values()) == {"0.000000"}
    assert (empty["result"], empty["steps"]) == (
        {"realized": "0.000000", "estimated": "0.000000"},
        [],
    )
    assert [one["code"] for one in empty["disclosures"]] == [
        "net_of_fees",
        "past_results",
        "estimates",
        "off_switch",
    ]


def test_statement__of_the_running_week__adds_up_to_the_cash(stage: Stage, mandate_id: str) -> None:
    stage.executed(mandate_id, 200 * USDC)
    stage.chain_says(mandate_id, ev.Executed(9, ADAPTER, SELL, 0, 50_000_001, 0))
    statement = stage.get(f"/mandates/{mandate_id}/statement", stage.owner)
    flows = statement["flows"]
    assert (flows["deposits"], flows["spent"], flows["received"]) == (
        "1000.000000",
        "200.000000",
        "50.000001",
    )
    assert (statement["cash"]["end"], flows["unexplained"]) == ("850.000001", "0.000000")
    assert statement["allowed_vs_used"]["largest_move"] == {
        "used": "200.000000",
        "allowed": "200.000000",
    }
    whole = stage.get("/me/statement", stage.owner, week="2026-W47")
    assert [one["mandate_id"] for one in whole["mandates"]] == [mandate_id]
    assert whole["totals"]["testnet"]["cash"]["end"] == "850.000001"


def test_statement__a_week_that_is_none_or_has_not_begun__is_refused(
    stage: Stage, mandate_id: str
) -> None:
    for week in ("2026-47", "2026-W54", "2027-W01"):
        assert reason(
            stage.call("GET", f"/mandates/{mandate_id}/statement", stage.owner, week=week)
        ) == (400, "invalid_parameter")
