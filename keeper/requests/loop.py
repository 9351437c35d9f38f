"""The threads of the requests of the outbox, beside the loop that stops vaults: one for each key that
pays (transfers out of starter wallets, sponsored buys), with its own database sessions and its own
calls to nodes. A purse whose key is not set has no loop, and its requests wait.

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

from core.db.engine import Bounds
from core.db.leadership import LeadershipLostError
from core.errors import OutsideError, text_of
from core.watchdog import Watchdog
from keeper.requests.round import MOST_UNDER_WAY, REQUESTS_A_ROUND, RequestRound

HANGS_S = 600.0
END_S = 2.0
LEAST_CALLS_PER_S = 10.0
DEADLINE_S = 120.0  # of a call: half of it may be waited for the budget, which is a small one
BOUNDS = Bounds(
    pool_size=2, overflow=2, pool_wait_s=5, statement_s=10, lock_s=2, idle_in_transaction_s=20
)

log = structlog.get_logger("keeper")


class RequestLoop:
    """Runs rounds until `stop`, and closes what they stand on. Nothing is asked over the network before
    `start` or `once`. `now`: aware UTC.
    """

    def __init__(
        self, rounds: RequestRound, *, every_s: float, now: Callable[[], datetime]
    ) -> None:
        self._round, self._every_s, self._now = rounds, every_s, now
        self._watchdog = Watchdog(HANGS_S)
        rounds.sign = self._watchdog.sign
        self.rpc = rounds.desk.rpc
        self._is_on_chain = False  # its nodes serve the chain
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

    def close(self) -> None:
        """Call it after the lead was given back: it waits a moment for the end of a round."""
        if self._thread.is_alive():
            self._thread.join(END_S)
        self._round.desk.database.close()
        self.rpc.close()

    def once(self) -> bool:
        """One round; False when the lead is lost."""
        try:
            if not self._is_on_chain:
                self.rpc.keep_to(self._round.desk.chain_id)
                self._is_on_chain = True
            self._round.run(self._now())
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


def share_of(calls_per_s: float, loops: int = 1) -> float:
    """What each of so many loops may ask of each node a second: a twentieth, at least
    LEAST_CALLS_PER_S, and all of them never more than half.
    """
    return min(calls_per_s / 2 / loops, max(calls_per_s / 20, LEAST_CALLS_PER_S))


def most_under_way(calls_per_s: float) -> int:
    """As many as a round can ask a node about in twenty seconds, at two calls each."""
    return max(REQUESTS_A_ROUND, min(MOST_UNDER_WAY, int(calls_per_s * 10)))
