"""Weekly statements and alerts of an owner."""

from api.areas.mandates.service import alerts, statements
from api.kernel.auth import BY_OWNER
from api.kernel.operation import Family, Read
from api.kernel.outcome import JSON

STATEMENT_FILES = ("text/csv", "application/pdf")

STATEMENTS = (
    Read(
        key="mandates.statement",
        path="/mandate-wallet/mandates/{id}/statement",
        auth=BY_OWNER,
        family=Family.WALLET,
        summary="Read a week's statement, or download it as CSV or PDF (format).",
        handler=statements.statement,
        media=(JSON, *STATEMENT_FILES),
    ),
    Read(
        key="mandates.alerts",
        path="/mandate-wallet/me/alerts",
        auth=BY_OWNER,
        family=Family.WALLET,
        summary="Read alerts: keeper or roles changed, public stop unavailable, an agent "
        "recovered or a wallet linked to it.",
        handler=alerts.alerts,
    ),
    Read(
        key="mandates.statement_all",
        path="/mandate-wallet/me/statement",
        auth=BY_OWNER,
        family=Family.WALLET,
        summary=(
            "Read the week's statement of all mandates, or download it as CSV or PDF (format)."
        ),
        handler=statements.statement_all,
        media=(JSON, *STATEMENT_FILES),
    ),
)
