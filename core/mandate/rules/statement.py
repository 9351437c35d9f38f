"""The statement of a week (docs/statements.md), from the rows of the ledger alone.

The identity of a statement, to the last micro-USDC:

    cash(start) + deposits - withdrawals - spent + received - agent_fee = cash(end)

cash(start) and cash(end) are folds of the rows before the week's start and before its end; the
flows between are summed from the week's rows one by one. `unexplained` is the difference; a test
holds it at 0, and the statement shows it.

Laws
- A row belongs to the week of its `occurred_at` (for chain rows the block's time): [Monday, next
  Monday) in UTC.
- Reversed rows are left out of every week, also of the week in which they were reversed.
- estimated = change of worth - net deposits - realized; net deposits = deposits - withdrawals.
- Withdrawals are of the mandate's own cash; what was taken beyond it had been donated and is listed
  apart.
- Of a ledger that is short of facts no figure that they may move is given.
- On paper, what a stop gives back of void positions counts as received.

What a week's statement does not know of a ledger that is short: null, so that no figure and no
sum of figures passes for the truth.

A gap that begins after the week's end takes nothing from the week; one that begins in it leaves
what was known at its start.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from core.mandate.rules.cash import spent_and_received
from core.mandate.rules.progress import NONE, data_issue
from core.mandate.rules.rows import LedgerRow, RowKind
from core.mandate.rules.state import MandateFacts, MandateState
from core.mandate.rules.steps import step_groups
from core.mandate.rules.terms import MandateTerms
from core.mandate.rules.violations import Outflow, busiest_day, outflows_of, taken_by
from core.mandate.rules.weeks import IsoWeek
from core.mandate.rules.worth import Worth, worth_of
from core.money import usdc_text
from core.quarantine.rules import ShortLedger
from core.times import instant_text, utc_text_or_none

AT_THE_START = (("worth", "start"), ("cash", "start"))
# blocks of which missing facts may move every figure
MOVED = ("worth", "cash", "flows", "result", "fees")
MOST_NAMED = 5


def short_statement(answer: Mapping[str, Any], *, is_start_known: bool) -> dict[str, Any]:
    """The answer with null for what the missing facts may move.

    What was signed and what agents were flagged for stays.
    """
    changed = {name: _emptied(answer[name]) for name in MOVED}
    changed["worth"]["source"] = NONE
    if is_start_known:
        for block, name in AT_THE_START:
            changed[block][name] = answer[block][name]
    breaches = answer["breaches"]
    changed["breaches"] = breaches | {"reverts": {"count": None}, "refusals": {"count": None}}
    if "allowed_vs_used" in answer:
        used = answer["allowed_vs_used"]
        day = used["busiest_day"] | {"used": None, "ended_at": None}
        changed["allowed_vs_used"] = {
            "largest_move": used["largest_move"] | {"used": None},
            "busiest_day": day,
        }
    return {**answer, "status": None, **changed}


def unwritten_statement(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of a week before the mandate was written: no figure of it is 0."""
    short = short_statement(answer, is_start_known=False)
    return short | {"breaches": short["breaches"] | {"violations": {"count": None, "codes": []}}}


def _emptied(block: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _emptied(value) if isinstance(value, Mapping) else None
        for name, value in block.items()
    }


def summed(sums: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums, null where one of the parts is: one unknown makes the sum unknown.

    Says `data_issue` when a part does.
    """
    known = {name: _summed(value, [part[name] for part in parts]) for name, value in sums.items()}
    return known | issue_of_parts(parts)


def _summed(value: Any, parts: Sequence[Any]) -> Any:
    if isinstance(value, Mapping):
        return {name: _summed(one, [part[name] for part in parts]) for name, one in value.items()}
    return None if None in parts else value


def issue_of_parts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """{data_issue, data_issue_reason} of what was made of several mandates' numbers; empty when all
    of them are whole.
    """
    named = [part["mandate_id"] for part in parts if part.get("data_issue")]
    if not named:
        return {}
    first, more = ", ".join(named[:MOST_NAMED]), len(named) - MOST_NAMED
    names = first if more <= 0 else f"{first} and {more} more"
    reason = (
        f"The numbers of {names} are incomplete, so sums that include them are too; each "
        "mandate's own reason says why."
    )
    return {"data_issue": True, "data_issue_reason": reason}


DISCLOSURES: tuple[Mapping[str, str], ...] = (
    {"code": "net_of_fees", "text": "Results are net of fees."},
    {"code": "past_results", "text": "Past results do not promise future ones."},
    {"code": "estimates", "text": "Values labelled est are estimates."},
    {
        "code": "off_switch",
        "text": "The owner can stop the mandate, and only the owner can withdraw.",
    },
)


DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOf:
    """What a statement says of its mandate beside the rows.

    `strategy` as the mandate's own field has it.
    """

    public_id: str
    facts: MandateFacts
    terms: MandateTerms
    purpose: str
    agent_id: str | None
    vault_address: str | None
    strategy: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """What moved the mandate's own cash in a week. USDC base units, none below 0."""

    deposits_usdc_e6: int = 0
    withdrawals_usdc_e6: int = 0
    spent_usdc_e6: int = 0
    received_usdc_e6: int = 0
    agent_fee_usdc_e6: int = 0
    donated_usdc_e6: int = 0  # withdrawn beyond own cash; moves none

    @property
    def net_usdc_e6(self) -> int:
        """What cash changed by."""
        inflow = self.deposits_usdc_e6 + self.received_usdc_e6
        return inflow - self.withdrawals_usdc_e6 - self.spent_usdc_e6 - self.agent_fee_usdc_e6

    @property
    def net_deposits_usdc_e6(self) -> int:
        return self.deposits_usdc_e6 - self.withdrawals_usdc_e6

    def __add__(self, other: "Flows") -> "Flows":
        return Flows(
            **{
                name: getattr(self, name) + getattr(other, name)
                for name in Flows.__dataclass_fields__
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsOfWeek:
    """The rows whose steps a statement shows, effective and with all of their transactions, and what
    core.mandate.rules.steps.pause_actions says of the ledger. `has_more`: the week has older ones.
    """

    rows: tuple[LedgerRow, ...] = ()
    actions: Mapping[int, str] = field(default_factory=dict)
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekTally:
    """What the rows of a week and of the day before it add up to.

    `taken`: of both, in the order of the ledger.
    """

    flows: Flows
    taken: tuple[Outflow, ...] = ()

    def with_rows(
        self, rows: Iterable[LedgerRow], facts: MandateFacts, week: IsoWeek
    ) -> "WeekTally":
        """The tally after more rows that count, of any time."""
        near = _between(week.start_at - DAY, week.end_at, rows)
        of_week = _between(week.start_at, week.end_at, near)
        taken = (taken_by(row, facts) for row in near)
        return WeekTally(
            flows=self.flows + flows_of(of_week),
            taken=(*self.taken, *(one for one in taken if one is not None)),
        )


NO_TALLY: Final = WeekTally(flows=Flows())


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekStatement:
    """One mandate's week as numbers; `statement_json` writes it."""

    about: StatementOf
    week: IsoWeek
    as_of: datetime  # the week's end, or now while it runs
    start: MandateState
    end: MandateState
    tally: WeekTally
    steps: StepsOfWeek
    short: ShortLedger | None = None  # what the ledger lacks of the time before the week's end
    is_start_known: bool = True  # it lacks nothing of the time before the week's start

    @property
    def flows(self) -> Flows:
        return self.tally.flows

    @property
    def worth_start(self) -> Worth:
        return worth_of(self.start, self.about.facts)

    @property
    def worth_end(self) -> Worth:
        return worth_of(self.end, self.about.facts)

    @property
    def realized_usdc_e6(self) -> int:
        return self.end.realized_usdc_e6 - self.start.realized_usdc_e6

    @property
    def estimated_usdc_e6(self) -> int:
        change = self.worth_end.worth_usdc_e6 - self.worth_start.worth_usdc_e6
        return change - self.flows.net_deposits_usdc_e6 - self.realized_usdc_e6

    @property
    def unexplained_usdc_e6(self) -> int:
        """0, or the ledger does not balance."""
        return self.end.cash_usdc_e6 - self.start.cash_usdc_e6 - self.flows.net_usdc_e6


def flows_of(rows: Iterable[LedgerRow]) -> Flows:
    """The flows of rows that count, each summed from its own cash delta."""
    sums = dict.fromkeys(
        ("deposits", "withdrawals", "spent", "received", "agent_fee", "donated"), 0
    )
    for row in rows:
        delta = row.cash_delta_usdc_e6
        match row.kind:
            case RowKind.DEPOSIT:
                sums["deposits"] += delta
            case RowKind.WITHDRAW:
                sums["withdrawals"] -= delta
                sums["donated"] += (row.amount_usdc_e6 or 0) + delta
            case RowKind.PAYOUT:
                sums["agent_fee"] -= delta
            case _:
                spent, received = spent_and_received(row)
                sums["spent"] += spent
                sums["received"] += received
    return Flows(**{f"{name}_usdc_e6": amount for name, amount in sums.items()})


def statement_json(statement: WeekStatement) -> dict[str, Any]:
    """The answer of GET /mandate-wallet/mandates/{id}/statement."""
    answer = {
        **_whose(statement),
        **_numbers(statement),
        "allowed_vs_used": _allowed_vs_used(statement),
        "breaches": _breaches(statement),
        "steps": _steps(statement),
        "has_more_steps": statement.steps.has_more,
        "disclosures": [dict(one) for one in DISCLOSURES],
    }
    return _as_known(answer, statement)


def _as_known(answer: dict[str, Any], statement: WeekStatement) -> dict[str, Any]:
    """What is known of it, and what is the matter where it is not all."""
    if statement.short is not None:
        answer = short_statement(answer, is_start_known=statement.is_start_known)
    return answer | data_issue(statement.end, statement.short)


def all_mandates_json(
    statements: Sequence[WeekStatement], week: IsoWeek, now: datetime
) -> dict[str, Any]:
    """The answer of GET /mandate-wallet/me/statement: {period, totals, mandates[], disclosures[]}.

    Totals are sums of the mandates' numbers; paper and test-network money is never added up:
    `totals` has one block each. A number that one of them does not know is null in the totals too,
    which then say data_issue.
    """
    modes = sorted({statement.about.facts.market_mode.value for statement in statements})
    lines = [_short(statement) for statement in statements]
    of_mode = {
        mode: [one for one in statements if one.about.facts.market_mode.value == mode]
        for mode in modes
    }
    shown = {mode: [line for line in lines if line["market_mode"] == mode] for mode in modes}
    return {
        "period": _period(week, min(now, week.end_at)),
        "totals": {mode: _totals(of_mode[mode], shown[mode]) for mode in modes},
        "mandates": lines,
        "disclosures": [dict(one) for one in DISCLOSURES],
    }


def _whose(statement: WeekStatement) -> dict[str, Any]:
    about = statement.about
    return {
        "mandate_id": about.public_id,
        "agent_id": about.agent_id,
        "vault_address": about.vault_address,
        "strategy": about.strategy,
        "status": statement.end.status.value,
        "market_mode": about.facts.market_mode.value,
    }


def _numbers(statement: WeekStatement) -> dict[str, Any]:
    flows = statement.flows
    return {
        "period": _period(statement.week, statement.as_of),
        "worth": {
            "start": usdc_text(statement.worth_start.worth_usdc_e6),
            "end": usdc_text(statement.worth_end.worth_usdc_e6),
            "at_cost": usdc_text(statement.worth_end.at_cost_usdc_e6),
            "not_returned": usdc_text(statement.end.not_returned_usdc_e6),
            "source": statement.worth_end.source,
            "est": statement.worth_end.source != "cash",
        },
        "cash": {
            "start": usdc_text(statement.start.cash_usdc_e6),
            "end": usdc_text(statement.end.cash_usdc_e6),
        },
        "flows": {**_flow_texts(flows), "unexplained": usdc_text(statement.unexplained_usdc_e6)},
        "result": {
            "realized": usdc_text(statement.realized_usdc_e6),
            "estimated": usdc_text(statement.estimated_usdc_e6),
        },
        "fees": {"by_type": _fees_by_type(statement)},
    }


def _period(week: IsoWeek, as_of: datetime) -> dict[str, Any]:
    return {
        "week": week.label,
        "start": instant_text(week.start_at),
        "end": instant_text(week.end_at),
        "as_of": instant_text(as_of),
        "is_complete": as_of >= week.end_at,
    }


def _flow_texts(flows: Flows) -> dict[str, str]:
    return {
        "deposits": usdc_text(flows.deposits_usdc_e6),
        "withdrawals": usdc_text(flows.withdrawals_usdc_e6),
        "net_deposits": usdc_text(flows.net_deposits_usdc_e6),
        "spent": usdc_text(flows.spent_usdc_e6),
        "received": usdc_text(flows.received_usdc_e6),
        "agent_fee": usdc_text(flows.agent_fee_usdc_e6),
        "net": usdc_text(flows.net_usdc_e6),
        "donated_withdrawn": usdc_text(flows.donated_usdc_e6),
    }


def _fees_by_type(statement: WeekStatement) -> dict[str, Any]:
    start, end = statement.start, statement.end
    return {
        "tools": usdc_text(end.fees_tools_usdc_e6 - start.fees_tools_usdc_e6),
        "venue": usdc_text(end.fees_venue_usdc_e6 - start.fees_venue_usdc_e6),
        "network": usdc_text(end.fees_network_usdc_e6 - start.fees_network_usdc_e6),
        "unclassified": {
            "amount": usdc_text(end.fees_unclassified_usdc_e6 - start.fees_unclassified_usdc_e6),
            "count": end.fees_unclassified_count - start.fees_unclassified_count,
        },
        "agent_fee": usdc_text(statement.flows.agent_fee_usdc_e6),
    }


def _allowed_vs_used(statement: WeekStatement) -> dict[str, Any]:
    """Largest move and busiest 24 hours that ended in the week, from what really left, against the
    signed caps.
    """
    week, terms = statement.week, statement.about.terms
    spends = outflows_of(statement.tally.taken)
    start, end = int(week.start_at.timestamp()), int(week.end_at.timestamp())
    largest = max((one.amount_usdc_e6 for one in spends if start <= one.at < end), default=0)
    busiest, ended_at = busiest_day(spends, start, end)
    return {
        "largest_move": {"used": usdc_text(largest), "allowed": usdc_text(terms.per_tx_cap)},
        "busiest_day": {
            "used": usdc_text(busiest),
            "allowed": usdc_text(terms.daily_cap),
            "ended_at": utc_text_or_none(ended_at),
        },
    }


def _breaches(statement: WeekStatement) -> dict[str, Any]:
    """What came in the week. A flag that stood before it, and that the chain took back since, makes no
    count below 0.
    """
    start, end = statement.start, statement.end
    before = dict(start.violation_counts)
    codes = [code for code, count in end.violation_counts if count > before.get(code, 0)]
    return {
        "reverts": {"count": end.reverts_count - start.reverts_count},
        "refusals": {"count": end.refusals_count - start.refusals_count},
        "violations": {
            "count": max(0, end.violations_count - start.violations_count),
            "codes": codes,
        },
    }


def _steps(statement: WeekStatement) -> list[dict[str, Any]]:
    """The steps of the week's rows, grouped as in the record."""
    shown = statement.steps
    week = statement.week
    seqs = {row.seq for row in _between(week.start_at, week.end_at, shown.rows)}
    about = statement.about
    groups = step_groups(shown.rows, about.purpose, shown.actions, vault=about.vault_address)
    return [step for group in groups for step in group.steps if step["id"] in seqs]


def _between(start: datetime, end: datetime, rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    return [row for row in rows if start <= row.occurred_at < end]


def _short(statement: WeekStatement) -> dict[str, Any]:
    answer = {
        **_whose(statement),
        **{key: value for key, value in _numbers(statement).items() if key != "period"},
        "breaches": _breaches(statement),
    }
    return _as_known(answer, statement)


def _totals(
    statements: Sequence[WeekStatement], lines: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """`lines`: what is said of each of them."""
    flows = sum((statement.flows for statement in statements), Flows())
    sums = {
        "worth": {
            "start": usdc_text(sum(one.worth_start.worth_usdc_e6 for one in statements)),
            "end": usdc_text(sum(one.worth_end.worth_usdc_e6 for one in statements)),
            "at_cost": usdc_text(sum(one.worth_end.at_cost_usdc_e6 for one in statements)),
            "not_returned": usdc_text(sum(one.end.not_returned_usdc_e6 for one in statements)),
        },
        "cash": {
            "start": usdc_text(sum(one.start.cash_usdc_e6 for one in statements)),
            "end": usdc_text(sum(one.end.cash_usdc_e6 for one in statements)),
        },
        "flows": {
            **_flow_texts(flows),
            "unexplained": usdc_text(sum(one.unexplained_usdc_e6 for one in statements)),
        },
        "result": {
            "realized": usdc_text(sum(one.realized_usdc_e6 for one in statements)),
            "estimated": usdc_text(sum(one.estimated_usdc_e6 for one in statements)),
        },
    }
    return {"mandates": len(statements), **summed(sums, lines)}
