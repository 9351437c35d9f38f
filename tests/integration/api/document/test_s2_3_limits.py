"""Mandate wallet 2.3: what is allowed, what of it is used, and what was tried beyond it, as the
chain has it.
"""

import pytest

from core.mandate.rules.rows import NOT_SEEN
from core.times import utc_text
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import ADAPTER, Stage

DAY = 86_400


@pytest.mark.row(
    "2.3 allowed",
    "2.3 used",
    "2.3 breaches",
    "2.3 each number in used is value, source and basis",
    "2.3 left_today",
    "2.3 left_total",
    "2.3 per_action_max",
    "2.3 window_frees_at",
    "2.3 reverts.count",
    "2.3 reverts are counted from rows that a chain, owner or keeper wrote",
    "4 GET /mandates/{id}",
)
def test_limits__follow_the_vault_through_buys_sells_and_refused_calls(live: Live) -> None:
    mandate_id, _ = live.working()
    untouched = live.read(mandate_id)["limits"]
    assert untouched["used"] == {
        "left_today": {"value": "450.000000", "source": "chain", "basis": "daily_cap_rolling_24h"},
        "left_total": {"value": "1000.000000", "source": "chain", "basis": "own_cash"},
        "per_action_max": {"value": "200.000000", "source": "terms", "basis": "per_tx_cap"},
        "window_frees_at": {"value": None, "source": "chain", "basis": "window_empty"},
    }
    assert untouched["breaches"] == {
        "reverts": {"count": 0, "not_seen": NOT_SEEN},
        "refusals": {"count": 0},
        "violations": {"count": 0, "codes": []},
    }
    first = live.execute(mandate_id, "buy(uint256)", 200)
    live.execute(mandate_id, "buy(uint256)", 100)
    live.execute(mandate_id, "sell(uint256)", 50)
    live.execute(mandate_id, "buy(uint256)", 201, succeeds=False)
    live.execute(mandate_id, "buy(uint256)", 151, succeeds=False)
    limits = live.read(mandate_id)["limits"]
    assert limits["used"] == {
        "left_today": {"value": "150.000000", "source": "chain", "basis": "daily_cap_rolling_24h"},
        "left_total": {"value": "750.000000", "source": "chain", "basis": "own_cash"},
        "per_action_max": {"value": "200.000000", "source": "terms", "basis": "per_tx_cap"},
        "window_frees_at": {
            "value": utc_text(live.block_time(first) + DAY),
            "source": "chain",
            "basis": "rolling_24h",
        },
    }
    assert (limits["breaches"]["reverts"]["count"], limits["breaches"]["refusals"]["count"]) == (
        2,
        2,
    )
    assert limits["allowed"] == {
        "budget_usdc": "1000.000000",
        "per_tx_cap_usdc": "200.000000",
        "daily_cap_usdc": "450.000000",
        "stop_floor_usdc": "950.000000",
        "approval_above_usdc": None,
        "ends_at": live.read(mandate_id)["mandate"]["ends_at"],
    }


@pytest.mark.row("2.3 left_today", "2.3 left_total", "2.3 reverts.count", "2.3 window_frees_at")
def test_limits__of_paper__come_from_the_ledger_and_nobody_scans_for_reverts(stage: Stage) -> None:
    mandate_id = stage.paper()
    stage.post(
        f"/mandates/{mandate_id}/events",
        stage.agent,
        {"kind": "buy", "amount_usdc": "30", "payload": {"target": ADAPTER}},
    )
    limits = stage.get(f"/mandates/{mandate_id}", stage.agent)["limits"]
    assert limits["used"] == {
        "left_today": {"value": "420.000000", "source": "ledger", "basis": "daily_cap_rolling_24h"},
        "left_total": {"value": "970.000000", "source": "ledger", "basis": "own_cash"},
        "per_action_max": {"value": "200.000000", "source": "terms", "basis": "per_tx_cap"},
        "window_frees_at": {
            "value": "2026-11-22T12:00:00Z",
            "source": "ledger",
            "basis": "rolling_24h",
        },
    }
    assert limits["breaches"]["reverts"] == {"count": None, "not_seen": None}
    stage.clock.pass_(days=1)
    freed = stage.get(f"/mandates/{mandate_id}", stage.agent)["limits"]["used"]
    assert (freed["left_today"]["value"], freed["window_frees_at"]["value"]) == ("450.000000", None)


@pytest.mark.row("2.3 breaches")
def test_breaches__count_every_flagged_report_and_name_each_code_once(
    stage: Stage, mandate_id: str
) -> None:
    for _ in range(3):
        body = {"kind": "buy", "amount_usdc": "450.000001", "payload": {"target": ADAPTER}}
        stage.post(f"/mandates/{mandate_id}/events", stage.agent, body, status=202)
    violations = stage.get(f"/mandates/{mandate_id}", stage.owner)["limits"]["breaches"][
        "violations"
    ]
    assert violations == {"count": 3, "codes": ["over_daily_cap", "over_per_tx_cap"]}


@pytest.mark.row("2.3 used", "2.3 per_action_max")
def test_used__before_the_budget_is_there_and_from_the_end_on__is_null_with_its_basis(
    stage: Stage,
) -> None:
    draft, signed, paper = stage.draft(), stage.signed(), stage.paper()
    nothing = {"value": None, "source": "none", "basis": "mandate_not_working"}
    keys = ("left_today", "left_total", "per_action_max", "window_frees_at")
    for mandate_id in (draft, signed):
        assert stage.get(f"/mandates/{mandate_id}", stage.owner)["limits"]["used"] == dict.fromkeys(
            keys, nothing
        )
    stage.clock.pass_(days=30, seconds=-1)
    assert (
        stage.get(f"/mandates/{paper}", stage.agent)["limits"]["used"]["per_action_max"]["value"]
        == "200.000000"
    )
    stage.clock.pass_(seconds=1)
    ended = stage.get(f"/mandates/{paper}", stage.agent)["limits"]["used"]
    assert ended == {key: {**nothing, "basis": "mandate_ended"} for key in keys}
