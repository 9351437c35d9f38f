"""Worth, fees, progress and agent_status: exact values and the shape after a stop."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from api.areas.mandates.rules.agent_status import HeldMandate, agent_status
from core.mandate.rules.cash import stop_row
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.progress import ProgressFacts, pct_text, progress_block
from core.mandate.rules.rows import ReportedBy, RowKind
from core.mandate.rules.state import EMPTY_STATE, MandateState
from core.mandate.rules.worth import (
    agent_fee_reserved_usdc_e6,
    exit_cost_up,
    gain_est_usdc_e6,
    worth_of,
)
from core.times import utc_text
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    DAY,
    OWNER,
    PAPER,
    START,
    TESTNET,
    VAULT,
    VENUE,
    SampleLedger,
    e6,
    executed,
    marked,
    settled,
    stopped,
    terms,
    unwound,
    withdrawn,
    working,
)
from tests.unit.core.mandate.rules.worked import table

NOW = int(START.timestamp()) + 3600


def _progress(ledger: SampleLedger, now: int = NOW, spread_bps: int | None = 50) -> dict[str, Any]:
    return progress_block(
        ledger.state,
        ProgressFacts(facts=ledger.facts, terms=terms(), spread_bps=spread_bps, now=now),
    )


# Worth


def test_worth__after_everything_was_unwound_and_withdrawn__is_nothing() -> None:
    ledger = working()
    ledger.chain(executed("100"))
    ledger.chain(marked("790"))
    ledger.chain(stopped(worth="790"))
    ledger.chain(unwound("100"))
    ledger.chain(withdrawn("1000"))
    assert worth_of(ledger.state, TESTNET).worth_usdc_e6 == 0


def test_agent_fee_reserved__bps_of_the_gain_rounded_down_less_what_was_paid() -> None:
    ledger = working()
    ledger.chain(executed("100"))
    ledger.chain(executed("0", "130.000009", nonce=1))
    state = ledger.state
    worth = worth_of(state, TESTNET)
    assert gain_est_usdc_e6(state, worth) == e6("30.000009")
    assert agent_fee_reserved_usdc_e6(state, worth, 1000) == e6("3")
    ledger.chain(stopped())
    ledger.chain(settled("3"))
    assert agent_fee_reserved_usdc_e6(ledger.state, worth_of(ledger.state, TESTNET), 1000) == 0


def test_agent_fee_reserved__deposits_and_losses_are_no_gain() -> None:
    ledger = working()
    assert agent_fee_reserved_usdc_e6(ledger.state, worth_of(ledger.state, TESTNET), 1000) == 0
    ledger.chain(marked("900"))
    assert agent_fee_reserved_usdc_e6(ledger.state, worth_of(ledger.state, TESTNET), 1000) == 0


@each(
    ("amount", "bps", "cost"),
    [(0, 50, 0), (1, 50, 1), (200, 50, 1), (201, 50, 2), (e6("100"), 50, e6("0.5"))],
)
def test_exit_cost__is_rounded_up(amount: int, bps: int, cost: int) -> None:
    assert exit_cost_up(amount, bps) == cost


# Fees


@each(
    ("part", "whole", "text"),
    [(5, 200, "2.50"), (-5, 200, "-2.50"), (1, 30_000, "0.00"), (-1, 30_000, "0.00"), (1, 0, None)],
)
def test_pct_text__two_decimals_towards_zero(part: int, whole: int, text: str | None) -> None:
    assert pct_text(part, whole) == text


# Progress


def test_progress__a_working_mandate() -> None:
    ledger = working()
    ledger.chain(executed("100"))
    ledger.chain(marked("990"))
    block = _progress(ledger)
    assert {
        key: block[key]
        for key in (
            "status",
            "worth_est",
            "worth_source",
            "cash",
            "positions_est",
            "floor",
            "realized",
        )
    } == {
        "status": "working",
        "worth_est": "990.000000",
        "worth_source": "chain_mark",
        "cash": "900.000000",
        "positions_est": "90.000000",
        "floor": "800.000000",
        "realized": "0.000000",
    }
    assert (block["leave_now_est"], block["exit_cost_est"]) == ("989.550000", "0.450000")
    assert block["leave_now_basis"] == {
        "formula": "cash + positions_est - exit_cost_est",
        "spread_bps": 50,
    }
    assert (block["day"], block["horizon_days"], block["next_event"]) == (
        1,
        30,
        {"code": "ends", "at": "2026-03-04T09:00:00Z"},
    )
    assert block["positions"] == [
        {
            "id": VENUE,
            "name": None,
            "status": "open",
            "source": "chain",
            "cost_usdc": "100.000000",
            "worth_est": "90.000000",
            "worth_source": "chain_mark",
            "worth_at": "2026-02-02T09:05:00Z",
        }
    ]
    assert all(rule["ok"] for rule in block["rules"])
    assert "data_issue" not in block
    assert "positions_void" not in block


def test_progress__unknown_spread__is_null_while_money_is_out() -> None:
    ledger = working()
    assert _progress(ledger, spread_bps=None)["leave_now_est"] == "1000.000000"
    ledger.chain(executed("100"))
    block = _progress(ledger, spread_bps=None)
    assert (block["leave_now_est"], block["exit_cost_est"]) == (None, None)


def test_progress__a_reported_position_at_a_target__is_listed_once() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    ledger.report(
        RowKind.MOVE, "100", 60, {"position": {"id": "p1", "name": "ETH"}, "target": VENUE.lower()}
    )
    assert [(one["id"], one["source"]) for one in _progress(ledger)["positions"]] == [
        ("p1", "agent")
    ]


@each(
    ("after_s", "day"),
    [(0, 1), (86_399, 1), (86_400, 2), (30 * 86_400 - 1, 30), (40 * 86_400, 30), (-5, 1)],
)
def test_day__counts_from_one_and_stays_within_the_horizon(after_s: int, day: int) -> None:
    assert _progress(working(), now=int(START.timestamp()) + after_s)["day"] == day


def test_day__before_the_signature__is_unknown_and_after_the_end__stands_still() -> None:
    assert _progress(SampleLedger())["day"] is None
    ledger = working()
    ledger.chain(stopped(), at=START + 3 * DAY)
    assert _progress(ledger, now=NOW + 20 * 86_400)["day"] == 4


def test_next_event__what_the_agent_announced_then_the_end_then_the_grace() -> None:
    ledger = working()
    ends_at = terms().ends_at
    ledger.report(RowKind.NOTE, payload={"next_at": "2026-02-02T12:00:00+00:00"})
    assert _progress(ledger)["next_event"] == {"code": "agent_next", "at": "2026-02-02T12:00:00Z"}
    assert _progress(ledger, now=NOW + 86_400)["next_event"]["code"] == "ends"
    assert _progress(ledger, now=ends_at)["next_event"] == {
        "code": "settle_grace_ends",
        "at": "2026-03-05T09:00:00Z",
    }
    assert _progress(ledger, now=ends_at + 86_400)["next_event"] is None
    ledger.chain(stopped())
    assert _progress(ledger)["next_event"] is None


@each("next_at", ["soon", "2026-02-02", "", "2026-02-02T12:00:00", "2099-01-01T00:00:00Z"])
def test_next_event__an_announcement_that_can_not_be_read_or_is_too_late__is_the_end(
    next_at: str,
) -> None:
    ledger = working()
    ledger.report(RowKind.NOTE, payload={"next_at": next_at})
    assert _progress(ledger)["next_event"]["code"] == "ends"


# Paper after a stop


def test_paper_after_a_stop__positions_are_void_and_their_cost_is_cash() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1", "name": "ETH"}})
    ledger.report(RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": "400"}})
    ledger.add(stop_row(by=ReportedBy.OWNER, reason="owner", now=ledger.clock))
    block = _progress(ledger)
    assert block["positions"] == []
    assert block["positions_void"] == [
        {"id": "p1", "name": "ETH", "status": "void", "cost_returned": "100.000000"}
    ]
    assert (block["cash"], block["worth_est"], block["worth_source"]) == (
        "1000.000000",
        "1000.000000",
        "cash",
    )


# agent_status


def _held(public_id: str, status: Status, minutes: int = 0) -> HeldMandate:
    ended_at = (
        START + timedelta(minutes=minutes)
        if status in (Status.STOPPED, Status.SETTLED, Status.CANCELLED)
        else None
    )
    state = MandateState(
        status=status, ended_at=ended_at, vault_address=VAULT, received_usdc_e6=e6("5")
    )
    return HeldMandate(public_id=public_id, market_mode=MarketMode.TESTNET, state=state)


def test_agent_status__active_and_ended_newest_first_at_most_ten() -> None:
    held = [
        _held("m_draft", Status.DRAFT),
        _held("m_signed", Status.SIGNED),
        _held("m_working", Status.WORKING),
        _held("m_gone", Status.CANCELLED),
    ]
    held += [_held(f"m_{n:02d}", Status.STOPPED if n % 2 else Status.SETTLED, n) for n in range(12)]
    status = agent_status(held)
    assert [one["id"] for one in status["active_mandates"]] == ["m_signed", "m_working"]
    assert [one["id"] for one in status["ended_mandates"]] == [
        f"m_{n:02d}" for n in range(11, 1, -1)
    ]
    assert status["ended_mandates"][0] == {
        "id": "m_11",
        "status": "stopped",
        "ended_at": "2026-02-02T09:11:00Z",
        "vault": VAULT,
        "market_mode": "testnet",
        "net_usdc": "5.000000",
        "net_basis": "realized",
    }


def test_worth__of_an_empty_ledger__is_nothing() -> None:
    assert worth_of(EMPTY_STATE, TESTNET).worth_usdc_e6 == 0


# The worked page


def _worked() -> list[tuple[str, dict[str, Any]]]:
    """The rows of docs/progress.md by their names, and progress after each."""
    ledger = working()
    acts: dict[str, Callable[[], object]] = {
        "deposit 1000": lambda: None,  # `working` has it
        "executed, spent 100": lambda: ledger.chain(executed("100"), 60),
        "agent marks its position 110": lambda: _agent_marks(ledger),
        "keeper marks 985.5": lambda: ledger.chain(marked("985.5"), 61),
        "executed, received 130": lambda: ledger.chain(executed("0", "130", nonce=1), 62),
        "stop": lambda: ledger.chain(stopped(), 63),
        "settled, fee 3": lambda: ledger.chain(settled("3", "30"), 64),
        "withdrawn 1027": lambda: ledger.chain(withdrawn("1027"), 65),
    }
    found = []
    for name, act in acts.items():
        act()
        found.append((name, _progress(ledger)))
    return found


def _agent_marks(ledger: SampleLedger) -> None:
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1"}})
    ledger.report(RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": "110"}})


def test_worked_numbers__row_by_row__are_progress() -> None:
    keys = (
        "cash",
        "positions_est",
        "worth_est",
        "worth_source",
        "realized",
        "agent_fee_reserved",
        "exit_cost_est",
        "leave_now_est",
    )
    assert table("progress.md", "row by row") == [
        [name, *(progress[key] for key in keys)] for name, progress in _worked()
    ]


def test_worked_numbers__after_fees__are_progress() -> None:
    results = [(name, progress["fees"]["net_after_fees_est"]) for name, progress in _worked()]
    assert table("progress.md", "after fees") == [
        [name, result["value"], result["pct"]] for name, result in results
    ]


def test_worked_numbers__of_days__are_progress() -> None:
    start = int(START.timestamp())
    rows = table("progress.md", "days")
    assert len(rows) == 7
    for second, day, code, at in rows:
        progress = _progress(working(), start + int(second))
        due = None if code == "-" else {"code": code, "at": utc_text(start + int(at))}
        assert (progress["day"], progress["next_event"]) == (int(day), due), second


def test_worked_numbers__of_the_stop_line__are_progress() -> None:
    rows = table("progress.md", "stop line")
    assert len(rows) == 2
    for worth, ok in rows:
        ledger = working()
        ledger.chain(marked(worth), 60)
        assert {rule["key"]: rule["ok"] for rule in _progress(ledger)["rules"]}["stop_line"] is (
            ok == "yes"
        ), worth


def _broken(ledger: SampleLedger) -> list[str]:
    return [rule["key"] for rule in _progress(ledger)["rules"] if not rule["ok"]]


def test_a_stop_line__is_not_broken_by_a_worth_of_what_the_owner_took_out() -> None:
    """From the smallest withdrawal on."""
    ledger = working()
    ledger.chain(marked("900"))
    ledger.chain(stopped(OWNER, "owner"))
    ledger.chain(marked("1"))
    assert "stop_line" in _broken(ledger)
    ledger.chain(withdrawn("0.000001"))
    assert "stop_line" not in _broken(ledger)


def test_a_position_that_the_chain_does_not_bear_out__hides_none_that_it_saw() -> None:
    ledger = working()
    ledger.chain(executed("50"), 60)
    false = {"target": VENUE, "position": {"id": "p1", "cost_usdc": "900"}, "unseen": True}
    ledger.report(RowKind.BUY, "900", 61, false)
    shown = [(one["source"], one["worth_est"]) for one in _progress(ledger)["positions"]]
    assert shown == [("chain", "50.000000"), ("agent", None)]
