"""What venues report of the networks of their coins, compared with their reports before. Nothing
here commits.

Laws
- Unknown is a state of its own: open, closed and unknown change into one another by an event each.
- An answer with less than 80 % of what was known is half an answer, and changes nothing.
- A network that a whole answer no longer has is unknown; its contract stays what it was.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from core.db import locks
from core.db.engine import WriteSession
from core.market.facts import NetworkStatus
from core.market.queries import WHOLE_SHARE
from core.market.tables import MarketListingState, MarketNetwork, MarketTransferEvent

IN_ORDER: Final = "transfer_event"
DIRECTIONS: Final = ("deposit", "withdraw")
_UNKNOWN: Final = (None, None)


def learn_networks(
    session: WriteSession, exchange: str, statuses: Sequence[NetworkStatus], now: datetime
) -> bool:
    """Whether it was written, as at least 80 % of what was known came. Of coins that are not listed
    here nothing is kept.
    """
    listed = select(MarketListingState.native_base, MarketListingState.asset_id).where(
        MarketListingState.exchange == exchange, MarketListingState.delisted_at.is_(None)
    )
    assets = dict(session.execute(listed).all())
    new = {(one.native_base, one.chain): one for one in statuses if one.native_base in assets}
    query = select(MarketNetwork).where(MarketNetwork.exchange == exchange)
    old = {(one.native_base, one.chain): one for one in session.scalars(query)}
    if len(new) < WHOLE_SHARE * sum(key[0] in assets for key in old):
        return False
    rows, events = list[dict[str, Any]](), list[dict[str, Any]]()
    unreported = {
        key: replace(network_status(was), can_deposit=None, can_withdraw=None, withdraw_fee=None)
        for key, was in old.items()
        if key not in new and key[0] in assets and (was.can_deposit, was.can_withdraw) != _UNKNOWN
    }
    for key, one in {**new, **unreported}.items():
        was = old.get(key)
        rows.append(_network_row(one, assets[one.native_base], was, now))
        if was is not None:
            events += _events(one, was, assets[one.native_base], now)
    if rows:
        add = upsert(MarketNetwork)
        keys = ("exchange", "native_base", "chain")
        moved = {name: add.excluded[name] for name in rows[0] if name not in keys}
        session.execute(add.on_conflict_do_update(index_elements=keys, set_=moved), rows)
    if events:
        locks.own(IN_ORDER).wait(session)  # ids are committed in their order (docs/feeds.md)
        session.execute(insert(MarketTransferEvent), events)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTransfer:
    """An opening or a closing of a simulated past."""

    exchange: str
    native_base: str
    chain: str
    asset_id: int
    direction: str
    is_open: bool
    at: datetime


def add_past(session: WriteSession, rows: Sequence[PastTransfer]) -> int:
    """In the order of their times, as events have their ids."""
    ordered = sorted(rows, key=lambda one: one.at)
    if ordered:
        found = [asdict(one) | {"was_open": not one.is_open} for one in ordered]
        session.execute(insert(MarketTransferEvent), found)
    return len(ordered)


def network_status(row: MarketNetwork) -> NetworkStatus:
    return NetworkStatus(**{one.name: getattr(row, one.name) for one in fields(NetworkStatus)})


def _network_row(
    one: NetworkStatus, asset_id: int, was: MarketNetwork | None, now: datetime
) -> dict[str, Any]:
    def since(name: str) -> datetime:
        is_same = was is not None and getattr(was, f"can_{name}") == getattr(one, f"can_{name}")
        return getattr(was, f"{name}_since") if is_same else now

    is_same = was is not None and (was.can_deposit, was.can_withdraw) == (
        one.can_deposit,
        one.can_withdraw,
    )
    return asdict(one) | {
        "asset_id": asset_id,
        "deposit_since": since("deposit"),
        "withdraw_since": since("withdraw"),
        "scans": was.scans + 1 if was is not None and is_same else 1,
        "seen_at": now,
    }


def _events(
    one: NetworkStatus, was: MarketNetwork, asset_id: int, now: datetime
) -> list[dict[str, Any]]:
    return [
        {
            "exchange": one.exchange,
            "native_base": one.native_base,
            "chain": one.chain,
            "asset_id": asset_id,
            "direction": direction,
            "was_open": getattr(was, f"can_{direction}"),
            "is_open": getattr(one, f"can_{direction}"),
            "at": now,
        }
        for direction in DIRECTIONS
        if getattr(was, f"can_{direction}") != getattr(one, f"can_{direction}")
    ]
