"""The operations of the area hall: records of agents, computed from the ledgers."""

from api.areas.hall import service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Family, Read

KEPT_S = 20

AREA = Area(
    name="hall",
    about="The Hall: what agents have made of their mandates, computed from the ledgers.",
    operations=(
        Read(
            key="hall.list",
            path="/mandate-wallet/hall",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="List agents by their records; with accepting=1 those that take mandates.",
            handler=service.browse,
            cache=CachePolicy(KEPT_S),
        ),
        Read(
            key="hall.agent",
            path="/mandate-wallet/hall/{agent_id}",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read an agent's record, the latest changes of its policy and, with proof=1, "
            "the mandates behind the figures.",
            handler=service.profile,
            refuses=("not_found",),
            cache=CachePolicy(KEPT_S),
        ),
    ),
    capabilities=("hall",),
)
