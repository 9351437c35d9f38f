"""The slow jobs `reports`, which prints what was asked for, and `reports_prune`, which drops what is
past (docs/reports.md).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from api.areas.reports import queries, views
from api.areas.reports.queries import PrintedReport
from api.areas.reports.rendering.printing import print_report
from api.areas.reports.rules import ReportFailure
from api.areas.reports.tables import StoredReport
from api.kernel.jobs import AreaJob, JobPlace
from api.kernel.pdf.printing import PdfLibraryError
from core.market import identity
from core.market.identity import CoinGraph
from core.market.rules.report import ReportVersion
from core.market.rules.report_texts import ReportLanguage

NAME: Final = "reports"
EVERY_S: Final = 5
PRUNE_S: Final = 3_600
LIMIT_S: Final = 300
PRUNE_LIMIT_S: Final = 3_600
BATCH: Final = 200  # files of some 100 kB each
MOST_BATCHES: Final = 50
REPORTS_A_RUN: Final = 20  # the rest follows in the next runs


def prune(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """A batch a transaction; what is left follows in the next run."""
    dropped = 0
    for _ in range(MOST_BATCHES):
        with place.database.write() as session:
            gone = queries.drop_past(session, now, BATCH)
        dropped += gone
        if gone < BATCH:
            break
    return {"reports": dropped}


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Each report is claimed, committed, printed, and kept by a second transaction.

    Errors: the database's.
    """
    with place.database.write() as session:
        abandoned = queries.requeue_abandoned(session, now)
    done = {"ready": 0, "failed": 0}
    graph: CoinGraph | None = None
    for _ in range(REPORTS_A_RUN):
        with place.database.write() as session:
            report = queries.take_queued(session, now)
        if report is None:
            break
        if graph is None:
            with place.database.read() as reading:
                coins = identity.coin_rows(reading)
            graph = identity.graph_of(coins)
        made = _made(place, report, graph, now)
        with place.database.write() as session:
            if isinstance(made, ReportFailure):
                queries.keep_failed(session, report.id, made, now)
            else:
                queries.keep_printed(session, report.id, made, now)
        done["failed" if isinstance(made, ReportFailure) else "ready"] += 1
    return done | {"abandoned": abandoned}


def _made(
    place: JobPlace, report: StoredReport, graph: CoinGraph, now: datetime
) -> PrintedReport | ReportFailure:
    with place.database.read() as session:
        facts = views.facts_of(session, report.listing_id, graph, now)
    if facts is None:
        return ReportFailure.NO_DATA
    try:
        return print_report(facts, ReportVersion(report.version), ReportLanguage(report.lang))
    except PdfLibraryError:
        return ReportFailure.LIBRARY_MISSING


JOBS: Final = (
    AreaJob(NAME, EVERY_S, LIMIT_S, run),
    AreaJob("reports_prune", PRUNE_S, PRUNE_LIMIT_S, prune),
)
