"""What a call comes to, whichever way it came."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from api.kernel.streams import OpenedStream

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is no JSON. `name`: what it is saved as, of A-Z a-z 0-9 . _ - alone."""

    media_type: str
    name: str
    content: bytes


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
