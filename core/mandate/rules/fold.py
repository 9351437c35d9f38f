"""The fold: rows of one mandate's ledger, oldest first, to its state.

Laws
- fold(rows) = apply(... apply(apply(EMPTY_STATE, r1), r2) ..., rn) over the effective rows: one by
  one or all at once, the state is the same. A reversed row counts as if it had never been written.
- A row is applied with what earlier rows of its transaction reported (reports.py): the state
  does not hold it.
- What the chain, the owner and the keeper say is read from their rows only: an agent's payload may
  hold any key.
- The chain's row of a payment replaces the agent's report of the same payment: a fee is counted
  once.
- Money out where no adapter values it is counted as the vault counts it: row by row, all such
  targets together.
- A refusal is counted once, whether the agent or the block scan came first. What an agent reported
  as paid for tools by a transaction that the chain shows as reverted was not paid.
- A flag of a report counts only while the chain does not contradict the report (reports.py).
- On testnet nothing but the chain ends signed terms: a stop, payout or cancellation without a
  block, as older records have them, ends nothing. What was never signed ends by its owner's word.

          signed            deposited = budget            stop              payout
   draft --------> signed ---------------------> working -------> stopped ---------> settled
                  (paper: working at once)              '--- payout after the end ---^
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from core.mandate.rules.cash import (
    Moved,
    chain_fact,
    moved_at,
    returned,
    spent_and_received,
    with_mark,
)
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.positions import usable_usdc_e6, with_reported
from core.mandate.rules.reports import (
    PROVABLE_CLASSES,
    ReportedFacts,
    ReportsByTx,
    fee_class_of,
    is_refusal,
    with_flags,
    with_flags_compared,
)
from core.mandate.rules.rows import TRADES, LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import (
    EMPTY_STATE,
    LastBatch,
    MandateFacts,
    MandateState,
    changed,
    unvalued_out_after,
    unvalued_out_after_proceeds,
)


def fold(rows: Iterable[LedgerRow], facts: MandateFacts) -> MandateState:
    """The state after `rows`, oldest first, reversals included or already left out."""
    return fold_on(EMPTY_STATE, effective(rows), facts, ReportsByTx())


def fold_on(
    state: MandateState, rows: Iterable[LedgerRow], facts: MandateFacts, reports: ReportsByTx
) -> MandateState:
    """The state after more rows that count, oldest first.

    `reports`: of the rows before them; these are added to it.
    """
    for row in rows:
        state = apply(state, row, facts, reports.of(row))
        reports.add(row)
    return state


def effective(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """The rows that count: without reversed rows and without their reversals, in the same order."""
    listed = list(rows)
    reversed_ids = {row.reverses_id for row in listed if row.reverses_id is not None}
    return [row for row in listed if row.reverses_id is None and row.id not in reversed_ids]


def apply(
    state: MandateState, row: LedgerRow, facts: MandateFacts, earlier: ReportedFacts
) -> MandateState:
    """The state after one more row. `earlier`: what the rows before it report of its transaction.

    Errors: ValueError for a reversal, which needs a fold of the rows that are left.
    """
    if row.reverses_id is not None:
        raise ValueError(f"row {row.seq} reverses another: fold the effective rows instead")
    moved = spent_and_received(row)
    state = _with_unvalued(state, row, facts, moved)
    if earlier.flagged:
        state = with_flags_compared(state, row, earlier)
    executed = chain_fact(row, "executed") if row.kind in TRADES else None
    if executed is not None:
        return _executed(state, row, executed, moved, facts)
    state = _with_cash(state, row, moved)
    if row.kind in TRADES:
        state = _trade(state, row, facts)
    elif row.kind is RowKind.FEE:
        state = _fee(state, row, earlier, facts)
    else:
        state = _BY_KIND[row.kind](state, row, facts)
    if is_refusal(row):
        state = _refused(state, row, earlier)
    if row.reported_by is ReportedBy.AGENT:
        state = with_flags(_with_report(state, row, facts), row, earlier)
    last_row_at = _later(state.last_row_at, row.occurred_at)
    return changed(state, status=_funded(state, facts), last_row_at=last_row_at)


def _funded(state: MandateState, facts: MandateFacts) -> Status:
    if (
        state.status is Status.SIGNED
        and state.vault_address
        and state.deposited_usdc_e6 >= facts.budget_usdc_e6
    ):
        return Status.WORKING
    return state.status


# Cash


def _with_cash(state: MandateState, row: LedgerRow, moved: Moved) -> MandateState:
    delta = row.cash_delta_usdc_e6
    cash = state.cash_usdc_e6 + delta
    match row.kind:
        case RowKind.DEPOSIT:
            deposited = state.deposited_usdc_e6 + delta
            return changed(state, cash_usdc_e6=cash, deposited_usdc_e6=deposited)
        case RowKind.PAYOUT:
            paid_out = state.paid_out_usdc_e6 - delta
            return changed(state, cash_usdc_e6=cash, paid_out_usdc_e6=paid_out)
        case RowKind.WITHDRAW:
            donated = state.donated_usdc_e6 + (row.amount_usdc_e6 or 0) + delta
            state = changed(state, cash_usdc_e6=cash, donated_usdc_e6=donated)
            if state.status is Status.SIGNED:  # not funded yet: deposits go back
                return changed(state, deposited_usdc_e6=state.deposited_usdc_e6 + delta)
            return changed(state, withdrawn_usdc_e6=state.withdrawn_usdc_e6 - delta)
        case _:
            spent, received = moved
            if not spent and not received:  # then the delta is none either
                return state
            return changed(
                state,
                cash_usdc_e6=cash,
                spent_usdc_e6=state.spent_usdc_e6 + spent,
                received_usdc_e6=state.received_usdc_e6 + received,
            )


def _with_unvalued(
    state: MandateState, row: LedgerRow, facts: MandateFacts, moved: Moved
) -> MandateState:
    """The vault's counter of money that no adapter values, which a call of the agent, an unwind and
    proceeds move.
    """
    if not facts.positions.unvalued:
        return state
    before, rules = state.unvalued_out_usdc_e6, facts.positions
    if proceeds := chain_fact(row, "proceeds"):
        out = unvalued_out_after_proceeds(
            before, rules, str(proceeds.get("adapter")), row.amount_usdc_e6 or 0
        )
    elif called := chain_fact(row, "executed") or chain_fact(row, "unwound"):
        spent, received = moved
        target, selector = str(called.get("target")), str(called.get("selector"))
        out = unvalued_out_after(
            before, rules, target, selector, spent_usdc_e6=spent, received_usdc_e6=received
        )
    else:
        return state
    return state if out == state.unvalued_out_usdc_e6 else changed(state, unvalued_out_usdc_e6=out)


# Kinds


def _signed(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    if state.status is not Status.DRAFT:
        return state if state.signed_at else changed(state, signed_at=row.occurred_at)
    status = Status.WORKING if facts.market_mode is MarketMode.PAPER else Status.SIGNED
    return changed(state, status=status, signed_at=row.occurred_at)


def _unchanged(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    return state


def _trade(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    """A move, buy or sell without an Executed event: on paper the agent's report."""
    if facts.market_mode is MarketMode.TESTNET or state.is_ended:
        return state
    return changed(state, **_move(state, row.occurred_at, max(0, -row.cash_delta_usdc_e6)))


def _executed(
    state: MandateState,
    row: LedgerRow,
    executed: Mapping[str, Any],
    moved: Moved,
    facts: MandateFacts,
) -> MandateState:
    """A move, buy or sell that the chain reports, cash and all: nearly every row of a long ledger,
    so that the state is copied once.
    """
    spent, received = moved
    batch = _batch(state.last_batch, row.tx_hash or "", executed.get("nonce"), spent)
    return changed(
        state,
        cash_usdc_e6=state.cash_usdc_e6 + row.cash_delta_usdc_e6,
        spent_usdc_e6=state.spent_usdc_e6 + spent,
        received_usdc_e6=state.received_usdc_e6 + received,
        status=_funded(state, facts),
        last_batch=batch,
        last_row_at=_later(state.last_row_at, row.occurred_at),
        **_move(state, row.occurred_at, batch.spent_usdc_e6),
        **moved_at(state, facts, str(executed.get("target")), spent=spent, received=received),
    )


def _batch(last: LastBatch | None, tx_hash: str, nonce: Any, spent: int) -> LastBatch:
    number = nonce if isinstance(nonce, int) else -1
    before = last.spent_usdc_e6 if last and (last.tx_hash, last.nonce) == (tx_hash, number) else 0
    return LastBatch(tx_hash=tx_hash, nonce=number, spent_usdc_e6=before + spent)


def _move(state: MandateState, at: datetime, spent: int) -> dict[str, Any]:
    """The fields that one more move sets."""
    return {
        "moves_count": state.moves_count + 1,
        "largest_move_usdc_e6": max(state.largest_move_usdc_e6, spent),
        "last_move_at": _later(state.last_move_at, at),
    }


def _fee(
    state: MandateState, row: LedgerRow, earlier: ReportedFacts, facts: MandateFacts
) -> MandateState:
    """A fee with a transaction is compared with earlier reports: the chain's word replaces the
    agent's, never adds to it.
    """
    amount, fee_class = row.amount_usdc_e6 or 0, fee_class_of(row)
    by_agent = row.reported_by is ReportedBy.AGENT
    if not by_agent and "adapter" in row.payload:
        state = changed(state, **moved_at(state, facts, str(row.payload["adapter"]), cost=amount))
    if fee_class in PROVABLE_CLASSES:
        if by_agent and (earlier.is_paid or (earlier.is_reverted and fee_class == "tools")):
            return state
        if not by_agent and not earlier.is_paid:
            for reported_class, (reported, count) in earlier.reported.items():
                state = _with_fee(state, reported_class, -reported, -count)
    return _with_fee(state, fee_class, amount, 1)


def _with_fee(state: MandateState, fee_class: str, amount: int, count: int) -> MandateState:
    match fee_class:
        case "tools":
            return changed(state, fees_tools_usdc_e6=state.fees_tools_usdc_e6 + amount)
        case "venue":
            return changed(state, fees_venue_usdc_e6=state.fees_venue_usdc_e6 + amount)
        case "network":
            return changed(state, fees_network_usdc_e6=state.fees_network_usdc_e6 + amount)
        case _:
            return changed(
                state,
                fees_unclassified_usdc_e6=state.fees_unclassified_usdc_e6 + amount,
                fees_unclassified_count=state.fees_unclassified_count + count,
            )


def _resolve(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    if facts.market_mode is MarketMode.PAPER and state.is_ended:
        return state
    return changed(state, resolved_usdc_e6=state.resolved_usdc_e6 + (row.amount_usdc_e6 or 0))


def _stop(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    if _is_word_alone(row, facts):
        return state
    stopped = row.payload.get("stopped")
    stopped = stopped if isinstance(stopped, Mapping) else {}
    state = _end(state, Status.STOPPED, row)
    if row.block_hash is not None:
        state = changed(state, agent_on_chain=None, agent_known=True)
    if state.stopped_at is not None:
        return state
    if stopped.get("worth_usdc") is not None:  # at the line, which the vault measures
        state = with_mark(state, row, stopped)
    return changed(
        state,
        stopped_at=row.occurred_at,
        stopped_by=row.reported_by.value,
        stop_reason=None if stopped.get("reason") is None else str(stopped["reason"]),
        stop_worth_usdc_e6=usable_usdc_e6(stopped.get("worth_usdc")),
    )


def _payout(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    """Settled; a later one (more was unwound) pays the rest and changes no status."""
    if _is_word_alone(row, facts):
        return state
    state = _end(state, Status.SETTLED, row)
    if row.block_hash is not None:
        state = changed(state, agent_on_chain=None, agent_known=True)
    return state if state.settled_at else changed(state, settled_at=row.occurred_at)


def _is_word_alone(row: LedgerRow, facts: MandateFacts) -> bool:
    """On testnet a signature that is out can become a vault whatever the record says; an end
    without a block is no end.
    """
    return row.block_hash is None and facts.market_mode is MarketMode.TESTNET


def _end(state: MandateState, status: Status, row: LedgerRow) -> MandateState:
    """Move on to an ending, never back: a stop after the settlement is only a fact beside it."""
    if state.status not in _ENDS[status]:
        return state
    if state.status in _UNFUNDED:
        state = changed(state, unfunded_end_block=row.block_number)
    return changed(state, status=status, ended_at=state.ended_at or row.occurred_at)


# Notes


def _note(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    if row.reported_by is not ReportedBy.AGENT:
        if unwound := chain_fact(row, "unwound"):
            state = returned(state, row, facts, str(unwound.get("target")))
        if proceeds := chain_fact(row, "proceeds"):
            state = returned(state, row, facts, str(proceeds.get("adapter")))
        for key, read in _NOTES.items():
            fact = row.payload.get(key)
            if fact is not None and (isinstance(fact, Mapping) or fact is True):
                state = read(state, row, fact if isinstance(fact, Mapping) else {})
    elif row.payload.get("stop_requested") is True:
        state = changed(state, stop_requested_at=state.stop_requested_at or row.occurred_at)
    return state


def _vault_created(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    """A vault proves its terms: a draft whose owner deployed it without notifying the service is
    signed by it, and terms that were thought to have expired have not.
    """
    if state.status in (Status.DRAFT, Status.CANCELLED):
        state = changed(
            state,
            status=Status.SIGNED,
            signed_at=state.signed_at or row.occurred_at,
            ended_at=None,
            unfunded_end_block=None,
        )
    agent = fact.get("agent")
    return changed(
        state,
        vault_address=str(fact.get("vault")),
        vault_created_at=row.occurred_at,
        agent_on_chain=agent,
        agent_known=True,
        last_agent_set=agent or state.last_agent_set,
    )


def _agent_set(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    agent = str(fact.get("agent"))
    state = changed(state, agent_on_chain=agent, agent_known=True, last_agent_set=agent)
    if not state.paused or state.is_ended:
        return state
    return changed(state, paused=False, paused_at=None, last_resumed_at=row.occurred_at)


def _agent_removed(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    state = changed(state, agent_on_chain=None, agent_known=True)
    if state.paused or state.is_ended:
        return state
    return changed(state, paused=True, paused_at=row.occurred_at, last_paused_at=row.occurred_at)


def _payee_changed(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    return changed(state, payee_named=str(fact.get("new_payee")))


def _cancelled(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    """By the chain's TermsCancelled, or by its time: from endsAt on the factory makes no vault of
    the terms.
    """
    return state if state.vault_address else _end(state, Status.CANCELLED, row)


def _dropped(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    """A draft by its owner's word, at once, even while the chain's end of its terms waits for a
    safe block.
    """
    if state.signed_at is not None:
        return state
    return changed(
        state, status=Status.CANCELLED, ended_at=row.occurred_at, unfunded_end_block=None
    )


def _refused(state: MandateState, row: LedgerRow, earlier: ReportedFacts) -> MandateState:
    """Count an attempt once: by its transaction, or by the proof's own word for which report it
    proves.
    """
    refusal, by_agent = row.payload["refusal"], row.reported_by is ReportedBy.AGENT
    known = row.payload.get("proves_event_id") is not None or earlier.is_refused
    is_reverted = not by_agent and row.payload.get("reverted") is True
    if is_reverted and not (earlier.is_reverted or earlier.is_paid):
        never_paid, count = earlier.reported.get("tools", (0, 0))
        state = _with_fee(state, "tools", -never_paid, -count)
    is_confirmed = not by_agent or refusal.get("server_check") == "confirmed"
    if by_agent and known:
        return state
    return changed(
        state,
        reverts_count=state.reverts_count + is_reverted,
        refusals_count=state.refusals_count + (not known),
        refusals_confirmed_count=state.refusals_confirmed_count + is_confirmed,
    )


# The agent's word


def _with_report(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    """Positions, marks and the next step of a report.

    After a paper mandate's end its positions are void.
    """
    if not (facts.market_mode is MarketMode.PAPER and state.is_ended):
        state = with_reported(state, row, facts)
    next_at = row.payload.get("next_at")
    if isinstance(next_at, str):
        state = changed(state, next_at=next_at[:64])
    return state


def _later(left: datetime | None, right: datetime) -> datetime:
    return right if left is None else max(left, right)


_ENDS: Mapping[Status, tuple[Status, ...]] = {  # from where each ending is reached
    Status.STOPPED: (Status.SIGNED, Status.WORKING),
    Status.SETTLED: (Status.SIGNED, Status.WORKING, Status.STOPPED),
    Status.CANCELLED: (Status.DRAFT, Status.SIGNED),
}
_UNFUNDED = (Status.DRAFT, Status.SIGNED)
_Fold = Callable[[MandateState, LedgerRow, MandateFacts], MandateState]
_BY_KIND: Mapping[RowKind, _Fold] = {
    RowKind.SIGNED: _signed,
    RowKind.DEPOSIT: _unchanged,
    RowKind.RESOLVE: _resolve,
    RowKind.STOP: _stop,
    RowKind.WITHDRAW: _unchanged,
    RowKind.PAYOUT: _payout,
    RowKind.NOTE: _note,
}
_NOTES: Mapping[str, Callable[[MandateState, LedgerRow, Mapping[str, Any]], MandateState]] = {
    "vault_created": _vault_created,
    "agent_set": _agent_set,
    "agent_removed": _agent_removed,
    "payee_changed": _payee_changed,
    "mark": with_mark,
    "terms_cancelled": _cancelled,
    "terms_expired": _cancelled,
    "cancelled": _dropped,
}
