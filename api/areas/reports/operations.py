"""The operations of the area reports."""

from api.areas.reports import service
from api.kernel.auth import BY_KEY
from api.kernel.operation import Area, Read, Reason, Write
from api.kernel.outcome import JSON
from api.kernel.scopes import ANY_SCOPE

AREA = Area(
    name="reports",
    about="PDF reports of pairs: identity, grade, transfers, warnings and risk.",
    operations=(
        Write(
            key="reports.order",
            path="/reports/pair_pdf",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Order a pair's report; orders within the same two hours share one report.",
            handler=service.order,
            refuses=(
                "account_locked",
                "not_found",
                "tier_required",
                "rate_limited",
                "report_failed",
            ),
            example={"exchange": "binance", "symbol": "BTC/USDT"},
            idempotent=True,
        ),
        Read(
            key="reports.list",
            path="/reports",
            auth=BY_KEY,
            summary="List the reports you ordered for a pair, newest first.",
            handler=service.own,
            refuses=("not_found", "tier_required"),
        ),
        Read(
            key="reports.download",
            path="/reports/{report_id}",
            auth=BY_KEY,
            summary="Download a report that you ordered.",
            handler=service.download,
            refuses=("tier_required", "report_not_ready", "report_failed"),
            media=(JSON, service.PDF),
        ),
    ),
    reasons={
        "report_not_ready": Reason(
            409,
            True,
            "caller",
            ("reports.download",),
            "Report 7 is queued; ask again in a few seconds.",
        ),
        "report_failed": Reason(
            409,
            False,
            "caller",
            ("reports.order",),
            "Report 7 could not be made: no_data. Order it again.",
        ),
    },
    capabilities=("reports",),
)
