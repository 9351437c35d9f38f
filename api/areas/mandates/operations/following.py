"""The operations that are answered with server-sent events."""

from api.areas.mandates.service import events
from api.kernel.auth import BY_KEY_OR_OWNER, BY_OWNER
from api.kernel.operation import Family, Operation, Read
from api.kernel.outcome import EVENT_STREAM

MORE = (
    "Events: step (a new row), status, reset (too far behind: load anew). Each has an id; after a "
    "break send the last one as Last-Event-ID and nothing is missed or sent twice. A comment every "
    "15 s. Opening a stream again within an hour is not counted as a call."
)

FOLLOWING: tuple[Operation, ...] = (
    Read(
        key="mandates.events",
        path="/mandate-wallet/mandates/{id}/events",
        auth=BY_KEY_OR_OWNER,
        family=Family.WALLET,
        scope="read",
        summary="Follow a mandate: server-sent events for new rows of its record and its status.",
        more=MORE,
        handler=events.of_mandate,
        media=(EVENT_STREAM,),
    ),
    Read(
        key="mandates.own_events",
        path="/mandate-wallet/me/events",
        auth=BY_OWNER,
        family=Family.WALLET,
        summary="Follow all your mandates: server-sent events for new rows of their records.",
        more=MORE,
        handler=events.of_owner,
        media=(EVENT_STREAM,),
    ),
)
