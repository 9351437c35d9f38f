"""A pair's report as values: what a PDF of it prints, in English or Korean (docs/risk.md#the-report).

Laws
- Numbers are made into text here, once, and are the same text in every language.
- Version 1 has identity, grade, transfers, warnings and risk; version 2 has these and history,
  percentiles, comparable outcomes and the method.
- What is unknown is printed as unknown. Simulated data has its watermark on every page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from core.market.facts import NetworkStatus
from core.market.rules.grade import WEIGHTS, Letter
from core.market.rules.identity import NATIVE, IdentityGroup, IdentityVerdict
from core.market.rules.notices import OutcomeKind
from core.market.rules.report_texts import TEXTS, ReportLanguage
from core.market.rules.research import PairPercentiles
from core.market.rules.risk import RiskCalibration, RiskFactor, RiskReading
from core.market.rules.warnings import ForeignOutcome, WarningSeverity, WarningType

MOST_ROWS: Final = 20
BUCKET_S: Final = 7_200
METHOD: Final = ("method_grade", "method_risk", "method_unknown", "method_advice")


class ReportVersion(StrEnum):
    V1 = "v1"
    V2 = "v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairGrade:
    """What a letter was made of (docs/market.md#the-grade). `score`, `is_provisional` None: too little
    was seen for one. `parts`: in the order of WEIGHTS; None: left out.
    """

    score: float | None
    is_provisional: bool | None
    parts: tuple[float | None, ...]
    spread_bps: float
    depth_usd: float
    slip_10k_bps: float | None
    volume_24h_usd: float | None
    uptime: float
    coverage: float


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """Two hours from `at` on: the last price, and medians."""

    at: datetime
    close: float
    spread_bps: float
    depth_usd: float | None


@dataclass(frozen=True, slots=True)
class WarningRow:
    """cleared_at: None: it is open. outcome: what another exchange declared, of a cross_exchange_flag."""

    type: WarningType
    severity: WarningSeverity
    issued_at: datetime
    cleared_at: datetime | None
    outcome: ForeignOutcome | None = None


@dataclass(frozen=True, slots=True)
class ComparableOutcome:
    """was_foreseen: a warning that counts led it by 24 hours."""

    token: str
    exchange: str
    kind: OutcomeKind
    at: datetime
    was_foreseen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """All that either version prints; None: unknown. `gpa_7d`: of the asset. `history`, `percentiles`
    (by figure: spread, depth, slip, volume) and `comparable` are of version 2. `_count`: with those
    that are not given; None: all are.
    """

    exchange: str
    symbol: str
    made_at: datetime
    is_simulated: bool
    price: float | None
    verdict: IdentityVerdict
    groups: tuple[IdentityGroup, ...]
    letter: Letter | None
    grade: PairGrade | None
    gpa_7d: float | None
    networks: tuple[NetworkStatus, ...]
    warnings: tuple[WarningRow, ...]
    risk: RiskReading
    calibration: RiskCalibration
    history: tuple[HistoryPoint, ...] = ()
    percentiles: Mapping[str, PairPercentiles] | None = None
    comparable: tuple[ComparableOutcome, ...] = ()
    warnings_count: int | None = None
    comparable_count: int | None = None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """`left_out`: rows beyond the first twenty; `empty`: what is printed where there is no row."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    empty: str = ""


@dataclass(frozen=True, slots=True)
class ReportChart:
    """One line over time; a None breaks it. `lowest`, `highest`, `newest`: as they are printed."""

    title: str
    points: tuple[tuple[datetime, float | None], ...]
    lowest: str
    highest: str
    newest: str


@dataclass(frozen=True, slots=True)
class ReportSection:
    id: str
    heading: str
    tables: tuple[ReportTable, ...] = ()
    charts: tuple[ReportChart, ...] = ()
    paragraphs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairReport:
    title: str
    subtitle: str
    watermark: str | None
    language: ReportLanguage
    version: ReportVersion
    sections: tuple[ReportSection, ...]


def bucket_at(now: datetime) -> datetime:
    """The even hour, UTC, at or before `now`: a report is made once for it."""
    return datetime.fromtimestamp(int(now.timestamp()) // BUCKET_S * BUCKET_S, UTC)


def pair_report(facts: ReportFacts, version: ReportVersion, language: ReportLanguage) -> PairReport:
    words = TEXTS[language]
    sections = [
        _identity(facts, words),
        _grade(facts, words),
        _transfer(facts, words),
        _warnings(facts, words),
        _risk(facts, words),
    ]
    if version is ReportVersion.V2:
        sections += [
            _history(facts, words),
            _percentiles(facts, words),
            _comparable(facts, words),
            ReportSection(
                "method", words["method"], paragraphs=tuple(words[name] for name in METHOD)
            ),
        ]
    return PairReport(
        title=f"{words['title']}: {facts.symbol} · {facts.exchange}",
        subtitle=f"{words['made_at']} {_time(facts.made_at)} · {words['bucket']}"
        f" {_time(bucket_at(facts.made_at))}",
        watermark=words["simulated"] if facts.is_simulated else None,
        language=language,
        version=version,
        sections=tuple(sections),
    )


def printed(report: PairReport) -> tuple[str, ...]:
    """Every text of the report, in its order."""
    texts = [report.title, report.subtitle]
    for section in report.sections:
        texts += [section.heading, *section.paragraphs]
        for table in section.tables:
            cells = [cell for row in table.rows for cell in row]
            texts += [*table.header, *cells] if cells else [table.empty]
        for chart in section.charts:
            texts += [chart.title, chart.lowest, chart.highest, chart.newest]
    return tuple(texts)


def _identity(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    exchanges = sorted({coin.exchange for group in facts.groups for coin in group.coins})
    contracts = [
        (key.chain, words["own_coin"] if key.address == NATIVE else key.address)
        for group in facts.groups
        for key in group.keys
    ]
    rows = (
        (words["exchange"], facts.exchange),
        (words["pair"], facts.symbol),
        (f"{words['price']}, {_quote(facts)}", _number(facts.price, words)),
        (words["verdict"], words[facts.verdict]),
        (words["listed_on"], ", ".join(exchanges) or words["unknown"]),
    )
    header = (words["chain"], words["contracts"])
    return ReportSection(
        "identity",
        words["identity"],
        (
            ReportTable((), rows),
            _table(header, contracts, f"{words['contracts']}: {words['unknown']}"),
        ),
    )


def _grade(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    grade = facts.grade
    rows = [
        (words["letter"], facts.letter or words["unknown"]),
        (words["score"], _fixed(None if grade is None else grade.score, 2, words)),
        (words["provisional"], _flag(None if grade is None else grade.is_provisional, words)),
        (words["gpa"], _fixed(facts.gpa_7d, 2, words)),
    ]
    if grade is not None:
        rows += [
            (words["spread"], _fixed(grade.spread_bps, 2, words)),
            (words["depth"], _number(grade.depth_usd, words)),
            (words["slip"], _fixed(grade.slip_10k_bps, 2, words)),
            (words["volume"], _number(grade.volume_24h_usd, words)),
            (words["uptime"], _percent(grade.uptime, words)),
            (words["coverage"], _percent(grade.coverage, words)),
        ]
    parts = () if grade is None or grade.score is None else (_parts(grade, words),)
    return ReportSection("grade", words["grade"], (ReportTable((), tuple(rows)), *parts))


def _parts(grade: PairGrade, words: Mapping[str, str]) -> ReportTable:
    names = ("part_depth", "part_spread", "part_slip", "part_volume", "part_uptime")
    rows = tuple(
        (words[name], _fixed(part, 4, words), f"{weight:.2f}")
        for name, part, weight in zip(names, grade.parts, WEIGHTS, strict=True)
    )
    return ReportTable((words["component"], words["part"], words["weight"]), rows)


def _transfer(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    rows = [
        (
            one.chain,
            _open(one.can_deposit, words),
            _open(one.can_withdraw, words),
            _number(one.withdraw_fee, words),
        )
        for one in facts.networks
    ]
    header = (words["chain"], words["deposit"], words["withdraw"], words["fee"])
    return ReportSection("transfer", words["transfer"], (_table(header, rows, words["unknown"]),))


def _warnings(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    rows = [
        (
            _warned(one, words),
            words[one.severity],
            _time(one.issued_at),
            words["still_open"] if one.cleared_at is None else _time(one.cleared_at),
        )
        for one in sorted(facts.warnings, key=lambda one: one.issued_at, reverse=True)
    ]
    header = (words["warning_type"], words["severity"], words["issued"], words["cleared"])
    table = _table(header, rows, words["none"], facts.warnings_count)
    return ReportSection("warnings", words["warnings"], (table,))


def _warned(one: WarningRow, words: Mapping[str, str]) -> str:
    if one.outcome is None:
        return words[one.type]
    of = one.outcome
    return f"{words[one.type]}: {of.exchange}, {words[of.kind]}, {_time(of.at)}"


def _risk(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    risk, known = facts.risk, facts.calibration
    rows = (
        (words["p90"], _percent(risk.p90, words)),
        (words["score"], words["unknown"] if risk.score is None else str(risk.score)),
        (words["coverage"], _percent(risk.coverage, words)),
        (words["calibrated"], _flag(known.is_calibrated, words)),
        (words["outcomes"], str(known.outcomes)),
        (words["brier"], _fixed(known.brier if known.is_calibrated else None, 4, words)),
    )
    parts = [
        (
            words["low_gpa" if part.factor is RiskFactor.GPA else part.factor],
            _fixed(part.value, 2, words),
            _fixed(part.contribution, 4, words),
        )
        for part in risk.parts
    ]
    header = (words["factor"], words["value"], words["contribution"])
    return ReportSection(
        "risk", words["risk"], (ReportTable((), rows), _table(header, parts, words["unknown"]))
    )


def _history(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    times = [one.at for one in facts.history]
    lines: tuple[tuple[str, list[float | None]], ...] = (
        (f"{words['history_price']}, {_quote(facts)}", [one.close for one in facts.history]),
        (words["history_spread"], [one.spread_bps for one in facts.history]),
        (words["history_depth"], [one.depth_usd for one in facts.history]),
    )
    charts = tuple(_chart(title, times, values, words) for title, values in lines)
    rows = tuple((chart.title, chart.lowest, chart.highest, chart.newest) for chart in charts)
    header = (words["figure"], words["lowest"], words["highest"], words["newest"])
    return ReportSection("history", words["history"], (ReportTable(header, rows),), charts)


def _quote(facts: ReportFacts) -> str:
    return facts.symbol.partition("/")[2]


def _chart(
    title: str, times: Sequence[datetime], values: Sequence[float | None], words: Mapping[str, str]
) -> ReportChart:
    known = [value for value in values if value is not None]
    return ReportChart(
        title,
        tuple(zip(times, values, strict=True)),
        _number(min(known, default=None), words),
        _number(max(known, default=None), words),
        _number(known[-1] if known else None, words),
    )


def _percentiles(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    rows = [
        (words[figure], _fixed(one.own, 1, words), _fixed(one.peers, 1, words))
        for figure, one in (facts.percentiles or {}).items()
    ]
    header = (words["figure"], words["own"], words["among_peers"])
    return ReportSection("percentiles", words["peers"], (_table(header, rows, words["unknown"]),))


def _comparable(facts: ReportFacts, words: Mapping[str, str]) -> ReportSection:
    rows = [
        (one.token, one.exchange, words[one.kind], _time(one.at), _flag(one.was_foreseen, words))
        for one in facts.comparable
    ]
    header = tuple(words[name] for name in ("token", "exchange", "outcome", "at", "foreseen"))
    table = _table(header, rows, words["none"], facts.comparable_count)
    return ReportSection("comparable", words["comparable"], (table,))


def _table(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], empty: str, count: int | None = None
) -> ReportTable:
    """`count`: of all rows, where not all are given."""
    left_out = (len(rows) if count is None else count) - MOST_ROWS
    return ReportTable(header, tuple(rows[:MOST_ROWS]), max(left_out, 0), empty)


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _fixed(value: float | None, places: int, words: Mapping[str, str]) -> str:
    return words["unknown"] if value is None else f"{value:,.{places}f}"


def _number(value: float | None, words: Mapping[str, str]) -> str:
    """From 10,000 on whole, from 100 on with two places, from 1 on with four, below with four
    significant figures; never with an exponent, and without zeros at the end of places.
    """
    if value is None:
        return words["unknown"]
    size = abs(value)
    if size >= 10_000 or size == 0:
        return f"{value:,.0f}"
    magnitude = int(f"{value:e}".partition("e")[2])
    places = 2 if size >= 100 else 4 if size >= 1 else 3 - magnitude
    return f"{value:,.{places}f}".rstrip("0").rstrip(".")


def _percent(value: float | None, words: Mapping[str, str]) -> str:
    return words["unknown"] if value is None else f"{100 * value:.2f} %"


def _flag(value: bool | None, words: Mapping[str, str]) -> str:
    if value is None:
        return words["unknown"]
    return words["yes"] if value else words["no"]


def _open(value: bool | None, words: Mapping[str, str]) -> str:
    if value is None:
        return words["unknown"]
    return words["open"] if value else words["closed"]
