"""The operations of the area credits: credits and prices."""

from api.areas.credits import schemas, service
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, NoInput, Read

AREA = Area(
    name="credits",
    about="Credits and prices.",
    operations=(
        Read(
            key="credits.balance",
            path="/credits/balance",
            auth=BY_KEY,
            summary="Read your credits by bucket, what you owe, and today's free reads.",
            command=NoInput,
            answer=schemas.CreditBalance,
            handler=service.balance,
            block=False,
        ),
        Read(
            key="credits.ledger",
            path="/credits/ledger",
            auth=BY_KEY,
            summary="Page through every posting of your credits, newest first.",
            command=schemas.LedgerQuery,
            answer=schemas.Ledger,
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
            command=NoInput,
            answer=schemas.PriceList,
            handler=service.prices,
            block=False,
            max_age_s=60,
        ),
    ),
)
