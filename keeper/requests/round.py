"""One round of the requests of the outbox that one purse pays for: settle what ended, plan a few, take
them as far as they go.

    queue: what ended leaves it, what it cost is counted --> at most REQUESTS_A_ROUND that are due: gas kept, signed by the wallet's key,
    written down --> sender: as far as each goes now --> what could not be sent waits, twice as long each time

    most that one may cost = the purse's gas * maxFeePerGas + upper bound of the fee for its bytes on layer 1
    maxFeePerGas           = twice the first offer of the market, within the caps: room for replacements

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
- The sponsor's round ends with a heartbeat, every BEAT at most, and the API takes sponsored buys
  only while that is fresh: it says that the loop leads, reads the chain and the database, and gets
  through, which is more than that a key is set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy.orm import Session

from core.chain.blocks import BlockHeader
from core.custody.rules import TRANSFER_GAS
from core.db.engine import WriteSession
from core.errors import OutsideError
from core.jobs.each import isolated
from core.keeper import gas, queue
from core.keeper import intents as rows
from core.keeper.gas import SPONSOR as SPONSORED
from core.keeper.gas import SPONSORS, TOTAL, GasBudgets
from core.keeper.intents import Intent, NewIntent
from core.keeper.queue import OutboxRequest, QueuePlace
from core.keeper.rules import ON_CHAIN, REFUSED_KEY, IntentState, Purse
from core.mandate.chain.reader import VaultReader
from core.sponsored import queries as sponsored
from core.sponsored.rules import BUY_GAS, UNSIGNED_BUY_BYTES
from core.times import next_day
from keeper.gas import quotes
from keeper.intents import Desk, intent_of_request
from keeper.outbox_kinds import Builder, LapsedError
from keeper.send import Sender
from keeper.state import Role

REQUESTS_A_ROUND = 20
MOST_UNDER_WAY = 200
PUT_BACK_AFTER = timedelta(seconds=10)
PATIENCE = timedelta(hours=1)  # with one that the chain refuses
UNBUILT_WAITS = timedelta(minutes=1)
DEARER_WAITS = timedelta(seconds=15)
BEAT = timedelta(seconds=5)  # core.sponsored.rules.FRESH_S is many of them
ROOM_FOR_REPLACEMENTS = 2
# upper bound of an unsigned type 2 transaction with a transfer's 292 bytes of call data
UNSIGNED_TRANSFER_BYTES = 450

# A request's place, and what is to be written down of it; None: it cannot be built now.
_Built = tuple[QueuePlace, tuple[NewIntent, IntentState] | None]
# Live intents, what they are of by outbox id, and what is due.
_Waiting = tuple[list[Intent], dict[int, QueuePlace], list[tuple[OutboxRequest, QueuePlace]]]

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class PurseTerms:
    """Whose ETH pays: each purse has a key, a loop and a day's budget of its own. `gas`,
    `unsigned_bytes`: the most that one of its requests may use, and its size.
    """

    purse: Purse
    role: Role
    gas: int
    unsigned_bytes: int


CUSTODY = PurseTerms(Purse.CUSTODY, Role.CUSTODY, TRANSFER_GAS, UNSIGNED_TRANSFER_BYTES)
SPONSOR = PurseTerms(Purse.SPONSOR, Role.SPONSOR, BUY_GAS, UNSIGNED_BUY_BYTES)


@dataclass(frozen=True, slots=True)
class RequestPrice:
    """What a request may cost, as of `head`. `least_wei`: what one needs to be sent once, without room
    for replacements. `layer_1_wei`: what each transaction pays beside its gas. `affordable`: how many
    more requests the key can pay for.
    """

    head: BlockHeader
    most_wei: int
    least_wei: int
    layer_1_wei: int
    affordable: int


@dataclass(kw_only=True)
class RequestRound:
    """Of one purse, whose key is the only one of the `desk`. `sign`: the round gets on."""

    desk: Desk
    reader: VaultReader
    max_head_age_s: int
    builders: Mapping[str, Builder]
    budgets: GasBudgets
    terms: PurseTerms = CUSTODY
    most_under_way: int = MOST_UNDER_WAY
    sign: Callable[[], None] = lambda: None
    sender: Sender = field(init=False)
    _kept_wei: dict[int, int] = field(init=False, default_factory=dict)  # by outbox id
    _layer_1_wei: int = field(init=False, default=0)
    _beat_at: datetime | None = field(init=False, default=None)
    _logged: str | None = field(init=False, default=None)
    _unbuilt: set[int] = field(init=False, default_factory=set)  # that were logged

    def __post_init__(self) -> None:
        self.sender = Sender(self.desk, allows=self._allows)

    @property
    def account(self) -> str:
        """Who pays."""
        return self.desk.signers[self.terms.role].address

    def run(self, now: datetime) -> None:
        """Errors: RpcError (what was committed stays), LeadershipLostError, the
        database's.
        """
        live, places, due = self._waiting(now)
        if places.keys() - {intent.outbox_id for intent in live}:  # their intents ended
            with self.desk.database.write() as session:
                self.desk.fence(session)
                queue.settle(session, self.desk.chain_id, self.terms.purse)
            live, places, due = self._waiting(now)
        self._kept_wei = {place.outbox_id: place.reserved_wei for place in places.values()}
        planned = self._planned(live, places, due, now)
        live = self.sender.advance([*live, *planned], now)
        self._put_back(live, now)
        if self.terms is SPONSOR:
            self._beat(now)

    def _waiting(self, now: datetime) -> _Waiting:
        chain_id, purse = self.desk.chain_id, self.terms.purse
        with self.desk.database.read() as session:
            live = rows.live_intents(session, chain_id, of_requests=True, purse=purse)
            places = queue.taken(session, chain_id, purse)
            room = max(0, min(REQUESTS_A_ROUND, self.most_under_way - len(live)))
            due = queue.due(session, chain_id, now, room, purse)
        return live, places, due

    def _beat(self, now: datetime) -> None:
        if self._beat_at is not None and timedelta() <= now - self._beat_at < BEAT:
            return
        balance_wei = self.reader.balance_wei(self.account)
        with self.desk.database.write() as session:
            self.desk.fence(session)
            sponsored.beat(session, self.desk.chain_id, self.account, balance_wei, now)
        self._beat_at = now

    # What one may cost

    def price(self, under_way: Sequence[QueuePlace], now: datetime) -> RequestPrice | None:
        """What one may cost now, beside those under way; None: that is not known, or too much.

        Errors: RpcError.
        """
        nodes = quotes(self.desk.rpc, [self.account])
        if not nodes.heads or now.timestamp() - nodes.head.timestamp > self.max_head_age_s:
            self._log_wait("the head is stale")
            return None
        market, caps = nodes.market, self.desk.caps
        offer = market.offered(caps.others_wei, is_stop=False)
        if offer is None:
            self._log_wait("the fee is above the cap")
            return None
        layer_1_wei = self.reader.layer_1_fee_wei(self.terms.unsigned_bytes)
        if layer_1_wei is None:
            self._log_wait("the gas price oracle does not give the layer 1 fee")
            return None
        cap_wei, fee_wei = market.cap_wei(caps.others_wei), offer.fees.max_fee_wei
        most_wei = self.terms.gas * min(cap_wei, ROOM_FOR_REPLACEMENTS * fee_wei) + layer_1_wei
        left_wei = market.sure_wei[self.account] - sum(place.reserved_wei for place in under_way)
        return RequestPrice(
            nodes.head,
            most_wei,
            min(most_wei, self.terms.gas * fee_wei + layer_1_wei),
            layer_1_wei,
            max(0, left_wei // most_wei),
        )

    def _allows(self, intent: Intent, wei: int) -> bool:
        """Whether so much is kept for the intent's request; what is about none may cost what it costs."""
        if intent.outbox_id is None:
            return True
        return wei + self._layer_1_wei <= self._kept_wei.get(intent.outbox_id, 0)

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
        price = self.price(list(places.values()), now)
        if price is None:
            return []
        self._log_wait("the key is short of ETH" if due and not price.affordable else None)
        self._layer_1_wei = price.layer_1_wei
        self._top_up(waiting, price.most_wei, now)
        new = due[: price.affordable]
        return self._written(self._built(new, price.head, now), price, now) if new else []

    def _top_up(self, waiting: Sequence[QueuePlace], wei: int, now: datetime) -> None:
        """More gas is kept for what waits, where the market asks for more by now and the day has
        it.
        """
        short = [place for place in waiting if place.reserved_wei < place.within_most(wei)]
        if not short:
            return
        with self.desk.database.write() as session:
            self.desk.fence(session)
            queue.hold_gas(session, short, gas.day_of(now))
            for place in short:
                self._keep(session, place, place.within_most(wei), now)

    def _keep(
        self, session: WriteSession, place: QueuePlace, wei: int, now: datetime
    ) -> str | None:
        """Keep so much of the day's gas for it; the scope that has no more."""
        used_up = queue.reserve(session, place, self.budgets, gas.day_of(now), wei)
        if used_up is None:
            self._kept_wei[place.outbox_id] = wei
        return used_up

    def _built(
        self, due: Sequence[tuple[OutboxRequest, QueuePlace]], head: BlockHeader, now: datetime
    ) -> list[_Built]:
        """Signed by the wallets' keys; each is a sign that the round gets on."""
        built = list[_Built]()
        with self.desk.database.read() as session:
            for one, place in due:
                found = isolated(
                    partial(self._intent, session, one, head, now), is_joint=True, request=one.id
                )
                built.append((place, found))
                self.sign()
        return built

    def _intent(
        self, session: Session, request: OutboxRequest, head: BlockHeader, now: datetime
    ) -> tuple[NewIntent, IntentState] | None:
        """What is to be written down: planned, or ended before it began. None: it cannot be built
        now, which is logged once.
        """
        builder = self.builders.get(request.kind)
        try:
            if builder is None:
                raise OutsideError(
                    f"this keeper builds no {request.kind}; a custodial transfer needs CUSTODY_KEY"
                )
            data = builder(session, request, now)
        except LapsedError as error:
            log.warning("request lapsed", request=request.id, kind=request.kind, why=str(error))
            lapsed = replace(request, reason={**request.reason, REFUSED_KEY: str(error)})
            return intent_of_request(lapsed, self.terms.role, b"", head), IntentState.REFUSED
        except OutsideError as error:
            if request.id not in self._unbuilt:
                log.error("request waits", request=request.id, kind=request.kind, why=str(error))
            self._unbuilt.add(request.id)
            return None
        return intent_of_request(request, self.terms.role, data, head), IntentState.PLANNED

    def _written(self, built: Sequence[_Built], price: RequestPrice, now: datetime) -> list[Intent]:
        """In one transaction: gas kept, intents planned, places taken.

        Answers the intents to be sent.
        """
        added = list[Intent]()
        with self.desk.database.write() as session:
            self.desk.fence(session)
            queue.hold_gas(session, [place for place, _ in built], gas.day_of(now))
            for place, found in built:
                ids = [place.outbox_id]
                if found is None:
                    queue.wait_until(session, ids, now + UNBUILT_WAITS)
                    continue
                intent, state = found
                is_to_be_sent = state is IntentState.PLANNED
                if is_to_be_sent and not self._is_paid_for(session, place, price, now):
                    continue
                made = rows.add_intent(session, intent, self.desk.epoch(), now, state)
                if made is None:
                    queue.wait_until(session, ids, now + UNBUILT_WAITS)
                    continue
                queue.take(session, ids)
                added += [made] if is_to_be_sent else []
        return added

    def _is_paid_for(
        self, session: WriteSession, place: QueuePlace, price: RequestPrice, now: datetime
    ) -> bool:
        """The most that a request may need is kept for it; where the day has no more, what is kept for
        it already sends it. Else it waits, and those behind it do not.
        """
        most_wei = place.within_most(price.most_wei)
        if most_wei < price.least_wei:
            self._log_wait("gas costs more than what was paid for it")
            queue.wait_until(session, [place.outbox_id], now + DEARER_WAITS)
            return False
        used_up = self._keep(session, place, most_wei, now)
        if used_up is None:
            return True
        kept_wei = place.kept_wei(gas.day_of(now))
        if kept_wei >= price.least_wei:
            self._kept_wei[place.outbox_id] = kept_wei
            return True
        if used_up in (TOTAL, SPONSORS):
            self._log_wait("today's gas of all requests is used up")
        queue.wait_until(session, [place.outbox_id], _again_at(used_up, now))
        return False

    # What could not be sent

    def _put_back(self, live: Sequence[Intent], now: datetime) -> None:
        """What is still planned waits for its next turn, so that it holds up no other one."""
        late = {
            i.outbox_id: i
            for i in live
            if i.state is IntentState.PLANNED and now - i.created_at >= PUT_BACK_AFTER
        }
        if not late:
            return
        with self.desk.database.write() as session:
            self.desk.fence(session)
            places = queue.taken(session, self.desk.chain_id, self.terms.purse)
            for place in (one for outbox_id, one in places.items() if outbox_id in late):
                intent = late[place.outbox_id]
                since = place.refused_at or intent.created_at
                is_over = now - since >= PATIENCE
                ends = IntentState.REFUSED if is_over else IntentState.SUPERSEDED
                ended = replace(intent, state=ends)
                rows.move_intent(session, ended, intent.state, self.desk.epoch(), now)
                queue.postpone(session, place, now, since)

    def _log_wait(self, why: str | None) -> None:
        """Once: it may last for hours."""
        if why != self._logged and why is not None:
            log.warning("requests wait", why=why)
        self._logged = why


def _again_at(used_up: str, now: datetime) -> datetime:
    """When a request without gas is looked at again: all requests' gas may be given back soon, and a
    sponsored buy lapses before the day does.
    """
    is_soon = used_up == TOTAL or used_up.startswith(SPONSORED)
    return now + UNBUILT_WAITS if is_soon else next_day(now)
