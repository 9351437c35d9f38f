"""Judging what an agent reports: a broken rule is stored and flagged, never dropped or hidden.

Laws
- A flag says which rule and by how much; it changes nothing about the row, and nothing is refused
  here.
- Only the server writes a flag: `RESERVED_KEYS` may not come from an agent.
- Moves, buys and sells are judged for the end of the mandate; moves and buys for target and caps as
  well. A sell brings money in: its target is judged when it is given.
- Amounts are unknown when they are absent, and unknown breaks no cap.
- The day and the cash are the chain's own, so that no report uses them up. A report that the chain
  contradicts is flagged with that alone, and one that it bears out breaks nothing that the vault
  checked (reports.py): neither names a clause.

| code | when |
|---|---|
| tx_reverted, other_target, other_amount | the chain's rows of its transaction contradict it; no other code then |
| mandate_stopped | the mandate is stopped or cancelled, or settled after a stop |
| mandate_ended | its end date has passed, or it is settled without a stop |
| mandate_not_working | it is a draft, or its vault does not hold the budget yet |
| target_missing | no target that can be read; detail.target_detail says why |
| target_not_allowed | the target is not on the mandate's list; detail.target_detail: not_on_the_list, other_chain |
| over_per_tx_cap | amount > per-action cap |
| over_daily_cap | amount + what left in (now - 24 h, now] > per-day cap; this transaction not counted |
| over_budget | amount > the mandate's own cash, unless what left counts the transaction already |

Source: docs/rules.md#reports-of-agents, docs/rules.md#report-payloads; the order of
MandateVault._requireExecutable.

What left the mandate's cash for the agent's actions: what caps are compared with.

Laws
- On testnet the chain's Executed rows count alone, all calls of one batch as one: no report uses up
  a day.
- On paper the agent's buys and moves count, with what they really moved.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.mandate.rules.cash import chain_fact, spent_and_received
from core.mandate.rules.fold import effective
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.limits import SpendWindow
from core.mandate.rules.positions import ReportedTarget, TargetFault, target_of
from core.mandate.rules.reports import CODE_OF_WORD, ChainWord
from core.mandate.rules.rows import TRADES, LedgerRow, RowKind
from core.mandate.rules.state import MandateFacts
from core.mandate.rules.terms import MandateTerms
from core.money import usdc_text
from core.times import DAY_S, utc_text


@dataclass(frozen=True, slots=True)
class Outflow:
    """What left, as one row says it or several of one batch. `at`: unix seconds; amount in USDC base
    units. `batch`: rows of the same one are one outflow; None: it is one by itself.
    """

    at: int
    amount_usdc_e6: int
    tx_hash: str | None
    batch: tuple[str | None, int | None] | None = field(default=None, compare=False)


def outflows(rows: Iterable[LedgerRow], facts: MandateFacts) -> tuple[Outflow, ...]:
    """Every outflow of the rows that count, in the order of the ledger."""
    return outflows_of(
        [taken for row in effective(rows) if (taken := taken_by(row, facts)) is not None]
    )


def taken_by(row: LedgerRow, facts: MandateFacts) -> Outflow | None:
    """What a row that counts says; None: nothing of outflows."""
    if row.kind not in (RowKind.MOVE, RowKind.BUY):
        return None
    at = int(row.occurred_at.timestamp())
    if facts.market_mode is MarketMode.PAPER:
        return Outflow(at, -row.cash_delta_usdc_e6, row.tx_hash)
    if (executed := chain_fact(row, "executed")) is not None:
        nonce = executed.get("nonce")
        batch = (row.tx_hash, nonce if isinstance(nonce, int) else None)
        return Outflow(at, spent_and_received(row)[0], row.tx_hash, batch)
    return None


def outflows_of(listed: Sequence[Outflow]) -> tuple[Outflow, ...]:
    """Of what rows say, in the order of the ledger, those above 0: the batches come first."""
    batches: dict[tuple[str | None, int | None], Outflow] = {}
    for one in listed:
        if one.batch is not None:
            before = batches.get(one.batch)
            amount = one.amount_usdc_e6 + (0 if before is None else before.amount_usdc_e6)
            batches[one.batch] = replace(one, amount_usdc_e6=amount)
    alone = [one for one in listed if one.batch is None]
    return tuple(one for one in [*batches.values(), *alone] if one.amount_usdc_e6 > 0)


def spend_window(rows: Iterable[LedgerRow], facts: MandateFacts) -> SpendWindow:
    """The rolling day of the contract (paper: of the record) from the rows of at least the last 24
    hours.
    """
    return SpendWindow.of((one.at, one.amount_usdc_e6) for one in outflows(rows, facts))


def busiest_day(spends: Sequence[Outflow], start_at: int, end_at: int) -> tuple[int, int | None]:
    """The most that left in any 24 hours that end with an outflow in [start_at, end_at), and when
    they ended.

    A window (at - 86400, at] may begin before start_at. Without an outflow: (0, None).
    """
    ordered = sorted(spends, key=lambda one: one.at)
    most, ended = 0, None
    within = first = 0
    for place, one in enumerate(ordered, start=1):
        within += one.amount_usdc_e6
        while ordered[first].at <= one.at - DAY_S:
            within -= ordered[first].amount_usdc_e6
            first += 1
        is_whole = place == len(ordered) or ordered[place].at > one.at  # its second's last
        if is_whole and start_at <= one.at < end_at and within > most:
            most, ended = within, one.at
    return most, ended


RESERVED_KEYS = frozenset(
    {
        "violation",
        "unseen",
        "refusal",
        "reverted",
        "proves_event_id",
        "reversal",
        "reverses_seq",
        "factory",
        "vault_created",
        "executed",
        "stopped",
        "settled",
        "withdrawn",
        "unwound",
        "proceeds",
        "agent_set",
        "agent_removed",
        "payee_changed",
        "terms_cancelled",
        "terms_expired",
        "cancelled",
        "stop_requested",
        "positions_void",
        "paper",
        "hl_leg_bound",
        "hl_leg_unbound",
        "hl_order",
        "hl_order_result",
        "hl_stop_line",
    }
)

# The rule of progress.rules that a code turns to false.
RULE_OF_CODE: Mapping[str, str] = {
    "over_per_tx_cap": "per_action",
    "over_daily_cap": "per_day",
    "over_budget": "budget",
    "mandate_not_working": "budget",
    "target_missing": "markets",
    "target_not_allowed": "markets",
    "mandate_stopped": "stop",
    "mandate_ended": "period",
}

# The clause (docs/rules.md#clauses) that a code breaks.
CLAUSE_OF_CODE: Mapping[str, int] = {
    "over_budget": 1,
    "mandate_not_working": 1,
    "over_per_tx_cap": 2,
    "over_daily_cap": 3,
    "mandate_stopped": 4,
    "target_missing": 5,
    "target_not_allowed": 5,
    "mandate_ended": 8,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAction:
    """What the agent sent. `tx_hash` lower case; amount in USDC base units, None when left out."""

    kind: RowKind
    amount_usdc_e6: int | None
    tx_hash: str | None
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a report is held against.

    `allowed`: lower-case addresses of the mandate's rules, and of its vault (the default list names
    it). `outflows`: of at least the last 24 hours. `now`: unix seconds of the latest block, for
    paper of the clock. `word`: what the chain's rows say of the report.
    """

    status: Status
    was_stopped: bool
    terms: MandateTerms
    chain_id: int
    allowed: frozenset[str]
    cash_usdc_e6: int
    outflows: Sequence[Outflow]
    now: int
    word: ChainWord = ChainWord.NOT_KNOWN
    # the ledger lacks facts of the chain: its cash, and that it does not work yet, are held against
    # nobody
    is_short: bool = False


@dataclass(frozen=True, slots=True)
class Violation:
    """Codes in the order of the contract's checks, and each comparison's two sides."""

    codes: tuple[str, ...]
    detail: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """payload.violation as it is stored: {codes, detail}."""
        return {"codes": list(self.codes), "detail": dict(self.detail)}


def judge(report: ReportedAction, against: Judgement) -> Violation | None:
    """The rules that a report breaks, or None. Kinds fee, resolve and note break none."""
    if report.kind not in TRADES:
        return None
    if against.word in CODE_OF_WORD:
        return Violation((CODE_OF_WORD[against.word],), {})
    found = _target(report, against)
    if against.word is not ChainWord.BORNE_OUT:
        found = {**_life(against), **found}
        if report.kind is not RowKind.SELL:
            found |= _caps(report, against)
    if not found:
        return None
    detail = {key: value for facts in found.values() for key, value in facts.items()}
    return Violation(tuple(found), detail)


def reserved_keys_in(payload: Mapping[str, Any]) -> list[str]:
    """The keys of a report's payload that only the server writes, sorted; empty means fine."""
    return sorted(RESERVED_KEYS & payload.keys())


_Found = dict[str, dict[str, Any]]


def _life(against: Judgement) -> _Found:
    if against.status in (Status.STOPPED, Status.CANCELLED) or (
        against.status is Status.SETTLED and against.was_stopped
    ):
        return {"mandate_stopped": {"status": against.status.value}}
    if against.status is Status.SETTLED or against.now >= against.terms.ends_at:
        return {"mandate_ended": {"ends_at": utc_text(against.terms.ends_at)}}
    if against.status is not Status.WORKING and not against.is_short:
        return {"mandate_not_working": {"status": against.status.value}}
    return {}


def _target(report: ReportedAction, against: Judgement) -> _Found:
    target = target_of(report.payload)
    if isinstance(target, TargetFault):
        is_needed = report.kind is not RowKind.SELL or target is not TargetFault.ABSENT
        return {"target_missing": {"target_detail": target.value}} if is_needed else {}
    detail = _not_allowed(target, against)
    if detail is None:
        return {}
    return {
        "target_not_allowed": {"target": target.as_json(against.chain_id), "target_detail": detail}
    }


def _not_allowed(target: ReportedTarget, against: Judgement) -> str | None:
    if target.chain_id not in (None, against.chain_id):
        return "other_chain"
    return None if target.address.lower() in against.allowed else "not_on_the_list"


def _caps(report: ReportedAction, against: Judgement) -> _Found:
    amount = report.amount_usdc_e6
    if amount is None:
        return {}
    found: _Found = {}
    terms, left_today = against.terms, _left_today(report, against)
    if amount > terms.per_tx_cap:
        found["over_per_tx_cap"] = {"per_tx_cap_usdc": usdc_text(terms.per_tx_cap)}
    if amount > left_today:
        found["over_daily_cap"] = {
            "daily_cap_usdc": usdc_text(terms.daily_cap),
            "left_today_usdc": usdc_text(left_today),
        }
    if not against.is_short and amount > against.cash_usdc_e6 and not _is_counted(report, against):
        found["over_budget"] = {"left_total_usdc": usdc_text(max(0, against.cash_usdc_e6))}
    for facts in found.values():
        facts["requested_usdc"] = usdc_text(amount)
    return found


def _left_today(report: ReportedAction, against: Judgement) -> int:
    """What the day had left without this transaction: on paper it may have been reported before."""
    others = [
        outflow.amount_usdc_e6
        for outflow in against.outflows
        if against.now - DAY_S < outflow.at <= against.now
        and (report.tx_hash is None or outflow.tx_hash != report.tx_hash)
    ]
    return max(0, against.terms.daily_cap - sum(others))


def _is_counted(report: ReportedAction, against: Judgement) -> bool:
    return report.tx_hash is not None and any(
        one.tx_hash == report.tx_hash for one in against.outflows
    )
