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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from api.areas.hall.rules.path import ONE, STILL, Path, joined, step
from api.areas.hall.rules.sums import (
    WINDOWS,
    CountedDay,
    Past,
    Sums,
    days_since,
    past_of,
    summed,
    together,
)

DAYS_NEEDED: Final = 30  # live, for a rank
TRADES_NEEDED: Final = 20


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
    """Owners other than the agent's own, and the results of their mandates."""

    total: int = 0
    working: int = 0
    net_7d_usdc_e6: int = 0
    net_30d_usdc_e6: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfReported:
    """What only the agent reports, of paper too."""

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
    mandates: Sequence[MandateRecord],
    paper: Sequence[MandateRecord],
    today: date,
    past: Past | None = None,
) -> AgentRecord:
    """Of all mandates on the chain that one agent has had, and of those on paper.

    `past`: what was kept of the days before today (`past_to_keep`); the days of the mandates need
    not go back further then.
    """
    past = past or past_to_keep(mandates, paper, today)
    funded = [one for one in mandates if one.funded_on is not None]
    sums = {one.mandate_id: _sums(one, past, today) for one in (*mandates, *paper)}
    others = [one for one in funded if not one.is_own]
    return AgentRecord(
        days_live=days_live(funded, today),
        trades_total=sum(sums[one.mandate_id]["since"].trades for one in funded),
        windows=_windows(funded, sums, past, today),
        delegators=Delegators(
            total=len({one.owner_id for one in others}),
            working=len({one.owner_id for one in others if one.is_working}),
            net_7d_usdc_e6=_net(others, sums, "7d"),
            net_30d_usdc_e6=_net(others, sums, "30d"),
        ),
        mandates_total=len(funded),
        floor_stops=sum(one.stopped_by == "floor" for one in funded),
        self_stops=sum(one.stopped_by == "self" for one in funded),
        violations=sum(one.violations for one in mandates),
        self_reported=SelfReported(
            trades_total=sum(one["since"].said_trades for one in sums.values()),
            net_30d_usdc_e6=sum(one["30d"].said_result for one in sums.values()),
            net_since_usdc_e6=sum(one["since"].said_result for one in sums.values()),
            fees_usdc_e6=sum(one["since"].said_fees for one in sums.values()),
        ),
        is_readable=all(one.is_readable for one in mandates),
    )


def daily_returns(mandates: Sequence[MandateRecord], most: int) -> list[tuple[date, int]]:
    """(day, return in basis points since the first day began) at the ends of UTC days, rising; of all
    mandates together. A day without rows changes nothing and is left out.

    At most `most` days, evenly thinned; the last one is always there. What is out now counts as lost
    on it. `mandates`: all on the chain, with all their days.
    """
    funded = [one for one in mandates if one.funded_on is not None]
    days, paths = together({one.mandate_id: one.days for one in funded}, {})
    path, ends = STILL, list[Path]()
    for of_day in paths:
        path = path.then(of_day)
        ends.append(path)
    if ends:
        ends[-1] = ends[-1].then(_without(*_out_of(funded)))
    every = max(1, -(-len(days) // most))
    return [(day, end.gain_bps) for day, end in zip(days, ends, strict=True)][::-every][::-1]


def past_to_keep(
    mandates: Sequence[MandateRecord], paper: Sequence[MandateRecord], today: date
) -> Past:
    """Of all their days."""
    days = {one.mandate_id: one.days for one in (*mandates, *paper)}
    funded = [one.mandate_id for one in mandates if one.funded_on is not None]
    return past_of(days, funded, today)


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


_OfWindows = Mapping[str, Sums]


def _sums(mandate: MandateRecord, past: Past, today: date) -> _OfWindows:
    fresh = summed(days_since(mandate.days, today))
    before = past.mandates[mandate.mandate_id].windows
    return {name: sums.then(fresh) for name, sums in before.items()}


def _windows(
    mandates: Sequence[MandateRecord], sums: Mapping[int, _OfWindows], past: Past, today: date
) -> dict[str, Window]:
    fresh = _together_since(mandates, past, today).then(_without(*_out_of(mandates)))
    lost = {one.mandate_id: _without(one.out_usdc_e6, one.worth_usdc_e6) for one in mandates}
    is_any_working, found = any(one.is_working for one in mandates), dict[str, Window]()
    for name in WINDOWS:
        all_of_it = past.together[name].then(fresh)
        shown = {one.mandate_id: sums[one.mandate_id][name] for one in mandates}
        has_capital = is_any_working or any(one.weight for one in shown.values())
        falls = [one.path.then(lost[mandate_id]).fall_bps for mandate_id, one in shown.items()]
        found[name] = Window(
            net_usdc_e6=_net(mandates, sums, name),
            twr_bps=all_of_it.gain_bps if has_capital else None,
            max_drawdown_bps=max(all_of_it.fall_bps, *falls) if has_capital else None,
            trades=sum(one.trades for one in shown.values()),
        )
    return found


def _net(mandates: Iterable[MandateRecord], sums: Mapping[int, _OfWindows], name: str) -> int:
    """What counts of the mandates' results, less what is out now."""
    return sum(sums[one.mandate_id][name].result - one.out_usdc_e6 for one in mandates)


def _together_since(mandates: Sequence[MandateRecord], past: Past, today: date) -> Path:
    days = {one.mandate_id: days_since(one.days, today) for one in mandates}
    held = {one.mandate_id: past.mandates[one.mandate_id].worth for one in mandates}
    _, paths = together(days, held)
    return joined(reversed(paths), STILL)


def _out_of(mandates: Iterable[MandateRecord]) -> tuple[int, int]:
    """What is out now, and the worth of the mandates that work or have something out."""
    shown = [one for one in mandates if one.is_working or one.out_usdc_e6]
    return sum(one.out_usdc_e6 for one in shown), sum(one.worth_usdc_e6 for one in shown)


def _without(out_usdc_e6: int, worth_usdc_e6: int) -> Path:
    """What is out now counts as lost."""
    if not out_usdc_e6 or worth_usdc_e6 <= 0:
        return STILL
    return step(max(0, worth_usdc_e6 - out_usdc_e6) * ONE // worth_usdc_e6)
