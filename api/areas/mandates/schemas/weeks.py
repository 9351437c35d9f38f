"""The blocks of a week's statement. Null: not known of a ledger that is short."""

from typing import Any

from api.areas.mandates.schemas.commands import Status
from api.areas.mandates.schemas.mandate import LedgerAnswer, Mode
from api.areas.mandates.schemas.standing import BreachCount, UnclassifiedFees, ViolationCount
from api.kernel.operation import AnswerBody


class WeekPeriod(AnswerBody):
    """[start, end): an ISO week in UTC. `as_of`: its end, or now while the week is running."""

    week: str
    start: str
    end: str
    as_of: str
    is_complete: bool


class StartAndEnd(AnswerBody):
    start: str | None
    end: str | None


class WorthOfWeek(StartAndEnd):
    """`at_cost`: the part of the end that no adapter values; `not_returned`: the part of it that
    never came back, once all is home.
    """

    at_cost: str | None
    not_returned: str | None


class WeekWorth(WorthOfWeek):
    source: str | None
    est: bool | None


class WeekFlows(AnswerBody):
    """`unexplained` is 0 unless the ledger does not balance."""

    deposits: str | None
    withdrawals: str | None
    net_deposits: str | None
    spent: str | None
    received: str | None
    agent_fee: str | None
    net: str | None
    donated_withdrawn: str | None
    unexplained: str | None


class WeekResult(AnswerBody):
    realized: str | None
    estimated: str | None


class FeesByType(AnswerBody):
    tools: str | None
    venue: str | None
    network: str | None
    unclassified: UnclassifiedFees
    agent_fee: str | None


class WeekFees(AnswerBody):
    by_type: FeesByType


class WeekBreaches(AnswerBody):
    reverts: BreachCount
    refusals: BreachCount
    violations: ViolationCount


class AllowedAndUsed(AnswerBody):
    used: str | None
    allowed: str


class BusiestDay(AllowedAndUsed):
    ended_at: str | None


class AllowedVsUsed(AnswerBody):
    largest_move: AllowedAndUsed
    busiest_day: BusiestDay


class Disclosure(AnswerBody):
    code: str
    text: str


class WeekLine(LedgerAnswer):
    """A mandate's week. With an incomplete ledger, figures that missing facts could change are
    null.
    """

    mandate_id: str
    agent_id: str | None
    vault_address: str | None
    strategy: dict[str, Any] | None
    status: Status | None
    market_mode: Mode
    worth: WeekWorth
    cash: StartAndEnd
    flows: WeekFlows
    result: WeekResult
    fees: WeekFees
    breaches: WeekBreaches


class WeekTotals(LedgerAnswer):
    """`mandates`: number of mandates."""

    mandates: int
    worth: WorthOfWeek
    cash: StartAndEnd
    flows: WeekFlows
    result: WeekResult
