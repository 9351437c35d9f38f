"""A report on paper: A4, every figure as core.market.rules.report wrote it, charts as SVG."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from api.areas.reports.queries import PrintedReport
from api.kernel.pdf.printing import pdf_of
from core.market.rules.report import (
    PairReport,
    ReportChart,
    ReportFacts,
    ReportVersion,
    pair_report,
)
from core.market.rules.report_texts import TEXTS, ReportLanguage

TEMPLATES: Final = Path(__file__).parent / "templates"
WIDTH, HEIGHT = 520.0, 96.0  # of a chart, in its own units


def print_report(
    facts: ReportFacts, version: ReportVersion, language: ReportLanguage
) -> PrintedReport:
    """Equal facts give equal bytes. Errors: PdfLibraryError."""
    pdf = pdf_of(TEMPLATES, "report", values_of(pair_report(facts, version, language)))
    return PrintedReport(
        pdf=pdf,
        sha256=hashlib.sha256(pdf).digest(),
        grade=None if facts.letter is None else facts.letter.value,
        score=facts.risk.score,
        probability=facts.risk.p90,
        coverage=facts.risk.coverage,
        is_simulated=facts.is_simulated,
    )


def values_of(report: PairReport) -> dict[str, object]:
    """What the template is filled with."""
    return {
        "report": report,
        "language": report.language.value,
        "words": TEXTS[report.language],
        "lines": {
            chart.title: line_of(chart) for section in report.sections for chart in section.charts
        },
        "width": WIDTH,
        "height": HEIGHT,
    }


def line_of(chart: ReportChart) -> str:
    """The path of a chart's line; what is unknown breaks it. "": nothing is known."""
    known = [value for _, value in chart.points if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    first, last = chart.points[0][0], chart.points[-1][0]
    parts, is_drawing = list[str](), False
    for at, value in _thinned(chart.points):
        if value is None:
            is_drawing = False
            continue
        x = WIDTH * _share((at - first).total_seconds(), (last - first).total_seconds())
        y = HEIGHT * (1 - _share(value - low, high - low))
        parts.append(f"{'L' if is_drawing else 'M'}{x:.1f} {y:.1f}")
        is_drawing = True
    return " ".join(parts)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.5


def _thinned(
    points: Sequence[tuple[datetime, float | None]],
) -> Sequence[tuple[datetime, float | None]]:
    """No more points than the chart has units."""
    every = max(1, -(-len(points) // int(WIDTH)))
    return [point for number, point in enumerate(points) if number % every == 0]
