"""The operation of the area queue."""

from api.areas.queue import service
from api.kernel.auth import BY_OPERATOR
from api.kernel.operation import Area, Read

AREA = Area(
    name="queue",
    about="What waits for an operator.",
    operations=(
        Read(
            key="queue.list",
            path="/admin/queue",
            auth=BY_OPERATOR,
            summary="Read what waits for you, the oldest first, with whole values and evidence.",
            handler=service.waiting,
        ),
    ),
)
