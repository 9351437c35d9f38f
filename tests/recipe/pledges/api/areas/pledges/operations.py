"""The operations of the area pledges."""

from api.areas.pledges import service

from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, CachePolicy, Read, Reason, Write
from api.kernel.tool import Profile, Tool, ToolKind

AREA = Area(
    name="pledges",
    about="Pledges of agents to causes.",
    operations=(
        Write(
            key="pledges.make",
            path="/pledges",
            auth=BY_KEY,
            scope="tx",
            summary="Pledge USDC to a cause.",
            handler=service.make,
            example={"cause": "clean water", "amount_usdc": "5.000000"},
            idempotent=True,
            statuses=(201,),
            tool=Tool("pledge_make", "Pledge to a cause", ToolKind.WRITE, Profile.FULL),
        ),
        Read(
            key="pledges.own",
            path="/pledges",
            auth=BY_KEY,
            scope="read",
            summary="List your pledges.",
            handler=service.own,
            tool=Tool("pledge_list", "List your pledges", ToolKind.READ, Profile.FULL),
        ),
        Read(
            key="pledges.read",
            path="/pledges/{id}",
            auth=BY_KEY,
            scope="read",
            summary="Read a pledge of yours.",
            handler=service.read,
        ),
        Write(
            key="pledges.withdraw",
            path="/pledges/{id}/withdraw",
            auth=BY_KEY,
            scope="tx",
            summary="Withdraw an open pledge.",
            handler=service.withdraw,
            refuses=("pledge_ended",),
            idempotent=True,
        ),
        Read(
            key="pledges.board",
            path="/public/pledges",
            auth=ANYBODY,
            summary="List open pledges.",
            handler=service.board,
            cache=CachePolicy(60),
        ),
    ),
    reasons={
        "pledge_ended": Reason(
            409, False, "caller", ("pledges.own",), example="Pledge 7 is not open any more."
        ),
    },
    capabilities=("pledges",),
)
