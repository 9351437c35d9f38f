"""The stops that are under way, in this process's memory and, afterwards, as rows.

Laws
- A row of a stop that was sent is a fact: it is written whoever leads. What becomes of it is
  written by who leads.
- What Postgres does not take now is written when it does, as far as this process remembers.
- One live intent a vault: another attempt of it, at whatever nonce and by whatever key, is one of
  that intent's.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.chain.blocks import BlockHeader, TransactionReceipt
from core.db.engine import WriteSession
from core.db.leadership import LeadershipLostError
from core.hexes import bytes_of
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewIntent, NewTx, Tx
from core.keeper.rules import TERMINAL, IntentState, TxState
from core.mandate.chain import calldata
from keeper.attempts import fees_of
from keeper.gas import Fees
from keeper.intents import Desk, intent_of
from keeper.state import FELL, IntentKind, VaultReading

ENFORCE = bytes_of(calldata.enforce_stop_line())
READ_EVERY_S = 30.0
RESENT_S = 3.0
UNWANTED_S = 10.0  # after which one that could not be sent, and nobody asks for, is given up
Slot = tuple[str, int]  # account and nonce

log = structlog.get_logger("keeper")


class StopEnd(StrEnum):
    """How a stop ended, as the state that its row has then."""

    OVER = IntentState.DONE
    REVERTED = IntentState.REVERTED
    UNWANTED = IntentState.SUPERSEDED


@dataclass(slots=True)
class Attempt:
    """Signed bytes. `heights`: of each node when they were signed, or when their block was
    orphaned. `row`: as it is in Postgres.
    """

    tx: NewTx
    gas: int
    heights: dict[str, int]
    row: Tx | None = None
    sent_at: float | None = None  # when every node answered to it

    @property
    def hash(self) -> str:
        return self.tx.hash

    @property
    def slot(self) -> Slot:
        return self.tx.signer, self.tx.nonce

    @property
    def fees(self) -> Fees:
        return fees_of(self.tx)

    def is_due(self, now: float) -> bool:
        """To be sent again: not every node answered, or it is a while since."""
        return self.sent_at is None or now - self.sent_at >= RESENT_S

    def has_waited(self, heights: Mapping[str, int], blocks: int = 1) -> bool:
        """Whether so many blocks came since, by any node's own count: of one that was not asked then,
        from the first time it is.
        """
        since = {
            name: min(self.tx.offered_block, height) for name, height in heights.items()
        } | self.heights
        self.heights = since
        return any(height >= since[name] + blocks for name, height in heights.items())


@dataclass(slots=True, eq=False)
class Stop:
    """One vault's. `words`: nodes on whose word it was sent; none after a restart. `block`: the head
    at its first attempt.
    """

    intent: NewIntent
    vault: str
    wanted_at: float
    words: frozenset[str] = frozenset()
    block: int = 0
    gas: int = 0
    tries: int = 0  # nonces that it was signed at
    slots: dict[Slot, list[Attempt]] = field(default_factory=dict)
    mined: Attempt | None = None
    receipt: TransactionReceipt | None = None
    is_seen: bool = False  # a node says that it stopped the vault, and none that it failed
    is_doubted: bool = False  # a node calls the vault fallen, though the stop was mined
    is_clear: bool = True  # no attempt of it can hold up another transaction
    end: StopEnd | None = None
    row: Intent | None = None

    @property
    def attempts(self) -> list[Attempt]:
        return list(chain.from_iterable(list(self.slots.values())))  # while another thread adds one

    @property
    def newest(self) -> Slot | None:
        return next(reversed(self.slots), None)

    @property
    def state(self) -> IntentState:
        """What its row is to say."""
        if self.end is not None:
            return IntentState(self.end)
        if self.receipt is not None:
            return IntentState.MINED
        return IntentState.BROADCAST if self.slots else IntentState.PLANNED

    @property
    def is_behind(self) -> bool:
        """Its row is to say something else; what ended says so for ever."""
        if self.row is None or self.row.state in TERMINAL:
            return False
        return self.state not in (self.row.state, IntentState.PLANNED)

    @property
    def is_settled(self) -> bool:
        """It ended, that is written, and nothing of it is in the way."""
        is_written = not self.slots if self.row is None else self.row.state in TERMINAL
        return self.end is not None and is_written and (self.is_clear or not self.slots)

    def open(self) -> Iterator[Slot]:
        """Nonces at which no attempt is known to be mined."""
        mined = None if self.mined is None else self.mined.slot
        yield from (slot for slot in list(self.slots) if slot != mined)

    def lose_receipt(self, block: int) -> None:
        """No block has it any more: patience begins again."""
        if self.receipt is None:
            return
        self.mined = self.receipt = None
        for attempt in self.attempts:
            attempt.tx = replace(attempt.tx, offered_block=block)
            attempt.heights, attempt.sent_at = {}, None


@dataclass(slots=True, kw_only=True)
class StopRows:
    """`roles`: by account. `clock`: seconds that only rise; `now`: aware UTC. `stops`: by vault;
    `over`: vaults.
    """

    desk: Desk
    roles: Mapping[str, str]
    now: Callable[[], datetime]
    clock: Callable[[], float] = time.monotonic
    stops: dict[str, Stop] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)
    reverted: list[Stop] = field(default_factory=list)  # until that is written
    lock: threading.Lock = field(default_factory=threading.Lock)  # never held over a query
    _last_epoch: int = 0
    _read_again_at: float = float("-inf")

    def new(self, reading: VaultReading, head: BlockHeader) -> Stop:
        intent = intent_of(reading.action(IntentKind.STOP, head, FELL), self.desk.chain_id)
        intent = replace(intent, role=next(iter(self.roles.values())))
        stop = self.stops[reading.vault] = Stop(intent, reading.vault, self.clock())
        return stop

    def all(self) -> list[Stop]:
        """With those that reverted: what is not written yet, and may hold nonces."""
        return [*self.reverted, *self.stops.values()]

    def revert(self, stop: Stop) -> None:
        """The vault may be stopped anew."""
        stop.end = StopEnd.REVERTED
        self.reverted.append(self.stops.pop(stop.vault))

    def held(self, account: str) -> set[int]:
        return {
            nonce for stop in self.all() for signer, nonce in list(stop.slots) if signer == account
        }

    # Postgres

    def read(self) -> None:
        """What another process left, or wrote meanwhile."""
        if self.clock() < self._read_again_at:
            return
        try:
            with self.desk.database.read() as session:
                live = self._live(session)
                attempts = rows.attempts_of(session, [intent.id for intent in live])
        except SQLAlchemyError:
            return
        self._read_again_at = self.clock() + READ_EVERY_S
        with self.lock:
            for intent in live:
                stop = self.stops.get(intent.to)
                if stop is None or stop.row is None:
                    self._take(intent, [tx for tx in attempts if tx.intent_id == intent.id])

    def _live(self, session: Session) -> list[Intent]:
        """Without those whose end is known and not written yet: the next stop has a row of its own."""
        ended = {stop.row.id for stop in list(self.reverted) if stop.row is not None}
        live = rows.live_intents(session, self.desk.chain_id, of_requests=False)
        return [one for one in live if one.kind == IntentKind.STOP and one.id not in ended]

    def _take(self, intent: Intent, attempts: Iterable[Tx]) -> None:
        stop = self.stops.setdefault(intent.to, Stop(intent, intent.to, self.clock()))
        stop.row = intent
        known = {one.hash for one in stop.attempts}
        for tx in attempts:
            if tx.hash not in known:
                stop.slots.setdefault((tx.signer, tx.nonce), []).append(Attempt(tx, 0, {}, tx))
        stop.tries = max(stop.tries, len(stop.slots))

    def write(self) -> None:
        """All that is not written yet; what the database does not take waits. What was sent is
        written whoever leads, and what became of it by who leads.
        """
        with suppress(LeadershipLostError):  # the tick meets it
            self._last_epoch = self.desk.epoch()
        try:
            self._write_sent()
            self._write_ends()
            self._write_sent()  # what waited for the end of one that reverted
        except LeadershipLostError:
            return
        except SQLAlchemyError as error:
            log.warning("stops are not written yet", stops=len(self.stops),
                        error=type(error).__name__)  # fmt: skip

    def _write_sent(self) -> None:
        """What a commit wrote whose answer was lost is found again."""
        unwritten = self._unwritten()
        if not unwritten:
            return
        written: dict[int, tuple[Stop, Intent, list[tuple[Attempt, Tx]]]] = {}
        with self.desk.database.write() as session:
            for stop, attempts in unwritten:
                intent = stop.row or self._added(session, stop)
                if intent is None or intent.id in written:
                    continue  # of one that reverted, whose end is not written yet
                known = {tx.hash: tx for tx in rows.attempts_of(session, [intent.id])}
                txs = [(one, known.get(one.hash) or self._add(session, one, intent))
                       for one in attempts]  # fmt: skip
                if txs and intent.state is IntentState.PLANNED:
                    intent = self._move(session, intent, IntentState.BROADCAST, stop)
                written[intent.id] = stop, intent, txs
        with self.lock:
            for stop, intent, txs in written.values():
                stop.row = intent
                for one, row in txs:
                    one.row = row

    def _unwritten(self) -> list[tuple[Stop, list[Attempt]]]:
        """Stops without a row, or with attempts that have none, and these."""
        with self.lock:
            for stop in self.stops.values():
                is_old = self.clock() - stop.wanted_at >= UNWANTED_S
                if not stop.slots and stop.end is None and is_old:
                    stop.end = StopEnd.UNWANTED
            found = [(one, [a for a in one.attempts if a.row is None]) for one in self.all()]
        return [
            (stop, attempts)
            for stop, attempts in found
            if attempts or (stop.row is None and stop.end is not StopEnd.UNWANTED)
        ]

    def _added(self, session: WriteSession, stop: Stop) -> Intent | None:
        """None: one that reverted is still to be written."""
        found = rows.add_intent(session, stop.intent, self._last_epoch, self.now())
        if found is not None:
            return found
        return next((one for one in self._live(session) if one.to == stop.vault), None)

    def _add(self, session: WriteSession, one: Attempt, intent: Intent) -> Tx:
        tx = replace(one.tx, intent_id=intent.id)
        return rows.add_tx(session, tx, self.now(), TxState.BROADCAST)

    def _write_ends(self) -> None:
        with self.lock:
            moves = [(one, one.row, one.state) for one in self.all() if one.is_behind]
        if moves:
            with self.desk.database.write() as session:
                self.desk.fence(session)
                moved = [
                    (stop, self._move(session, row, state, stop))
                    for stop, row, state in moves
                    if row is not None
                ]
            for stop, intent in moved:
                log.info("stop moved", vault=stop.vault, state=intent.state)
                stop.row = intent
        with self.lock:
            self.reverted = [one for one in self.reverted if not one.is_settled]
            for stop in [one for one in self.stops.values() if one.is_settled]:
                del self.stops[stop.vault]
                self.over |= {stop.vault} if stop.end is StopEnd.OVER else set()

    def _move(self, session: WriteSession, row: Intent, state: IntentState, stop: Stop) -> Intent:
        role = self.roles.get(stop.newest[0], row.role) if stop.newest else row.role
        intent = replace(row, state=state, role=role)
        rows.move_intent(session, intent, row.state, self._last_epoch, self.now())
        mined, receipt = stop.mined, stop.receipt
        for one in stop.attempts:
            if one.row is not None:
                again = replace(one.row, offered_block=one.tx.offered_block)
                is_mined = one is mined and receipt is not None
                now_is = TxState.MINED if is_mined else TxState.BROADCAST
                rows.move_tx(session, again, now_is, self.now(), receipt if is_mined else None)
        return intent
