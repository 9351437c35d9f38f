"""What the Hall says of an agent: windows of its days, and whether it is ranked.

Laws
- A window is so many UTC days, today included; "since" is all of them.
- The return of a day is that of all mandates together, each by the capital that made it; days follow
  one another.
- The deepest fall is that of the mandate that fell deepest, or of all together at the ends of days,
  whichever is deeper: a large one hides no small one.
- Money that is out now where no adapter values it counts as lost today, in every figure.
- Without capital there is no return: None, not 0.

Source: docs/hall.md.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from core.hall.rules.path import ONE, STILL, Path, joined, step

DAYS_NEEDED: Final = 30  # live, for a rank
TRADES_NEEDED: Final = 20
WINDOWS: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "since": None}


class CountedDay(NamedTuple):
    """What of a mandate's day counts; amounts in USDC base units.

    `weight`: the capital that its return was made of (`weight_of`). `grown`: that times the growth of
    its worth, in parts of 1e12, without what an owner made of itself. `path`: growth, high, low and
    kept, with it.
    """

    day: date
    result: int
    trades: int
    weight: int
    worth: int
    grown: int
    path: tuple[int, int, int, int]
    said_trades: int = 0
    said_result: int = 0
    said_fees: int = 0


def weight_of(result: int, growth: int, least: int, capital: int) -> int:
    """The capital that a day's result was made of, so that its return times that is the result:
    what came in after a gain makes the gain no heavier.

    USDC base units; within the least and the most that the mandate had that day.
    """
    if growth == ONE or not least:
        return capital
    return min(capital, max(least, result * ONE // (growth - ONE)))


def grown(weight: int, growth: int, off: int) -> int:
    """A day's weight times its growth, in parts of 1e12, without so much that does not count."""
    return max(0, weight * growth - off * ONE) if off else weight * growth


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateRecord:
    """One mandate's part. `out`: USDC base units out now where no adapter values them, at cost;
    `worth`: now, those included. `live_until`: its last day, inclusive.

    `is_readable` false: facts of its ledger are held back.
    """

    mandate_id: int
    owner_id: int
    is_own: bool  # of the agent's own owner
    is_working: bool
    funded_on: date | None
    live_until: date | None
    stopped_by: str | None
    violations: int
    out_usdc_e6: int
    worth_usdc_e6: int
    is_readable: bool
    days: Sequence[CountedDay] = ()  # rising


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """USDC base units and basis points; None: there was no capital."""

    net_usdc_e6: int
    twr_bps: int | None
    max_drawdown_bps: int | None
    trades: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegators:
    """Owners other than the agent's own, and what their mandates made."""

    total: int = 0
    working: int = 0
    net_7d_usdc_e6: int = 0
    net_30d_usdc_e6: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfReported:
    """What the agent alone tells, of paper too."""

    trades_total: int = 0
    net_30d_usdc_e6: int = 0
    net_since_usdc_e6: int = 0
    fees_usdc_e6: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """All figures of an agent at a day. `is_readable` false: of a mandate facts are held back, so
    that nobody knows the windows.
    """

    days_live: int = 0
    trades_total: int = 0
    windows: Mapping[str, Window] = field(default_factory=dict)
    delegators: Delegators = Delegators()
    mandates_total: int = 0
    floor_stops: int = 0
    self_stops: int = 0
    violations: int = 0
    self_reported: SelfReported = SelfReported()
    is_readable: bool = True

    @property
    def unranked_reason(self) -> str | None:
        """None: the agent is ranked."""
        if not self.is_readable:
            return "record_incomplete"
        short = [
            name
            for name, has, needed in (
                ("days_live", self.days_live, DAYS_NEEDED),
                ("trades", self.trades_total, TRADES_NEEDED),
            )
            if has < needed
        ]
        return "_and_".join(short) or None


def record_of(
    mandates: Sequence[MandateRecord], paper: Iterable[CountedDay], today: date
) -> AgentRecord:
    """Of all mandates on the chain that one agent has had, and the days of those on paper."""
    funded = [one for one in mandates if one.funded_on is not None]
    others = [one for one in funded if not one.is_own]
    of_others = nets(others, today)
    return AgentRecord(
        days_live=days_live(funded, today),
        trades_total=sum(day.trades for one in funded for day in one.days),
        windows=windows(funded, today),
        delegators=Delegators(
            total=len({one.owner_id for one in others}),
            working=len({one.owner_id for one in others if one.is_working}),
            net_7d_usdc_e6=of_others["7d"],
            net_30d_usdc_e6=of_others["30d"],
        ),
        mandates_total=len(funded),
        floor_stops=sum(one.stopped_by == "floor" for one in funded),
        self_stops=sum(one.stopped_by == "self" for one in funded),
        violations=sum(one.violations for one in mandates),
        self_reported=_said(
            [*(day for one in mandates for day in one.days), *paper], today - timedelta(days=30)
        ),
        is_readable=all(one.is_readable for one in mandates),
    )


def days_live(mandates: Iterable[MandateRecord], today: date) -> int:
    """UTC days on which at least one mandate held its budget and had not ended."""
    covered = 0
    last = date.min
    spans = [
        (one.funded_on, min(today, one.live_until or today))
        for one in mandates
        if one.funded_on is not None
    ]
    for first, until in sorted(spans):
        fresh = max(first, last + timedelta(days=1)) if last > date.min else first
        if until >= fresh:
            covered += (until - fresh).days + 1
            last = until
    return covered


def windows(mandates: Sequence[MandateRecord], today: date) -> dict[str, Window]:
    """The figures of each window."""
    together = _over_windows(*_together(mandates), _without(*_out_of(mandates)), today)
    alone = [
        _over_windows(
            [day.day for day in one.days],
            [day.path for day in one.days],
            _without(one.out_usdc_e6, one.worth_usdc_e6),
            today,
        )
        for one in mandates
    ]
    net, found = nets(mandates, today), dict[str, Window]()
    for name, size in WINDOWS.items():
        shown = [day for one in mandates for day in _last_days(one.days, size, today)]
        has_capital = any(one.is_working for one in mandates) or any(
            day.weight > 0 for day in shown
        )
        falls = [together[name].fall_bps, *(paths[name].fall_bps for paths in alone)]
        found[name] = Window(
            net_usdc_e6=net[name],
            twr_bps=together[name].gain_bps if has_capital else None,
            max_drawdown_bps=max(falls) if has_capital else None,
            trades=sum(day.trades for day in shown),
        )
    return found


def nets(mandates: Iterable[MandateRecord], today: date) -> dict[str, int]:
    """By window what counts of the mandates' results, less what is out now."""
    return {
        name: sum(
            sum(day.result for day in _last_days(one.days, size, today)) - one.out_usdc_e6
            for one in mandates
        )
        for name, size in WINDOWS.items()
    }


def _last_days(days: Sequence[CountedDay], size: int | None, today: date) -> Sequence[CountedDay]:
    if size is None:
        return days
    after = today - timedelta(days=size)
    return days[bisect_right(days, after, key=itemgetter(0)) :]


_Paths = Sequence[tuple[int, int, int, int]]


def _over_windows(days: Sequence[date], paths: _Paths, last: Path, today: date) -> dict[str, Path]:
    """By window the paths of its days, rising, and then `last`; the windows grow."""
    found, path, until = dict[str, Path](), last, len(days)
    for name, size in WINDOWS.items():
        first = 0 if size is None else bisect_right(days, today - timedelta(days=size))
        path = joined(reversed(paths[first:until]), path)
        found[name], until = path, first
    return found


def _out_of(mandates: Iterable[MandateRecord]) -> tuple[int, int]:
    """What is out now, and the worth of the mandates that work or have something out."""
    shown = [one for one in mandates if one.is_working or one.out_usdc_e6]
    return sum(one.out_usdc_e6 for one in shown), sum(one.worth_usdc_e6 for one in shown)


def _without(out_usdc_e6: int, worth_usdc_e6: int) -> Path:
    """What is out now counts as lost."""
    if not out_usdc_e6 or worth_usdc_e6 <= 0:
        return STILL
    return step(max(0, worth_usdc_e6 - out_usdc_e6) * ONE // worth_usdc_e6)


def _together(mandates: Sequence[MandateRecord]) -> tuple[list[date], _Paths]:
    """All mandates day by day, each by its capital of the day."""
    listed = sorted(
        ((day, one.mandate_id) for one in mandates for day in one.days), key=_day_of_listed
    )
    total, held, days, paths = 0, dict[int, int](), list[date](), list[Path]()
    for at, of_day in groupby(listed, key=_day_of_listed):
        idle, capital, grown, worth = total, 0, 0, 0
        for day, mandate_id in of_day:
            idle -= held.get(mandate_id, 0)
            capital += day.weight
            grown += day.grown
            worth += day.worth
            held[mandate_id] = day.worth
        base = idle + capital
        days.append(at)
        paths.append(step((idle * ONE + grown) // base) if base > 0 else STILL)
        total = idle + worth
    return days, paths


def _day_of_listed(listed: tuple[CountedDay, int]) -> date:
    return listed[0][0]


def _said(days: Iterable[CountedDay], after: date) -> SelfReported:
    listed = list(days)
    return SelfReported(
        trades_total=sum(day.said_trades for day in listed),
        net_30d_usdc_e6=sum(day.said_result for day in listed if day.day > after),
        net_since_usdc_e6=sum(day.said_result for day in listed),
        fees_usdc_e6=sum(day.said_fees for day in listed),
    )
