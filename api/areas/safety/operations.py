"""The operations of the area safety: cases, notices and the protection level."""

from api.areas.safety import service
from api.kernel.auth import ANYBODY, BY_KEY_OWNER_OR_BEARER, BY_OPERATOR
from api.kernel.operation import Area, Read, Reason, Write

AREA = Area(
    name="safety",
    about="Cases, notices and the protection level.",
    operations=(
        Read(
            key="safety.notices",
            path="/me/notices",
            auth=BY_KEY_OWNER_OR_BEARER,
            summary="Read the account's inbox: one notice per lock.",
            handler=service.notices,
        ),
        Read(
            key="safety.violations",
            path="/me/violations",
            auth=BY_KEY_OWNER_OR_BEARER,
            summary="Read the cases against the account, open and closed.",
            handler=service.violations,
        ),
        Read(
            key="safety.board",
            path="/public/violations/notices",
            auth=ANYBODY,
            summary="Read the public board of account locks.",
            handler=service.board,
        ),
        Read(
            key="safety.defense",
            path="/public/defense",
            auth=ANYBODY,
            summary="Read the protection level and what each level does.",
            handler=service.defense,
        ),
        Write(
            key="safety.defense_set",
            method="PUT",
            path="/admin/defense",
            auth=BY_OPERATOR,
            summary="Set the protection level.",
            handler=service.set_defense,
        ),
        Write(
            key="safety.case_open",
            path="/admin/violations",
            auth=BY_OPERATOR,
            summary="Open a case against an agent: its account is locked, it is notified once, "
            "and the case is shown on the public board.",
            handler=service.open_case,
            refuses=("not_found", "case_open"),
            idempotent=True,
            statuses=(201,),
        ),
        Write(
            key="safety.case_close",
            path="/admin/violations/{id}/close",
            auth=BY_OPERATOR,
            summary="Close a case; the lock ends.",
            handler=service.close_case,
            refuses=("conflict_of_interest",),
        ),
    ),
    reasons={
        "case_open": Reason(
            409,
            False,
            "caller",
            (),
            example="A case is open against agent 1001; close it before you open another.",
        ),
    },
    capabilities=("violation_notices",),
)
