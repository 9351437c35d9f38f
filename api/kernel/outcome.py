"""What a call comes to, whichever way it came."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from api.kernel.file import File

if TYPE_CHECKING:
    from api.kernel.streams import OpenedStream

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What goes out, by HTTP or as a tool's result."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    # of another one the body is {"text": ...}, or there are lines
    media_type: str = JSON
    lines: Iterator[str] | None = None
    file: File | None = None
    stream: "OpenedStream | None" = None
