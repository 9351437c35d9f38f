"""The operations of the area perps: a mandate's leg at the perpetuals venue."""

from api.areas.perps import service
from api.kernel.auth import BY_OWNER
from api.kernel.operation import Area, CallBounds, Family, Read, Reason, Write

PATH = "/mandate-wallet/mandates/{id}/hl-leg"

AREA = Area(
    name="perps",
    about="A mandate's leg at the perpetuals venue.",
    operations=(
        Read(
            key="perps.leg",
            path=PATH,
            auth=BY_OWNER,
            family=Family.WALLET,
            summary="Read the mandate's perpetuals leg: the bound account, its worth and when it "
            "was read.",
            handler=service.read,
            refuses=("tw_feature_disabled",),
        ),
        Write(
            key="perps.bind",
            bounds=CallBounds(adds_rows=True),
            path=PATH,
            auth=BY_OWNER,
            family=Family.WALLET,
            summary="Bind your account at the perpetuals venue to the mandate.",
            handler=service.bind,
            refuses=("tw_feature_disabled", "not_owner", "wrong_status", "leg_bound"),
            idempotent=True,
            statuses=(201,),
        ),
        Write(
            key="perps.unbind",
            method="DELETE",
            path=PATH,
            auth=BY_OWNER,
            family=Family.WALLET,
            summary="Unbind the mandate's account at the perpetuals venue; the service stops "
            "reading it.",
            handler=service.unbind,
            refuses=("tw_feature_disabled", "wrong_status"),
            idempotent=True,
        ),
    ),
    reasons={
        "leg_bound": Reason(
            409,
            False,
            "owner",
            ("perps.unbind",),
            example="This address already has a live leg; unbind it first.",
        ),
    },
    capabilities=("perpetuals_leg",),
)
