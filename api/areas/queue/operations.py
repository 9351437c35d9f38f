"""The operation of the area queue."""

from api.areas.queue import service
from api.kernel.auth import BY_OPERATOR
from api.kernel.operation import Area, Read

AREA = Area(
    name="queue",
    about="Items that wait for an operator's decision.",
    operations=(
        Read(
            key="queue.list",
            path="/admin/queue",
            auth=BY_OPERATOR,
            summary="Read the items that wait for your decision, oldest first, with full values "
            "and evidence.",
            handler=service.waiting,
        ),
    ),
)
