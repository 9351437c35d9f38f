"""A large file that this process has read once, the newest of its versions.

Law: who asks says which version is the newest, so that what is kept is never older than that; the
file itself, which may have 100 MB, is read once for each version, by one call while others wait.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from api.kernel.bodies import etag_of


@dataclass(frozen=True, slots=True)
class FileVersion:
    """`made_at` tells versions apart; `tag`: an ETag, of the content."""

    made_at: datetime
    content: bytes
    tag: str


class KeptFile:
    def __init__(self) -> None:
        self._newest: FileVersion | None = None
        self._lock = Lock()

    def version(self, made_at: datetime, read: Callable[[], bytes]) -> FileVersion:
        """The version of this time, by `read` where another one is kept."""
        with self._lock:
            known = self._newest
            if known is not None and known.made_at == made_at:
                return known
            self._newest = known = None  # not two of them while one is read
            content = read()
            self._newest = FileVersion(made_at, content, etag_of(content))
            return self._newest
