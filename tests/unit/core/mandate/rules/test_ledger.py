"""The fold: exact values, life, reversals, and the same state however the rows are split."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules import events as ev
from core.mandate.rules.cash import cancelled_note, stop_row
from core.mandate.rules.fold import apply, effective, fold, fold_on
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.new_rows import expired_note, revert_note
from core.mandate.rules.reports import ReportedFacts, ReportsByTx
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import (
    EMPTY_STATE,
    MandateState,
    StateVersionError,
    state_from_json,
    state_to_json,
)
from tests.unit.core.mandate.rules.ledgers import (
    AGENT,
    OWNER,
    PAPER,
    STRANGER,
    TESTNET,
    USDC,
    VAULT,
    VENUE,
    SampleLedger,
    created,
    deposited,
    e6,
    executed,
    marked,
    paid,
    settled,
    stopped,
    tx,
    unwound,
    withdrawn,
    working,
)

# Life


def test_status__testnet__works_when_the_vault_holds_the_budget_and_not_before() -> None:
    ledger = SampleLedger()
    assert ledger.state == EMPTY_STATE
    ledger.sign()
    assert (ledger.state.status, ledger.state.cash_usdc_e6) == (Status.SIGNED, 0)
    ledger.chain(created())
    ledger.chain(deposited("999.999999"))
    assert ledger.state.status is Status.SIGNED
    ledger.chain(deposited("0.000001"))
    assert (ledger.state.status, ledger.state.deposited_usdc_e6) == (Status.WORKING, e6("1000"))
    assert (ledger.state.vault_address, ledger.state.agent_on_chain, ledger.state.agent_known) == (
        VAULT,
        AGENT,
        True,
    )


def test_status__deposit_log_before_the_vaults_own__works_all_the_same() -> None:
    ledger = SampleLedger()
    ledger.sign()
    ledger.chain(deposited("1000"))
    assert ledger.state.status.value == "signed"
    ledger.chain(created())
    assert ledger.state.status.value == "working"


def test_status__a_vault_for_an_unsigned_draft__is_signed_by_the_chain() -> None:
    ledger = SampleLedger()
    row = ledger.chain(created())
    assert (ledger.state.status, ledger.state.signed_at) == (Status.SIGNED, row.occurred_at)


def test_status__paper__works_from_the_signature_on_with_the_budget_as_cash() -> None:
    state = working(PAPER).state
    assert (state.status, state.cash_usdc_e6, state.deposited_usdc_e6) == (
        Status.WORKING,
        e6("1000"),
        e6("1000"),
    )


def test_stop__without_a_known_worth__worth_is_unknown_not_zero() -> None:
    ledger = working()
    ledger.chain(stopped(OWNER, "owner"))
    assert ledger.state.stop_worth_usdc_e6 is None


def test_settled__stays_settled_and_ended_when_it_first_ended() -> None:
    ledger = working()
    stop = ledger.chain(stopped())
    first = ledger.chain(settled("5"))
    ledger.chain(unwound("10"))
    ledger.chain(settled("1"))
    state = ledger.state
    assert (state.status, state.ended_at, state.settled_at) == (
        Status.SETTLED,
        stop.occurred_at,
        first.occurred_at,
    )
    assert state.paid_out_usdc_e6 == e6("6")


def test_cancel__signed_without_a_vault__is_cancelled_and_with_one__is_not() -> None:
    ledger = SampleLedger()
    ledger.sign()
    row = ledger.chain(ev.TermsCancelled("0x" + "33" * 32, OWNER))
    assert (ledger.state.status, ledger.state.unfunded_end_block) == (
        Status.CANCELLED,
        row.block_number,
    )
    funded = working()
    funded.chain(ev.TermsCancelled("0x" + "33" * 32, OWNER))
    assert funded.state.status is Status.WORKING


def test_cancel__of_a_draft__ends_it_by_its_owners_word() -> None:
    ledger = SampleLedger()
    row = ledger.add(cancelled_note(ledger.clock))
    state = ledger.state
    assert (state.status, state.ended_at, state.unfunded_end_block) == (
        Status.CANCELLED,
        row.occurred_at,
        None,
    )


def test_cancel__of_a_draft_whose_terms_the_chain_ended__waits_for_no_block() -> None:
    ledger = SampleLedger()
    ledger.chain(ev.TermsCancelled("0x" + "33" * 32, OWNER))
    assert ledger.state.unfunded_end_block is not None
    row = ledger.add(cancelled_note(ledger.clock))
    assert (ledger.state.ended_at, ledger.state.unfunded_end_block) == (row.occurred_at, None)


def test_cancel__of_a_draft_whose_vault_is_made_all_the_same__is_signed_by_it() -> None:
    ledger = SampleLedger()
    ledger.add(cancelled_note(ledger.clock))
    ledger.chain(created(AGENT))
    assert (ledger.state.status, ledger.state.ended_at) == (Status.SIGNED, None)


def test_what_the_record_alone_said__ends_no_signed_terms() -> None:
    """Older records stopped and cancelled terms that could still become a vault; the vault then
    worked, and its record said stopped.
    """
    ledger = SampleLedger()
    ledger.sign()
    ledger.add(cancelled_note(ledger.clock))
    ledger.add(stop_row(by=ReportedBy.AGENT, reason="agent", now=ledger.clock))
    state = ledger.state
    assert (state.status, state.stopped_at, state.ended_at) == (Status.SIGNED, None, None)
    ledger.chain(created(AGENT))
    ledger.chain(deposited("1000"))
    assert ledger.state.status is Status.WORKING


def test_stop__before_the_budget_was_there__names_its_block_and_one_of_a_working_vault_does_not() -> (
    None
):
    ledger = SampleLedger()
    ledger.sign()
    ledger.chain(created(AGENT))
    row = ledger.chain(stopped(OWNER, "owner"))
    assert (ledger.state.status, ledger.state.unfunded_end_block) == (
        Status.STOPPED,
        row.block_number,
    )
    funded = working()
    funded.chain(stopped(OWNER, "owner"))
    assert (funded.state.status, funded.state.unfunded_end_block) == (Status.STOPPED, None)


def test_expired__ends_terms_without_a_vault_and_a_vault_that_was_there_before_takes_it_back() -> (
    None
):
    ledger = SampleLedger()
    ledger.sign()
    row = ledger.add(expired_note(ledger.clock, safe_block=7))
    assert (ledger.state.status, ledger.state.ended_at, ledger.state.unfunded_end_block) == (
        Status.CANCELLED,
        row.occurred_at,
        None,
    )
    ledger.chain(created(AGENT))
    assert (ledger.state.status, ledger.state.ended_at) == (Status.SIGNED, None)


def test_pause__agent_removed_pauses_and_agent_set_resumes() -> None:
    ledger = working()
    removed = ledger.chain(ev.AgentRemoved(AGENT, OWNER))
    assert (ledger.state.paused, ledger.state.paused_at, ledger.state.agent_on_chain) == (
        True,
        removed.occurred_at,
        None,
    )
    back = ledger.chain(ev.AgentSet(STRANGER))
    state = ledger.state
    assert (state.paused, state.paused_at) == (False, None)
    assert (state.last_paused_at, state.last_resumed_at) == (removed.occurred_at, back.occurred_at)
    assert (state.agent_on_chain, state.last_agent_set, state.status) == (
        STRANGER,
        STRANGER,
        Status.WORKING,
    )


def test_pause__first_agent_of_an_open_board_vault__is_no_resume() -> None:
    ledger = SampleLedger()
    ledger.sign()
    ledger.chain(created("0x0000000000000000000000000000000000000000"))
    assert (ledger.state.agent_on_chain, ledger.state.agent_known) == (None, True)
    ledger.chain(ev.AgentSet(AGENT))
    assert (ledger.state.agent_on_chain, ledger.state.last_resumed_at) == (AGENT, None)


def test_pause__after_a_stop__neither_pauses_nor_resumes() -> None:
    ledger = working()
    ledger.chain(ev.AgentRemoved(AGENT, OWNER))
    ledger.chain(stopped())
    ledger.chain(ev.AgentSet(AGENT))
    assert ledger.state.last_resumed_at is None
    other = working()
    other.chain(stopped())
    other.chain(ev.AgentRemoved(AGENT, OWNER))
    assert other.state.paused is False


# Conduct


def _revert(
    ledger: SampleLedger, number: int, reason: str = "OverPerTxCap", proves: int | None = None
) -> LedgerRow:
    note = revert_note(
        chain_id=84532,
        tx_hash=tx(number),
        block_number=number,
        block_hash=tx(number),
        at=int(ledger.clock.timestamp()),
        reason=reason,
        proves_event_id=proves,
    )
    return ledger.add(note)


def _refusal(ledger: SampleLedger, number: int | None) -> LedgerRow:
    return ledger.report(
        RowKind.NOTE,
        tx_number=number,
        payload={"refusal": {"reason": "OverPerTxCap", "source": "agent"}},
    )


# Reversals


def test_effective__leaves_out_the_reversed_row_and_its_reversal() -> None:
    ledger = working()
    lost = ledger.chain(executed("10"))
    kept = ledger.chain(executed("20"))
    ledger.reverse(lost)
    assert [row.seq for row in effective(ledger.rows)] == [1, 2, 3, kept.seq]


def test_apply__a_reversal__asks_for_a_fold() -> None:
    ledger = working()
    reversal = ledger.reverse(ledger.chain(executed("10")))
    with pytest.raises(ValueError, match="fold the effective rows"):
        apply(ledger.state, reversal, TESTNET, ReportedFacts())


def test_reversal__of_the_stop__the_mandate_works_again() -> None:
    ledger = working()
    before = ledger.state
    mark, stop = ledger.chain(marked("799"), 80), ledger.chain(stopped(worth="799"), 80)
    assert ledger.state.status is Status.STOPPED
    ledger.reverse(stop)
    ledger.reverse(mark)
    assert ledger.state == before


# Every fold


AMOUNTS = st.integers(min_value=0, max_value=40_000_000)
POSITIONS = st.sampled_from(["p1", "p2"])
TX = st.integers(min_value=100, max_value=104)
STEP = st.one_of(
    st.tuples(st.just("executed"), AMOUNTS, AMOUNTS, TX),
    st.tuples(st.just("buy"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("sell"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("resolve"), st.integers(-40_000_000, 40_000_000), POSITIONS, TX),
    st.tuples(st.just("mark"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("fee"), AMOUNTS, st.sampled_from(["x402", "venue", "odd"]), TX),
    st.tuples(st.just("paid"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("marked"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("refusal"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("revert"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("unwound"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("agent"), st.booleans(), POSITIONS, TX),
    st.tuples(st.just("stop"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("settled"), AMOUNTS, POSITIONS, TX),
    st.tuples(st.just("withdrawn"), AMOUNTS, POSITIONS, TX),
)


def _play(ledger: SampleLedger, step: tuple) -> LedgerRow:  # type: ignore[type-arg]
    word, amount, other, number = step
    text = f"{'-' if amount < 0 else ''}{abs(amount) // 10**6}.{abs(amount) % 10**6:06d}"
    match word:
        case "executed":
            return ledger.chain(executed(text, f"0.{other % 10**6:06d}", nonce=number), number)
        case "buy" | "sell" | "resolve":
            return ledger.report(
                RowKind(word),
                text,
                number,
                {"position": {"id": other}, "violation": {"codes": [word], "detail": {}}},
            )
        case "mark":
            return ledger.report(
                RowKind.NOTE,
                None,
                None,
                {"mark": {"position_id": other, "worth_usdc": text}, "next_at": "soon"},
            )
        case "fee":
            return ledger.report(RowKind.FEE, text, number, {"fee_kind": other})
        case "refusal":
            return _refusal(ledger, number)
        case "revert":
            return _revert(ledger, number)
        case "agent":
            return ledger.chain(
                ev.AgentSet(AGENT) if amount else ev.AgentRemoved(AGENT, OWNER), number
            )
        case "stop":
            return ledger.chain(stopped(), number)
        case _:
            events: dict[str, Any] = {
                "paid": paid,
                "marked": marked,
                "unwound": unwound,
                "settled": settled,
                "withdrawn": withdrawn,
            }
            return ledger.chain(events[word](text), number)


def _identity(state: MandateState) -> int:
    inflow = state.deposited_usdc_e6 + state.received_usdc_e6
    return inflow - state.spent_usdc_e6 - state.withdrawn_usdc_e6 - state.paid_out_usdc_e6


@given(steps=st.lists(STEP, max_size=14), cut=st.integers(0, 17), is_paper=st.booleans())
def test_fold__split_anywhere_and_stored_in_between__is_the_same(
    steps: list[tuple], cut: int, is_paper: bool
) -> None:  # type: ignore[type-arg]
    ledger = working(PAPER if is_paper else TESTNET)
    for step in steps:
        _play(ledger, step)
    whole = fold(ledger.rows, ledger.facts)
    told = ReportsByTx(ledger.rows[:cut])
    state = fold(ledger.rows[:cut], ledger.facts)
    for row in ledger.rows[cut:]:
        state = fold_on(
            state_from_json(json.loads(json.dumps(state_to_json(state)))), [row], ledger.facts, told
        )
    assert state == whole
    assert (
        whole.cash_usdc_e6 == _identity(whole) == sum(row.cash_delta_usdc_e6 for row in ledger.rows)
    )


@given(
    before=st.lists(STEP, max_size=6),
    lost=st.lists(STEP, min_size=1, max_size=4),
    after=st.lists(STEP, max_size=6),
)
def test_reversal__is_as_if_the_rows_had_never_happened(
    before: list[tuple], lost: list[tuple], after: list[tuple]
) -> None:  # type: ignore[type-arg]
    reorged, straight = working(), working()
    for step in before:
        _play(reorged, step)
        _play(straight, step)
    gone = [_play(reorged, step) for step in lost]
    for row in reversed(gone):
        reorged.reverse(row)
    reorged.clock = straight.clock
    for step in after:
        _play(reorged, step)
        _play(straight, step)
    assert reorged.state == straight.state
    assert reorged.state.cash_usdc_e6 == sum(row.cash_delta_usdc_e6 for row in reorged.rows)


# JSON


def test_state_json__of_a_full_state__comes_back_the_same() -> None:
    ledger = working()
    ledger.chain(executed("10"), 60)
    ledger.report(
        RowKind.BUY,
        "10",
        60,
        {
            "position": {"id": "p1", "name": "ETH", "qty": "1"},
            "target": VENUE,
            "next_at": "2026-02-03T00:00:00Z",
        },
    )
    ledger.report(RowKind.FEE, "1", 61, {"fee_kind": "gas"})
    _refusal(ledger, 62)
    ledger.chain(marked("995"))
    ledger.chain(ev.AgentRemoved(AGENT, OWNER))
    ledger.chain(stopped())
    ledger.chain(settled("0"))
    stored = json.loads(json.dumps(state_to_json(ledger.state)))
    assert state_from_json(stored) == ledger.state


def test_state_json__of_another_version__asks_for_a_new_fold() -> None:
    with pytest.raises(StateVersionError, match="fold the ledger again"):
        state_from_json({**state_to_json(EMPTY_STATE), "version": 0})


def test_last_row_at__is_the_latest_time_not_the_last_row() -> None:
    ledger = working()
    latest = ledger.report(RowKind.NOTE, at=ledger.clock + timedelta(hours=1))
    ledger.chain(executed("1"))
    assert ledger.state.last_row_at == latest.occurred_at


def test_withdrawn__usdc_in_any_case__is_usdc() -> None:
    ledger = working()
    row = ledger.chain(withdrawn("1", token=USDC.lower()))
    assert row.cash_delta_usdc_e6 == -e6("1")
