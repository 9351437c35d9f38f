"""The record as people read it: rows of the ledger as steps, in groups (docs/rules.md#steps).

Laws
- Every row that counts is shown; three kinds of doubles are shown once: an agent's refusal report
  that the chain proved (source chain, check block_scan, the agent's why kept), an agent's report of
  a payment that the chain has, and a reversed row, which never was.
- A report is confirmed by what it says, never by its hash alone. One that the chain
  contradicts is shown once, below what the chain says of its transaction, flagged with that alone: it
  names no clause, and no consent is asked for it.
- A group is what belongs together: all rows of one transaction, else one row. Its place is its
  first row's, so that a late report moves nothing. Newest group first; inside, in reading order:

      research, verify, consent, action, outcome, then funding, control and notes as they came, instruction last

- `why` comes from the agent's own events only.
- A consent is a reported action above the owner's asking line. Nothing waits for it and nobody can
  answer it yet, so it is pending while the mandate lives: pinned on top of the newest page, newest
  first, beside the action's own step (docs/decisions/0014).
- A cursor is the place of the last group shown: new rows never shift a page.

What each row of the ledger is called as a step: kind, code, note, target and params.

Source: docs/rules.md#steps, docs/rules.md#rows. Clause numbers are those of docs/rules.md#clauses:
1 budget, 2 per_action, 3 per_day, 4 stop_line, 5 markets, 6 asking, 7 at_stop, 8 period, 9
agent_fee, 10 your_floors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.mandate.rules.clauses import CLAUSE_NUMBERS
from core.mandate.rules.fold import effective
from core.mandate.rules.lifecycle import ACTIVE, Status
from core.mandate.rules.positions import ReportedTarget, target_of
from core.mandate.rules.reports import (
    CODE_OF_WORD,
    PROVABLE_CLASSES,
    ChainWord,
    chain_words,
    codes_of,
    counted_codes,
    fee_class_of,
)
from core.mandate.rules.rows import (
    TRADES,
    LedgerRow,
    ReportedBy,
    RowKind,
    reason_code,
    refused_text,
)
from core.mandate.rules.violations import CLAUSE_OF_CODE
from core.money import usdc_text, usdc_text_or_none
from core.times import instant_text

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


_RANK = {
    kind: rank for rank, kind in enumerate(("research", "verify", "consent", "action", "outcome"))
}
_RANK |= {"funding": 5, "control": 5, "note": 5, "instruction": 6}
CONSENTS_PINNED = 10
# budget, per_action, per_day, markets, period: what an action stays inside
_PERMITS = (1, 2, 3, 5, 8)


@dataclass(frozen=True, slots=True)
class StepGroup:
    """`place`: the seq of the group's first row, which orders the groups and is the cursor."""

    place: int
    steps: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class _Shown:
    """A row that is shown, and what other rows say of the same fact."""

    row: LedgerRow
    why: str | None
    word: ChainWord  # of a report; of any other row not known
    action: str | None = None  # paused, resumed
    beside: bool = False  # a report that this row bears out is shown as the action

    @property
    def is_on_chain(self) -> bool:
        return self.row.block_hash is not None or self.word is ChainWord.BORNE_OUT

    @property
    def is_contradicted(self) -> bool:
        return self.word in CODE_OF_WORD


def step_groups(
    rows: Iterable[LedgerRow],
    purpose: str | None,
    actions: Mapping[int, str] | None = None,
    *,
    vault: str | None,
) -> list[StepGroup]:
    """Every group of these rows, newest first. `purpose`: the owner's note, the instruction.

    `rows`: oldest first, a whole ledger or a part that has whole transactions; `actions`: what
    `pause_actions` says of the whole ledger, needed for a part.
    """
    counted = effective(rows)
    groups: dict[str, list[_Shown]] = {}
    for shown in _shown(counted, pause_actions(counted) if actions is None else actions, vault):
        groups.setdefault(shown.row.tx_hash or f"seq:{shown.row.seq}", []).append(shown)
    made = [_group(members, purpose) for members in groups.values()]
    return sorted(made, key=lambda group: group.place, reverse=True)


def pause_actions(rows: Iterable[LedgerRow]) -> dict[int, str]:
    """What an agent's removal or setting meant, by the row's seq: `paused` or `resumed`. Rows that
    say nothing may be left out.
    """
    found: dict[int, str] = {}
    paused = ended = False
    for row in rows:
        action, paused, ended = _pause(row, paused, ended)
        if action is not None:
            found[row.seq] = action
    return found


def steps_page(
    groups: Sequence[StepGroup], before: int | None, limit: int
) -> tuple[list[dict[str, Any]], int | None]:
    """Whole groups, as many as fit into `limit` steps (at least one), from the place `before`
    (exclusive) on; and the last one's place, when more follow.
    """
    left = [group for group in groups if before is None or group.place < before]
    steps: list[dict[str, Any]] = []
    for index, group in enumerate(left):
        if index and len(steps) + len(group.steps) > limit:
            return steps, left[index - 1].place
        steps += group.steps
    return steps, None


def consent_status(status: Status) -> str:
    """Of every consent of a mandate: pending while it lives, recorded once it ended."""
    return "pending" if status in ACTIVE else "recorded"


def consent_steps(rows: Sequence[LedgerRow], asking_line_usdc_e6: int) -> list[dict[str, Any]]:
    """The pending consents of these reported actions, which are above the line and come oldest
    first: newest first.
    """
    return [_consent(row, asking_line_usdc_e6) for row in reversed(rows)]


# What is shown


def _shown(
    rows: Sequence[LedgerRow], actions: Mapping[int, str], vault: str | None
) -> list[_Shown]:
    """The rows without doubles, each with what it needs of the others."""
    by_seq = {row.seq: row for row in rows}
    words = chain_words(rows, vault)
    reports = {
        by_seq[seq].tx_hash
        for seq, word in words.items()
        if word is ChainWord.BORNE_OUT and by_seq[seq].kind in TRADES
    }
    folded = _doubles(rows)
    why = {double: _why(by_seq[seq]) for seq, double in folded.items()}
    return [
        _Shown(
            row=row,
            why=_why(row) or why.get(row.seq),
            word=words.get(row.seq, ChainWord.NOT_KNOWN),
            action=actions.get(row.seq),
            beside=row.tx_hash is not None and row.tx_hash in reports,
        )
        for row in rows
        if row.seq not in folded
    ]


def _doubles(rows: Sequence[LedgerRow]) -> dict[int, int]:
    """seq of an agent's row to the seq of the chain's row that is shown in its place."""
    found: dict[int, int] = {}
    proofs = [
        row
        for row in rows
        if row.payload.get("reverted") is True and row.reported_by is not ReportedBy.AGENT
    ]
    refusals = [
        row for row in rows if row.reported_by is ReportedBy.AGENT and "refusal" in row.payload
    ]
    for row in refusals:
        for proof in proofs:
            if proof.payload.get("proves_event_id") == row.seq or (
                row.tx_hash and proof.tx_hash == row.tx_hash
            ):
                found[row.seq] = proof.seq
    payments = {row.tx_hash: row.seq for row in rows if row.kind is RowKind.FEE and row.block_hash}
    for row in rows:
        is_payment = (
            row.kind is RowKind.FEE
            and row.reported_by is ReportedBy.AGENT
            and fee_class_of(row) in PROVABLE_CLASSES
        )
        if is_payment and row.tx_hash in payments:
            found[row.seq] = payments[row.tx_hash]
    return found


def _pause(row: LedgerRow, paused: bool, ended: bool) -> tuple[str | None, bool, bool]:
    """What an agent's removal or setting means: paused, resumed or nothing, as the fold has it."""
    ended = ended or row.kind in (RowKind.STOP, RowKind.PAYOUT)
    if row.reported_by is ReportedBy.AGENT or ended:
        return None, paused, ended
    if "agent_removed" in row.payload and not paused:
        return "paused", True, ended
    if "agent_set" in row.payload and paused:
        return "resumed", False, ended
    return None, paused, ended


def _why(row: LedgerRow) -> str | None:
    why = row.payload.get("why")
    return why if isinstance(why, str) and row.reported_by is ReportedBy.AGENT else None


# One group, one step


def _group(members: Sequence[_Shown], purpose: str | None) -> StepGroup:
    place = min(shown.row.seq for shown in members)
    ordered = sorted(
        ((_step(shown, f"g{place}", purpose), shown.is_contradicted) for shown in members),
        key=lambda one: (_RANK[one[0]["kind"]], one[1], one[0]["id"]),
    )
    return StepGroup(place, tuple(step for step, _ in ordered))


def _step(shown: _Shown, group: str, purpose: str | None) -> dict[str, Any]:
    row = shown.row
    description = described(row, beside=shown.beside, action=shown.action, purpose=purpose)
    codes = _codes(shown)
    breached = sorted({CLAUSE_OF_CODE[code] for code in codes if code in CLAUSE_OF_CODE})
    is_agents = row.reported_by is ReportedBy.AGENT
    return {
        "id": row.seq,
        "group": group,
        "kind": description.kind.value,
        "code": description.code,
        "status": _status(shown, description.code, codes),
        "at": instant_text(row.occurred_at),
        "reported_by": row.reported_by.value,
        "confirmed_on_chain": shown.is_on_chain,
        "est": description.is_est
        or (is_agents and row.amount_usdc_e6 is not None and not shown.is_on_chain),
        "amount_usdc": usdc_text_or_none(row.amount_usdc_e6),
        "tx_hash": row.tx_hash,
        "why": shown.why,
        "note": description.note,
        "resource": description.resource,
        "target": description.target,
        "allowed_by": [n for n in _PERMITS if n not in breached]
        if description.is_action and description.code != "refused" and not shown.is_contradicted
        else [],
        "breached": breached,
        "clauses": [] if shown.is_contradicted else _cited(row) or list(description.clauses),
        "params": {**description.params, **({"codes": codes} if codes else {})},
    }


def _consent(row: LedgerRow, asking_line_usdc_e6: int) -> dict[str, Any]:
    line = usdc_text(asking_line_usdc_e6)
    return {
        "id": row.seq,
        "group": "consents",
        "kind": StepKind.CONSENT.value,
        "code": "consent_pending",
        "status": "pending",
        "at": instant_text(row.occurred_at),
        "reported_by": row.reported_by.value,
        "confirmed_on_chain": False,
        "est": False,
        "amount_usdc": usdc_text_or_none(row.amount_usdc_e6),
        "tx_hash": row.tx_hash,
        "why": _why(row),
        "note": (
            f"Above the approval threshold of {line} USDC. This is only recorded; nothing waits "
            "for an approval yet."
        ),
        "resource": None,
        "target": reported_target(row),
        "allowed_by": [],
        "breached": [],
        "clauses": [CLAUSE_NUMBERS["asking"]],
        "params": {"approval_above_usdc": line},
    }


def _status(shown: _Shown, code: str, codes: Sequence[str]) -> str:
    """refused, flagged, confirmed (the chain has it), reported (the agent's word) or recorded
    (owner, keeper).
    """
    if code == "refused" and not shown.is_contradicted:
        return "refused"
    if codes:
        return "flagged"
    if shown.is_on_chain:
        return "confirmed"
    return "reported" if shown.row.reported_by is ReportedBy.AGENT else "recorded"


def _codes(shown: _Shown) -> list[str]:
    """How the chain contradicts a report; else its flags that count, or the code of a refusal."""
    row = shown.row
    if shown.is_contradicted:
        return [CODE_OF_WORD[shown.word]]
    if "violation" in row.payload:
        return list(counted_codes(codes_of(row), shown.word))
    refusal = row.payload.get("refusal")
    if isinstance(refusal, Mapping):
        return [reason_code(str(refusal.get("reason")))]
    return []


def _cited(row: LedgerRow) -> list[int]:
    """The clause numbers that a report cites, 1 to 10."""
    cited = row.payload.get("clauses", row.payload.get("clause"))
    listed = cited if isinstance(cited, list | tuple) else [cited]
    return sorted(
        {n for n in listed if isinstance(n, int) and not isinstance(n, bool) and n in ALL_CLAUSES}
    )
