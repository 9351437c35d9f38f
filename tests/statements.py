"""The statement of a week, folded from the whole ledger: what the service's shorter ways must equal."""

from collections.abc import Iterable
from datetime import datetime

from core.mandate.rules.fold import effective, fold
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.statement import NO_TALLY, StatementOf, StepsOfWeek, WeekStatement
from core.mandate.rules.steps import pause_actions
from core.mandate.rules.weeks import IsoWeek


def week_statement(
    rows: Iterable[LedgerRow], about: StatementOf, week: IsoWeek, now: datetime
) -> WeekStatement:
    """The statement of a week that has begun.

    `rows`: the whole ledger, oldest first, reversals included.
    """
    until_end = [row for row in effective(rows) if row.occurred_at < week.end_at]
    return WeekStatement(
        about=about,
        week=week,
        as_of=min(now, week.end_at),
        start=fold((row for row in until_end if row.occurred_at < week.start_at), about.facts),
        end=fold(until_end, about.facts),
        tally=NO_TALLY.with_rows(until_end, about.facts, week),
        steps=StepsOfWeek(rows=tuple(until_end), actions=pause_actions(until_end)),
    )
