"""What a call comes to, whichever way it came."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.kernel.file import File
from api.kernel.streams import OpenedStream

JSON: Final = "application/json"


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
    stream: OpenedStream | None = None
