"""The threads of the requests of the outbox, beside the loop that stops vaults: one for each key that
pays (transfers out of starter wallets, sponsored buys), with its own database sessions and its own
calls to nodes. A purse whose key is not set has no loop, and its requests wait.

    tick  judge, stop, judge, stop ...          waits for nothing of the other
    loop  round, pause, round, pause ...        fenced by the same epoch; ends with the lead

Laws
- Whatever a round raises is reported, and the next one tries again; a lost lead ends the thread.
- A round that hangs ends the process (core.watchdog), after far longer than a tick may take:
  nothing that saves a vault waits for it.
- The sponsor's loop writes a heartbeat at the end of a round, every five seconds, and the API takes
  sponsored buys only while that is fresh: it says that the loop leads, reads the chain and the
  database, and gets through, which is more than that a key is set.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership, LeadershipLostError
from core.errors import OutsideError, text_of
from core.keeper.gas import GasBudgets
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.sponsored import queries as sponsored
from core.sponsored.days import sponsor_budgets
from core.watchdog import Watchdog
from keeper.gas import Caps
from keeper.outbox_kinds import OutboxPlanner
from keeper.requests.allowance import CUSTODY, SPONSOR, PurseTerms
from keeper.requests.round import MOST_UNDER_WAY, REQUESTS_A_ROUND, RequestRound
from keeper.state import Role
from keeper.stops import Stops

Beat = Callable[[VaultReader, Database, datetime], object]
BEAT = timedelta(seconds=5)  # core.sponsored.rules.FRESH_S is many of them
HANGS_S = 600.0
END_S = 2.0
LEAST_CALLS_PER_S = 10.0
DEADLINE_S = 120.0  # of a call: half of it may be waited for the budget, which is a small one
BOUNDS = Bounds(
    pool_size=2, overflow=2, pool_wait_s=5, statement_s=10, lock_s=2, idle_in_transaction_s=20
)

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsPlace:
    """What the loops stand on. `calls_per_s`: each one's share of what each node is asked; `clock`
    gives aware UTC.
    """

    database_url: str
    rpc_urls: tuple[str, ...]
    calls_per_s: float
    answer_s: float
    contracts: Mapping[str, str]
    chain_id: int
    max_head_age_s: int
    caps: Caps
    every_s: float
    planner: OutboxPlanner
    leadership: Leadership
    clock: Callable[[], datetime]


class RequestLoop:
    """Runs rounds until `stop`. Nothing is asked over the network before `start` or `once`.

    `stops`: of the same key, where there is one for both. `beat`: called at the end of each round
    with the loop's own reader and database.
    """

    def __init__(
        self,
        place: RequestsPlace,
        terms: PurseTerms,
        budgets: GasBudgets,
        signers: Mapping[str, Signer],
        *,
        stops: Stops | None = None,
        beat: Beat | None = None,
    ) -> None:
        self.rpc = Nodes(
            place.rpc_urls,
            answer_s=place.answer_s,
            deadline_s=DEADLINE_S,
            calls_per_s=place.calls_per_s,
        )
        self._place = place
        reader = VaultReader(self.rpc, place.contracts)
        self._database = Database(
            place.database_url, application_name="keeper requests", bounds=BOUNDS
        )
        self._watchdog = Watchdog(HANGS_S)
        self._round = RequestRound(
            database=self._database,
            reader=reader,
            chain_id=place.chain_id,
            max_head_age_s=place.max_head_age_s,
            planner=place.planner,
            caps=place.caps,
            budgets=budgets,
            signers=signers,
            epoch=lambda: place.leadership.epoch,
            fence=place.leadership.fence_beside,
            stops=stops,
            sign=self._watchdog.sign,
            most_under_way=most_under_way(place.calls_per_s),
            terms=terms,
            beat=(lambda now: None) if beat is None else partial(beat, reader, self._database),
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
                self.rpc.keep_to(self._place.chain_id)
                self._is_on_chain = True
            self._round.run(self._place.clock())
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
            self._ended.wait(self._place.every_s)
        self._watchdog.call_off()


def custody_loop(
    place: RequestsPlace, budgets: GasBudgets, signers: Mapping[Role, Signer], stops: Stops | None
) -> RequestLoop:
    """Where there is no key of requests, on a local chain, the keeper's signs them."""
    gas_signer, keeper = signers.get(Role.CUSTODY), signers[Role.KEEPER]
    if gas_signer is not None:
        return RequestLoop(place, CUSTODY, budgets, {Role.CUSTODY: gas_signer})
    own: dict[str, Signer] = {Role.CUSTODY: keeper, Role.KEEPER: keeper}
    return RequestLoop(place, CUSTODY, budgets, own, stops=stops)


def sponsor_loop(place: RequestsPlace, limits: CallerLimits, signer: Signer) -> RequestLoop:
    beat = heartbeat(signer.address, place.chain_id, place.leadership.fence_beside)
    budgets = sponsor_budgets(limits)
    return RequestLoop(place, SPONSOR, budgets, {Role.SPONSOR: signer}, beat=beat)


def heartbeat(account: str, chain_id: int, fence: Callable[[Session], None]) -> Beat:
    """`account`: the sponsor's. Errors: RpcError, LeadershipLostError, the database's."""
    last: datetime | None = None

    def beat(reader: VaultReader, database: Database, now: datetime) -> None:
        nonlocal last
        if last is not None and timedelta() <= now - last < BEAT:
            return
        balance_wei = reader.balance_wei(account)
        with database.write() as session:
            fence(session)
            sponsored.beat(session, chain_id, account, balance_wei, now)
        last = now

    return beat


def share_of(calls_per_s: float, loops: int = 1) -> float:
    """What each of so many loops may ask of each node a second: a twentieth, at least
    LEAST_CALLS_PER_S, and all of them never more than half.
    """
    return min(calls_per_s / 2 / loops, max(calls_per_s / 20, LEAST_CALLS_PER_S))


def most_under_way(calls_per_s: float) -> int:
    """As many as a round can ask a node about in twenty seconds, at two calls each."""
    return max(REQUESTS_A_ROUND, min(MOST_UNDER_WAY, int(calls_per_s * 10)))
