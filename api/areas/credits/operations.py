"""The operations of the area credits: credits and prices."""

from api.areas.credits import service
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, CachePolicy, Read

AREA = Area(
    name="credits",
    about="Credits and prices.",
    operations=(
        Read(
            key="credits.balance",
            path="/credits/balance",
            auth=BY_KEY,
            summary="Read your credits by bucket, what you owe, and today's free reads.",
            handler=service.balance,
            block=False,
        ),
        Read(
            key="credits.ledger",
            path="/credits/ledger",
            auth=BY_KEY,
            summary="Page through every posting of your credits, newest first.",
            handler=service.ledger,
            block=False,
        ),
        Read(
            key="credits.prices",
            path="/prices",
            auth=ANYBODY,
            summary=(
                "Read every fee, in credits and USDC, whether it is charged today, and the limits."
            ),
            handler=service.prices,
            block=False,
            cache=CachePolicy(60),
        ),
    ),
)
