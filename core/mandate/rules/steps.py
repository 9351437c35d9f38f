"""The record as people read it: rows of the ledger as steps, in groups (docs/rules.md#steps).

Laws
- Every row that counts is shown; three kinds of doubles are shown once: an agent's refusal report
  that the chain proved (source chain, check block_scan, the agent's why kept), an agent's report of
  a payment that the chain has, and a reversed row, which never was.
- A report is confirmed by what it says, never by its hash alone (borne_out.py). One that the chain
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
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.mandate.rules.borne_out import chain_words, counted_codes
from core.mandate.rules.clauses import CLAUSE_NUMBERS
from core.mandate.rules.fold import effective
from core.mandate.rules.lifecycle import ACTIVE, Status
from core.mandate.rules.refusals import reason_code
from core.mandate.rules.rows import TRADES, LedgerRow, ReportedBy, RowKind
from core.mandate.rules.step_kinds import ALL_CLAUSES, StepKind, described, reported_target
from core.mandate.rules.tx_facts import CODE_OF_WORD, ChainWord
from core.mandate.rules.tx_reports import PROVABLE_CLASSES, codes_of, fee_class_of
from core.mandate.rules.violations import CLAUSE_OF_CODE
from core.money import usdc_text, usdc_text_or_none
from core.times import instant_text

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
            f"Above the asking line of {line} USDC. This is stored; nothing waits for an answer "
            "yet."
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
