"""The operations of the area research: a pair's history, for those who have it as a target."""

from api.areas.research import service
from api.kernel.auth import BY_KEY
from api.kernel.operation import Area, Read, Reason
from api.kernel.scopes import ANY_SCOPE

AREA = Area(
    name="research",
    about="Research: two-hour figures, percentiles, bursts and health of a priority target.",
    operations=(
        Read(
            key="research.read",
            path="/agent/research/{exchange}/{symbol}",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Read the research of a priority target of yours, 1 to 90 days.",
            handler=service.read,
            refuses=("target_required", "not_found"),
        ),
        Read(
            key="research.pair",
            path="/research/pair",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Read a priority target's research, with exchange and symbol in the query.",
            handler=service.read_pair,
            refuses=("target_required", "not_found"),
        ),
    ),
    reasons={
        "target_required": Reason(
            403,
            False,
            "caller",
            ("targets.add", "targets.list"),
            "binance BTC/USDT is not a priority target of yours; add it first.",
        ),
    },
    capabilities=("research",),
)
