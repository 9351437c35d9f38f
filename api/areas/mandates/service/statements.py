"""Statements of a week and the plan of leaving (wallet spec 2.12, 2.18)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from api.areas.mandates.schemas import AllWeeksQuery, MandatePath, WeekQuery
from api.areas.mandates.service.access import owned
from api.areas.mandates.service.owner_calls import lock_facts, stop_call_of, withdrawable_now
from api.areas.mandates.service.steps_now import with_their_txs
from api.areas.mandates.service.venues import adapter_positions, spread_bps
from api.areas.mandates.service.views import chain_now, facts_of, is_paper, state_of, terms_of, vault_of
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Call, Refusal
from core.books import mandate_ledger
from core.chain import calldata
from core.chain.rpc import RpcError
from core.db.repositories import mandate_rows, mandates
from core.db.tables.mandate import Mandate
from core.domain.mandate.close_plan import AdapterPosition, OwnerCall, PlanFacts, close_all_plan
from core.domain.mandate.ledger import MandateState
from core.domain.mandate.lifecycle import Status
from core.domain.mandate.lock import StoppedBy, lock_of
from core.domain.mandate.statement import StatementOf, WeekStatement, all_mandates_json, statement_json
from core.domain.mandate.steps import pause_actions
from core.domain.mandate.weeks import IsoWeek, week_from_text, week_of

OF_ALL = ("signed", "working", "stopped", "settled", "cancelled")
MANDATES_SHOWN = 500


def statement(call: Call, caller: OwnerCaller, command: WeekQuery) -> Answer:
    mandate = owned(call, caller, command.id)
    week = _week(command.week, call.now)
    statement = _week_of(call, mandate, week)
    whole = [row for row in with_their_txs(call, mandate, statement.rows) if row.occurred_at < week.end_at]
    controls = [row for row in mandate_rows.control_rows(call.db, mandate.id) if row.occurred_at < week.end_at]
    return Answer(statement_json(replace(statement, rows=tuple(whole), actions=pause_actions(controls))))


def statement_all(call: Call, caller: OwnerCaller, command: AllWeeksQuery) -> Answer:
    """Every mandate of the owner that was ever signed."""
    week = _week(command.week, call.now)
    found = mandates.mandates_of_owner(call.db, caller.account_id, OF_ALL, None, MANDATES_SHOWN)
    signed = [mandate for mandate in found if mandate.signed_at is not None]
    return Answer(all_mandates_json([_week_of(call, mandate, week) for mandate in signed], week, call.now))


def _week(text: str | None, now: datetime) -> IsoWeek:
    return week_of(now) if text is None else week_from_text(text, now)


def _week_of(call: Call, mandate: Mandate, week: IsoWeek) -> WeekStatement:
    """The numbers of a week. What only its steps need is left out: other rows of its transactions, and pauses."""
    day_before = week.start_at - timedelta(days=1)
    return WeekStatement(
        about=_about(mandate),
        week=week,
        as_of=min(call.now, week.end_at),
        start=mandate_ledger.load_before(call.db, mandate.id, week.start_at),
        end=_end_of(call, mandate, week),
        rows=tuple(mandate_rows.standing_between(call.db, mandate.id, day_before, week.end_at)),
        actions={},
    )


def _end_of(call: Call, mandate: Mandate, week: IsoWeek) -> MandateState:
    """The fold at the week's end; a draft that was cancelled has no row that could say so."""
    state = mandate_ledger.load_before(call.db, mandate.id, week.end_at)
    is_dropped_draft = mandate.signature is None and mandate.ended_at is not None and mandate.ended_at < week.end_at
    return replace(state, status=Status(mandate.status)) if is_dropped_draft else state


def _about(mandate: Mandate) -> StatementOf:
    return StatementOf(
        public_id=mandate.public_id,
        facts=facts_of(mandate),
        terms=terms_of(mandate),
        purpose=mandate.purpose,
        agent_id=None if mandate.agent_id is None else str(mandate.agent_id),
        vault_address=vault_of(mandate),
        strategy=mandate.strategy,
    )


def close_plan(call: Call, caller: OwnerCaller, command: MandatePath) -> Answer:
    """How the owner leaves, step by step. While the chain cannot be asked the plan says so and knows no positions."""
    mandate = owned(call, caller, command.id)
    if mandate.status in ("draft", "cancelled"):
        raise Refusal("wrong_status", f"The mandate is {mandate.status}; there is nothing to close.")
    state = state_of(call, mandate)
    positions, were_read = _positions(call, mandate, state)
    plan = PlanFacts(
        facts=facts_of(mandate),
        terms=terms_of(mandate),
        state=state,
        positions=positions,
        relay_positions_read=were_read,
        stop_call=_call_of(stop_call_of(call, mandate, StoppedBy.OWNER)),
        withdraw_call=_withdrawal(call, caller, mandate, state) if were_read and not positions else None,
        spread_bps=spread_bps(call, mandate),
        now=chain_now(call, mandate),
    )
    return Answer({"mandate_id": mandate.public_id, **close_all_plan(plan)})


def _positions(call: Call, mandate: Mandate, state: MandateState) -> tuple[tuple[AdapterPosition, ...], bool]:
    if is_paper(mandate):
        return (), True
    try:
        return adapter_positions(call, mandate, state), True
    except RpcError:
        return (), False


def _call_of(built: dict[str, Any]) -> OwnerCall | None:
    return None if built["data"] is None else OwnerCall(built["to"], built["data"])


def _withdrawal(call: Call, caller: OwnerCaller, mandate: Mandate, state: MandateState) -> OwnerCall | None:
    """The withdrawal of all, once nothing is out any more; before that its amount is not known."""
    vault = vault_of(mandate)
    if vault is None or not lock_of(lock_facts(mandate, state), chain_now(call, mandate)).withdrawable:
        return None
    amount, _ = withdrawable_now(call, vault, terms_of(mandate), state)
    return OwnerCall(vault, calldata.withdraw(call.deps.contracts["usdc"], caller.wallet_address, amount))
