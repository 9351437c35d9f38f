"""The venues that VENUES names: live ones by their ids, or `sim`, whose past is imported into a
database that has no market data.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from core.db.engine import WriteSession
from core.errors import InvalidParameterError
from core.fund import indices
from core.market import grading, history, identity, scans, statistics
from core.market.onchain import CoinFigures
from indexer.venues.past import import_past
from indexer.venues.port import MarketVenue
from indexer.venues.quirks.venues import QUIRKS
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import SimWorld, world_of
from indexer.venues.store import ScannerStore

SIM: Final = "sim"
SEED: Final = 24
SIZE: Final = 500

log = structlog.get_logger("scanner")


def require_venues(names: Sequence[str]) -> None:
    """Errors: InvalidParameterError for one that there is not, and for `sim` beside live ones."""
    if list(names) == [SIM]:
        return
    unknown = sorted(set(names) - QUIRKS.keys())
    if not names or unknown:
        raise InvalidParameterError(
            "VENUES", f"name {SIM} alone, or any of {', '.join(sorted(QUIRKS))}"
        )


def made(
    names: Sequence[str], size: int, store: ScannerStore, now: Callable[[], datetime]
) -> Sequence[MarketVenue]:
    """Errors: as `require_venues`; the database's."""
    require_venues(names)
    if list(names) != [SIM]:
        # The exchanges' library: 70 MB that the simulator does without.
        from indexer.venues.ccxt_venue import CcxtVenue
        from indexer.venues.transport import LiveTransport

        return [CcxtVenue(name, LiveTransport(), now) for name in names]
    world = _world(store, size, now())
    return [SimVenue(name, world, now) for name, rows in world.rows_at.items() if rows.size]


def has_past(store: ScannerStore) -> bool:
    """Whether the simulated past is imported."""
    with store.database.read() as session:
        return history.known(session) is not None


def onchain_at(venues: Sequence[MarketVenue], at: datetime) -> Sequence[CoinFigures]:
    """What the chains said at that moment; nothing where the venues are live ones: there is no
    source of theirs.
    """
    simulated = next((one for one in venues if isinstance(one, SimVenue)), None)
    return () if simulated is None else simulated.onchain(at)


def _world(store: ScannerStore, size: int, now: datetime) -> SimWorld:
    """The world that was imported, or a new one, whose past ends now."""
    with store.database.read() as session:
        known = history.known(session)
    if known is not None:
        return world_of(known.seed, known.origin, known.size)
    origin = now.replace(minute=0, second=0, microsecond=0)
    world = world_of(SEED, origin - timedelta(hours=origin.hour % 2), size)
    with store.database.write() as session:
        store.fence(session)
        if not history.is_empty(session):
            return world
        store.says(scans.IMPORTING)
        done = import_past(session, world, now)
        _show(session, now)
    log.info("past imported", listings=done.listings, rollups=done.rollups, warnings=done.warnings)
    return world


def _show(session: WriteSession, now: datetime) -> None:
    """What the slow jobs would show of the past, whose first runs may have come before it."""
    graph = identity.graph_of(identity.coin_rows(session))
    identity.show(session, identity.changes(graph, identity.shown(session)), now)
    grading.grade_hour(session, now.replace(minute=0, second=0, microsecond=0), now)
    at = statistics.as_of(session, now)
    statistics.publish(session, statistics.wci_of(statistics.wci_rows(session), at), at, now)
    indices.write_days(session, now)
    statistics.summarise(session, now)
