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
from collections.abc import Callable, Mapping
from datetime import datetime

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership, LeadershipLostError
from core.errors import OutsideError, text_of
from core.keeper.gas import GasBudgets
from core.mandate.chain.lens import LENS
from core.mandate.chain.reader import VaultReader
from core.settings import Settings
from core.watchdog import Watchdog
from keeper.gas import Caps
from keeper.intents import Desk
from keeper.outbox_kinds import Builder
from keeper.requests.round import MOST_UNDER_WAY, REQUESTS_A_ROUND, PurseTerms, RequestRound

ANSWER_S = 5.0  # a node that takes longer is as good as gone: the next one is asked
HANGS_S = 600.0
END_S = 2.0
LEAST_CALLS_PER_S = 10.0
DEADLINE_S = 120.0  # of a call: half of it may be waited for the budget, which is a small one
BOUNDS = Bounds(
    pool_size=2, overflow=2, pool_wait_s=5, statement_s=10, lock_s=2, idle_in_transaction_s=20
)

log = structlog.get_logger("keeper")


class RequestLoop:
    """Runs rounds until `stop`. Nothing is asked over the network before `start` or `once`.

    `calls_per_s`: its share of what each node is asked. `now`: aware UTC.
    """

    def __init__(
        self,
        settings: Settings,
        leadership: Leadership,
        terms: PurseTerms,
        budgets: GasBudgets,
        signer: Signer,
        *,
        builders: Mapping[str, Builder],
        calls_per_s: float,
        now: Callable[[], datetime],
    ) -> None:
        self.rpc = Nodes(
            settings.rpc_urls, answer_s=ANSWER_S, deadline_s=DEADLINE_S, calls_per_s=calls_per_s
        )
        self._settings, self._leadership, self._now = settings, leadership, now
        self._database = Database(
            settings.database_url, application_name="keeper requests", bounds=BOUNDS
        )
        self._watchdog = Watchdog(HANGS_S)
        desk = Desk(
            rpc=self.rpc,
            database=self._database,
            chain_id=settings.chain_id,
            signers={terms.role: signer},
            caps=Caps.of_settings(settings),
            epoch=lambda: leadership.epoch,
            fence=self._fence,
        )
        self._round = RequestRound(
            desk=desk,
            reader=VaultReader(self.rpc, settings.deployment(LENS).contracts),
            max_head_age_s=settings.keeper_max_head_age_s,
            builders=builders,
            budgets=budgets,
            terms=terms,
            most_under_way=most_under_way(calls_per_s),
        )
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
        self._database.close()
        self.rpc.close()

    def once(self) -> bool:
        """One round; False when the lead is lost."""
        try:
            if not self._is_on_chain:
                self.rpc.keep_to(self._settings.chain_id)
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
            self._ended.wait(self._settings.keeper_tick_s)
        self._watchdog.call_off()

    def _fence(self, session: Session) -> None:
        """The loop gets on."""
        self._leadership.fence_beside(session)
        self._watchdog.sign()


def share_of(calls_per_s: float, loops: int = 1) -> float:
    """What each of so many loops may ask of each node a second: a twentieth, at least
    LEAST_CALLS_PER_S, and all of them never more than half.
    """
    return min(calls_per_s / 2 / loops, max(calls_per_s / 20, LEAST_CALLS_PER_S))


def most_under_way(calls_per_s: float) -> int:
    """As many as a round can ask a node about in twenty seconds, at two calls each."""
    return max(REQUESTS_A_ROUND, min(MOST_UNDER_WAY, int(calls_per_s * 10)))
