"""The operations of the area transfers: reported transfers and balances."""

from api.areas.transfers import service
from api.kernel.auth import BY_KEY, BY_KEY_OR_OWNER
from api.kernel.operation import Area, Family, Read, Reason, Write
from api.kernel.tool import Profile, Tool, ToolKind

AREA = Area(
    name="transfers",
    about="Reported transfers and balances.",
    operations=(
        Read(
            key="transfers.balances",
            path="/mandate-wallet/agents/{id}/balances",
            auth=BY_KEY_OR_OWNER,
            family=Family.WALLET,
            scope="read",
            summary="Read an agent's balances, each split into four states.",
            handler=service.balances,
            refuses=("not_owner",),
            tool=Tool("agent_balances", "Read balances", ToolKind.READ, Profile.FULL),
        ),
        Write(
            key="transfers.report",
            path="/mandate-wallet/transfers/report",
            auth=BY_KEY,
            family=Family.WALLET,
            scope="tx",
            summary="Report a transfer from your own wallet; the chain confirms or fails it.",
            handler=service.report,
            refuses=("duplicate_transfer", "insufficient_idle", "record_short"),
            idempotent=True,
            tool=Tool("transfer_report", "Report a transfer", ToolKind.WRITE, Profile.FULL),
        ),
    ),
    reasons={
        "duplicate_transfer": Reason(
            409, False, "caller", (), example="You reported this transaction; it is confirmed."
        ),
        "record_short": Reason(
            503,
            True,
            "service",
            (),
            example="The idle balance is unknown: facts of the chain are held back from the "
            "account's record. Report it again later.",
        ),
    },
)
