"""What an agent sends, as rows."""

from typing import Any

import pytest

from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.rules.ledger import (
    NewRow,
    ReportedBy,
    RowKind,
    after_stop_note,
    event_row,
    guard_refusal_note,
    refusal_note,
    stop_request_note,
)
from core.mandate.rules.refusals import RefusalReason, RefusalReport
from core.mandate.rules.violations import Violation
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import PAPER, START, VENUE, e6, stopped, tx, working


def _event(**changes: Any) -> NewRow:
    standard: dict[str, Any] = {
        "kind": "buy",
        "amount_usdc_e6": e6("10"),
        "tx_hash": tx(9),
        "why": "cheap",
        "payload": {"target": VENUE},
        "violation": None,
        "fact": "u-1",
        "now": START,
    }
    return event_row(**standard | changes)


def test_event_row__keeps_the_payload_beside_why_and_the_servers_flag() -> None:
    row = _event(violation=Violation(("target_missing",), {"target_detail": "absent"}))
    assert (row.kind, row.reported_by, row.base_key, row.cash_delta_usdc_e6) == (
        RowKind.BUY,
        ReportedBy.AGENT,
        "report:u-1",
        0,
    )
    assert row.payload == {
        "target": VENUE,
        "why": "cheap",
        "violation": {"codes": ["target_missing"], "detail": {"target_detail": "absent"}},
    }


def test_event_row__without_a_why__has_none() -> None:
    assert _event(why=None).payload == {"target": VENUE}


@each("kind", ["deposit", "withdraw", "signed", "stop", "payout", "BUY", ""])
def test_event_row__a_kind_that_agents_may_not_report__is_refused(kind: str) -> None:
    with pytest.raises(
        InvalidParameterError, match="an agent reports one of move, buy, sell, fee, resolve, note"
    ):
        _event(kind=kind)


def test_event_row__only_a_resolve_may_be_negative() -> None:
    assert _event(kind="resolve", amount_usdc_e6=e6("-1")).amount_usdc_e6 == e6("-1")
    with pytest.raises(InvalidNumberError, match="only a resolve may be negative"):
        _event(amount_usdc_e6=e6("-0.000001"))


@each("key", ["violation", "executed", "vault_created", "refusal", "stop_requested"])
def test_event_row__a_key_that_only_the_server_writes__is_refused(key: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"payload\.{key}"):
        _event(payload={key: {}})


def test_refusal_note__is_the_agents_word_until_proven() -> None:
    row = refusal_note(
        RefusalReport(RefusalReason.OVER_PER_TX_CAP, tx(9), e6("150")), fact="u-2", now=START
    )
    assert (row.kind, row.base_key, row.tx_hash) == (RowKind.NOTE, f"refusal:{tx(9)}", tx(9))
    assert row.payload["refusal"] == {
        "reason": "OverPerTxCap",
        "source": "agent",
        "reason_source": "agent",
        "check": "reported",
        "server_check": "unconfirmed",
        "attempted": {"amount_usdc": "150.000000"},
    }
    nothing_sent = refusal_note(
        RefusalReport(RefusalReason.SERVER_GUARD, None, None), fact="u-3", now=START
    )
    assert (nothing_sent.base_key, nothing_sent.tx_hash) == ("refusal:u-3", None)


def test_after_stop_note__is_confirmed_and_counts() -> None:
    ledger = working(PAPER)
    ledger.chain(stopped())
    ledger.add(
        after_stop_note(
            kind=RowKind.BUY,
            amount_usdc_e6=e6("5"),
            tx_hash=None,
            why="late",
            fact="u-4",
            now=START,
        )
    )
    refusal = ledger.rows[-1].payload["refusal"]
    assert (refusal["reason"], refusal["code"], refusal["server_check"]) == (
        "MandateStopped",
        "mandate_stopped",
        "confirmed",
    )
    assert (
        ledger.state.refusals_count,
        ledger.state.refusals_confirmed_count,
        ledger.state.reverts_count,
    ) == (1, 1, 0)


def test_guard_refusal_note__is_confirmed_and_counts() -> None:
    ledger = working()
    ledger.add(guard_refusal_note(detail="host not listed", fact="u-5", now=START))
    assert (ledger.state.refusals_count, ledger.state.refusals_confirmed_count) == (1, 1)


def test_stop_request__is_a_note_and_stops_nothing() -> None:
    ledger = working()
    before = ledger.state.status
    row = ledger.add(stop_request_note(why="done", fact="u-6", now=START))
    assert (ledger.state.status, ledger.state.stop_requested_at) == (before, row.occurred_at)
