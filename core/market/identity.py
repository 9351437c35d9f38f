"""Which coins are one asset, and whether it can be moved: computed from networks, shown in the states
of assets and listings. Nothing here commits.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.facts import NetworkStatus
from core.market.networks import network_status
from core.market.rules.identity import (
    Coin,
    Identities,
    IdentityGroup,
    KeyLink,
    TickerIdentity,
    identify,
)
from core.market.rules.transfer import token_transfer
from core.market.tables import (
    MarketAssetState,
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
    """All coins that are listed, what venues report of their networks, and what follows."""

    coins: tuple[ListedCoin, ...]
    statuses: Mapping[Coin, tuple[NetworkStatus, ...]]
    identities: Identities


@dataclass(frozen=True, slots=True)
class CoinRows:
    """What the graph is made of, as rows; pairs with the largest volume come first."""

    listings: Sequence[Any]
    networks: Sequence[MarketNetwork]


def coin_rows(session: Session) -> CoinRows:
    of = MarketListingState
    listings = session.execute(
        select(of.exchange, of.native_base, of.asset_id, of.token, of.listing_id)
        .where(of.delisted_at.is_(None))
        .order_by(of.order_usd.desc(), of.listing_id)
    )
    return CoinRows(listings.all(), session.scalars(select(MarketNetwork)).all())


def graph_of(rows: CoinRows) -> CoinGraph:
    coins = dict[Coin, ListedCoin]()
    for row in rows.listings:
        coin = Coin(row.exchange, row.native_base)
        coins.setdefault(coin, ListedCoin(coin, row.asset_id, row.token, row.listing_id))
    statuses: defaultdict[Coin, list[NetworkStatus]] = defaultdict(list)
    for network in rows.networks:
        coin = Coin(network.exchange, network.native_base)
        if coin in coins:
            statuses[coin].append(network_status(network))
    of_coins = {coin: tuple(found) for coin, found in statuses.items()}
    found = identify(
        {coin: one.token for coin, one in coins.items()},
        [status for of_coin in of_coins.values() for status in of_coin],
    )
    return CoinGraph(tuple(coins.values()), of_coins, found)


@dataclass(frozen=True, slots=True)
class ShownCoins:
    """States of all assets and listings, also of those that nobody lists any more, as rows."""

    assets: Sequence[Any]
    listings: Sequence[Any]


def shown(session: Session) -> ShownCoins:
    of, pair = MarketAssetState, MarketListingState
    assets = select(
        *(of.asset_id, of.token, of.exchanges, of.identity, of.transfer),
        *(of.contracts, of.groups, of.links),
    )
    listings = select(pair.listing_id, pair.exchange, pair.native_base, pair.strong_group)
    return ShownCoins(session.execute(assets).all(), session.execute(listings).all())


@dataclass(frozen=True, slots=True)
class CoinChanges:
    """States that are not in line, as they are to be; `assets` without their time."""

    assets: Sequence[dict[str, Any]]
    listings: Sequence[dict[str, Any]]

    @property
    def count(self) -> int:
        return len(self.assets) + len(self.listings)


def changes(graph: CoinGraph, shown: ShownCoins) -> CoinChanges:
    by_token: defaultdict[str, list[ListedCoin]] = defaultdict(list)
    for one in graph.coins:
        by_token[one.token].append(one)
    assets = list[dict[str, Any]]()
    for state in shown.assets:
        new = _asset_row(graph, state.token, by_token.get(state.token, []))
        if any(getattr(state, name) != new[name] for name in new):
            assets.append({"of": state.asset_id} | {f"new_{name}": new[name] for name in new})
    strong = graph.identities.strong_group_of
    listings = [
        {"of": listing_id, "new": new}
        for listing_id, exchange, native_base, old in shown.listings
        for key in (strong.get(Coin(exchange, native_base)),)
        for new in (None if key is None else ":".join(key),)
        if new != old
    ]
    return CoinChanges(assets, listings)


def show(session: WriteSession, changes: CoinChanges, now: datetime) -> None:
    """Bring the states of assets, and the strong groups of listings, in line."""
    if changes.assets:
        names = [name.removeprefix("new_") for name in changes.assets[0] if name != "of"]
        session.connection().execute(
            update(MarketAssetState.__table__)  # type: ignore[arg-type]  # a Table
            .where(MarketAssetState.asset_id == bindparam("of"))
            .values(updated_at=now, **{name: bindparam(f"new_{name}") for name in names}),
            changes.assets,
        )
    if changes.listings:
        session.connection().execute(
            update(MarketListingState.__table__)  # type: ignore[arg-type]  # a Table
            .where(MarketListingState.listing_id == bindparam("of"))
            .values(strong_group=bindparam("new")),
            changes.listings,
        )


def _asset_row(graph: CoinGraph, token: str, coins: list[ListedCoin]) -> dict[str, Any]:
    found = graph.identities.tickers.get(token)
    statuses = [status for one in coins for status in graph.statuses.get(one.coin, ())]
    return {
        "exchanges": sorted({one.coin.exchange for one in coins}),
        "identity": None if found is None else str(found.verdict),
        "transfer": str(token_transfer(statuses)),
        "contracts": [] if found is None else _contracts(found),
        "groups": [] if found is None else list(map(_group, found.groups[:MOST_GROUPS_SHOWN])),
        "links": [] if found is None else list(map(_link, found.links)),
    }


def _group(group: IdentityGroup) -> dict[str, Any]:
    coins = [f"{coin.exchange}:{coin.native_base}" for coin in group.coins[:MOST_COINS_SHOWN]]
    return {"id": ":".join(group.id), "coins": coins}


def _link(link: KeyLink) -> dict[str, Any]:
    ends = {"one": ":".join(link.one), "other": ":".join(link.other)}
    return asdict(link) | ends | {"exchanges": list(link.exchanges)}


def _contracts(found: TickerIdentity) -> list[dict[str, Any]]:
    """Of each group its keys, with who lists a coin of the group."""
    shown: list[dict[str, Any]] = []
    for group in found.groups[:MOST_GROUPS_SHOWN]:
        shown += [
            {"chain": key.chain, "address": key.address, "exchanges": [*group.exchanges]}
            for key in group.keys[: MOST_CONTRACTS_SHOWN - len(shown)]
        ]
    return shown
