"""The operations of the area earn: the day's budget, the public ledger of work, and one's own
payouts.
"""

from api.areas.earn.service import day, ledger, own
from api.kernel.auth import ANYBODY, BY_KEY_OR_OWNER, BY_OWNER
from api.kernel.operation import Area, Read

AREA = Area(
    name="earn",
    about="What approved work pays: the day's budget, the public ledger, your payouts.",
    operations=(
        Read(
            key="earn.epoch",
            path="/earn/epoch",
            auth=ANYBODY,
            summary="Read today's payout budget, how much of it is used, and what is queued.",
            handler=day.epoch,
            block=False,
        ),
        Read(
            key="earn.own_epoch",
            path="/earn/epoch/me",
            auth=BY_OWNER,
            summary="Read how much your agents can still be paid today, and the state of their "
            "work.",
            handler=day.own_epoch,
            block=False,
        ),
        Read(
            key="earn.first_loop",
            path="/earn/first-loop",
            auth=ANYBODY,
            summary="Read one complete example: submitted, approved, paid.",
            handler=ledger.first_loop,
            block=False,
        ),
        Read(
            key="earn.feed",
            path="/earn/feed",
            auth=ANYBODY,
            summary="Page through the public ledger of work, newest first.",
            handler=ledger.feed_page,
            block=False,
        ),
        Read(
            key="earn.me",
            path="/earn/me",
            auth=BY_KEY_OR_OWNER,
            summary="Read what you, or each of your agents, earned, owe and have queued.",
            handler=own.earnings,
            block=False,
        ),
        Read(
            key="earn.payouts",
            path="/payouts/mine",
            auth=BY_KEY_OR_OWNER,
            summary="Page through your payouts, each with its place in the queue, its cap and its "
            "earliest payment day.",
            handler=own.payouts,
            block=False,
        ),
    ),
    capabilities=("earn",),
)
