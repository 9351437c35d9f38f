"""Statements of a week and the plan of leaving (docs/statements.md, docs/rules.md#leaving)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from api.areas.mandates.schemas.answers import AllStatements, CloseAllPlan, Statement
from api.areas.mandates.schemas.calls import Batch
from api.areas.mandates.schemas.commands import (
    AllWeeksQuery,
    ClosePlanQuery,
    StatementQuery,
    WeekQuery,
)
from api.areas.mandates.service.access import owned
from api.areas.mandates.service.current import Current, current_of
from api.areas.mandates.service.exports.figures import caution
from api.areas.mandates.service.exports.files import exported, exported_all
from api.areas.mandates.service.owner_calls import (
    built,
    cancel_terms_call,
    lock_now,
    stop_call_of,
    withdrawable_now,
)
from api.areas.mandates.service.steps_now import with_their_txs
from api.areas.mandates.service.venues import (
    NO_POSITIONS,
    AdapterPositions,
    adapter_positions,
    spread_bps,
)
from api.areas.mandates.service.views import is_paper, terms_of, vault_of
from api.areas.mandates.views import record as mandate_record
from api.areas.mandates.views.kept_days import KeptWeeks
from api.areas.mandates.views.readings import mandates_before
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Access, Answer, Call, Refusal
from core.chain.errors import RpcError
from core.errors import InvalidParameterError
from core.mandate import queries as mandates
from core.mandate import rows as mandate_rows
from core.mandate.chain import calldata
from core.mandate.rows import mandate_facts
from core.mandate.rules.close_plan import OwnerCall, PlanFacts, close_all_plan
from core.mandate.rules.lifecycle import ACTIVE, ENDED, Status, StoppedBy
from core.mandate.rules.statement import (
    DAY,
    NO_TALLY,
    StatementOf,
    StepsOfWeek,
    WeekStatement,
    WeekTally,
    all_mandates_json,
    statement_json,
    unwritten_statement,
)
from core.mandate.rules.steps import pause_actions
from core.mandate.rules.weeks import IsoWeek, week_from_text, week_of
from core.mandate.tables import Mandate, MandateHead
from core.money import usdc_text

OF_ALL = (*ACTIVE, *ENDED)
BATCH_HAPPENS = (
    "The vault stops and what it holds goes to you, in one transaction of a wallet that "
    "can batch (a Safe, wallet_sendCalls of EIP-5792). The proceeds of positions are "
    "withdrawn afterwards. If the agent spends before the transaction is mined, all of "
    "it reverts: ask again, or send only the stop."
)
MANDATES_READ = 500  # at a time
STEPS_SHOWN = 50  # rows of a week, as a page of the record; its files have all


def statement(call: Call, caller: OwnerCaller, command: WeekQuery) -> Answer[Statement]:
    _require_csv_for_a_mark(command)
    mandate = owned(call, caller, command.id)
    week = _week(command.week, call.now)
    tally = call.deps.parts.of(KeptWeeks).tally_of(
        call.db, call.db.get(MandateHead, mandate.id), mandate_facts(mandate), week
    )
    [statement] = _weeks_of(call, {mandate: tally}, week)
    most = STEPS_SHOWN if command.format == "json" else None
    found = statement_json(replace(statement, steps=_steps_of(call, mandate, week, most)))
    if mandate.created_at >= week.end_at:
        found = unwritten_statement(found)
    body = Statement.model_validate(found)
    if command.format == "json":
        return Answer(body)
    head = "{}:{}".format(*mandate_record.head_of(call.db, mandate))
    return Answer(
        body,
        file=lambda: exported(
            command.format, found, head, _caution(call, found["market_mode"]), bom=command.bom
        ),
    )


def _require_csv_for_a_mark(command: StatementQuery) -> None:
    """Errors: InvalidParameterError."""
    if command.bom and command.format != "csv":
        raise InvalidParameterError(
            "bom", "only a CSV has a byte-order mark; send it with format=csv"
        )


def _steps_of(call: Call, mandate: Mandate, week: IsoWeek, most: int | None) -> StepsOfWeek:
    """The newest `most` rows of the week (None: all), whole transactions."""
    newest = mandate_rows.standing_newest(
        call.db, mandate.id, week.start_at, week.end_at, None if most is None else most + 1
    )
    whole = with_their_txs(call, mandate, newest[:most])
    controls = mandate_rows.control_rows(call.db, mandate.id)
    return StepsOfWeek(
        rows=tuple(row for row in whole if row.occurred_at < week.end_at),
        actions=pause_actions([row for row in controls if row.occurred_at < week.end_at]),
        has_more=most is not None and len(newest) > most,
    )


def statement_all(call: Call, caller: OwnerCaller, command: AllWeeksQuery) -> Answer[AllStatements]:
    """Every mandate of the owner that was signed before the week's end."""
    _require_csv_for_a_mark(command)
    week = _week(command.week, call.now)
    found = _signed(call, caller, week.end_at)
    rows = mandate_rows.counted_between(
        call.db, [one.id for one in found], week.start_at - DAY, week.end_at
    )
    tallies = {one: NO_TALLY.with_rows(rows[one.id], mandate_facts(one), week) for one in found}
    whole = all_mandates_json(_weeks_of(call, tallies, week), week, call.now)
    body = AllStatements.model_validate(whole)
    if command.format == "json":
        return Answer(body)
    cautions = {mode: _caution(call, mode) for mode in whole["totals"]}
    return Answer(body, file=lambda: exported_all(command.format, whole, cautions, bom=command.bom))


def _signed(call: Call, caller: OwnerCaller, before: datetime) -> list[Mandate]:
    """The owner's mandates that were signed by then, the newest first: all of them, or the sums
    would be of some.
    """
    found = page = mandates.mandates_of_owner(
        call.db, caller.account_id, OF_ALL, None, MANDATES_READ
    )
    while len(page) == MANDATES_READ:
        page = mandates.mandates_of_owner(
            call.db, caller.account_id, OF_ALL, page[-1].id, MANDATES_READ
        )
        found = found + page
    return [
        mandate for mandate in found if mandate.signed_at is not None and mandate.signed_at < before
    ]


def _caution(call: Call, market_mode: str) -> str:
    return caution(market_mode, call.deps.chain_id, is_local=call.deps.parts.of(Access).is_local)


def _week(text: str | None, now: datetime) -> IsoWeek:
    return week_of(now) if text is None else week_from_text(text, now)


def _weeks_of(
    call: Call, tallies: Mapping[Mandate, WeekTally], week: IsoWeek
) -> list[WeekStatement]:
    """The numbers of a week; its steps are left out."""
    ids = [mandate.id for mandate in tallies]
    start = mandates_before(call.db, ids, week.start_at)
    end = mandates_before(call.db, ids, week.end_at)
    as_of = min(call.now, week.end_at)
    return [
        WeekStatement(
            about=_about(mandate),
            week=week,
            as_of=as_of,
            start=start[mandate.id].said,
            end=end[mandate.id].said,
            tally=tally,
            steps=StepsOfWeek(),
            short=end[mandate.id].short,
            is_start_known=start[mandate.id].short is None,
        )
        for mandate, tally in tallies.items()
    ]


def _about(mandate: Mandate) -> StatementOf:
    return StatementOf(
        public_id=mandate.public_id,
        facts=mandate_facts(mandate),
        terms=terms_of(mandate),
        purpose=mandate.purpose,
        agent_id=None if mandate.agent_id is None else str(mandate.agent_id),
        vault_address=vault_of(mandate),
        strategy=mandate.strategy,
    )


def close_plan(call: Call, caller: OwnerCaller, command: ClosePlanQuery) -> Answer[CloseAllPlan]:
    """How the owner leaves, step by step.

    While the chain cannot be asked the plan says so and knows no positions.
    """
    mandate = owned(call, caller, command.id)
    if mandate.status in (Status.DRAFT, Status.CANCELLED):
        raise Refusal(
            "wrong_status", f"The mandate is {mandate.status}; there is nothing to close."
        )
    current = current_of(call, mandate)
    positions = _positions(call, mandate, current, command.exit_allowance_bps)
    stop = cancel_terms_call(call, mandate, current) or stop_call_of(
        call, mandate, current, StoppedBy.OWNER
    )
    plan = PlanFacts(
        facts=mandate_facts(mandate),
        terms=terms_of(mandate),
        state=current.state,
        positions=() if positions is None else positions.known,
        relay_positions_read=positions is not None and positions.is_complete,
        stop_call=_call_of(stop),
        withdraw_call=None
        if positions is None or positions.has_closable
        else _withdrawal(call, caller, mandate, current),
        spread_bps=spread_bps(call, mandate),
        now=current.now,
        allowance_bps=command.exit_allowance_bps,
    )
    batch = (
        None
        if positions is None or stop["data"] is None
        else _batch(call, caller, mandate, current, stop)
    )
    answer = close_all_plan(plan)
    answer["steps"] = [_step_shown(call, step) for step in answer["steps"]]
    return Answer(
        CloseAllPlan(mandate_id=mandate.public_id, **answer, batch=batch, **current.data_issue)
    )


def _step_shown(call: Call, step: dict[str, Any]) -> dict[str, Any]:
    """With its calls built, apart from the step's `type`: wallet libraries have another meaning for
    that name.
    """
    own = None if step["data"] is None else built(call, step["to"], step["data"])
    release = step.pop("release")
    released = None if release is None else built(call, release.to, release.data)
    return step | {"call": own, "release_call": released}


def _batch(
    call: Call, caller: OwnerCaller, mandate: Mandate, current: Current, stop: dict[str, Any]
) -> Batch | None:
    """The stop and the withdrawal of what the vault holds now, for a wallet that sends several
    calls as one; None: nothing to withdraw.
    """
    vault = current.vault
    amount = 0 if vault is None else withdrawable_now(call, vault, mandate, current)[0]
    if vault is None or amount == 0:
        return None
    withdrawal = calldata.withdraw(call.deps.contracts["usdc"], caller.wallet_address, amount)
    calls = [built(call, stop["to"], stop["data"]), built(call, vault, withdrawal)]
    return Batch(
        calls=calls, atomic=True, amount_usdc=usdc_text(amount), what_happens=BATCH_HAPPENS
    )


def _positions(
    call: Call, mandate: Mandate, current: Current, allowance_bps: int
) -> AdapterPositions | None:
    """None: the chain cannot be asked."""
    if is_paper(mandate):
        return NO_POSITIONS
    try:
        return adapter_positions(call, mandate, current, allowance_bps)
    except RpcError:
        return None


def _call_of(built: dict[str, Any]) -> OwnerCall | None:
    return None if built["data"] is None else OwnerCall(built["to"], built["data"])


def _withdrawal(
    call: Call, caller: OwnerCaller, mandate: Mandate, current: Current
) -> OwnerCall | None:
    """The withdrawal of all, once no step is left that brings money home; before that its amount is
    not known.
    """
    if current.vault is None or not lock_now(mandate, current).withdrawable:
        return None
    amount, _ = withdrawable_now(call, current.vault, mandate, current)
    if amount == 0:
        return None
    return OwnerCall(
        current.vault, calldata.withdraw(call.deps.contracts["usdc"], caller.wallet_address, amount)
    )
