"""Server-sent events: who listens, what wakes them, and how they read on. One event loop, no thread
for whoever waits.

    commit -> NOTIFY topics -> Streams wakes those that follow one -> one reader, many places a snapshot -> events

Laws
- A stream's state is its place (StreamPlace): the same one that its last event's id holds. What is sent
  is read from there, live and after a reconnection alike; nothing is queued, so a reader that is
  slow holds no more than one that is fast.
- Places that are equal are read once, however many streams stand there.
- A stream ends when its key or session does, within RECHECK_S; when the process is asked to end;
  and of its own after `lives_s`, so that callers spread over processes again.
- One owner or key has `event_streams_per_caller` streams at most, all together `event_streams`, and
  never more than three quarters of the connections that the process may have.
Source: docs/decisions/0029; the HTML standard, 9.2 (server-sent events).
"""

import asyncio
import random
import resource
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import structlog
from cachetools import LRUCache
from sqlalchemy.exc import SQLAlchemyError
from sse_starlette import JSONServerSentEvent, ServerSentEvent

from api.kernel.limits import Limits
from api.kernel.operation import Refusal
from api.kernel.workers import Workers
from core.db.engine import Database, ReadSession
from core.db.notices import Listener
from core.identity.calls import live_keys, live_sessions
from core.texts import shown_json

LINE_END: Final = "\n"
RETRY_MS: Final = 3_000  # what a client waits before it connects again
RECHECK_S: Final = 5.0  # how often keys and sessions are looked at
AGAIN_S: Final = 1.0  # after the database did not answer
PLACES_A_SNAPSHOT: Final = 100
FULL_S: Final = 30  # streams last long
END_S: Final = 2.0  # what a read under way gets when the process ends
REOPEN_S: Final = 3_600  # one counted call opens streams for so long ...
REOPENS: Final = 120  # ... so often
REMEMBERED: Final = 20_000  # keys

RESERVED_FILES: Final = 224  # for the database, nodes, logs, and what the process has open anyway

T = TypeVar("T")

log = structlog.get_logger("streams")


def most_open() -> int:
    """Connections that this process may have files for, 4,000 at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4_000 if soft == resource.RLIM_INFINITY else max(64, min(4_000, soft - RESERVED_FILES))


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """Seconds. `lives_s` 0: until all is sent that is there."""

    heartbeat_s: float = 15
    lives_s: float = 3_600


@dataclass(frozen=True, slots=True)
class Event:
    """`id`: what Last-Event-ID goes on from; "": of the event before. `data`: small."""

    id: str
    name: str
    data: Mapping[str, Any]

    def sent(self) -> ServerSentEvent:
        return JSONServerSentEvent(
            shown_json(self.data), event=self.name, id=self.id or None, sep=LINE_END
        )


class StreamPlace(Protocol):
    """Where a stream is: immutable, compared by value. `topics`: what it is woken by, the same
    all along. `id` "": there is none to go on from yet.
    """

    @property
    def topics(self) -> frozenset[str]: ...
    @property
    def id(self) -> str: ...
    def read_on(
        self, session: ReadSession, now: datetime, heard: frozenset[str] | None, /
    ) -> "NewEvents": ...


@dataclass(frozen=True, slots=True)
class NewEvents:
    """What was new, and the place after it. `heard` of `read_on` are topics that were heard since
    the last read; None: any may have changed.

    `is_more`: there is more already. `again_s`: read on after that, notified or not. `place` None:
    the caller may not read this any more.
    """

    events: Sequence[Event]
    place: StreamPlace | None
    is_more: bool = False
    again_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Whose stream it is.

    `session_id` or `key_id`: what it ends with; of a key also with `scope`, and with the
    `generation` of the account's secrets. `counts_as`: whose streams are bounded together.
    """

    counts_as: Hashable
    session_id: int | None = None
    key_id: int | None = None
    generation: int = 0
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """A stream that a call is answered with."""

    place: StreamPlace
    holder: Holder


class Reopens:
    """Opens of streams that are not counted as calls: REOPENS in the REOPEN_S after one that was.

    Threads may share it. A process forgets it when it ends, and the keys that asked longest ago.
    """

    def __init__(self) -> None:
        self._left: LRUCache[bytes, tuple[datetime, int]] = LRUCache(REMEMBERED)
        self._lock = threading.Lock()

    def take(self, key_hash: bytes, now: datetime) -> bool:
        """Whether this open is paid for already."""
        with self._lock:
            since, left = self._left.get(key_hash, (now, 0))
            if left == 0 or not 0 <= (now - since).total_seconds() < REOPEN_S:
                return False
            self._left[key_hash] = since, left - 1
            return True

    def counted(self, key_hash: bytes, now: datetime) -> None:
        with self._lock:
            self._left[key_hash] = now, REOPENS


class Stream:
    """One caller's. It belongs to the event loop."""

    def __init__(self, streams: "Streams", opening: OpenedStream) -> None:
        self._streams = streams
        self.place: StreamPlace = opening.place
        self.holder = opening.holder
        self._loop = asyncio.get_running_loop()
        self._changed, self._is_ended = asyncio.Event(), False
        # what was heard since it last read; None: anything. It begins with reading what is there.
        self._heard: set[str] | None = None
        self._has_news = True
        lives_s = streams.times.lives_s * random.uniform(0.9, 1)  # noqa: S311 (spreads callers)
        self.ending = self._loop.call_later(lives_s, self.end) if lives_s else None

    def wake(self, topics: frozenset[str] | None) -> None:
        """`topics`: those it follows; None: anything may have changed."""
        if topics is None:
            self._heard = None
        elif not self._has_news:
            self._heard = set(topics)
        elif self._heard is not None:
            self._heard |= topics
        self._has_news = True
        self._changed.set()

    def end(self) -> None:
        self._is_ended = True
        self._changed.set()

    async def events(self) -> AsyncIterator[ServerSentEvent]:
        """What is sent, until the stream ends."""
        yield ServerSentEvent(retry=RETRY_MS, id=self.place.id or None, sep=LINE_END)
        reading: asyncio.Future[NewEvents] | None = None
        while not self._is_ended:
            if reading is not None and reading.done():
                found, reading = reading.result(), None
                for event in found.events:
                    yield event.sent()
                self._go_on(found)
            elif reading is None and self._has_news:
                reading = self._read()
            elif reading is None and self._streams.times.lives_s == 0:
                return
            else:
                self._changed.clear()
                await self._changed.wait()

    def _read(self) -> "asyncio.Future[NewEvents]":
        self._has_news = False
        heard = None if self._heard is None else frozenset(self._heard)
        reading = self._streams.read(self.place, heard)
        reading.add_done_callback(lambda _: self._changed.set())
        return reading

    def _go_on(self, found: NewEvents) -> None:
        if found.place is None:
            self._is_ended = True
            return
        self.place = found.place
        if found.is_more:
            self.wake(frozenset())
        if found.again_s is not None:
            self._loop.call_later(found.again_s, self.wake, frozenset())


_Wanted = tuple[StreamPlace, frozenset[str] | None]


@dataclass(slots=True)
class Streams:
    """Those of one application. It belongs to the event loop of its first stream."""

    database: Database
    workers: Workers
    clock: Callable[[], datetime]
    limits: Limits
    times: StreamTimes = field(default_factory=StreamTimes)
    _open: dict[Stream, None] = field(default_factory=dict)
    _by_topic: dict[str, dict[Stream, None]] = field(default_factory=dict)
    _of: dict[Hashable, int] = field(default_factory=dict)
    _wanted: "dict[_Wanted, asyncio.Future[NewEvents]]" = field(default_factory=dict)
    _reader: "asyncio.Task[None] | None" = None
    _tasks: list["asyncio.Task[None]"] = field(default_factory=list)
    _running: "set[asyncio.Task[Any]]" = field(default_factory=set)
    _is_ending: bool = False

    def __len__(self) -> int:
        return len(self._open)

    def open(self, opening: OpenedStream) -> Stream:
        """Whoever opens one closes it. Errors: Refusal."""
        self._require_room(opening.holder)
        if not self._tasks and self.times.lives_s > 0:
            self._tasks = [
                asyncio.ensure_future(task) for task in (self._listen(), self._recheck())
            ]
        stream = Stream(self, opening)
        self._open[stream] = None
        self._of[stream.holder.counts_as] = self._of.get(stream.holder.counts_as, 0) + 1
        for topic in opening.place.topics:
            self._by_topic.setdefault(topic, {})[stream] = None
        return stream

    def _require_room(self, holder: Holder) -> None:
        """Errors: Refusal."""
        own = self.limits.event_streams_per_caller
        if self._of.get(holder.counts_as, 0) >= own:
            raise Refusal(
                "too_many_streams",
                f"You have {own} streams open, the limit; close one, or let several pages share "
                "one.",
                remaining={"streams": 0},
            )
        most = min(self.limits.event_streams, most_open() * 3 // 4)
        if self._is_ending or len(self._open) >= most:
            detail = "This process has as many streams open as it can; open this one again later."
            again_at = self.clock() + timedelta(seconds=FULL_S)
            raise Refusal("temporarily_unavailable", detail, retry_at=again_at)

    def close(self, stream: Stream) -> None:
        del self._open[stream]
        if stream.ending is not None:
            stream.ending.cancel()
        counts_as = stream.holder.counts_as
        self._of[counts_as] -= 1
        if not self._of[counts_as]:
            del self._of[counts_as]
        for topic in stream.place.topics:
            followers = self._by_topic[topic]
            del followers[stream]
            if not followers:
                del self._by_topic[topic]

    def end(self) -> None:
        """End all, and open no more."""
        self._is_ending = True
        for stream in self._open:
            stream.end()
        for task in self._tasks:
            task.cancel()

    async def wait_ended(self) -> None:
        """Until nothing of this uses the database any more, after `end`."""
        left = {*self._tasks, *self._running}
        if left:
            await asyncio.wait(left, timeout=END_S)

    def read(self, place: StreamPlace, heard: frozenset[str] | None) -> "asyncio.Future[NewEvents]":
        """What is new after that place."""
        wanted = self._wanted.get((place, heard))
        if wanted is None:
            wanted = self._wanted[place, heard] = asyncio.get_running_loop().create_future()
            if self._reader is None or self._reader.done():
                self._reader = asyncio.ensure_future(self._read_wanted())
        return wanted

    async def _read_wanted(self) -> None:
        while self._wanted and not self._is_ending:
            places = list(self._wanted)[:PLACES_A_SNAPSHOT]
            waiting = [self._wanted.pop(place) for place in places]
            for future, found in zip(waiting, await self._found(places), strict=True):
                future.set_result(found)

    async def _found(self, places: Sequence[_Wanted]) -> list[NewEvents]:
        while not self._is_ending:
            reading = asyncio.ensure_future(self._beside(partial(self._read_all, places)))
            await asyncio.wait([reading])
            if (error := reading.exception()) is None:
                return reading.result()
            if not isinstance(error, SQLAlchemyError):
                log.error("defect", exc_info=error)
                break  # these streams end, and their callers come back
            log.warning("streams not read", error=type(error).__name__)
            await asyncio.sleep(AGAIN_S)
        return [NewEvents((), None)] * len(places)

    def _read_all(self, places: Sequence[_Wanted]) -> list[NewEvents]:
        now = self.clock()
        with self.database.read() as session:
            return [place.read_on(session, now, heard) for place, heard in places]

    async def _beside(self, work: Callable[[], T]) -> T:
        """On a thread that serves calls, one at a time."""
        running = asyncio.ensure_future(self.workers.run("streams", work, at_once=1))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await asyncio.shield(running)

    async def _listen(self) -> None:
        async for topics in Listener(self.database).heard():
            if topics is None:
                for stream in self._open:
                    stream.wake(None)
            else:
                self._wake(topics)

    def _wake(self, topics: frozenset[str]) -> None:
        heard: dict[Stream, set[str]] = {}
        for topic in topics & self._by_topic.keys():
            for stream in self._by_topic[topic]:
                heard.setdefault(stream, set()).add(topic)
        for stream, its in heard.items():
            stream.wake(frozenset(its))

    async def _recheck(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_S)
            holders = {stream.holder for stream in self._open}
            if not holders:
                continue
            with suppress(SQLAlchemyError):  # what cannot be asked now is asked again
                ended = await self._beside(partial(self._ended, holders))
                for stream in self._open:
                    if stream.holder in ended:
                        stream.end()

    def _ended(self, holders: set[Holder]) -> set[Holder]:
        with self.database.read() as session:
            sessions = live_sessions(
                session, [one.session_id for one in holders if one.session_id], self.clock()
            )
            keys = live_keys(session, [one.key_id for one in holders if one.key_id])
        return {
            one
            for one in holders
            if not (
                one.session_id in sessions
                if one.key_id is None
                else _is_live(one, keys.get(one.key_id))
            )
        }


def _is_live(holder: Holder, key: tuple[int, Any] | None) -> bool:
    """`key`: generation and scopes of one that is not revoked."""
    if key is None or key[0] != holder.generation:
        return False
    return key[1] is None or holder.scope is None or holder.scope in key[1]
