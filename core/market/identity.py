"""Which coins are one asset, and whether it can be moved: computed from networks, shown in the states
of assets and listings. Nothing here commits.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.facts import NetworkStatus
from core.market.networks import network_status
from core.market.rules.identity import Coin, Identities, TickerIdentity, identify
from core.market.rules.transfer import token_transfer
from core.market.tables import (
    MarketAssetState,
    MarketListing,
    MarketListingState,
    MarketNetwork,
)

# Of what is shown of a ticker, whatever a venue says of contracts.
MOST_COINS_SHOWN: Final = 128
MOST_GROUPS_SHOWN: Final = 64
MOST_CONTRACTS_SHOWN: Final = 256


@dataclass(frozen=True, slots=True)
class ListedCoin:
    """A coin at its exchange; `listing_id`: its pair with the largest volume."""

    coin: Coin
    asset_id: int
    token: str
    listing_id: int


@dataclass(frozen=True, slots=True)
class CoinGraph:
    """All coins that are listed, what is told of their networks, and what follows."""

    coins: tuple[ListedCoin, ...]
    statuses: Mapping[Coin, tuple[NetworkStatus, ...]]
    identities: Identities


def load(session: Session) -> CoinGraph:
    rows = session.execute(
        select(
            MarketListing.exchange,
            MarketListing.native_base,
            MarketListing.asset_id,
            MarketListing.base,
            MarketListing.listing_id,
        )
        .join(MarketListingState, MarketListingState.listing_id == MarketListing.listing_id)
        .where(MarketListing.delisted_at.is_(None))
        .order_by(MarketListingState.order_usd.desc(), MarketListing.listing_id)
    )
    coins = dict[Coin, ListedCoin]()
    for exchange, native_base, asset_id, token, listing_id in rows:
        coin = Coin(exchange, native_base)
        coins.setdefault(coin, ListedCoin(coin, asset_id, token, listing_id))
    statuses: defaultdict[Coin, list[NetworkStatus]] = defaultdict(list)
    for row in session.scalars(select(MarketNetwork)):
        coin = Coin(row.exchange, row.native_base)
        if coin in coins:
            statuses[coin].append(network_status(row))
    told = {coin: tuple(found) for coin, found in statuses.items()}
    found = identify(
        {coin: one.token for coin, one in coins.items()},
        [status for of_coin in told.values() for status in of_coin],
    )
    return CoinGraph(tuple(coins.values()), told, found)


def show(session: WriteSession, graph: CoinGraph, now: datetime) -> int:
    """Bring the states of assets and listings in line, also of those that nobody lists any more; how
    many of either changed.
    """
    by_token: defaultdict[str, list[ListedCoin]] = defaultdict(list)
    for one in graph.coins:
        by_token[one.token].append(one)
    changed = 0
    for state in session.scalars(select(MarketAssetState)):
        new = _asset_row(graph, state.token, by_token.get(state.token, []))
        if any(getattr(state, name) != new[name] for name in new):
            for name, value in new.items():
                setattr(state, name, value)
            state.updated_at = now
            changed += 1
    session.flush()
    return changed + _show_groups(session, graph)


def _asset_row(graph: CoinGraph, token: str, coins: list[ListedCoin]) -> dict[str, Any]:
    found = graph.identities.tickers.get(token)
    statuses = [status for one in coins for status in graph.statuses.get(one.coin, ())]
    return {
        "exchanges": sorted({one.coin.exchange for one in coins}),
        "identity": None if found is None else str(found.verdict),
        "transfer": str(token_transfer(statuses)),
        "contracts": [] if found is None else _contracts(found),
        "groups": []
        if found is None
        else [asdict(group) for group in map(_group, found.groups[:MOST_GROUPS_SHOWN])],
        "links": [] if found is None else [asdict(link) for link in map(_link, found.links)],
    }


@dataclass(frozen=True, slots=True)
class ShownGroup:
    id: str
    coins: list[str]


@dataclass(frozen=True, slots=True)
class ShownLink:
    one: str
    other: str
    exchanges: list[str]
    is_weak: bool
    is_refused: bool


def _group(group: Any) -> ShownGroup:
    return ShownGroup(
        ":".join(group.id),
        [f"{c.exchange}:{c.native_base}" for c in group.coins[:MOST_COINS_SHOWN]],
    )


def _link(link: Any) -> ShownLink:
    return ShownLink(
        ":".join(link.one),
        ":".join(link.other),
        list(link.exchanges),
        link.is_weak,
        link.is_refused,
    )


def _contracts(found: TickerIdentity) -> list[dict[str, Any]]:
    """Of each group its keys, with who lists a coin of the group."""
    shown: list[dict[str, Any]] = []
    for group in found.groups[:MOST_GROUPS_SHOWN]:
        shown += [
            {"chain": key.chain, "address": key.address, "exchanges": [*group.exchanges]}
            for key in group.keys[: MOST_CONTRACTS_SHOWN - len(shown)]
        ]
    return shown


def _show_groups(session: WriteSession, graph: CoinGraph) -> int:
    """The strong group of each listing."""
    rows = session.execute(
        select(
            MarketListing.listing_id,
            MarketListing.exchange,
            MarketListing.native_base,
            MarketListingState.strong_group,
        ).join(MarketListingState, MarketListingState.listing_id == MarketListing.listing_id)
    )
    strong = graph.identities.strong_group_of
    changed = [
        {"of": listing_id, "new": new}
        for listing_id, exchange, native_base, old in rows
        for key in (strong.get(Coin(exchange, native_base)),)
        for new in (None if key is None else ":".join(key),)
        if new != old
    ]
    if changed:
        session.connection().execute(
            update(MarketListingState.__table__)  # type: ignore[arg-type]  # a Table
            .where(MarketListingState.listing_id == bindparam("of"))
            .values(strong_group=bindparam("new")),
            changed,
        )
    return len(changed)
