"""The slow job `perps_closing`: closes the positions of legs whose mandate has ended
(docs/perpetuals.md#closing).

    claim --> commit --> orders without an answer: ask by cloid --> key, positions --> for each:
    row `sending` --> commit --> send --> row of the answer --> commit --> positions again --> stop-line row

It runs in the keeper's process, since it signs: with the starter wallet of the mandate's agent, where
the owner approved that as the leg's API wallet.

Laws
- What leaves the process is written and committed before; an order whose
  answer is not known holds back every other of its leg.
- Orders only reduce.
- A leg that cannot be closed holds up no other, and a run ends after RUN_S.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

import structlog
from sqlalchemy.orm import Session

from core.custody import queries as custody
from core.custody.keys import CustodySigner
from core.custody.rules import SealedKey
from core.errors import OutsideError, text_of
from core.jobs.rules import ATTENTION
from core.jobs.schedule import Job, JobDatabase, JobSkippedError
from core.mandate.ledger import writer as mandate_ledger
from core.money import usdc_text
from core.perps import orders as rows
from core.perps import queries as legs
from core.perps.hyperliquid_desk import HyperliquidDesk
from core.perps.orders import SentOrder
from core.perps.queries import Leg
from core.perps.readings import record_reading
from core.perps.rules import closing
from core.perps.rules.closing import ClosingState
from core.perps.rules.leg import AccountReading, Degraded
from core.perps.rules.notes import order_note, result_note, stop_line_note
from core.perps.rules.orders import (
    REJECTED,
    UNKNOWN,
    OrderAnswer,
    OrderBy,
    VenueOrder,
    VenuePosition,
    closing_order,
    e8_text,
    has_never_arrived,
    why_closed,
)
from core.perps.views import OfMandate, of_mandate

NAME = "perps_closing"
EVERY_S = closing.RETRY_S
LIMIT_S = 120
A_RUN = 20
ORDERS_A_TURN = 10
RUN_S = 20

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingPlace:
    """`clock`: aware time, also while a run goes on."""

    database: JobDatabase
    desk: HyperliquidDesk
    custody: CustodySigner
    clock: Callable[[], datetime]
    exit_allowance_bps: int


def job(
    url: str | None,
    signer: CustodySigner | None,
    clock: Callable[[], datetime],
    exit_allowance_bps: int,
) -> Job[JobDatabase]:
    """Without a venue, or without the keys that orders are signed with, it is skipped."""
    if url is None or signer is None:
        return Job(NAME, EVERY_S, LIMIT_S, _skip)
    desk = HyperliquidDesk(url)

    def run(database: JobDatabase, now: datetime) -> dict[str, Any]:
        place = ClosingPlace(
            database=database,
            desk=desk,
            custody=signer,
            clock=clock,
            exit_allowance_bps=exit_allowance_bps,
        )
        return Closings(place).run(now)

    return Job(NAME, EVERY_S, LIMIT_S, run)


@dataclass(frozen=True, slots=True)
class Closings:
    """One run."""

    place: ClosingPlace

    def run(self, now: datetime) -> dict[str, Any]:
        """How many closings were tried, how many of them are over, and what asks for attention.

        Errors: the database's.
        """
        place = self.place
        with place.database.write() as session:
            rows.begin_closings(session, now, A_RUN)
            due = rows.claim_closings(session, now, A_RUN)
        tried = over = 0
        for leg in due:
            if (place.clock() - now).total_seconds() >= RUN_S:
                break
            found = LegClosing(place, leg).take()
            tried, over = tried + 1, over + (found.status is not closing.ClosingStatus.PENDING)
        return {"due": len(due), "tried": tried, "over": over, **self._attention()}

    def _attention(self) -> dict[str, str]:
        with self.place.database.read() as session:
            stuck = rows.count_stuck(session)
        sentence = (
            f"{stuck} perpetuals legs of ended mandates can't be closed: check HL_URL, and the "
            "venue's answers in hl_order_result of their records."
        )
        return {ATTENTION: sentence} if stuck else {}


@dataclass(slots=True)
class LegClosing:
    """One try to close one leg."""

    place: ClosingPlace
    leg: Leg
    _has_filled: bool = False

    def take(self) -> ClosingState:
        try:
            found = self._found()
        except OutsideError as error:
            log.warning("leg not closed", leg=self.leg.id, error=text_of(error))
            found = closing.TRANSIENT
        self._save(found)
        return found

    def _found(self) -> ClosingState:
        leg, desk = self.leg, self.place.desk
        if not self._is_answered():
            return closing.TRANSIENT
        if leg.unbound_at is not None:
            return closing.UNBOUND
        with self.place.database.read() as session:
            mandate = of_mandate(session, leg.mandate_id)
            head = mandate_ledger.load_head(session, leg.mandate_id)
            sealed = _sealed_key(session, leg, mandate)
        if sealed is None:
            return closing.NO_KEY
        self.place.custody.require_opens(sealed)
        if not desk.takes_key(leg.owner_address, leg.agent_address):
            self._say_lost()
            return closing.KEY_LOST
        positions = desk.positions(leg.owner_address, leg.dex)
        if not positions:
            return closing.CLOSED
        self._close(self._in_turn(positions), mandate, sealed, why_closed(head.stopped_by).value)
        left = desk.positions(leg.owner_address, leg.dex)
        return closing.TRANSIENT if left or not self._is_answered() else closing.CLOSED

    def _in_turn(self, positions: Sequence[VenuePosition]) -> Sequence[VenuePosition]:
        """ORDERS_A_TURN of them, beginning elsewhere each time, so that those which cannot be
        closed hold up no other for good.
        """
        first = int(self.place.clock().timestamp()) // EVERY_S * ORDERS_A_TURN % len(positions)
        return [*positions[first:], *positions[:first]][:ORDERS_A_TURN]

    def _close(
        self,
        positions: Sequence[VenuePosition],
        mandate: OfMandate,
        sealed: SealedKey,
        why: str,
    ) -> None:
        """Errors: OutsideError of the markets; of an order it is its answer."""
        markets = self.place.desk.markets({one.coin for one in positions}, self.leg.dex)
        for position in positions:
            market = markets.get(position.coin)
            if market is None:
                log.warning("position without a market", leg=self.leg.id, coin=position.coin)
                continue
            order = closing_order(position, market, self.place.exit_allowance_bps)
            if order.limit_px_e8 == 0:
                log.warning("no price within the allowance", leg=self.leg.id, coin=position.coin)
                continue
            sent = self._placed(order, mandate, why)
            if sent is not None and not self._has_answer(sent, sealed):
                return

    def _placed(self, order: VenueOrder, mandate: OfMandate, why: str) -> SentOrder | None:
        """The order's rows, committed; None: the leg was unbound."""
        now = self.place.clock()
        with self.place.database.write() as session:
            leg = legs.lock_live(session, self.leg.id)
            if leg is None:
                return None
            sent = rows.place(
                session, leg, mandate.public_id, order, cap_usdc_e6=mandate.cap_usdc_e6, now=now
            )
            words = {
                "status": sent.outcome.value,
                "cloid": sent.cloid,
                "coin": order.coin,
                "side": order.side.value,
                "size": e8_text(order.size_e8),
                "notional_usd": usdc_text(order.notional_usdc_e6),
                "by": OrderBy.OWNER.value,
            }
            note = order_note(sent.seq, words, reduce_only=order.reduce_only, why=why, now=now)
            mandate_ledger.append(session, leg.mandate_id, note, now)
        return sent

    def _has_answer(self, sent: SentOrder, sealed: SealedKey) -> bool:
        """Send it; whether the venue says what became of it."""
        place, answer = self.place, UNKNOWN
        try:
            answer = place.desk.send(
                sent.order,
                sent.cloid,
                placed_at=sent.placed_at,
                expires_at=sent.expires_at,
                sign=lambda digest: place.custody.sign_digest(sealed, digest),
            )
        except OutsideError as error:
            log.warning("order without an answer", leg=self.leg.id, error=text_of(error))
        self._answer(sent, answer)
        return answer is not UNKNOWN

    def _is_answered(self) -> bool:
        """Whether of every order of the leg it is known what became of it."""
        with self.place.database.read() as session:
            open_orders = rows.unanswered(session, self.leg.id)
        found = [self._is_found(sent) for sent in open_orders]
        return all(found)

    def _is_found(self, sent: SentOrder) -> bool:
        answer = self.place.desk.find(self.leg.owner_address, sent.cloid)
        if answer is None and not has_never_arrived(sent.expires_at, self.place.clock()):
            return False
        self._answer(sent, answer or REJECTED)
        return True

    def _answer(self, sent: SentOrder, answer: OrderAnswer) -> None:
        place, now = self.place, self.place.clock()
        if answer.venue_words is not None:
            log.warning("order rejected", leg=self.leg.id, venue_words=answer.venue_words)
        self._has_filled = self._has_filled or bool(answer.total_sz_e8)
        note = result_note(
            sent.seq,
            status=answer.outcome.value,
            cloid=sent.cloid,
            avg_px=None if answer.avg_px_e8 is None else e8_text(answer.avg_px_e8),
            total_sz=None if answer.total_sz_e8 is None else e8_text(answer.total_sz_e8),
            oid=answer.oid,
            venue_words=answer.venue_words,
            now=now,
        )
        with place.database.write() as session:
            if rows.answer(session, sent.id, answer):
                mandate_ledger.append(session, self.leg.mandate_id, note, now)

    def _say_lost(self) -> None:
        """The owner's alert, unless the readings have reported it, or know the account as another
        kind of account.
        """
        if self.leg.state.last_reason in (Degraded.KEY_LOST, Degraded.ACCOUNT_MODE):
            return
        lost = AccountReading(worth_usdc_e6=None, reason=Degraded.KEY_LOST)
        with self.place.database.write() as session:
            record_reading(session, self.leg.id, lost, self.place.desk.source, self.place.clock())

    def _save(self, found: ClosingState) -> None:
        leg, now = self.leg, self.place.clock()
        with self.place.database.write() as session:

            def note_stop(number: int) -> None:
                note = stop_line_note(
                    leg.id,
                    number,
                    status=found.status.value,
                    transient=found.is_transient,
                    key_lost=found.is_key_lost,
                    why=None if found.why is None else found.why.value,
                    now=now,
                )
                mandate_ledger.append(session, leg.mandate_id, note, now)

            rows.save_closing(
                session, leg.id, found, has_filled=self._has_filled, now=now, on_change=note_stop
            )


def _skip(_: JobDatabase, __: datetime) -> NoReturn:
    raise JobSkippedError(
        "HL_URL, CUSTODY_KEY or the keeper's own key is not set: nothing is closed"
    )


def _sealed_key(session: Session, leg: Leg, mandate: OfMandate) -> SealedKey | None:
    """The starter wallet of the mandate's agent, where the leg names it; None: another's key."""
    if mandate.agent_id is None:
        return None
    sealed = custody.find_wallet(session, mandate.agent_id)
    return sealed if sealed is not None and sealed.address == leg.agent_address else None
