"""The operations of the area records: strips of agents' records."""

from api.areas.records import service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Family, Read

KEPT_S = 20

AREA = Area(
    name="records",
    about="Strips of agents' records: how each kept its mandates, and the rows behind that.",
    operations=(
        Read(
            key="records.one",
            path="/mandate-wallet/agents/{id}/record",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read an agent's record in one strip.",
            handler=service.record,
            refuses=("not_found",),
            cache=CachePolicy(KEPT_S),
        ),
        Read(
            key="records.many",
            path="/mandate-wallet/agents/records",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read the strips of up to 50 agents.",
            handler=service.records,
            refuses=("not_found",),
            cache=CachePolicy(KEPT_S),
        ),
    ),
    capabilities=("records",),
)
