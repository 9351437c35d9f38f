"""What each row of the ledger is called as a step: kind, code, note, target and params.

Source: docs/rules.md#steps, docs/rules.md#rows. Clause numbers are those of docs/rules.md#clauses:
1 budget, 2 per_action, 3 per_day, 4 stop_line, 5 markets, 6 asking, 7 at_stop, 8 period, 9
agent_fee, 10 your_floors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.mandate.rules.refusals import refused_text
from core.mandate.rules.reported import ReportedTarget, target_of
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind

ALL_CLAUSES = tuple(range(1, 11))


class StepKind(StrEnum):
    INSTRUCTION = "instruction"
    RESEARCH = "research"
    VERIFY = "verify"
    CONSENT = "consent"
    ACTION = "action"
    OUTCOME = "outcome"
    FUNDING = "funding"
    CONTROL = "control"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    kind: StepKind
    code: str
    note: str | None = None
    resource: str | None = None
    target: dict[str, Any] | None = None
    clauses: tuple[int, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    is_est: bool = False

    @property
    def is_action(self) -> bool:
        return self.kind is StepKind.ACTION


def described(
    row: LedgerRow, *, beside: bool, action: str | None, purpose: str | None
) -> Described:
    """The step of a row.

    `beside`: an agent's report of the same transaction is the action, the chain's row its outcome.

    `action`: paused, resumed or None. `purpose`: the instruction's text.
    """
    match row.kind:
        case RowKind.SIGNED:
            params = {
                key: row.payload[key] for key in ("version", "terms_digest") if key in row.payload
            }
            return Described(
                kind=StepKind.INSTRUCTION,
                code="instruction_purpose",
                note=purpose,
                clauses=ALL_CLAUSES,
                params=params,
            )
        case RowKind.MOVE | RowKind.BUY | RowKind.SELL:
            return _trade(row, beside)
        case RowKind.FEE:
            return _fee(row)
        case RowKind.NOTE:
            return _note(row, action)
        case _:
            return _money_or_end(row)


def _money_or_end(row: LedgerRow) -> Described:
    if row.kind is RowKind.DEPOSIT:
        params = _without(row.payload, "why")
        return Described(kind=StepKind.FUNDING, code="funding_deposit", clauses=(1,), params=params)
    if row.kind is RowKind.RESOLVE:
        return Described(
            kind=StepKind.OUTCOME, code="outcome_resolve", note=_text(row), params=_agents(row)
        )
    kind, code, clauses, key = _ENDS[row.kind]
    return Described(kind=kind, code=code, clauses=clauses, params=_fact(row, key))


_ENDS: Mapping[RowKind, tuple[StepKind, str, tuple[int, ...], str]] = {
    RowKind.WITHDRAW: (StepKind.FUNDING, "funding_withdraw", (), "withdrawn"),
    RowKind.PAYOUT: (StepKind.OUTCOME, "outcome_payout", (9,), "settled"),
    RowKind.STOP: (StepKind.CONTROL, "control_stopped", (4, 7), "stopped"),
}


def _trade(row: LedgerRow, beside: bool) -> Described:
    executed = row.payload.get("executed")
    if isinstance(executed, Mapping) and row.reported_by is not ReportedBy.AGENT:
        target = {
            "market": None,
            "address": executed.get("target"),
            "selector": executed.get("selector"),
        }
        kind = StepKind.OUTCOME if beside else StepKind.ACTION
        return Described(kind=kind, code="action_executed", target=target, params=dict(executed))
    return Described(
        kind=StepKind.ACTION,
        code=f"action_{row.kind.value}",
        note=_text(row),
        target=reported_target(row),
        params=_agents(row),
    )


def _fee(row: LedgerRow) -> Described:
    """A fee with a resource is a paid read; any other is a cost that was noted."""
    resource = row.payload.get("resource")
    fee_kind = row.payload.get("fee_kind")
    params = {"fee_kind": fee_kind if isinstance(fee_kind, str) else "unclassified"}
    if isinstance(resource, str):
        return Described(
            kind=StepKind.RESEARCH,
            code="research_paid",
            note=_text(row),
            resource=resource,
            params=params,
        )
    return Described(kind=StepKind.NOTE, code="note_fee", note=_text(row), params=params)


def _note(row: LedgerRow, action: str | None) -> Described:
    if isinstance(row.payload.get("refusal"), Mapping):
        return _refusal(row)
    if row.reported_by is ReportedBy.AGENT:
        return _agents_note(row)
    if row.payload.get("factory") is True:
        return Described(
            kind=StepKind.NOTE, code="note_factory", params=_without(row.payload, "factory")
        )
    for key, (kind, code, clauses, is_est) in _CHAIN_NOTES.items():
        if key in row.payload:
            params = _fact(row, key) | (
                {"action": action} if key in ("agent_set", "agent_removed") else {}
            )
            note = _PAUSE_NOTES.get(action) if action else _text(row)
            return Described(
                kind=kind,
                code=code,
                note=note,
                clauses=clauses,
                params=params,
                is_est=is_est,
                target=_fact_target(row, key),
            )
    return Described(kind=StepKind.NOTE, code="note_text", note=_text(row))


def _refusal(row: LedgerRow) -> Described:
    refusal = row.payload["refusal"]
    attempted = refusal.get("attempted")
    attempted = attempted if isinstance(attempted, Mapping) else {}
    target = {
        "market": None,
        "address": attempted.get("target"),
        "selector": attempted.get("selector"),
    }
    return Described(
        kind=StepKind.ACTION,
        code="refused",
        note=refused_text(str(refusal.get("reason"))),
        target=target if attempted.get("target") else None,
        params=dict(refusal),
    )


def _agents_note(row: LedgerRow) -> Described:
    if row.payload.get("stop_requested") is True:
        return Described(
            kind=StepKind.CONTROL, code="control_stoprequested", note=_text(row), clauses=(7,)
        )
    if row.payload.get("check") is not None:
        return Described(
            kind=StepKind.VERIFY,
            code="verify_check",
            note=_text(row),
            params={"check": row.payload["check"]},
        )
    if row.payload.get("mark") or row.payload.get("marks"):
        return Described(
            kind=StepKind.OUTCOME,
            code="outcome_mark",
            note=_text(row),
            params=_agents(row),
            is_est=True,
        )
    return Described(kind=StepKind.NOTE, code="note_text", note=_text(row), params=_agents(row))


_CHAIN_NOTES: Mapping[str, tuple[StepKind, str, tuple[int, ...], bool]] = {
    "vault_created": (StepKind.CONTROL, "control_vaultcreated", (), False),
    "agent_set": (StepKind.CONTROL, "control_agentset", (), False),
    "agent_removed": (StepKind.CONTROL, "control_agentremoved", (), False),
    "mark": (StepKind.OUTCOME, "outcome_mark", (4,), True),
    "unwound": (StepKind.CONTROL, "control_unwound", (7,), False),
    "proceeds": (StepKind.OUTCOME, "outcome_proceeds", (), False),
    "payee_changed": (StepKind.CONTROL, "control_payeechanged", (9,), False),
    "terms_cancelled": (StepKind.CONTROL, "control_cancelled", (), False),
    "terms_expired": (StepKind.CONTROL, "control_expired", (), False),
    "cancelled": (StepKind.CONTROL, "control_cancelled", (), False),
    "hl_leg_bound": (StepKind.CONTROL, "control_hllegbound", (), False),
    "hl_leg_unbound": (StepKind.CONTROL, "control_hllegunbound", (), False),
    "hl_order": (StepKind.CONTROL, "control_hlorder", (7,), False),
    "hl_order_result": (StepKind.CONTROL, "control_hlorderresult", (7,), False),
    "hl_stop_line": (StepKind.CONTROL, "control_hlstopline", (7,), False),
}
_PAUSE_NOTES = {
    "paused": "Paused: agent removed on chain",
    "resumed": "Resumed: agent set on chain",
}


def _fact(row: LedgerRow, key: str) -> dict[str, Any]:
    fact = row.payload.get(key)
    return dict(fact) if isinstance(fact, Mapping) else {}


def _fact_target(row: LedgerRow, key: str) -> dict[str, Any] | None:
    fact = _fact(row, key)
    address = fact.get("target") or fact.get("adapter")
    return (
        {"market": None, "address": address, "selector": fact.get("selector")} if address else None
    )


def reported_target(row: LedgerRow) -> dict[str, Any] | None:
    """{market, address, selector} of a report; None when it names no target that can be read."""
    target, raw = target_of(row.payload), row.payload.get("target")
    if not isinstance(target, ReportedTarget):
        return None
    fields = raw if isinstance(raw, Mapping) else {}
    market, selector = fields.get("market"), fields.get("selector")
    return {
        "market": market if isinstance(market, str) else None,
        "address": target.address,
        "selector": selector if isinstance(selector, str) else None,
    }


def _agents(row: LedgerRow) -> dict[str, Any]:
    """What an agent's payload says beside why, text, target and the server's flag."""
    return _without(row.payload, "why", "text", "note", "target", "violation", "detail")


def _without(payload: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if key not in keys}


def _text(row: LedgerRow) -> str | None:
    for key in ("text", "note"):
        if isinstance(row.payload.get(key), str):
            return str(row.payload[key])
    return None
