"""The auditor's thread: a round every `every_s`, between rounds and within them out of the tip's
way.

Laws
- It begins when the process leads and ends with the lead; a spare audits nothing.
- While the tip is behind the chain nothing is begun: a piece of work waits until the tip has caught
  up.
- A failure of the outside or of the database costs one round. Its age shows in audit_age_seconds.
"""

import threading
from collections.abc import Callable
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.db.leadership import LeadershipLostError
from core.errors import OutsideError

LEAST_REST_S = 0.01
JOIN_S = 5.0

Rest = Callable[[float], None]
log = structlog.get_logger(__name__)


class Rounds(Protocol):
    """What the thread goes round with: an Auditor."""

    def round(self) -> object:
        """Errors: OutsideError, LeadershipLostError, SQLAlchemyError."""


class StoppedError(Exception):
    """The thread is asked to end; the round is left where it stands."""


class AuditLoop:
    """One thread. `start`, `hold`, `let_go` and `stop` belong to the process's loop."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._stopping = threading.Event()
        self._free = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, make: Callable[[Rest], Rounds]) -> None:
        """Begin, once. `make` is given what the auditor rests with; it runs in the thread."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, args=(make,), name="auditor", daemon=True
            )
            self._thread.start()

    def hold(self) -> None:
        """The tip is behind: begin nothing until `let_go`."""
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def stop(self) -> None:
        """End the thread; a read that is under way is not waited for longer than JOIN_S."""
        self._stopping.set()
        self._free.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)

    def rest(self, seconds: float) -> None:
        """Between two pieces of work. Errors: StoppedError."""
        self._stopping.wait(max(seconds, LEAST_REST_S))
        self._free.wait()
        if self._stopping.is_set():
            raise StoppedError

    def _run(self, make: Callable[[Rest], Rounds]) -> None:
        try:
            self.rest(0)
            auditor = make(self.rest)
            while not self._stopping.is_set():
                self._round(auditor)
                self._stopping.wait(self._every_s)
                self.rest(0)
        except (StoppedError, LeadershipLostError):
            return  # the process's loop meets a lost lead by itself

    def _round(self, auditor: Rounds) -> None:
        try:
            auditor.round()
        except LeadershipLostError:
            raise
        except (OutsideError, SQLAlchemyError) as error:
            log.warning("audit round failed", error=str(error), kind=type(error).__name__)
