"""One round of the requests of the outbox: settle what ended, plan a few, take them as far as they
go.

    queue: what ended leaves it, what it cost is counted --> at most REQUESTS_A_ROUND that are due: gas kept, signed by the wallet's key,
    written down --> sender: as far as each goes now --> what could not be sent waits, twice as long each time

Laws
- A round costs what is under way and what is due, however many wait: at most REQUESTS_A_ROUND are
  planned, MOST_UNDER_WAY are live.
- Gas is kept before a request is signed. Where the day has no more, a request is sent within what
  is kept for it since it was asked for, so that the gas kept for many keeps none of them from being
  sent. Where that is too little, it waits for the next UTC day if its account or owner has used up
  the day's gas, and for a minute if all have.
- A request that cannot be built or sent holds up no other one; what the chain refuses for an hour
  ends.
- A request that names the most that it may cost waits while gas is dearer than that.
- A purse's round sees the requests of that purse alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session

from core.chain.signer import Signer
from core.db.engine import Database, WriteSession
from core.keeper import gas, queue
from core.keeper import intents as rows
from core.keeper.gas import SPONSOR, SPONSORS, TOTAL, GasBudgets
from core.keeper.intents import Intent, NewIntent
from core.keeper.queue import OutboxRequest, QueuePlace
from core.keeper.rules import ON_CHAIN, IntentState
from core.mandate.chain.reader import VaultReader
from core.money import UnixSeconds
from core.times import next_day
from keeper.gas import Caps
from keeper.intents import REQUEST_PATIENCE, IntentSender
from keeper.outbox_kinds import OutboxPlanner
from keeper.requests.allowance import CUSTODY, KeptGas, Prices, PurseTerms, RequestPrice
from keeper.send import Sender
from keeper.state import Head
from keeper.stops import Stops

REQUESTS_A_ROUND = 20
MOST_UNDER_WAY = 200
PUT_BACK_AFTER = timedelta(seconds=10)
UNBUILT_WAITS = timedelta(minutes=1)
DEARER_WAITS = timedelta(seconds=15)

# Live intents, what they are of by outbox id, and what is due.
_Waiting = tuple[list[Intent], dict[int, QueuePlace], list[tuple[OutboxRequest, QueuePlace]]]

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class _Planned:
    """A request, and what is to be written down of it; None: it cannot be built now."""

    place: QueuePlace
    intent: tuple[NewIntent, IntentState] | None


@dataclass(slots=True, kw_only=True)
class RequestRound:
    """Of one purse. `signers`: whose key pays, and of the same key those that send what it holds up.
    `epoch`: of the lead; `fence`: of it, called first in each writing transaction.

    `stops`: of the same key, where there is one for both. `sign`: the loop gets on. `beat`: called
    at the end of each round, with its time.
    """

    database: Database
    reader: VaultReader
    chain_id: int
    max_head_age_s: int
    planner: OutboxPlanner
    caps: Caps
    budgets: GasBudgets
    signers: Mapping[str, Signer]
    epoch: Callable[[], int]
    fence: Callable[[Session], None]
    stops: InitVar[Stops | None] = None
    sign: Callable[[], None] = lambda: None
    most_under_way: int = MOST_UNDER_WAY
    terms: PurseTerms = CUSTODY
    beat: Callable[[datetime], object] = lambda now: None
    kept: KeptGas = field(init=False)
    prices: Prices = field(init=False)
    sender: IntentSender = field(init=False)
    _told: str | None = field(default=None, init=False)

    def __post_init__(self, stops: Stops | None) -> None:
        self.kept = KeptGas(sends_stops_too=stops is not None)
        self.prices = Prices(
            reader=self.reader,
            account=self.signers[self.terms.role].address,
            caps=self.caps,
            sends_stops_too=stops is not None,
            terms=self.terms,
        )
        self.sender = Sender(
            rpc=self.reader.rpc,
            database=self.database,
            signers=self.signers,
            epoch=self.epoch,
            fence=self.fence,
            caps=self.caps,
            sign=self.sign,
            allowance=self.kept,
            stops=stops,
        )

    def run(self, now: datetime) -> None:
        """Errors: RpcError (what was committed stays), LeadershipLostError, the
        database's.
        """
        live, places, due = self._waiting(now)
        if places.keys() - {intent.outbox_id for intent in live}:  # their intents ended
            self._settle()
            live, places, due = self._waiting(now)
        self.sign()
        self.kept.kept_wei = {place.outbox_id: place.reserved_wei for place in places.values()}
        planned = self._planned(live, places, due, now)
        live = self.sender.advance([*live, *planned], now, is_stood_down=False)
        self._put_back(live, now)
        self.beat(now)

    def _waiting(self, now: datetime) -> _Waiting:
        with self.database.read() as session:
            live = rows.live_intents(
                session, self.chain_id, of_requests=True, purse=self.terms.purse
            )
            places = queue.taken(session, self.chain_id, self.terms.purse)
            room = max(0, min(REQUESTS_A_ROUND, self.most_under_way - len(live)))
            due = queue.due(session, self.chain_id, now, room, self.terms.purse)
        return live, places, due

    def _settle(self) -> None:
        with self.database.write() as session:
            self.fence(session)
            queue.settle(session, self.chain_id, self.terms.purse)

    # What is planned

    def _planned(
        self,
        live: Sequence[Intent],
        places: dict[int, QueuePlace],
        due: Sequence[tuple[OutboxRequest, QueuePlace]],
        now: datetime,
    ) -> list[Intent]:
        waiting = [
            places[i.outbox_id] for i in live if i.outbox_id in places and i.state not in ON_CHAIN
        ]
        if not due and not waiting:
            return []
        seconds = UnixSeconds(int(now.timestamp()))
        price = self.prices.now([place.reserved_wei for place in places.values()])
        head = price.head
        if head is None or head.age_s(seconds) > self.max_head_age_s:
            self._tell("the head is stale")
            return []
        self._tell(price.barred if due else None)
        if price.most_wei is None:
            return []
        self.kept.layer_1_wei = price.layer_1_wei
        self._top_up(waiting, price.most_wei, now)
        new = due[: price.affordable]
        return self._written(self._built(new, head, now), price, now) if new else []

    def _top_up(self, waiting: Sequence[QueuePlace], wei: int, now: datetime) -> None:
        """More gas is kept for what waits, where the market asks for more by now and the day has
        it.
        """
        short = [place for place in waiting if place.reserved_wei < place.within_most(wei)]
        if not short:
            return
        with self.database.write() as session:
            self.fence(session)
            queue.hold_gas(session, short, gas.day_of(now))
            for place in short:
                most_wei = place.within_most(wei)
                if queue.reserve(session, place, self.budgets, gas.day_of(now), most_wei) is None:
                    self.kept.kept_wei[place.outbox_id] = most_wei

    def _built(
        self, due: Sequence[tuple[OutboxRequest, QueuePlace]], head: Head, now: datetime
    ) -> list[_Planned]:
        """Signed by the wallets' keys; each is a sign that the loop gets on."""
        built = list[_Planned]()
        with self.database.read() as session:
            for request, place in due:
                built.append(_Planned(place, self.planner.intent(session, request, head, now)))
                self.sign()
        return built

    def _written(
        self, built: Sequence[_Planned], price: RequestPrice, now: datetime
    ) -> list[Intent]:
        """In one transaction: gas kept, intents planned, places taken.

        Answers the intents to be sent.
        """
        added = list[Intent]()
        with self.database.write() as session:
            self.fence(session)
            queue.hold_gas(session, [one.place for one in built], gas.day_of(now))
            for one in built:
                if one.intent is None:
                    queue.wait_until(session, [one.place.outbox_id], now + UNBUILT_WAITS)
                    continue
                intent, state = one.intent
                if state is IntentState.PLANNED:
                    kept_wei = self._kept_for(session, one.place, price, now)
                    if kept_wei is None:
                        continue
                    self.kept.kept_wei[one.place.outbox_id] = kept_wei
                made = rows.add_intent(session, intent, self.epoch(), now, state)
                if made is None:
                    queue.wait_until(session, [one.place.outbox_id], now + UNBUILT_WAITS)
                    continue
                queue.take(session, [one.place.outbox_id])
                added += [made] if state is IntentState.PLANNED else []
        return added

    def _kept_for(
        self, session: WriteSession, place: QueuePlace, price: RequestPrice, now: datetime
    ) -> int | None:
        """What a request may cost: the most that it may need; where the day has no more, what is
        kept for it already, if that sends it.
        None: it waits, and those behind it do not.
        """
        assert price.most_wei is not None
        day = gas.day_of(now)
        most_wei = place.within_most(price.most_wei)
        if most_wei < price.least_wei:
            self._tell("gas costs more than what was paid for it")
            queue.wait_until(session, [place.outbox_id], now + DEARER_WAITS)
            return None
        used_up = queue.reserve(session, place, self.budgets, day, most_wei)
        if used_up is None:
            return most_wei
        if place.kept_wei(day) >= price.least_wei:
            return place.kept_wei(day)
        if used_up in (TOTAL, SPONSORS):
            self._tell("the day's gas of all is used up")
        queue.wait_until(session, [place.outbox_id], _again_at(used_up, now))
        return None

    # What could not be sent

    def _put_back(self, live: Sequence[Intent], now: datetime) -> None:
        """What is still planned waits for its next turn, so that it holds up no other one."""
        late = [
            i
            for i in live
            if i.state is IntentState.PLANNED
            and i.outbox_id is not None
            and now - i.created_at >= PUT_BACK_AFTER
        ]
        if not late:
            return
        with self.database.write() as session:
            self.fence(session)
            places = queue.taken(session, self.chain_id, self.terms.purse)
            for place, intent in [(places[i.outbox_id], i) for i in late if i.outbox_id in places]:
                since = place.refused_at or intent.created_at
                ends = (
                    IntentState.REFUSED
                    if now - since >= REQUEST_PATIENCE
                    else IntentState.SUPERSEDED
                )
                rows.move_intent(
                    session, replace(intent, state=ends), intent.state, self.epoch(), now
                )
                queue.postpone(session, place, now, since)

    def _tell(self, why: str | None) -> None:
        """Once: it may last for hours."""
        if why != self._told and why is not None:
            log.warning("requests wait", why=why)
        self._told = why


def _again_at(used_up: str, now: datetime) -> datetime:
    """When a request without gas is looked at again: all requests' gas may be given back soon, and a
    sponsored buy lapses before the day does.
    """
    is_soon = used_up == TOTAL or used_up.startswith(SPONSOR)
    return now + UNBUILT_WAITS if is_soon else next_day(now)
