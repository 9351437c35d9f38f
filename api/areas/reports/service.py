"""Reports are ordered, listed and downloaded (docs/reports.md)."""

from datetime import timedelta

from api.areas.reports import queries
from api.areas.reports.queries import ReportOrder
from api.areas.reports.rules import BUCKET, MOST_ATTEMPTS, ReportState, is_spent
from api.areas.reports.schemas import (
    OrderReport,
    ReportEntry,
    ReportPage,
    ReportPath,
    ReportsQuery,
)
from api.areas.reports.tables import StoredReport
from api.areas.safety.checks import require_unlocked
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from api.kernel.outcome import File
from api.kernel.pagination import page_of
from api.kernel.refusals import used_up_today
from api.shared.pairs import listing_of
from api.shared.tiers import most_reports, require_tier
from core.listings import queries as listings
from core.listings.rules import Symbol, symbol_in_body
from core.listings.tables import ExchangeListing
from core.market.rules.report import bucket_at
from core.subscriptions.rules import Tier
from core.times import instant_text, start_of_day

PDF, WHAT = "application/pdf", "A report"
ASK_AGAIN = timedelta(seconds=5)


def order(call: WriteCall, caller: AgentCaller, command: OrderReport) -> Answer[ReportEntry]:
    """Errors: InvalidParameterError; Refusal not_found, account_locked, tier_required,
    rate_limited, report_failed.
    """
    listing = listing_of(call, command.exchange, symbol_in_body("symbol", command.symbol))
    require_unlocked(call, caller.account_id)  # and its orders are counted one after the other
    tier = require_tier(call, caller, Tier.TIER_1, WHAT)
    wanted = ReportOrder(
        listing_id=listing.id,
        version=command.version,
        lang=command.lang,
        bucket=bucket_at(call.now),
    )
    found = queries.find_report(call.db, wanted)
    if found is None or not queries.has_report(call.db, caller.account_id, found.id):
        _require_room(call, caller, tier)
    if found is not None and is_spent(found.failure, found.attempts):
        raise _spent(found, listing)
    queries.request(call.db, caller.account_id, wanted, call.now)
    report = queries.find_report(call.db, wanted)
    assert report is not None, "it was asked for just now"
    return Answer(_entry(report, listing))


def _require_room(call: WriteCall, caller: AgentCaller, tier: Tier) -> None:
    """Errors: Refusal rate_limited."""
    most = most_reports(tier, call.deps.limits)
    if queries.asked_since(call.db, caller.account_id, start_of_day(call.now)) < most:
        return
    detail = f"Today's {most} reports are used up"
    raise used_up_today(detail, "order again", "reports", call.now, "subscriptions.account")


def own(call: ReadCall, caller: AgentCaller, command: ReportsQuery) -> Answer[ReportPage]:
    """Errors: InvalidParameterError; Refusal not_found, tier_required."""
    require_tier(call, caller, Tier.TIER_1, WHAT)
    listing = listing_of(call, command.exchange, symbol_in_body("symbol", command.symbol))
    page = page_of(call, "reports.list", command)
    found = queries.reports_before(
        call.db, caller.account_id, listing.id, page.before, page.limit + 1
    )
    shown, next_cursor = page.cut(found, lambda report: report.id)
    return Answer(
        ReportPage(reports=[_entry(one, listing) for one in shown], next_cursor=next_cursor)
    )


def download(call: ReadCall, caller: AgentCaller, command: ReportPath) -> Answer[ReportEntry]:
    """The PDF. Errors: Refusal not_found, tier_required, report_not_ready, report_failed."""
    require_tier(call, caller, Tier.TIER_1, WHAT)
    report = queries.report_of(call.db, caller.account_id, command.report_id)
    if report is None:
        raise Refusal(
            "not_found",
            f"You ordered no report {command.report_id}; order one, or list those of a pair.",
            next_calls=("reports.order",),
        )
    listing = listings.listings_of(call.db, {report.listing_id})[report.listing_id]
    if report.pdf is None:
        raise _not_there(call, report, listing)
    name = f"{listing.token_id}-{report.version}-{report.lang}-{report.bucket:%Y%m%dT%H}.pdf"
    file = File(PDF, name, report.pdf)
    return Answer(_entry(report, listing), file=lambda: file)


def _spent(report: StoredReport, listing: ExchangeListing) -> Refusal:
    ends = report.bucket + BUCKET
    return Refusal(
        "report_failed",
        f"Report {report.id} was abandoned {report.attempts // MOST_ATTEMPTS} times and will "
        f"not be queued again; order the next one from {instant_text(ends)} on.",
        next_calls=(NextCall("reports.order", body=_order_of(report, listing)),),
    )


def _order_of(report: StoredReport, listing: ExchangeListing) -> dict[str, str]:
    return {
        "exchange": listing.exchange,
        "symbol": Symbol(listing.base, listing.quote).in_body,
        "lang": report.lang,
        "version": report.version,
    }


def _not_there(call: Call, report: StoredReport, listing: ExchangeListing) -> Refusal:
    if is_spent(report.failure, report.attempts):
        return _spent(report, listing)
    if report.state == ReportState.FAILED.value:
        return Refusal(
            "report_failed",
            f"Report {report.id} could not be made: {report.failure}. Order it again.",
            next_calls=(NextCall("reports.order", body=_order_of(report, listing)),),
        )
    return Refusal(
        "report_not_ready",
        f"Report {report.id} is {report.state}; ask again in a few seconds.",
        retry_at=call.now + ASK_AGAIN,
        next_calls=(NextCall("reports.download", {"report_id": str(report.id)}),),
    )


def _entry(report: StoredReport, listing: ExchangeListing) -> ReportEntry:
    is_ready = report.state == ReportState.READY.value
    is_simulated = listing.is_simulated if report.is_simulated is None else report.is_simulated
    return ReportEntry.of(
        report,
        report_id=report.id,
        exchange=listing.exchange,
        symbol=Symbol(listing.base, listing.quote).in_body,
        ready_at=instant_text(report.state_at) if is_ready else None,
        sha256=None if report.sha256 is None else report.sha256.hex(),
        **{"simulated": True} if is_simulated else {},
    )
