"""The loop of requests as the process runs it: its own pool of nodes, its own database connections,
its own key.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy.orm import Session

from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.db.engine import Bounds, Database
from core.keeper.gas import GasBudgets
from core.mandate.chain.reader import VaultReader
from core.watchdog import Watchdog
from keeper.gas import Caps
from keeper.outbox_kinds import OutboxPlanner
from keeper.requests.allowance import KeptGas, Prices
from keeper.requests.loop import HANGS_S, RequestLoop
from keeper.requests.purses import CUSTODY, PurseTerms
from keeper.requests.round import MOST_UNDER_WAY, REQUESTS_A_ROUND, RequestRound
from keeper.send import HeldNonces, Sender
from keeper.state import Role

Beat = Callable[[VaultReader, Database, datetime], object]
LEAST_CALLS_PER_S = 10.0
DEADLINE_S = 120.0  # of a call: half of it may be waited for the budget, which is a small one
BOUNDS = Bounds(
    pool_size=2, overflow=2, pool_wait_s=5, statement_s=10, lock_s=2, idle_in_transaction_s=20
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsPlace:
    """What the loop stands on. `calls_per_s`: its share of what each node is asked."""

    database_url: str
    rpc_urls: tuple[str, ...]
    calls_per_s: float
    answer_s: float
    contracts: Mapping[str, str]
    chain_id: int
    max_head_age_s: int
    caps: Caps
    budgets: GasBudgets
    every_s: float


@dataclass(frozen=True, slots=True)
class Requests:
    """The loop, and what it holds open."""

    loop: RequestLoop
    reader: VaultReader
    database: Database

    def close(self) -> None:
        """Call it after the lead was given back: it may wait for the end of a round."""
        self.loop.wait()
        self.database.close()
        self.reader.rpc.close()


def share_of(calls_per_s: float, loops: int = 1) -> float:
    """What each of so many loops may ask of each node a second: a twentieth, at least
    LEAST_CALLS_PER_S, and all of them never more than half.
    """
    return min(calls_per_s / 2 / loops, max(calls_per_s / 20, LEAST_CALLS_PER_S))


def request_signers(signers: Mapping[Role, Signer]) -> dict[str, Signer]:
    """By role: the key of requests.

    Where there is none, on a local chain, the keeper's signs them.
    """
    own = signers.get(Role.CUSTODY)
    keeper = signers[Role.KEEPER]
    return {Role.CUSTODY: own} if own is not None else {Role.CUSTODY: keeper, Role.KEEPER: keeper}


def opened(
    place: RequestsPlace,
    planner: OutboxPlanner,
    *,
    signers: Mapping[str, Signer],
    epoch: Callable[[], int],
    fence: Callable[[Session], None],
    stops: HeldNonces | None,
    clock: Callable[[], datetime],
    terms: PurseTerms = CUSTODY,
    beat: Beat | None = None,
) -> Requests:
    """`stops`: of the same key, where there is one for both.

    `beat`: called at the end of each round with the loop's own reader and database.

    Nothing is asked over the network yet.
    """
    rpc = Nodes(
        place.rpc_urls,
        answer_s=place.answer_s,
        deadline_s=DEADLINE_S,
        calls_per_s=place.calls_per_s,
    )
    reader = VaultReader(rpc, place.contracts)
    database = Database(place.database_url, application_name="keeper requests", bounds=BOUNDS)
    watchdog = Watchdog(HANGS_S)
    one_round = round_of(
        database, place.chain_id, place.max_head_age_s, reader, planner, place.caps, place.budgets, signers=signers,
            epoch=epoch, fence=fence,
        stops=stops, sign=watchdog.sign, most_under_way=most_under_way(place.calls_per_s),
        terms=terms, beat=(lambda now: None) if beat is None else partial(beat, reader, database),
    )  # fmt: skip
    loop = RequestLoop(
        one_round,
        place.every_s,
        clock,
        watchdog,
        prepare=lambda: reader.rpc.keep_to(place.chain_id),
    )
    return Requests(loop, reader, database)


def most_under_way(calls_per_s: float) -> int:
    """As many as a round can ask a node about in twenty seconds, at two calls each."""
    return max(REQUESTS_A_ROUND, min(MOST_UNDER_WAY, int(calls_per_s * 10)))


def round_of(
    database: Database,
    chain_id: int,
    max_head_age_s: int,
    reader: VaultReader,
    planner: OutboxPlanner,
    caps: Caps,
    budgets: GasBudgets,
    *,
    signers: Mapping[str, Signer],
    epoch: Callable[[], int],
    fence: Callable[[Session], None],
    stops: HeldNonces | None = None,
    sign: Callable[[], None] = lambda: None,
    most_under_way: int = MOST_UNDER_WAY,
    terms: PurseTerms = CUSTODY,
    beat: Callable[[datetime], object] = lambda now: None,
) -> RequestRound:
    """A round with its sender, by this key."""
    is_shared = stops is not None
    kept = KeptGas(sends_stops_too=is_shared)
    sender = Sender(
        rpc=reader.rpc,
        database=database,
        signers=signers,
        epoch=epoch,
        fence=fence,
        caps=caps,
        sign=sign,
        allowance=kept,
        stops=stops,
    )
    return RequestRound(
        database=database,
        chain_id=chain_id,
        max_head_age_s=max_head_age_s,
        sender=sender,
        planner=planner,
        prices=Prices(
            reader, signers[terms.role].address, caps, sends_stops_too=is_shared, terms=terms
        ),
        kept=kept,
        budgets=budgets,
        epoch=epoch,
        fence=fence,
        sign=sign,
        most_under_way=most_under_way,
        terms=terms,
        beat=beat,
    )
