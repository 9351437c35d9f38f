"""What terms would have done to an agent's record (docs/what-if.md)."""

from typing import Any

import pytest

from core.mandate.rules import events as ev
from tests.each import each
from tests.integration.api.mandates.stage import ADAPTER, BUY, USDC, Stage, reason

TERMS = {"budget_usdc": "1000.000000", "horizon_days": 30, "stop_floor_bps": 500}


def ask(stage: Stage, who: dict[str, str] | None = None, **terms: Any) -> dict[str, Any]:
    body = {"agent_id": stage.agent_id, "terms": TERMS | terms}
    return stage.post("/terms/what-if", who or stage.agent, body)


@pytest.fixture
def worked(stage: Stage, mandate_id: str) -> Stage:
    """The story of docs/what-if.md: 120, 200 a day later, a mark of 960, 80 an hour later."""
    stage.executed(mandate_id, 120 * USDC)
    stage.later(days=1)
    stage.executed(mandate_id, 200 * USDC)
    stage.later(hours=1)
    stage.chain_says(mandate_id, ev.Marked(960 * USDC, 0))
    stage.later(hours=1)
    stage.executed(mandate_id, 80 * USDC)
    return stage


def test_what_if__under_wide_terms__refuses_nothing_and_names_the_smallest_caps(
    worked: Stage,
) -> None:
    answer = ask(worked)
    assert (answer["allowed"], answer["refused"]) == (3, {})
    assert answer["worst_drawdown_usdc"] == "40.000000"
    assert answer["stop_line"] == {
        "floor_usdc": "950.000000",
        "accepted_loss_usdc": "50.000000",
        "stopped_mandates": 0,
    }
    assert answer["smallest_caps"] == {
        "per_tx_cap_usdc": "200.000000",
        "daily_cap_usdc": "280.000000",
        "budget_usdc": "400.000000",
        "stop_floor_bps": 1_001,
        "horizon_days": 2,
    }
    assert answer["actions"] == {
        "count": 3,
        "mandates": 1,
        "from_at": "2026-11-21T12:00:00Z",
        "to_at": "2026-11-22T14:00:00Z",
        "complete": True,
        "most": 10_000,
    }


@each(
    ("terms", "refused"),
    [
        ({"per_tx_cap_usdc": "199.999999"}, {"OverPerTxCap": 1}),
        ({"daily_cap_usdc": "279.999999"}, {"OverDailyCap": 1}),
        ({"stop_floor_bps": 400}, {"MandateStopped": 1}),
        ({"horizon_days": 1}, {"MandateEnded": 2}),
    ],
)
def test_what_if__under_tighter_terms__says_why(
    worked: Stage, terms: dict[str, Any], refused: dict[str, int]
) -> None:
    assert ask(worked, **terms)["refused"] == refused


def test_what_if__names_targets_that_the_terms_leave_out(worked: Stage) -> None:
    other = {"address": "0x" + "77" * 20, "functions": [{"selector": BUY}], "unpinned": True}
    answer = ask(worked, allowed_targets=[other])
    assert answer["refused"] == {"TargetNotAllowed": 3}
    assert answer["targets_not_allowed"] == [{"address": ADAPTER, "selector": BUY, "actions": 3}]


def test_what_if__is_for_any_key_and_any_owner_about_any_agent(worked: Stage) -> None:
    _, stranger = worked.new_agent()
    assert ask(worked, stranger) == ask(worked, worked.new_owner()) == ask(worked, worked.owner)


def test_what_if__of_an_agent_without_a_record__knows_nothing(stage: Stage) -> None:
    stage.paper()
    answer = ask(stage)
    assert answer["actions"]["count"] == 0
    assert answer["worst_drawdown_usdc"] is None
    assert set(answer["smallest_caps"].values()) == {None}


def test_what_if__refuses_an_unknown_agent(stage: Stage) -> None:
    answer = stage.call(
        "POST", "/terms/what-if", stage.agent, {"agent_id": "987654321", "terms": TERMS}
    )
    assert reason(answer) == (404, "not_found")
    assert answer.json()["detail"] == "No agent has the id 987654321."
    assert answer.json()["service"]["next"][0]["path"] == "/mandate-wallet/hall"


@each(
    ("terms", "field"),
    [
        ({"budget_usdc": "0"}, "terms.budget_usdc"),
        ({"horizon_days": 0}, "terms.horizon_days"),
        ({"chain_id": 1}, "terms.chain_id"),
        ({"target_bps": 0}, "terms.target_bps"),
        ({"payout_rule": {"kind": "x"}}, "terms.payout_rule.kind"),
        ({"allowed_targets": [1]}, "terms.allowed_targets[0]"),
        ({"listing_params": {"parts": 6}}, "terms.listing_params"),
        ({"listing_id": "l_aaaaaaaaaa"}, "terms.listing_id"),
    ],
)
def test_what_if__names_a_field_by_where_it_was_sent(
    stage: Stage, terms: dict[str, Any], field: str
) -> None:
    body = {"agent_id": stage.agent_id, "terms": TERMS | terms}
    answer = stage.call("POST", "/terms/what-if", stage.agent, body)
    assert answer.json()["detail"].split(": ")[0] == field
