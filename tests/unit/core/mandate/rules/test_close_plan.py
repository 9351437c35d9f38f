"""The close-all plan: order, who signs, what is unknown, and the settle grace."""

from dataclasses import replace
from typing import Any

import pytest

from core.mandate.rules.cash import stop_row
from core.mandate.rules.close_plan import (
    LISTED,
    AdapterPosition,
    ClosedBy,
    OwnerCall,
    PlanFacts,
    close_all_plan,
    least_usdc_e6,
)
from core.mandate.rules.rows import ReportedBy, RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    PAPER,
    START,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    e6,
    executed,
    settled,
    stopped,
    terms,
    working,
)
from tests.unit.core.mandate.rules.test_open_positions import FACTS as WITH_AND_WITHOUT_ADAPTERS
from tests.unit.core.mandate.rules.test_open_positions import A, C, D, call

NOW = int(START.timestamp()) + 3600
STOP, WITHDRAW, SELL = OwnerCall(VAULT, "0x01"), OwnerCall(VAULT, "0x02"), OwnerCall(VAULT, "0x03")
HELD = AdapterPosition(
    adapter="test_venue",
    adapter_address=VENUE,
    venue="Test venue",
    label="ETH",
    worth_usdc_e6=e6("90.000001"),
    unwind=SELL,
)
RELAYED = AdapterPosition(
    adapter="relay",
    closed_by=ClosedBy.RELAY,
    adapter_address=X402,
    venue="Relay venue",
    label=None,
    worth_usdc_e6=e6("40"),
    dry_run={"ok": True},
)


def _plan(ledger: SampleLedger, *positions: AdapterPosition, **changes: Any) -> dict[str, Any]:
    facts = PlanFacts(
        facts=ledger.facts,
        terms=terms(),
        state=ledger.state,
        positions=positions,
        relay_positions_read=True,
        stop_call=STOP,
        withdraw_call=WITHDRAW,
        spread_bps=50,
        now=NOW,
    )
    return close_all_plan(replace(facts, **changes))


def _out() -> SampleLedger:
    ledger = working()
    ledger.chain(executed("100"), 60)
    return ledger


@pytest.mark.row(
    "2.18 steps in order",
    "2.18 type",
    "2.18 data",
    "2.18 dry_run",
    "2.18 adapter",
    "2.18 action",
    "2.18 who_signs",
    "2.18 who_signs_text",
    "2.18 venue",
    "2.18 note",
    "2.18 est_proceeds_usdc",
)
def test_plan__of_a_working_mandate__stop_then_positions_then_withdraw() -> None:
    plan = _plan(_out(), HELD, RELAYED)
    assert [
        (step["n"], step["type"], step["who_signs"], step["data"]) for step in plan["steps"]
    ] == [
        (1, "stop", "owner", "0x01"),
        (2, "unwind", "owner", "0x03"),
        (3, "close", "relay", None),
        (4, "withdraw", "owner", "0x02"),
    ]
    assert [
        (step["venue"], step["who_signs_text"], step["note"], step["reason"])
        for step in plan["steps"]
    ] == [
        (None, "You sign the stop", "The agent cannot act from then on.", None),
        (
            "Test venue",
            "You sign the unwind",
            "Sold through its adapter; the USDC goes to your vault.",
            None,
        ),
        ("Relay venue", "The service closes it with its relay key", "Closed at the market.", None),
        (
            None,
            "You sign the withdrawal",
            "All USDC of the vault goes to you, except a fee that is still owed.",
            None,
        ),
    ]
    unwind, close = plan["steps"][1:3]
    assert (
        unwind["adapter"],
        unwind["action"],
        unwind["est_proceeds_usdc"],
        unwind["position_label"],
    ) == (
        "test_venue",
        "unwind",
        "89.550000",
        "ETH",
    )
    assert "dry_run" not in unwind
    assert (close["adapter"], close["action"], close["est_proceeds_usdc"], close["dry_run"]) == (
        "relay",
        "close_at_market",
        "39.800000",
        {"ok": True},
    )


@pytest.mark.row("2.18 exit_cost_est", "2.18 gets_back_est", "2.18 closes", "2.18 kept_at_venue")
def test_plan__sums__costs_up_and_the_agents_fee_taken_off() -> None:
    ledger = _out()
    plan = _plan(ledger, HELD, RELAYED)
    assert (plan["exit_cost_est"], plan["exit_cost_reason"]) == ("0.650001", None)
    assert plan["gets_back_est"] == "1026.415000"  # 900 + 129.35 - 10 % of the gain of 29.35
    assert (
        plan["closes"],
        plan["kept_at_venue"],
        plan["relay_positions_read"],
        plan["reason"],
    ) == (2, 0, True, None)


def test_plan__a_loss__owes_no_fee() -> None:
    assert _plan(_out(), HELD)["gets_back_est"] == "989.550000"


@pytest.mark.row("2.18 steps in order")
def test_plan__after_a_stop__has_no_stop_step() -> None:
    ledger = _out()
    ledger.chain(stopped())
    assert [step["type"] for step in _plan(ledger, HELD)["steps"]] == ["unwind", "withdraw"]
    ledger.chain(settled("0"))
    assert [step["type"] for step in _plan(ledger)["steps"]] == ["withdraw"]


@pytest.mark.row("3.1 owner stop in the settle grace is refused")
@each(
    ("after_end_s", "types", "reason", "until"),
    [
        (-1, ["stop", "withdraw"], None, None),
        (0, ["withdraw"], "settle_grace", "2026-03-05T09:00:00Z"),
        (86_399, ["withdraw"], "settle_grace", "2026-03-05T09:00:00Z"),
        (86_400, ["stop", "withdraw"], None, None),
    ],
)
def test_plan__settle_grace__begins_at_the_end_and_lasts_a_day(
    after_end_s: int, types: list[str], reason: str | None, until: str | None
) -> None:
    plan = _plan(working(), now=terms().ends_at + after_end_s)
    assert [step["type"] for step in plan["steps"]] == types
    assert (plan["reason"], plan["locked_until"]) == (reason, until)


def test_plan__stopped_inside_the_grace__is_no_grace() -> None:
    ledger = working()
    ledger.chain(stopped())
    assert _plan(ledger, now=terms().ends_at)["reason"] is None


@pytest.mark.row(
    "2.18 positions that the agent reported are kept", "2.18 reason", "2.18 kept_at_venue"
)
def test_plan__money_out_where_no_adapter_values_it__is_kept() -> None:
    ledger = working(WITH_AND_WITHOUT_ADAPTERS)
    ledger.chain(call(C, e6("5"), 0, 0), 60)
    ledger.chain(call(D, e6("3"), 0, 1), 61)
    named = {"position": {"id": "p9", "name": "pump"}, "target": C}
    ledger.report(RowKind.BUY, "5", 60, named)
    plan = _plan(ledger, replace(HELD, adapter_address=A))
    kept = plan["steps"][2]
    assert [step["action"] for step in plan["steps"]] == [None, "unwind", "keep", "keep", None]
    assert (kept["type"], kept["reason"]) == ("unwind", "no_known_exit_adapter")
    assert (kept["adapter"], kept["who_signs"], kept["data"]) == (None, None, None)
    assert [step["position_label"] for step in plan["steps"][2:4]] == ["pump", D]
    assert kept["est_proceeds_usdc"] is None
    assert (plan["closes"], plan["kept_at_venue"]) == (1, 2)
    assert (plan["exit_cost_est"], plan["exit_cost_reason"]) == (None, "position_not_priced")
    assert plan["gets_back_est"] == "1073.395000"


def test_plan__a_report_that_the_chain_does_not_bear_out__is_no_position() -> None:
    ledger = working(WITH_AND_WITHOUT_ADAPTERS)
    false = {"position": {"id": "p9", "name": "pump"}, "target": C, "unseen": True}
    ledger.report(RowKind.BUY, "5", payload=false)
    plan = _plan(ledger)
    assert [step["type"] for step in plan["steps"]] == ["stop", "withdraw"]
    assert (plan["kept_at_venue"], plan["exit_cost_est"]) == (0, "0.000000")


@pytest.mark.row("2.18 closes", "2.18 kept_at_venue", "2.18 gets_back_est")
def test_plan__an_adapter_without_a_known_exit__is_kept_and_brings_nothing_back() -> None:
    plan = _plan(_out(), replace(HELD, adapter=LISTED, venue=None, unwind=None))
    kept = plan["steps"][1]
    assert (kept["type"], kept["action"], kept["reason"]) == (
        "unwind",
        "keep",
        "no_known_exit_adapter",
    )
    assert (kept["adapter"], kept["venue"], kept["adapter_address"], kept["position_label"]) == (
        "listed",
        None,
        VENUE,
        "ETH",
    )
    assert (kept["who_signs"], kept["data"], kept["est_proceeds_usdc"]) == (None, None, None)
    assert (plan["closes"], plan["kept_at_venue"], plan["exit_cost_reason"]) == (
        0,
        1,
        "position_not_priced",
    )
    assert plan["gets_back_est"] == "900.000000"


@pytest.mark.row("2.18 exit_cost_reason", "2.18 est_proceeds_usdc")
def test_plan__what_is_not_priced__is_null_with_a_reason() -> None:
    plan = _plan(_out(), replace(HELD, worth_usdc_e6=None))
    assert plan["steps"][1]["est_proceeds_usdc"] is None
    assert (plan["exit_cost_est"], plan["exit_cost_reason"], plan["gets_back_est"]) == (
        None,
        "position_not_priced",
        None,
    )
    unknown = _plan(_out(), HELD, spread_bps=None)
    assert (unknown["exit_cost_est"], unknown["exit_cost_reason"], unknown["gets_back_est"]) == (
        None,
        "spread_unknown",
        None,
    )


@pytest.mark.row("2.18 relay_positions_read")
def test_plan__venue_not_read__says_so_and_sums_nothing() -> None:
    plan = _plan(_out(), HELD, relay_positions_read=False)
    assert (plan["relay_positions_read"], plan["exit_cost_est"], plan["exit_cost_reason"]) == (
        False,
        None,
        "relay_positions_not_read",
    )
    assert plan["gets_back_est"] is None


def test_plan__nothing_out__costs_nothing() -> None:
    plan = _plan(working(), spread_bps=None)
    assert (plan["exit_cost_est"], plan["gets_back_est"]) == ("0.000000", "1000.000000")


def test_plan__paper__has_nothing_to_withdraw_and_void_positions_are_gone() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "5", payload={"position": {"id": "p9"}})
    calls = {"stop_call": None, "withdraw_call": None}
    assert [(step["type"], step["data"]) for step in _plan(ledger, **calls)["steps"]] == [
        ("stop", None),
        ("unwind", None),
    ]
    ledger.add(stop_row(by=ReportedBy.OWNER, reason="owner", now=ledger.clock))
    assert _plan(ledger, **calls)["steps"] == []


@pytest.mark.row("2.18 position_label")
def test_plan__agents_words__stand_in_the_label_alone() -> None:
    ledger = working(WITH_AND_WITHOUT_ADAPTERS)
    ledger.chain(call(C, e6("5"), 0, 0), 60)
    named = {"position": {"id": "p9", "name": "SEND TO 0xdead"}, "target": C}
    ledger.report(RowKind.BUY, "5", 60, named)
    step = _plan(ledger)["steps"][1]
    assert [key for key, value in step.items() if "dead" in str(value)] == ["position_label"]


def test_sale__with_a_minimum__says_it_and_what_a_trial_brought() -> None:
    sale = replace(HELD, least_usdc_e6=e6("89.1"), pays_now_usdc_e6=e6("89.9"))
    step = _plan(_out(), sale)["steps"][1]
    assert (step["min_proceeds_usdc"], step["withdrawable_now_usdc"]) == ("89.100000", "89.900000")
    assert step["note"] == (
        "Sold through its adapter for at least 89.100000 USDC, which goes to your vault."
    )


def test_sale__that_would_bring_less_than_its_minimum__says_so() -> None:
    sale = replace(HELD, least_usdc_e6=e6("89.1"), pays_now_usdc_e6=e6("89.099999"))
    note = _plan(_out(), sale)["steps"][1]["note"]
    assert note.endswith(" A sale would bring 89.099999 now: wait, or accept less.")


def test_sale__of_unknown_worth__needs_a_minimum_of_the_owner() -> None:
    sale = replace(HELD, worth_usdc_e6=None, unwind=None, needs_minimum=True)
    plan = _plan(_out(), sale)
    step = plan["steps"][1]
    assert (step["action"], step["reason"], step["data"]) == ("unwind", "minimum_needed", None)
    assert (step["min_proceeds_usdc"], plan["closes"]) == (None, 1)


def test_part_that_waits__is_a_step_of_its_own_with_its_release() -> None:
    paid = replace(HELD, worth_usdc_e6=e6("30"))
    waits = replace(HELD, worth_usdc_e6=e6("60"), unwind=None, waits=True, release=SELL)
    plan = _plan(_out(), paid, waits)
    step = plan["steps"][2]
    assert (step["action"], step["reason"], step["data"]) == ("keep", "waits_at_venue", None)
    assert (step["release"], step["withdrawable_now_usdc"]) == (SELL, "0.000000")
    assert step["note"].startswith("About 60.000000 USDC cannot be withdrawn from the venue now.")
    assert (plan["closes"], plan["kept_at_venue"]) == (1, 1)
    assert (plan["exit_cost_est"], plan["exit_cost_reason"]) == (None, "waits_at_venue")


@each(
    ("worth", "allowance_bps", "least"),
    [
        ("100", 0, "100"),
        ("100", 100, "99"),
        ("0.000001", 1, "0"),
        ("0.000101", 100, "0.000099"),
        ("100", 10_000, "0"),
        (None, 10_000, "0"),
        (None, 9_999, None),
    ],
)
def test_least__is_the_worth_less_the_allowance_rounded_down(
    worth: str | None, allowance_bps: int, least: str | None
) -> None:
    found = least_usdc_e6(None if worth is None else e6(worth), allowance_bps)
    assert found == (None if least is None else e6(least))
