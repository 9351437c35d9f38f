"""The operations of the area notes: what is known of a token, as markdown."""

from api.areas.notes import service
from api.areas.notes.rules.facts import NoteTier
from api.areas.notes.rules.note import CACHE_S
from api.kernel.auth import ANYBODY, ANYBODY_OR_KEY_OR_OWNER
from api.kernel.operation import Area, CachePolicy, CallBounds, Read

RATE = "notes_per_address_per_minute"
LIST_KEPT_S, EXPORT_KEPT_S = 60, 3_600

AREA = Area(
    name="notes",
    about="Knowledge notes: what is known of a token as markdown, one by one or all in a zip.",
    operations=(
        Read(
            key="notes.read",
            path="/kg/{token}.md",
            auth=ANYBODY_OR_KEY_OR_OWNER,
            summary="Read a token's note: the free version, or with an agent's key the pro version.",
            handler=service.read,
            block=False,
            media=("text/markdown",),
            cache=CachePolicy(
                CACHE_S[NoteTier.FREE], private_max_age_s=CACHE_S[NoteTier.PRO], keeps=True
            ),
            bounds=CallBounds(per_minute=RATE),
        ),
        Read(
            key="notes.list",
            path="/kg/notes",
            auth=ANYBODY,
            summary="List the tokens that have a note, by ticker, or those whose notes link to one.",
            handler=service.listed,
            block=False,
            cache=CachePolicy(LIST_KEPT_S, keeps=True),
        ),
        Read(
            key="notes.index",
            path="/kg/index",
            auth=ANYBODY,
            summary="Read the index of all notes as markdown.",
            handler=service.index,
            block=False,
            media=("text/markdown",),
            cache=CachePolicy(LIST_KEPT_S, keeps=True),
            bounds=CallBounds(per_minute=RATE),
            refuses=("rate_limited",),
        ),
        Read(
            key="notes.export",
            path="/kg/export",
            auth=ANYBODY,
            summary="Download all free notes, with what they link to, as a zip for note apps.",
            handler=service.export,
            block=False,
            media=(service.ZIP,),
            cache=CachePolicy(EXPORT_KEPT_S, keeps=True),
            bounds=CallBounds(per_minute=RATE),
            refuses=("rate_limited",),
        ),
    ),
    capabilities=("notes",),
)
