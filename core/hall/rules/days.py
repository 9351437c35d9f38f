"""What a mandate's rows say of each UTC day: result, flows, capital, path and trades.

    row -> cash, listed positions, money out elsewhere -> worth after the agent's fee -> result = worth - worth before - flow

Laws
- Only what the chain and the keeper say makes a result. What the agent alone tells is counted apart
  (`said_...`), of paper too.
- Money that came from outside is no gain, and money that went to the owner is no loss: a deposit, a
  withdrawal, and what a target that no listed adapter values brings beyond what went there (less
  the agent's fee of it).
- Rows count in the order of the ledger; one that comes late counts on the last day that the ledger
  knew.
- Money out where no adapter values it stands at cost until it is back. When the mandate ends it is
  lost; what comes back later is a gain of that day, up to its cost.
- After the end the agent holds nothing: `worth_usdc_e6` is 0.

Amounts are USDC base units. Source: docs/hall.md#what-counts.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import date, datetime
from typing import Any, Final

from core.hall.rules.path import ONE, STILL, Path, step
from core.mandate.rules.fold import chain_fact, spent_and_received
from core.mandate.rules.reported import usable_usdc_e6
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.unvalued import PositionRules, unvalued_out_after
from core.money import bps_of_down

TRADES: Final = (RowKind.MOVE, RowKind.BUY, RowKind.SELL)
STOP_LINE: Final = "stop_line"


@dataclass(slots=True, kw_only=True)
class Day:
    """Of one mandate. `flow`: what came from outside less what went there. `capital`: the most that
    it had; `least`: the least that it had before a result, 0: there was none. `worth`: at its end,
    under the agent.

    `sides`: by target how often it bought and sold; all of it together is `trades`.
    """

    day: date
    flow_usdc_e6: int = 0
    result_usdc_e6: int = 0
    capital_usdc_e6: int = 0
    least_usdc_e6: int = 0
    worth_usdc_e6: int = 0
    path: Path = STILL
    trades: int = 0
    sides: dict[str, list[int]] = field(default_factory=dict)
    said_trades: int = 0
    said_result_usdc_e6: int = 0
    said_fees_usdc_e6: int = 0


@dataclass(frozen=True, slots=True)
class MandateTold:
    """What of the mandate's own row the days are made with."""

    budget_usdc_e6: int
    agent_fee_bps: int
    positions: PositionRules


@dataclass(slots=True, kw_only=True)
class MandateStanding:
    """Where a mandate stands after its rows so far; as JSON it is kept between two builds.

    `out`: at targets that no listed adapter values, at cost. `worth`: after the agent's fee.
    `stopped_by`: of the first stop: floor, self, other.
    """

    cash_usdc_e6: int = 0
    listed_usdc_e6: int = 0
    out_usdc_e6: int = 0
    lost_usdc_e6: int = 0  # written off at the end, and not back since
    deposited_usdc_e6: int = 0
    withdrawn_usdc_e6: int = 0
    paid_out_usdc_e6: int = 0
    worth_usdc_e6: int = 0
    funded_on: date | None = None  # UTC, as all days
    ended_on: date | None = None
    stopped_by: str | None = None
    last_day: date | None = None
    last_at: datetime | None = None  # of the newest row
    last_trade: str | None = None  # its transaction, target and side

    def as_json(self) -> dict[str, Any]:
        return {name: _to_json(value) for name, value in asdict(self).items()}


def _to_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


_NAMES: Final = frozenset(one.name for one in fields(MandateStanding))
_DAYS: Final = ("funded_on", "ended_on", "last_day")


def standing_of(raw: Mapping[str, Any]) -> MandateStanding:
    """Errors: KeyError when other fields were kept: count the ledger again."""
    if raw.keys() != _NAMES:
        raise KeyError(f"not the fields of a standing: {sorted(raw.keys() ^ _NAMES)}")
    days = {name: None if raw[name] is None else date.fromisoformat(raw[name]) for name in _DAYS}
    last_at = None if raw["last_at"] is None else datetime.fromisoformat(raw["last_at"])
    return MandateStanding(**{**raw, **days, "last_at": last_at})


class Days:
    """The days of one mandate, row by row. `changed`: those that rows touched, by day.

    `known`: the day that the standing ended with, as it was kept.
    """

    def __init__(
        self, told: MandateTold, standing: MandateStanding, known: Day | None = None
    ) -> None:
        self.told, self.standing = told, standing
        self.changed = dict[date, Day]()
        self._known = known
        self._before = 0  # worth before the row

    def add(self, row: NewRow) -> None:
        """One more row that counts, in the order of the ledger."""
        at = row.occurred_at
        now = self.standing
        if now.last_at is None or at > now.last_at:
            now.last_at = at
        self._before, had_ended = now.worth_usdc_e6, now.ended_on
        if is_told_by_agent(row):
            self._said(row)
            return
        flow = self._moved(row)
        gift = self._called(row)
        now.worth_usdc_e6 = self._worth()
        flow += now.worth_usdc_e6 - self._worth(without=gift) if gift else 0
        result = now.worth_usdc_e6 - self._before - flow
        if flow or result or had_ended != now.ended_on:
            self._count(self._day(row), flow, result)

    # The chain's and the keeper's word

    def _moved(self, row: NewRow) -> int:
        """The row's effect on what the mandate has; answers the flow from outside."""
        now = self.standing
        now.cash_usdc_e6 += row.cash_delta_usdc_e6
        match row.kind:
            case RowKind.DEPOSIT:
                now.deposited_usdc_e6 += row.cash_delta_usdc_e6
                if now.funded_on is None and now.deposited_usdc_e6 >= self.told.budget_usdc_e6:
                    now.funded_on = row.occurred_at.date()
                return row.cash_delta_usdc_e6
            case RowKind.WITHDRAW:
                now.withdrawn_usdc_e6 -= row.cash_delta_usdc_e6
                is_usdc = row.amount_usdc_e6 is not None
                return row.cash_delta_usdc_e6 if is_usdc else self._tokens_went()
            case RowKind.PAYOUT:
                now.paid_out_usdc_e6 -= row.cash_delta_usdc_e6
                self._ends(row)
            case RowKind.STOP:
                self._ends(row)
            case RowKind.FEE:
                self._cost(row)
            case _:
                pass
        return 0

    def _tokens_went(self) -> int:
        """The owner took another token: what adapters valued went with it."""
        gone, self.standing.listed_usdc_e6 = self.standing.listed_usdc_e6, 0
        return -gone

    def _ends(self, row: NewRow) -> None:
        """A stop or settlement of the chain."""
        now = self.standing
        if row.block_hash is None:
            return
        if now.stopped_by is None and row.kind is RowKind.STOP:
            now.stopped_by = stopped_by(row)
        if now.ended_on is None:
            now.ended_on = row.occurred_at.date()
            now.lost_usdc_e6, now.out_usdc_e6 = now.out_usdc_e6, 0

    def _cost(self, row: NewRow) -> None:
        """What a call spent on a service was counted as out with the call; it is gone."""
        if "adapter" not in row.payload:
            return
        cost, now = row.amount_usdc_e6 or 0, self.standing
        if str(row.payload["adapter"]).lower() in self.told.positions.valued:
            now.listed_usdc_e6 = max(0, now.listed_usdc_e6 - cost)

    def _called(self, row: NewRow) -> int:
        """A call, its income or a mark; answers what came that no listed adapter bears out."""
        if row.kind in TRADES:
            executed = chain_fact(row, "executed")
            return 0 if executed is None else self._call(row, executed, is_trade=True)
        if row.kind is not RowKind.NOTE:
            return 0
        if mark := chain_fact(row, "mark"):
            self._marked(mark)
        elif unwound := chain_fact(row, "unwound"):
            return self._call(row, unwound, is_trade=False)
        elif proceeds := chain_fact(row, "proceeds"):
            return self._went(str(proceeds.get("adapter")).lower(), None, 0, row.cash_delta_usdc_e6)
        return 0

    def _call(self, row: NewRow, called: Mapping[str, Any], *, is_trade: bool) -> int:
        spent, received = spent_and_received(row)
        target, selector = str(called.get("target")).lower(), str(called.get("selector"))
        if is_trade and (spent or received) and target in self.told.positions.valued:
            self._trade(row, target, spent > received)
        return self._went(target, selector, spent, received)

    def _marked(self, mark: Mapping[str, Any]) -> None:
        now, worth = self.standing, usable_usdc_e6(mark.get("worth_usdc"))
        if worth is not None:
            elsewhere = now.out_usdc_e6 + now.lost_usdc_e6
            now.listed_usdc_e6 = max(0, worth - now.cash_usdc_e6 - elsewhere)

    def _went(self, target: str, selector: str | None, spent: int, received: int) -> int:
        """Money to a target (in lower case) and back; answers what a target without a listed adapter
        brings beyond what went to such targets.
        """
        now, positions = self.standing, self.told.positions
        if target in positions.valued:
            now.listed_usdc_e6 = max(0, now.listed_usdc_e6 + spent - received)
            return 0
        out = now.out_usdc_e6
        if selector is not None and spent > received:
            now.out_usdc_e6 = unvalued_out_after(
                out, positions, target, selector, spent_usdc_e6=spent, received_usdc_e6=received
            )
            return 0
        back = received - spent
        now.out_usdc_e6 = max(0, out - back)
        beyond = max(0, back - out)
        found = min(beyond, now.lost_usdc_e6)
        now.lost_usdc_e6 -= found
        return beyond - found

    def _worth(self, without: int = 0) -> int:
        """Cash, what listed adapters value and what is out at cost, less what the agent would be
        owed of the gain. `without`: so much of the cash.
        """
        now = self.standing
        worth = max(0, now.cash_usdc_e6 - without) + now.listed_usdc_e6 + now.out_usdc_e6
        gain = worth + now.withdrawn_usdc_e6 + now.paid_out_usdc_e6 - now.deposited_usdc_e6
        fee = bps_of_down(max(0, gain), self.told.agent_fee_bps) - now.paid_out_usdc_e6
        return max(0, worth - max(0, fee))

    # The day

    def _count(self, day: Day, flow: int, result: int) -> None:
        before = self._before
        day.flow_usdc_e6 += flow
        day.result_usdc_e6 += result
        day.capital_usdc_e6 = max(day.capital_usdc_e6, before + max(0, flow))
        if before > 0:
            if result:
                day.least_usdc_e6 = min(day.least_usdc_e6 or before, before)
            day.path = day.path.then(step(max(0, before + result) * ONE // before))
        day.worth_usdc_e6 = 0 if self.standing.ended_on else self.standing.worth_usdc_e6

    def _trade(self, row: NewRow, target: str, is_buy: bool) -> None:
        """A transaction's further calls there to the same side are the same trade."""
        trade = f"{row.tx_hash} {target} {is_buy}"
        if trade == self.standing.last_trade:
            return
        self.standing.last_trade = trade
        day = self._day(row)
        day.trades += 1
        day.sides.setdefault(target, [0, 0])[not is_buy] += 1

    def _said(self, row: NewRow) -> None:
        amount = row.amount_usdc_e6 or 0
        if row.kind in TRADES:
            self._day(row).said_trades += 1
        elif row.kind is RowKind.RESOLVE:
            self._day(row).said_result_usdc_e6 += amount
        elif row.kind is RowKind.FEE:
            day = self._day(row)
            day.said_fees_usdc_e6 += amount
            day.said_result_usdc_e6 -= amount

    def _day(self, row: NewRow) -> Day:
        """The day of a row, never one before the last."""
        now = self.standing
        day = row.occurred_at.date()
        if now.last_day is not None and day < now.last_day:
            day = now.last_day
        if day not in self.changed:
            if self._known is not None and now.last_day == day:
                self.changed[day] = self._known
            else:
                held = 0 if now.ended_on else self._before
                self.changed[day] = Day(day=day, capital_usdc_e6=held, worth_usdc_e6=held)
            now.last_day = day
        return self.changed[day]


def is_told_by_agent(row: NewRow) -> bool:
    """Whether the agent's word is all there is of it; its stop on the chain is the chain's word."""
    return row.reported_by is ReportedBy.AGENT and row.block_hash is None


def stopped_by(row: NewRow) -> str:
    """Of a stop: floor (the stop line, whoever enforced it), self (the agent), other."""
    if row.reported_by is ReportedBy.AGENT:
        return "self"
    stopped = chain_fact(row, "stopped") or {}
    return "floor" if stopped.get("reason") == STOP_LINE else "other"
