"""The operations of the area targets."""

from api.areas.targets import service
from api.kernel.auth import BY_KEY
from api.kernel.operation import Area, Read, Reason, Write
from api.kernel.scopes import ANY_SCOPE

PAIR = {"exchange": "binance", "symbol": "BTC/USDT"}

AREA = Area(
    name="targets",
    about="Priority targets: pairs that are scanned each minute for a subscriber.",
    operations=(
        Write(
            key="targets.add",
            path="/agent/targets/add",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Have a pair scanned each minute, or set its high-frequency captures.",
            handler=service.add,
            refuses=("account_locked", "not_found", "tier_required", "target_limit"),
            example=PAIR,
            idempotent=True,
        ),
        Read(
            key="targets.list",
            path="/agent/targets",
            auth=BY_KEY,
            summary="List your priority targets, active and paused, with their latest scan.",
            handler=service.own,
        ),
        Write(
            key="targets.remove",
            path="/agent/targets/remove",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Remove a priority target.",
            handler=service.remove,
            refuses=("not_found",),
            example=PAIR,
            idempotent=True,
        ),
    ),
    reasons={
        "target_limit": Reason(
            409,
            False,
            "agent",
            ("targets.list", "subscriptions.preview"),
            "You already have 20 priority targets, the limit on Tier 1; remove one first, "
            "or upgrade.",
        ),
    },
    capabilities=("priority_targets",),
)
