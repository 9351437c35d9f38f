"""The vault of notes that this process has read once, by when it was made.

Law: a call asks the database which vault is the newest, so that what is kept is never older than
that; the vault itself, which may have 100 MB, is read once for each, by one call while others wait.
"""

from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from sqlalchemy.orm import Session

from api.kernel.bodies import etag_of
from core.kg.notes import queries


@dataclass(frozen=True, slots=True)
class KeptZip:
    made_at: datetime
    content: bytes
    tag: str


class KeptZips:
    def __init__(self) -> None:
        self._newest: KeptZip | None = None
        self._lock = Lock()

    def find(self, session: Session) -> KeptZip | None:
        """The newest that the session sees. None: none was made yet."""
        last = queries.last_made(session)
        if last is None:
            return None
        with self._lock:
            known = self._newest
            if known is not None and known.made_at == last.at:
                return known
            self._newest = known = None  # not two of them while one is read
            content = queries.export(session)
            self._newest = KeptZip(last.at, content, etag_of(content))
            return self._newest
