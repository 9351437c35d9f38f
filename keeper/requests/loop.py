"""The thread of the requests of the outbox, beside the loop that stops vaults: own database
sessions, own calls to nodes, own key.

    tick  judge, stop, judge, stop ...          waits for nothing of the other
    loop  round, pause, round, pause ...        fenced by the same epoch; ends with the lead

Laws
- Whatever a round raises is reported, and the next one tries again; a lost lead ends the thread.
- A round that hangs ends the process (core.watchdog), after far longer than a tick may take:
  nothing that saves a vault waits for it.
"""

import threading
from collections.abc import Callable
from datetime import datetime

import structlog
from sqlalchemy.exc import OperationalError

from core.db.leadership import LeadershipLostError
from core.errors import OutsideError, text_of
from core.watchdog import Watchdog
from keeper.requests.round import RequestRound

HANGS_S = 600.0
END_S = 2.0

log = structlog.get_logger("keeper")


class RequestLoop:
    """Runs rounds until `stop`.

    `clock` gives aware UTC. `prepare` comes once, before the first round.
    """

    def __init__(
        self,
        one_round: RequestRound,
        every_s: float,
        clock: Callable[[], datetime],
        watchdog: Watchdog,
        prepare: Callable[[], object],
    ) -> None:
        self._round = one_round
        self._prepare: Callable[[], object] | None = prepare
        self._every_s = every_s
        self._clock = clock
        self._watchdog = watchdog
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="requests", daemon=True)

    def start(self) -> None:
        """Call it once, leading."""
        self._watchdog.start()
        self._thread.start()

    def stop(self) -> None:
        """No further round begins; one that is under way is fenced as soon as another process
        leads.
        """
        self._ended.set()
        self._watchdog.call_off()

    def wait(self) -> None:
        """For the end of a round that is under way, for a moment."""
        if self._thread.is_alive():
            self._thread.join(END_S)

    def once(self) -> bool:
        """One round; False when the lead is lost."""
        try:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None
            self._round.run(self._clock())
        except LeadershipLostError as error:
            if not self._ended.is_set():
                log.error("no longer leading", error=str(error), loop="requests")
            return False
        except (OutsideError, OperationalError) as error:
            log.warning("requests wait", error=text_of(error), kind=type(error).__name__)
        except Exception:
            log.exception("round of requests failed")
        return True

    def _run(self) -> None:
        while not self._ended.is_set() and self.once():
            self._watchdog.sign()
            self._ended.wait(self._every_s)
        self._watchdog.call_off()
