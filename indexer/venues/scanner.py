"""The scanner's process: every venue by itself, one leader, a database pool of its own.

`python -m indexer.main scan`

    lead `scanner`, or wait to --> the simulated past, once --> a task per venue, a minute at a time
                                                            --> gaps between them, each minute

Laws
- A venue is a task of its own; whatever ends one is logged, and the venue begins again a minute
  later. No venue waits for another, and no block for any.
- All writes are fenced by the leader's epoch. A spare begins with what the minute still lacks.
- Venues that cannot be reached are degraded or down; the process goes on.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.db.engine import Database
from core.db.leadership import TRY_S, Leadership, LeadershipLostError
from core.market import gaps, identity, onchain, parts, scans
from core.market.identity import CoinGraph
from core.market.onchain import CoinFigures
from core.targets import views
from core.targets.rules import TargetLimits
from core.watchdog import Watchdog
from indexer.venues.bursts import VenueBursts
from indexer.venues.port import MarketVenue
from indexer.venues.scan_gaps import GapScan
from indexer.venues.scan_venue import VenueScan
from indexer.venues.store import ScannerStore

NAME: Final = "scanner"
BEAT_S: Final = 1.0
GAPS_AT_S: Final = 40  # of a minute: the books of it are in
PARTS_EVERY_S: Final = 3_600
TARGETS_EVERY_S: Final = 30
MADE_WITHIN_S: Final = 600  # the past of 6,000 pairs takes a tenth of it
ONCHAIN_EVERY_S: Final = 60
GRAPH_EVERY: Final = timedelta(minutes=5)
MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
NO_TARGETS: Final = TargetLimits(0, 0)

log = structlog.get_logger(NAME)


@dataclass
class Scanner:
    """`run` until `stop`. `venues`: made when this process leads, of the world if they are
    simulated; `targets`: how many of a subscriber's pairs are looked at each minute;
    `bursts_at_once`: captures of a venue at the same time; `onchain`: what chains say at a moment.
    """

    database: Database
    leadership: Leadership
    watchdog: Watchdog
    clock: Callable[[], datetime]
    venues: Callable[[ScannerStore], Sequence[MarketVenue]]
    targets: TargetLimits = NO_TARGETS
    bursts_at_once: int = 0
    onchain: Callable[[Sequence[MarketVenue], datetime], Sequence[CoinFigures]] = lambda *_: ()
    exit_code: int = 0
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _wanted: frozenset[int] = frozenset()
    _state: str = "starting"

    def stop(self) -> None:
        """Safe in a handler of the loop."""
        self._ended.set()

    async def run(self) -> None:
        self.watchdog.start()
        try:
            if await self._leads():
                await self._scan()
        except LeadershipLostError as error:
            log.error("no longer leading", error=str(error))
            self.exit_code = 1
        finally:
            self.watchdog.call_off()
            self.leadership.release()

    async def _leads(self) -> bool:
        """Whether this process leads; False: it was to end."""
        while not self._ended.is_set():
            self.watchdog.sign()
            try:
                if await asyncio.to_thread(self.leadership.try_take, self.clock()):
                    return True
            except SQLAlchemyError as error:
                log.error("no database", kind=type(error).__name__)
            await self._rest(TRY_S)
        return False

    async def _scan(self) -> None:
        store = ScannerStore(self.database, self.leadership.fence_beside, self._say)
        await store.write(parts.ensure_ahead, self.clock())
        venues = await self._made(store)
        held = GapScan()
        self._wanted = await store.read(views.active, self.clock(), self.targets)
        bursts_of = [
            VenueBursts(
                one, store, self.clock, lambda: self._wanted, self.bursts_at_once, self.targets
            )
            for one in venues
        ]
        scans_of = [
            VenueScan(one, store, self.clock, lambda: self._wanted, held.hold, bursts.look)
            for one, bursts in zip(venues, bursts_of, strict=True)
        ]
        log.info("scanning", venues=[one.exchange for one in scans_of], epoch=self.leadership.epoch)
        await store.write(scans.forget_venues, [one.exchange for one in scans_of])
        works: dict[str, Callable[[], Awaitable[None]]] = {
            one.exchange: partial(self._venue, one) for one in scans_of
        }
        if self.bursts_at_once:
            works |= {
                f"bursts {one.venue.exchange}": partial(one.run, self._ended) for one in bursts_of
            }
        works |= {
            "gaps": partial(self._gaps, store, held),
            "onchain": partial(self._onchain, store, venues),
            "beside": partial(self._beside, store, scans_of),
        }
        try:
            async with asyncio.TaskGroup() as group:
                for name, work in works.items():
                    group.create_task(self._kept_up(name, work))
        except* LeadershipLostError as lost:
            raise lost.exceptions[0] from None
        for venue in venues:
            await venue.close()

    def _say(self, state: str) -> None:
        self._state = state

    async def _made(self, store: ScannerStore) -> Sequence[MarketVenue]:
        """The venues, with heartbeats while the past is imported, for so long as that may take."""
        making = asyncio.ensure_future(asyncio.to_thread(self.venues, store))
        until = time.monotonic() + MADE_WITHIN_S
        while not (await asyncio.wait({making}, timeout=BEAT_S))[0]:
            if time.monotonic() < until:
                self.watchdog.sign()
                await asyncio.to_thread(self.leadership.beat, {"state": self._state})
        return making.result()

    async def _kept_up(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Until the end; what fails begins again a minute later.

        Errors: LeadershipLostError.
        """
        while not self._ended.is_set():
            task = asyncio.ensure_future(work())
            ending = asyncio.ensure_future(self._ended.wait())
            await asyncio.wait({task, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                return
            error = task.exception()
            if isinstance(error, LeadershipLostError):
                raise error
            if error is not None:
                log.error(
                    "scanner task restarted after an error",
                    task=name,
                    kind=type(error).__name__,
                    exc_info=error,
                )
                await self._rest(MINUTE.total_seconds())

    async def _venue(self, scan: VenueScan) -> None:
        """The minute that is under way at once, and then each as it begins."""
        while not self._ended.is_set():
            at = self.clock().replace(second=0, microsecond=0)
            await scan.minute(at)
            await self._rest((at + MINUTE - self.clock()).total_seconds())

    async def _gaps(self, store: ScannerStore, held: GapScan) -> None:
        graph, read_at = await _graph(store), self.clock()
        while not self._ended.is_set():
            now = self.clock()
            at = now.replace(second=0, microsecond=0) + timedelta(seconds=GAPS_AT_S)
            await self._rest((at if at > now else at + MINUTE).timestamp() - now.timestamp())
            if self.clock() - read_at >= GRAPH_EVERY:
                graph, read_at = await _graph(store), self.clock()
            seen = await asyncio.to_thread(held.seen, graph, self.clock())
            await store.write(gaps.write, *seen, self.clock())

    async def _onchain(self, store: ScannerStore, venues: Sequence[MarketVenue]) -> None:
        """The figures of each UTC day at its beginning, and of the day before where they lack."""
        while not self._ended.is_set():
            begins = self.clock().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            added = 0
            for at in (begins - DAY, begins):
                if not await store.read(onchain.has_day, at.date()):
                    figures = await asyncio.to_thread(self.onchain, venues, at)
                    added += await store.write(onchain.write, figures, at.date())
            if added:
                log.info("on-chain figures", rows=added)
            await self._rest(ONCHAIN_EVERY_S)

    async def _beside(self, store: ScannerStore, scans_of: Sequence[VenueScan]) -> None:
        """Heartbeats, targets, partitions."""
        parts_at, wanted_at = 0.0, time.monotonic()
        while not self._ended.is_set():
            self.watchdog.sign()
            lags = sorted(lag for one in scans_of for lag in one.lags_s)
            lag_s = lags[int(0.99 * (len(lags) - 1))] if lags else None
            status = {"state": "scanning", "venues": len(scans_of), "lag_p99_s": lag_s}
            await asyncio.to_thread(self.leadership.beat, status)
            moment = time.monotonic()
            if moment - wanted_at >= TARGETS_EVERY_S:
                wanted_at = moment
                self._wanted = await store.read(views.active, self.clock(), self.targets)
            if moment - parts_at >= PARTS_EVERY_S or not parts_at:
                parts_at = moment
                await store.write(parts.ensure_ahead, self.clock())
            await self._rest(BEAT_S)

    async def _rest(self, seconds: float) -> None:
        """Until then, or the end."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._ended.wait()
        except TimeoutError:
            return


async def _graph(store: ScannerStore) -> CoinGraph:
    rows = await store.read(identity.coin_rows)
    return await asyncio.to_thread(identity.graph_of, rows)
