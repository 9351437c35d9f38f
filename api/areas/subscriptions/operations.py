"""The operations of the area subscriptions."""

from api.areas.subscriptions import service
from api.kernel.auth import BY_KEY
from api.kernel.operation import Area, Read, Reason, Write
from api.kernel.scopes import SPEND_SCOPE

ORDER = {"tier": 1, "months": 1}

AREA = Area(
    name="subscriptions",
    about="Subscriptions, paid in credits: priority targets, research, reports and more "
    "calls a day.",
    operations=(
        Read(
            key="subscriptions.account",
            path="/subscriptions/account",
            auth=BY_KEY,
            summary="Read your tier, when it ends, what comes next, targets and purchases.",
            handler=service.account,
        ),
        Write(
            key="subscriptions.preview",
            path="/subscriptions/upgrade/preview",
            auth=BY_KEY,
            summary="Preview the price of a subscription, renewal, upgrade or downgrade; free.",
            more="The preview_id holds the price for five minutes.",
            handler=service.preview,
            example=ORDER,
        ),
        Write(
            key="subscriptions.subscribe",
            path="/subscriptions/credits/subscribe",
            auth=BY_KEY,
            scope=SPEND_SCOPE,
            summary="Subscribe, renew, upgrade or downgrade, paid in credits.",
            handler=service.subscribe,
            refuses=(
                "account_locked",
                "credit_insufficient",
                "price_changed",
                "preview_expired",
            ),
            example=ORDER,
            idempotent=True,
        ),
    ),
    reasons={
        "price_changed": Reason(
            409,
            False,
            "caller",
            ("subscriptions.preview",),
            "The price is now 15000 credits, not max_credits 10000; nothing was charged. "
            "Preview again.",
        ),
        "preview_expired": Reason(
            409,
            False,
            "caller",
            ("subscriptions.preview",),
            "The preview was good until 2026-02-01T12:05:00Z; preview again.",
        ),
    },
    capabilities=("subscriptions",),
)
