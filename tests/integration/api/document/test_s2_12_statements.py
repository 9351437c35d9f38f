"""Wallet document 2.12: the statement of a week, and of all mandates."""

from typing import Any

import pytest

from api.areas.mandates.service import statements
from core.mandate.rules import events as ev
from tests.integration.api.mandates.stage import ADAPTER, CONTRACTS, SELL, USDC, Stage, reason

WEEK, NEXT = "2026-W47", "2026-W48"  # the clock stands at Saturday of W47
TX = "0x" + "ee" * 32


def lived(stage: Stage) -> str:
    """A week of a mandate: 200 + 200 + 30 spent, 60.000001 back, a fee, a flagged report, a
    refusal.
    """
    mandate_id = stage.working()
    for amount in (200, 200, 30):
        stage.executed(mandate_id, amount * USDC)
    stage.chain_says(mandate_id, ev.Executed(9, ADAPTER, SELL, 0, 60_000_001, 0))
    report = f"/mandates/{mandate_id}/events"
    stage.post(
        report, stage.agent, {"kind": "fee", "amount_usdc": "0.5", "payload": {"fee_kind": "venue"}}
    )
    stage.post(
        report, stage.agent, {"kind": "fee", "amount_usdc": "0.25", "payload": {"fee_kind": "gas"}}
    )
    stage.post(
        report,
        stage.agent,
        {
            "kind": "fee",
            "amount_usdc": "0.125",
            "payload": {"fee_kind": "paid_read", "resource": "https://a"},
        },
    )
    stage.post(report, stage.agent, {"kind": "fee", "amount_usdc": "0.0625"})
    stage.post(
        report,
        stage.agent,
        {"kind": "buy", "amount_usdc": "201", "payload": {"target": ADAPTER}},
        status=202,
    )
    stage.post(
        f"/mandates/{mandate_id}/refusals", stage.agent, {"reason": "OverPerTxCap", "tx_hash": TX}
    )
    return mandate_id


def statement(stage: Stage, mandate_id: str, week: str | None = None) -> dict[str, Any]:
    return stage.get(
        f"/mandates/{mandate_id}/statement", stage.owner, **({} if week is None else {"week": week})
    )


@pytest.mark.row("2.12 period", "4 GET /mandates/{id}/statement")
def test_the_period__is_an_iso_week_in_utc_in_either_spelling_and_the_running_one_by_default(
    stage: Stage,
) -> None:
    mandate_id = lived(stage)
    assert statement(stage, mandate_id)["period"] == {
        "week": WEEK,
        "start": "2026-11-16T00:00:00Z",
        "end": "2026-11-23T00:00:00Z",
        "as_of": "2026-11-21T12:00:00Z",
        "is_complete": False,
    }
    assert (
        statement(stage, mandate_id, "2026-W5")["period"]
        == statement(stage, mandate_id, "2026-W05")["period"]
    )
    stage.later(days=1, hours=11, minutes=59, seconds=59)
    assert statement(stage, mandate_id)["period"]["week"] == WEEK
    stage.later(seconds=1)
    assert statement(stage, mandate_id)["period"]["week"] == NEXT
    assert statement(stage, mandate_id, WEEK)["period"]["is_complete"] is True
    for week in ("2026-47", "2026-W54", "W47", "2026-W49", "last"):
        answer = stage.call("GET", f"/mandates/{mandate_id}/statement", stage.owner, week=week)
        assert reason(answer) == (400, "invalid_parameter") and answer.json()["detail"].startswith(
            "week: "
        )


@pytest.mark.row("2.12 worth", "2.12 flows", "2.12 result")
def test_a_week__adds_up_to_the_last_micro_usdc(stage: Stage) -> None:
    """1000 in, 430 out, 60.000001 back: cash 630.000001; 370 of 430 stay out at cost, and nothing is
    realized.
    """
    mandate_id = lived(stage)
    first = statement(stage, mandate_id)
    assert first["cash"] == {"start": "0.000000", "end": "630.000001"}
    assert first["flows"] == {
        "deposits": "1000.000000",
        "withdrawals": "0.000000",
        "net_deposits": "1000.000000",
        "spent": "430.000000",
        "received": "60.000001",
        "agent_fee": "0.000000",
        "net": "630.000001",
        "donated_withdrawn": "0.000000",
        "unexplained": "0.000000",
    }
    worth = stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]["worth_est"]
    assert (first["worth"]["start"], first["worth"]["end"]) == ("0.000000", worth)
    change = usdc_e6(worth) - 1_000 * USDC
    realized = usdc_e6(first["result"]["realized"])
    assert usdc_e6(first["result"]["estimated"]) == change - realized
    assert (
        realized
        == usdc_e6(stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]["realized"])
        == 0  # the fees that the agent reports left no vault
    )


def usdc_e6(text: str) -> int:
    whole, fraction = text.removeprefix("-").split(".")
    return (-1 if text.startswith("-") else 1) * (int(whole) * USDC + int(fraction))


@pytest.mark.row("2.12 worth", "2.12 flows", "2.12 result")
def test_the_next_week__begins_where_the_first_ended(stage: Stage) -> None:
    mandate_id = lived(stage)
    stage.later(days=2)
    stage.chain_says(
        mandate_id,
        ev.Stopped(stage.owner_wallet.address, "0x" + b"owner".ljust(32, b"\0").hex(), 0, 0, False),
    )
    stage.chain_says(
        mandate_id, ev.Withdrawn(CONTRACTS["usdc"], stage.owner_wallet.address, 630_000_001, 0)
    )
    first, second = statement(stage, mandate_id, WEEK), statement(stage, mandate_id, NEXT)
    assert (second["worth"]["start"], second["cash"]["start"]) == (
        first["worth"]["end"],
        "630.000001",
    )
    assert (
        second["cash"]["end"],
        second["flows"]["withdrawals"],
        second["flows"]["unexplained"],
    ) == ("0.000000", "630.000001", "0.000000")
    assert (first["status"], second["status"]) == ("working", "stopped")
    assert second["result"]["realized"] == "0.000000"
    assert [step["code"] for step in second["steps"]] == ["funding_withdraw", "control_stopped"]


@pytest.mark.row("2.12 fees")
def test_fees__are_told_by_type_and_the_unclassified_apart(stage: Stage) -> None:
    assert statement(stage, lived(stage))["fees"] == {
        "by_type": {
            "tools": "0.125000",
            "venue": "0.500000",
            "network": "0.250000",
            "unclassified": {"amount": "0.062500", "count": 1},
            "agent_fee": "0.000000",
        }
    }


@pytest.mark.row("2.12 allowed_vs_used")
@pytest.mark.slow
def test_allowed_vs_used__is_what_really_left_against_the_caps_that_stand_for_empty_ones_too(
    stage: Stage,
) -> None:
    used = statement(stage, lived(stage))["allowed_vs_used"]
    assert used["largest_move"] == {"used": "200.000000", "allowed": "200.000000"}
    assert used["busiest_day"] == {
        "used": "430.000000",
        "allowed": "450.000000",
        "ended_at": "2026-11-21T12:00:00Z",
    }
    quiet = statement(stage, stage.working(per_tx_cap_usdc=None, daily_cap_usdc=None))[
        "allowed_vs_used"
    ]
    assert quiet["largest_move"] == {"used": "0.000000", "allowed": "1000.000000"}
    assert quiet["busiest_day"] == {"used": "0.000000", "allowed": "1000.000000", "ended_at": None}


@pytest.mark.row("2.12 breaches")
def test_breaches__are_those_of_the_week(stage: Stage) -> None:
    mandate_id = lived(stage)
    assert statement(stage, mandate_id)["breaches"] == {
        "reverts": {"count": 0},
        "refusals": {"count": 1},
        "violations": {"count": 1, "codes": ["over_daily_cap", "over_per_tx_cap"]},
    }
    stage.later(days=2)
    nothing = {
        "reverts": {"count": 0},
        "refusals": {"count": 0},
        "violations": {"count": 0, "codes": []},
    }
    assert statement(stage, mandate_id)["breaches"] == nothing


@pytest.mark.row("2.12 steps")
def test_steps__are_those_of_the_record_that_fell_into_the_week(stage: Stage) -> None:
    mandate_id = lived(stage)
    stage.later(days=2)
    stage.executed(mandate_id, USDC)
    record = stage.get(f"/mandates/{mandate_id}/steps", stage.owner, limit=200)["steps"]
    assert statement(stage, mandate_id, NEXT)["steps"] == record[:1]
    assert statement(stage, mandate_id, WEEK)["steps"] == record[1:]


@pytest.mark.row("2.12 disclosures", "2.12 strategy", "2.12 agent_id", "2.12 vault_address")
def test_a_statement__says_whose_it_is_and_what_to_bear_in_mind(stage: Stage) -> None:
    mandate_id, open_one = lived(stage), stage.signed(agent_id=None, open_board=True)
    vault = stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]["vault_address"]
    read = statement(stage, mandate_id)
    assert (read["mandate_id"], read["agent_id"], read["vault_address"], read["strategy"]) == (
        mandate_id,
        stage.agent_id,
        vault,
        None,
    )
    assert [one["code"] for one in read["disclosures"]] == [
        "net_of_fees",
        "past_results",
        "estimates",
        "off_switch",
    ]
    assert all(one["text"] for one in read["disclosures"])
    other = statement(stage, open_one)
    assert (other["agent_id"], other["vault_address"], other["strategy"]) == (None, None, None)


@pytest.mark.row("2.12 the all-mandates statement", "4 GET /me/statement")
def test_the_statement_of_all__sums_each_mode_by_itself(stage: Stage) -> None:
    first, second, paper, draft = lived(stage), stage.working(), stage.paper(), stage.draft()
    whole = stage.get("/me/statement", stage.owner, week=WEEK)
    assert [one["mandate_id"] for one in whole["mandates"]] == [
        paper,
        second,
        first,
    ] and draft not in str(whole)
    assert whole["totals"].keys() == {"testnet", "paper"}
    testnet = whole["totals"]["testnet"]
    assert (testnet["mandates"], testnet["cash"]["end"], testnet["flows"]["deposits"]) == (
        2,
        "1630.000001",
        "2000.000000",
    )
    assert (testnet["flows"]["spent"], testnet["result"]["realized"]) == ("430.000000", "0.000000")
    assert (whole["totals"]["paper"]["mandates"], whole["totals"]["paper"]["cash"]["end"]) == (
        1,
        "1000.000000",
    )
    assert [one["code"] for one in whole["disclosures"]] == [
        "net_of_fees",
        "past_results",
        "estimates",
        "off_switch",
    ]
    alone = statement(stage, first)
    shown = next(one for one in whole["mandates"] if one["mandate_id"] == first)
    assert shown == {key: alone[key] for key in shown}
    nobody = stage.get("/me/statement", stage.new_owner())
    assert (nobody["totals"], nobody["mandates"]) == ({}, [])


def test_the_statement_of_all__of_more_than_are_read_at_once__leaves_none_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "MANDATES_READ", 2)
    held = [stage.paper() for _ in range(3)]
    draft, last = stage.draft(), stage.paper()
    whole = stage.get("/me/statement", stage.owner)
    assert [one["mandate_id"] for one in whole["mandates"]] == [
        last,
        *reversed(held),
    ] and draft not in str(whole)
    assert (whole["totals"]["paper"]["mandates"], whole["totals"]["paper"]["cash"]["end"]) == (
        4,
        "4000.000000",
    )


def test_a_cancelled_drafts_statement__says_cancelled(stage: Stage) -> None:
    """Its ledger was empty: the status stood as draft for ever."""
    mandate_id = stage.draft()
    stage.later(days=7)
    assert statement(stage, mandate_id)["status"] == "draft"
    stage.post(f"/mandates/{mandate_id}/cancel", stage.owner)
    assert (
        statement(stage, mandate_id)["status"],
        statement(stage, mandate_id, WEEK)["status"],
    ) == ("cancelled", "draft")


def test_a_week_before_the_mandate_was_written__has_no_figure_and_no_status(stage: Stage) -> None:
    """It was a draft with 0.000000 of everything."""
    mandate_id = lived(stage)
    before = statement(stage, mandate_id, "2026-W40")
    assert (
        before["status"],
        before["worth"]["end"],
        before["flows"]["spent"],
        before["result"]["realized"],
    ) == (None, None, None, None)
    assert [one["count"] for one in before["breaches"].values()] == [None, None, None]
    assert stage.get("/me/statement", stage.owner, week="2026-W40")["mandates"] == []
