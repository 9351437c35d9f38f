"""What a mandate's rows say of each UTC day: result, flows, capital, path and trades.

    row -> cash, listed positions, money out elsewhere -> worth after the agent's fee -> result = worth - worth before - flow

Laws
- Only what the chain and the keeper say makes a result. What only the agent reports is counted
  apart (`said_...`), of paper too.
- Money that came from outside is no gain, and money that went to the owner is no loss: a deposit, a
  withdrawal, and what a target that no listed adapter values brings beyond what went there (less
  the agent's fee of it).
- Rows count in the order of the ledger; one that comes late counts on the last day that the ledger
  knew.
- Money out where no adapter values it is at cost until it is back.
- The end, a stop or at the latest that of the terms, is counted by end.py, on its day, and so is what
  rows say after it. The agent holds nothing then: a day's `worth_usdc_e6` is 0, and what the owner
  takes out changes nothing.

Amounts are USDC base units. Source: docs/hall.md#what-counts.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import date, datetime
from typing import Any, Final

from api.areas.hall.rules.end import Before, End
from api.areas.hall.rules.path import ONE, STILL, Path, step
from core.mandate.rules.cash import chain_fact, spent_and_received
from core.mandate.rules.positions import usable_usdc_e6
from core.mandate.rules.rows import TRADES, NewRow, ReportedBy, RowKind, is_agent_report
from core.mandate.rules.state import PositionRules, out_after, unvalued_out_after
from core.mandate.rules.worth import agent_fee_owed_usdc_e6

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
class DayTerms:
    """What of the mandate's own row the days are made with. `ends_at`: of its terms."""

    budget_usdc_e6: int
    agent_fee_bps: int
    positions: PositionRules
    ends_at: datetime


@dataclass(slots=True, kw_only=True)
class MandateStanding:
    """The state of a mandate after its rows so far; as JSON it is kept between two builds.

    `out`: at targets that no listed adapter values, at cost. `worth`: after the agent's fee. Both and
    `listed` are 0 after the end. `held`: deposits that are in the vault, until it holds its budget.
    `stopped_by`: of the first stop: floor, self, other. `before_mark`: the newest one.
    """

    cash_usdc_e6: int = 0
    listed_usdc_e6: int = 0
    listed_net: dict[str, int] = field(default_factory=dict)  # until the first mark
    out_usdc_e6: int = 0
    held_usdc_e6: int = 0
    deposited_usdc_e6: int = 0
    withdrawn_usdc_e6: int = 0
    worth_usdc_e6: int = 0
    funded_on: date | None = None  # UTC, as all days
    ended_on: date | None = None
    stopped_by: str | None = None
    last_day: date | None = None
    last_at: datetime | None = None  # of the newest row
    before_mark: Before = field(default_factory=Before)
    end: End | None = None
    last_tx: str | None = None  # the newest one that traded
    traded: list[str] = field(default_factory=list)  # by it, target and side

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
    values: dict[str, Any] = {**raw, "before_mark": _before_of(raw["before_mark"])}
    values |= {name: date.fromisoformat(raw[name]) for name in _DAYS if raw[name] is not None}
    if raw["last_at"] is not None:
        values["last_at"] = datetime.fromisoformat(raw["last_at"])
    if raw["end"] is not None:
        values["end"] = End(**{**raw["end"], "before": _before_of(raw["end"]["before"])})
    return MandateStanding(**values)


def _before_of(raw: Mapping[str, Any]) -> Before:
    return Before(**{**raw, "path": Path(*raw["path"])})


class Days:
    """The days of one mandate, row by row. `changed`: those that rows touched, by day.

    `known`: the day that the standing ended with, as it was kept.
    """

    def __init__(
        self, terms: DayTerms, standing: MandateStanding, known: Day | None = None
    ) -> None:
        self.terms, self.standing = terms, standing
        self.changed = dict[date, Day]()
        self._known = known
        self._before = 0  # worth before the row

    def add(self, row: NewRow) -> None:
        """One more row that counts, in the order of the ledger."""
        at = row.occurred_at
        now = self.standing
        if now.last_at is None or at > now.last_at:
            now.last_at = at
        self._before = now.worth_usdc_e6
        if is_agent_report(row):
            self._said(row)
            return
        if now.end is None and self._is_over(row):
            now.end = self._ended(row, min(at, self.terms.ends_at))
        if now.end is not None:
            self._after_end(row, now.end)
            return
        flow = self._moved(row)
        gift = self._called(row)
        now.worth_usdc_e6 = self._worth()
        flow += now.worth_usdc_e6 - self._worth(without=gift) if gift else 0
        result = now.worth_usdc_e6 - self._before - flow
        if flow or result:
            self._count(self._day(row.occurred_at), flow, result)

    def _is_over(self, row: NewRow) -> bool:
        """With this row: a stop or settlement of the chain, or whatever comes after the terms' end."""
        is_end = row.kind in (RowKind.STOP, RowKind.PAYOUT) and row.block_hash is not None
        return is_end or row.occurred_at >= self.terms.ends_at

    def _ended(self, row: NewRow, at: datetime) -> End:
        now = self.standing
        marked = now.before_mark  # a mark of the stop's own transaction is the end's measure
        end = End(
            before=marked if marked.tx == row.tx_hash else self._as_of(row, at),
            cash_usdc_e6=now.cash_usdc_e6,
            gain_without_usdc_e6=self._made(now.cash_usdc_e6),
            out_usdc_e6=now.out_usdc_e6,
        )
        self._day(at)
        now.ended_on = at.date()
        now.worth_usdc_e6 = now.listed_usdc_e6 = now.out_usdc_e6 = 0
        return end

    def _after_end(self, row: NewRow, end: End) -> None:
        """The row that ended it is the first."""
        now = self.standing
        now.cash_usdc_e6 += row.cash_delta_usdc_e6
        if row.kind is RowKind.STOP and now.stopped_by is None and row.block_hash is not None:
            now.stopped_by = stopped_by(row)
        left = self._valued(_of_chain(row, "mark") or _stopped(row))
        if left is not None:
            end.measure(left)
        elif unwound := _of_chain(row, "unwound"):
            spent, received = spent_and_received(row)
            self._came_back(end, str(unwound.get("target")), received - spent)
        elif proceeds := _of_chain(row, "proceeds"):
            self._came_back(end, str(proceeds.get("adapter")), row.cash_delta_usdc_e6)
        self._count_end(self._day(row.occurred_at), end)

    def _came_back(self, end: End, target: str, net: int) -> None:
        if target.lower() in self.terms.positions.valued:
            end.listed_back_usdc_e6 += net
        else:
            end.out_back_usdc_e6 += net

    # The chain's and the keeper's word

    def _moved(self, row: NewRow) -> int:
        """The row's effect on what the mandate has; answers the flow from outside."""
        now = self.standing
        now.cash_usdc_e6 += row.cash_delta_usdc_e6
        match row.kind:
            case RowKind.DEPOSIT:
                now.deposited_usdc_e6 += row.cash_delta_usdc_e6
                self._funds(row)
                return row.cash_delta_usdc_e6
            case RowKind.WITHDRAW:
                now.withdrawn_usdc_e6 -= row.cash_delta_usdc_e6
                now.held_usdc_e6 = min(now.held_usdc_e6, self._left(row))
                return row.cash_delta_usdc_e6
            case RowKind.FEE:
                self._cost(row)
            case _:
                pass
        return 0

    def _funds(self, row: NewRow) -> None:
        """Source: MandateVault._bookDeposit and _bookWithdrawal."""
        now = self.standing
        now.held_usdc_e6 += row.cash_delta_usdc_e6
        if now.funded_on is None and now.held_usdc_e6 >= self.terms.budget_usdc_e6:
            now.funded_on = row.occurred_at.date()

    def _left(self, row: NewRow) -> int:
        """The vault's balance after a withdrawal: what others gave leaves first."""
        withdrawn = chain_fact(row, "withdrawn") or {}
        balance = usable_usdc_e6(withdrawn.get("balance"))
        held = self.standing.held_usdc_e6
        return max(0, held + row.cash_delta_usdc_e6) if balance is None else balance

    def _as_of(self, row: NewRow, at: datetime) -> Before:
        """Before the row, which counts at that time."""
        now = self.standing
        before = Before(
            tx=row.tx_hash, listed_usdc_e6=now.listed_usdc_e6, worth_usdc_e6=self._before
        )
        if day := self._day_so_far(self._on(at)):
            before.result_usdc_e6, before.least_usdc_e6 = day.result_usdc_e6, day.least_usdc_e6
            before.path = day.path
        return before

    def _cost(self, row: NewRow) -> None:
        """What a call spent on a service was counted as out with the call; it is gone."""
        if "adapter" not in row.payload:
            return
        adapter = str(row.payload["adapter"]).lower()
        if adapter in self.terms.positions.valued:
            self._moved_at_listed(adapter, cost=row.amount_usdc_e6 or 0)

    def _moved_at_listed(self, adapter: str, **moved: int) -> None:
        """Before the first mark adapter by adapter, as cash.py counts it."""
        now = self.standing
        if now.before_mark.tx is None:
            now.listed_net[adapter] = out_after(now.listed_net.get(adapter, 0), **moved)
            now.listed_usdc_e6 = sum(now.listed_net.values())
        else:
            now.listed_usdc_e6 = out_after(now.listed_usdc_e6, **moved)

    def _called(self, row: NewRow) -> int:
        """A call, its income or a mark; answers what came that no listed adapter bears out."""
        if row.kind in TRADES:
            executed = chain_fact(row, "executed")
            return 0 if executed is None else self._call(row, executed, is_trade=True)
        if row.kind is not RowKind.NOTE:
            return 0
        if mark := chain_fact(row, "mark"):
            self._marked(row, mark)
        elif unwound := chain_fact(row, "unwound"):
            return self._call(row, unwound, is_trade=False)
        elif proceeds := chain_fact(row, "proceeds"):
            return self._went(str(proceeds.get("adapter")).lower(), None, 0, row.cash_delta_usdc_e6)
        return 0

    def _call(self, row: NewRow, called: Mapping[str, Any], *, is_trade: bool) -> int:
        spent, received = spent_and_received(row)
        target, selector = str(called.get("target")).lower(), str(called.get("selector"))
        if is_trade and (spent or received) and target in self.terms.positions.valued:
            self._trade(row, target, spent > received)
        return self._went(target, selector, spent, received)

    def _marked(self, row: NewRow, mark: Mapping[str, Any]) -> None:
        if (listed := self._valued(mark)) is not None:
            self.standing.before_mark = self._as_of(row, row.occurred_at)
            self.standing.listed_usdc_e6 = listed

    def _valued(self, measure: Mapping[str, Any]) -> int | None:
        """What adapters value, by a measure of the vault; None: it says no worth. Source: cash.py."""
        worth, out = (usable_usdc_e6(measure.get(k)) for k in ("worth_usdc", "unvalued_out_usdc"))
        if worth is None or out is None:
            return None
        return max(0, worth - out - max(0, self.standing.cash_usdc_e6))

    def _went(self, target: str, selector: str | None, spent: int, received: int) -> int:
        """Money to a target (in lower case) and back; answers what a target without a listed adapter
        brings beyond what went to such targets.
        """
        now, positions = self.standing, self.terms.positions
        if target in positions.valued:
            self._moved_at_listed(target, spent=spent, received=received)
            return 0
        out = now.out_usdc_e6
        if selector is not None and spent > received:
            now.out_usdc_e6 = unvalued_out_after(
                out, positions, target, selector, spent_usdc_e6=spent, received_usdc_e6=received
            )
            return 0
        back = received - spent
        now.out_usdc_e6 = max(0, out - back)
        return max(0, back - out)

    def _worth(self, without: int = 0) -> int:
        """Cash, what listed adapters value and what is out at cost, less what the agent would be
        owed of the gain. `without`: so much of the cash.
        """
        now = self.standing
        worth = max(0, now.cash_usdc_e6 - without) + now.listed_usdc_e6 + now.out_usdc_e6
        owed = agent_fee_owed_usdc_e6(self._made(worth), self.terms.agent_fee_bps, 0)
        return max(0, worth - owed)

    def _made(self, worth: int) -> int:
        """What the mandate has made if it has so much, before the agent's fee; may be negative."""
        now = self.standing
        return worth + now.withdrawn_usdc_e6 - now.deposited_usdc_e6

    # The day

    def _count(self, day: Day, flow: int, result: int) -> None:
        before = self._before
        day.flow_usdc_e6 += flow
        day.capital_usdc_e6 = max(day.capital_usdc_e6, before + max(0, flow))
        day.worth_usdc_e6 = self.standing.worth_usdc_e6
        _step(day, before, result)

    def _count_end(self, day: Day, end: End) -> None:
        """In the place of what the end counted so far."""
        before = end.before
        day.result_usdc_e6 = before.result_usdc_e6
        day.least_usdc_e6, day.path = before.least_usdc_e6, before.path
        day.capital_usdc_e6 = max(day.capital_usdc_e6, before.worth_usdc_e6)
        day.worth_usdc_e6 = 0
        result = end.worth_usdc_e6(self.terms.agent_fee_bps) - before.worth_usdc_e6
        _step(day, before.worth_usdc_e6, result)

    def _trade(self, row: NewRow, target: str, is_buy: bool) -> None:
        """A transaction's further calls there to the same side are the same trade."""
        now, trade = self.standing, f"{target} {is_buy}"
        if row.tx_hash != now.last_tx:
            now.last_tx, now.traded = row.tx_hash, []
        if trade in now.traded:
            return
        now.traded.append(trade)
        day = self._day(row.occurred_at)
        day.trades += 1
        day.sides.setdefault(target, [0, 0])[not is_buy] += 1

    def _said(self, row: NewRow) -> None:
        amount = row.amount_usdc_e6 or 0
        if row.kind in TRADES:
            self._day(row.occurred_at).said_trades += 1
        elif row.kind is RowKind.RESOLVE:
            self._day(row.occurred_at).said_result_usdc_e6 += amount
        elif row.kind is RowKind.FEE:
            day = self._day(row.occurred_at)
            day.said_fees_usdc_e6 += amount
            day.said_result_usdc_e6 -= amount

    def _day(self, at: datetime) -> Day:
        """The day of a row of that time, which may begin with it."""
        on = self._on(at)
        day = self._day_so_far(on) or Day(
            day=on, capital_usdc_e6=self._before, worth_usdc_e6=self._before
        )
        self.changed[on], self.standing.last_day = day, on
        return day

    def _on(self, at: datetime) -> date:
        """Never before the last day nor after the end's."""
        now, on = self.standing, at.date()
        if now.last_day is not None and (on < now.last_day or now.ended_on is not None):
            return now.last_day
        return on

    def _day_so_far(self, on: date) -> Day | None:
        known = self._known if self.standing.last_day == on else None
        return self.changed.get(on, known)


def _step(day: Day, before: int, result: int) -> None:
    """A result, and the worth that it was made of."""
    day.result_usdc_e6 += result
    if before > 0:
        if result:
            day.least_usdc_e6 = min(day.least_usdc_e6 or before, before)
        day.path = day.path.then(step(max(0, before + result) * ONE // before))


def _of_chain(row: NewRow, name: str) -> Mapping[str, Any] | None:
    return chain_fact(row, name) if row.kind is RowKind.NOTE else None


def stopped_by(row: NewRow) -> str:
    """Of a stop of the chain: floor (the stop line, whoever enforced it), self (the agent), other."""
    if _stopped(row).get("reason") == STOP_LINE:
        return "floor"
    return "self" if row.reported_by is ReportedBy.AGENT else "other"


def _stopped(row: NewRow) -> Mapping[str, Any]:
    """What the chain's log says of the stop, whoever sent it. Of another row nothing."""
    stopped = row.payload.get("stopped")
    return stopped if row.kind is RowKind.STOP and isinstance(stopped, Mapping) else {}
