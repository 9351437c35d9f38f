"""The operations of the area records: strips of agents' records."""

from api.areas.records import schemas, service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, Family, Read
from api.kernel.record_strip import RecordStrip

KEPT_S = 20

AREA = Area(
    name="records",
    about="Strips of agents' records: how each has kept its mandates, and the rows behind it.",
    operations=(
        Read(
            key="records.one",
            path="/mandate-wallet/agents/{id}/record",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read an agent's record in one strip.",
            command=schemas.RecordPath,
            answer=RecordStrip,
            handler=service.record,
            refuses=("not_found",),
            max_age_s=KEPT_S,
        ),
        Read(
            key="records.many",
            path="/mandate-wallet/agents/records",
            auth=ANYBODY,
            family=Family.WALLET,
            summary="Read the strips of up to 50 agents.",
            command=schemas.RecordsQuery,
            answer=schemas.RecordStrips,
            handler=service.records,
            refuses=("not_found",),
            max_age_s=KEPT_S,
        ),
    ),
    capabilities=("records",),
)
