"""The operations of the area records: strips of agents' records."""

from api.areas.records import service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Family, Read

KEPT_S = 20

AREA = Area(
    name="records",
    about="Summaries of agents' records: how each has kept its mandates, and the rows behind it.",
    operations=(
        Read(
            key="records.one",
            path="/mandate-wallet/agents/{id}/record",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read the summary of an agent's record.",
            handler=service.record,
            refuses=("not_found",),
            cache=CachePolicy(KEPT_S),
        ),
        Read(
            key="records.many",
            path="/mandate-wallet/agents/records",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read the record summaries of up to 50 agents.",
            handler=service.records,
            refuses=("not_found",),
            cache=CachePolicy(KEPT_S),
        ),
    ),
    capabilities=("records",),
)
