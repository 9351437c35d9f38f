"""Following mandates: where a stream is, and what is new after that (docs/api-guide.md#events).

    step     a new row of a ledger, once each
    status   a mandate's status, where no row says so
    reset    more is new than is sent one by one, or the stream began: load what you show

Laws
- An event's id is the place after it, so that whoever sends it back goes on there.
- The same read serves a stream that has been open for hours and one that was just opened again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from api.areas.mandates.schemas.commands import FollowAll, FollowMandate
from api.areas.mandates.service.access import may_read, readable_by
from api.areas.mandates.service.event_ids import MOST_LISTED, EventCursor, cursor_of, invalid
from api.areas.mandates.views import new_rows
from api.areas.mandates.views.new_rows import Horizon, NewLedgerRow, RecentEnd
from api.areas.mandates.views.readings import mandates_now
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Events, ReadCall
from api.kernel.streams import Event, NewEvents
from core.db.engine import ReadSession
from core.errors import InvalidParameterError
from core.mandate import queries as mandates
from core.mandate.ledger import topics, writer
from core.mandate.rules.progress import data_issue
from core.times import instant_text

MOST_BEHIND: Final = 1_000  # rows; who is further behind loads anew
ROWS_A_READ: Final = 200
NEAR: Final = 5_000  # ids, of all ledgers: up to so many are looked through one by one
NOT_BEGUN: Final = -1
ASK_AGAIN_S: Final = 0.2
RESET_EVERY: Final = timedelta(seconds=10)
# longer than a transaction that ends mandates can take
LATE: Final = timedelta(seconds=60)
MANDATE_RULE: Final = (
    "send the id of the last event of this mandate's stream unchanged, a whole number, "
    "or leave it out"
)

_SEQ = re.compile(r"\d{1,15}", re.ASCII)


def of_mandate(
    call: ReadCall, caller: AgentCaller | OwnerCaller, command: FollowMandate
) -> Answer[Events]:
    mandate = readable_by(call, caller, command.id)
    begun, text = None, command.last_event_id
    if text is not None:
        if not _SEQ.fullmatch(text) or int(text) > writer.last_seq(call.db, mandate.id):
            raise InvalidParameterError("last_event_id", MANDATE_RULE)
        begun = int(text)
    return Answer(Events(), events=MandatePlace(mandate.id, mandate.public_id, caller, begun))


def of_owner(call: ReadCall, caller: OwnerCaller, command: FollowAll) -> Answer[Events]:
    place = OwnerPlace(caller.account_id, call.deps.pepper)
    if command.last_event_id is not None:
        place = _resumed(call, place, command.last_event_id)
    return Answer(Events(), events=place)


def _resumed(call: ReadCall, place: "OwnerPlace", text: str) -> "OwnerPlace":
    """Errors: InvalidParameterError, also for a place that this database has not reached: it was
    set back.
    """
    cursor = cursor_of(text, call.deps.pepper, place.owner_id)
    ids = new_rows.ids_at(call.db, cursor.sent.items())
    if len(ids) != len(cursor.sent) or cursor.settled > new_rows.horizon(call.db).top:
        raise invalid()
    sent = tuple(SentRow(*at, id_) for at, id_ in sorted(ids.items()))
    return replace(place, settled=cursor.settled, sent=sent, ends_since=cursor.ends_since)


@dataclass(frozen=True, slots=True)
class MandatePlace:
    """`seq`: of the last row that was sent; None: the stream has not begun. `status`: the last that
    was sent.
    """

    mandate_id: int
    public_id: str
    caller: AgentCaller | OwnerCaller
    seq: int | None
    status: str | None = None

    @property
    def topics(self) -> frozenset[str]:
        return frozenset({topics.of_mandate(self.mandate_id)})

    @property
    def id(self) -> str:
        return "" if self.seq is None else str(self.seq)

    def read_on(
        self, session: ReadSession, now: datetime, heard: frozenset[str] | None
    ) -> NewEvents:
        mandate = mandates.find_mandate(session, self.public_id)
        if mandate is None or not may_read(self.caller, mandate):
            return NewEvents((), None)
        last = writer.last_seq(session, self.mandate_id)
        if self.seq is None or last - self.seq > MOST_BEHIND:
            place = replace(self, seq=last, status=mandate.status)
            return NewEvents((Event(place.id, "reset", place._said(session)),), place)
        rows = new_rows.rows_after(session, self.mandate_id, self.seq, ROWS_A_READ)
        events = [Event(str(row.seq), "step", _step(row)) for row in rows]
        seq = rows[-1].seq if rows else self.seq
        place = replace(self, seq=seq, status=mandate.status)
        if seq == last and self.status != mandate.status:
            events.append(Event(place.id, "status", place._said(session)))
        elif seq != last:
            place = replace(place, status=self.status)
        return NewEvents(events, place, is_more=seq != last)

    def _said(self, session: ReadSession) -> dict[str, Any]:
        """Of a short record the status may be wrong, and that is shown beside it."""
        now = mandates_now(session, [self.mandate_id])[self.mandate_id]
        data = {"mandate_id": self.public_id, "seq": self.seq, "status": self.status}
        return data | data_issue(now.said, now.short)


@dataclass(frozen=True, slots=True)
class SentRow:
    """The last row of a mandate that was sent, while its id is not settled."""

    mandate_id: int
    seq: int
    id: int


@dataclass(frozen=True, slots=True)
class OwnerPlace:
    """All rows with ids up to `settled` were sent, and those that `sent` names.

    `horizon`: an earlier snapshot, by which a later one settles ids. `ends_sent`: the mandates that
    ended since `ends_since`, as far as they were sent. `reset_at`: when the caller was last asked
    to load again.
    """

    owner_id: int
    secret: bytes = field(repr=False)
    settled: int = NOT_BEGUN
    sent: tuple[SentRow, ...] = ()
    horizon: Horizon | None = None
    ends_since: datetime | None = None
    ends_sent: frozenset[int] = frozenset()
    reset_at: datetime | None = None

    @property
    def topics(self) -> frozenset[str]:
        return frozenset({topics.rows_of_owner(self.owner_id), topics.ends_of_owner(self.owner_id)})

    @property
    def id(self) -> str:
        if self.ends_since is None:
            return ""
        sent = {one.mandate_id: one.seq for one in self.sent}
        return EventCursor(self.settled, self.ends_since, sent).text(self.secret, self.owner_id)

    def read_on(
        self, session: ReadSession, now: datetime, heard: frozenset[str] | None
    ) -> NewEvents:
        seen = new_rows.horizon(session)
        settled = seen.settled_since(self.horizon)
        is_known = settled is not None or self.horizon is None
        ahead = replace(self, horizon=seen if is_known else self.horizon)
        if self.settled == NOT_BEGUN:
            return ahead._begin(session, settled, now)
        rows = self._new(session, seen)
        ends = self._ends(session, heard)
        listed = {one.mandate_id for one in self.sent} | {row.mandate_id for row in rows or ()}
        if rows is None or len(listed) > MOST_LISTED or len(ends or ()) > MOST_LISTED:
            return ahead._anew(session, settled, now)
        return ahead._sent_on(rows, ends, settled, now if heard is None or heard else None)

    def _new(self, session: ReadSession, seen: Horizon) -> list[NewLedgerRow] | None:
        """The rows that were not sent; None: too many."""
        is_near = seen.top - self.settled <= NEAR
        read = new_rows.rows_of_owner_between if is_near else new_rows.rows_of_owner_after
        rows = read(session, self.owner_id, self.settled, MOST_BEHIND + 1)
        sent = {one.mandate_id: one.seq for one in self.sent}
        new = [row for row in rows if row.seq > sent.get(row.mandate_id, 0)]
        return None if len(rows) > MOST_BEHIND else new

    def _ends(self, session: ReadSession, heard: frozenset[str] | None) -> list[RecentEnd] | None:
        """The ends since then; None: not asked, since none was announced."""
        if heard is not None and topics.ends_of_owner(self.owner_id) not in heard:
            return None
        assert self.ends_since is not None, "the stream has begun"
        return new_rows.ended_since(session, self.owner_id, self.ends_since - LATE, MOST_LISTED + 1)

    def _begin(self, session: ReadSession, settled: int | None, now: datetime) -> NewEvents:
        """From an id on that is settled; until there is one the caller is asked to load all the
        same, and again from time to time.
        """
        if settled is not None:
            return self._from(session, settled, now)
        if self.reset_at is not None and now - self.reset_at < RESET_EVERY:
            return NewEvents((), self, again_s=ASK_AGAIN_S)
        return NewEvents((_reset(""),), replace(self, reset_at=now), again_s=ASK_AGAIN_S)

    def _anew(self, session: ReadSession, settled: int | None, now: datetime) -> NewEvents:
        """More is new than is sent one by one, so that the caller loads; not all the time."""
        if self.reset_at is not None and now - self.reset_at < RESET_EVERY:
            return NewEvents((), self, again_s=1)
        if settled is None or settled <= self.settled:
            return NewEvents((_reset(self.id),), replace(self, reset_at=now), again_s=1)
        return self._from(session, settled, now)

    def _from(self, session: ReadSession, settled: int, now: datetime) -> NewEvents:
        ended = new_rows.ended_since(session, self.owner_id, now - LATE, MOST_LISTED)
        place = replace(
            self,
            settled=settled,
            sent=(),
            ends_since=now,
            ends_sent=frozenset(one.mandate_id for one in ended),
            reset_at=now,
        )
        return NewEvents((_reset(place.id),), place, is_more=True)

    def _sent_on(
        self,
        rows: Sequence[NewLedgerRow],
        ends: Sequence[RecentEnd] | None,
        settled: int | None,
        heard_at: datetime | None,
    ) -> NewEvents:
        """`heard_at`: now, if all ends until now were announced or looked for."""
        events, sent = [], {one.mandate_id: one for one in self.sent}
        for row in rows:
            sent[row.mandate_id] = SentRow(row.mandate_id, row.seq, row.id)
            events.append(Event(self._at(sent).id, "step", _step(row)))
        news = [one for one in ends or () if one.mandate_id not in self.ends_sent]
        place = replace(
            self._at(sent),
            ends_since=heard_at or self.ends_since,
            ends_sent=self.ends_sent if ends is None else frozenset(e.mandate_id for e in ends),
        )
        events += [Event(self._at(sent).id, "status", _ended(one)) for one in news[:-1]]
        events += [Event(place.id, "status", _ended(one)) for one in news[-1:]]
        if settled is not None and settled > self.settled:
            left = tuple(one for one in place.sent if one.id > settled)
            place = replace(place, settled=settled, sent=left)
        return NewEvents(events, place)

    def _at(self, sent: dict[int, SentRow]) -> "OwnerPlace":
        return replace(self, sent=tuple(sent[id_] for id_ in sorted(sent)))


def _reset(id_: str) -> Event:
    return Event(id_, "reset", {})


def _step(row: NewLedgerRow) -> dict[str, Any]:
    return {
        "mandate_id": row.public_id,
        "seq": row.seq,
        "kind": row.kind,
        "reported_by": row.reported_by,
        "is_reversal": row.is_reversal,
        "created_at": instant_text(row.created_at),
        "status": row.status,
    }


def _ended(one: RecentEnd) -> dict[str, Any]:
    return {"mandate_id": one.public_id, "seq": one.seq, "status": one.status}
