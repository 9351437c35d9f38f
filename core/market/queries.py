"""What venues list: compared with what is known, and written where it changed. Nothing here commits."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.listings import queries as listings
from core.listings.rules import TICKER_PATTERN, Symbol, token_id
from core.market import states
from core.market.facts import DataSource, ListedMarket, MarketStatus
from core.market.rules.notices import TagSighting
from core.market.tables import (
    MarketAsset,
    MarketAssetState,
    MarketListingState,
    MarketTag,
)

WHOLE_SHARE: Final = 0.8  # an answer with less of what was known is half an answer
_TICKER: Final = re.compile(TICKER_PATTERN)


@dataclass(frozen=True, slots=True)
class KnownListing:
    listing_id: int
    asset_id: int
    exchange: str
    native_id: str
    native_base: str
    base: str
    quote: str
    status: str | None


@dataclass(frozen=True, slots=True)
class MarketsLearned:
    """`is_partial`: less than 80 % of what was known came, so nothing is gone. `refused`: native ids
    whose tickers cannot be ours, or that another one has.
    """

    is_partial: bool
    refused: tuple[str, ...]


def known_listings(session: Session, exchange: str) -> tuple[KnownListing, ...]:
    """Those that trade, or of which it is unknown."""
    of = MarketListingState
    query = select(
        *(of.listing_id, of.asset_id, of.exchange, of.native_id, of.native_base),
        *(of.token, func.split_part(of.symbol, "/", 2), of.status),
    ).where(of.exchange == exchange, of.delisted_at.is_(None))
    return tuple(KnownListing(*row) for row in session.execute(query))


def assets_of(session: Session, listing_ids: Collection[int]) -> Mapping[int, int]:
    """The asset of each listing."""
    query = select(MarketListingState.listing_id, MarketListingState.asset_id).where(
        MarketListingState.listing_id.in_(listing_ids)
    )
    return dict(session.execute(query).all())


def learn_markets(
    session: WriteSession,
    exchange: str,
    markets: Sequence[ListedMarket],
    source: DataSource,
    now: datetime,
) -> MarketsLearned:
    """Bring what is known of the exchange's pairs in line with its whole list of them."""
    taken, refused = _ours(exchange, markets)
    is_simulated = source is DataSource.SIMULATED
    symbols = [Symbol(one.base, one.quote) for one in taken.values()]
    listings.add_listings(session, exchange, symbols, is_simulated=is_simulated, now=now)
    ids = listings.ids_of(session, list(taken))
    assets = ensure_assets(session, {one.base for one in taken.values()}, is_simulated, now)
    known = {one.listing_id: one for one in session.execute(_COMPARED_OF, {"exchange": exchange})}
    standing = [one for one in known.values() if one.delisted_at is None]
    is_partial = len(taken) < WHOLE_SHARE * len(standing)
    _release_names(
        session, exchange, {one.native_id: ids[name] for name, one in taken.items()}, now
    )
    listed = [
        {"listing_id": ids[name], "token_id": name, "asset_id": assets[one.base], **asdict(one)}
        for name, one in taken.items()
    ]
    changed = [
        row
        for row in listed
        if (old := known.get(row["listing_id"])) is None
        or any(getattr(old, name) != row[name] for name in _COMPARED)
    ]
    _write(session, changed, source, now)
    here = {row["listing_id"] for row in listed}
    gone = [] if is_partial else [one.listing_id for one in standing if one.listing_id not in here]
    _end(session, gone, now)
    return MarketsLearned(is_partial, tuple(refused))


def ensure_assets(
    session: WriteSession, tickers: Collection[str], is_simulated: bool, now: datetime
) -> Mapping[str, int]:
    """The ids of these assets; those that are new are added, with their states."""
    if not tickers:
        return {}
    wanted = sorted(tickers)
    added = session.execute(
        insert(MarketAsset).on_conflict_do_nothing().returning(MarketAsset.id, MarketAsset.ticker),
        [{"ticker": one} for one in wanted],
    ).all()
    if added:
        states = [
            {"asset_id": asset_id, "token": token, "is_simulated": is_simulated, "updated_at": now}
            for asset_id, token in added
        ]
        session.execute(insert(MarketAssetState), states)
    query = select(MarketAsset.ticker, MarketAsset.id).where(MarketAsset.ticker.in_(wanted))
    return dict(session.execute(query).all())


def tag_sightings(
    session: Session, exchange: str, native_base: str, now: datetime
) -> tuple[TagSighting, ...]:
    """The newest of each kind; the first scan is no sighting of a new tag."""
    row = session.get(MarketTag, (exchange, native_base))
    if row is None:
        return ()
    found = ((row.with_at, True), (row.without_at, False))
    return tuple(
        TagSighting(at, has, is_first_scan=at <= row.first_seen_at)
        for at, has in found
        if at is not None and at <= now
    )


def _ours(
    exchange: str, markets: Sequence[ListedMarket]
) -> tuple[dict[str, ListedMarket], list[str]]:
    """Those whose tickers are ours, by token id, each once; and the native ids of the others."""
    taken, refused = dict[str, ListedMarket](), list[str]()
    for one in markets:
        name = token_id(exchange, one.base, one.quote)
        is_ours = _TICKER.fullmatch(one.base) and _TICKER.fullmatch(one.quote)
        if not is_ours or name in taken:
            refused.append(one.native_id)
        else:
            taken[name] = one
    return taken, refused


_COMPARED: Final = (
    *("native_id", "native_base", "asset_id", "status", "asset_class", "has_st_tag"),
    *("has_caution", "listed_at", "min_size_quote"),
)
_COMPARED_OF: Final = select(
    MarketListingState.listing_id,
    MarketListingState.delisted_at,
    *(getattr(MarketListingState, name) for name in _COMPARED),
).where(MarketListingState.exchange == bindparam("exchange"))


def _release_names(
    session: WriteSession, exchange: str, ids: Mapping[str, int], now: datetime
) -> None:
    """A venue that renamed a ticker kept the market's id: what had it before is over, under an id
    that no venue gives.
    """
    of = MarketListingState
    held = session.execute(
        select(of.native_id, of.listing_id).where(
            of.exchange == exchange, of.native_id.in_(list(ids))
        )
    )
    lost = {listing_id: name for name, listing_id in held if ids[name] != listing_id}
    for listing_id, name in lost.items():
        session.execute(
            update(of)
            .where(of.listing_id == listing_id)
            .values(native_id=f"{name} (until {now:%Y-%m-%d}, {listing_id})")
        )
    _end(session, list(lost), now)


def _write(
    session: WriteSession, listed: Sequence[Mapping[str, Any]], source: DataSource, now: datetime
) -> None:
    """`listed`: pairs that are new, or that the exchange lists otherwise than before."""
    if not listed:
        return
    turn = states.take_turn(session, now)
    rows = [
        {name: row[name] for name in (*_COMPARED, "listing_id", "exchange", "token_id")}
        | {
            "token": row["base"],
            "symbol": f"{row['base']}/{row['quote']}",
            "source": source,
            "is_simulated": source is DataSource.SIMULATED,
            "first_seen_at": now,
            "delisted_at": now if row["status"] is MarketStatus.DELISTED else None,
            "updated_at": turn,
        }
        for row in listed
    ]
    add = insert(MarketListingState)
    moved = (*_COMPARED, "source", "is_simulated", "delisted_at", "updated_at")
    session.execute(
        add.on_conflict_do_update(
            index_elements=["listing_id"], set_={name: add.excluded[name] for name in moved}
        ),
        rows,
    )


def _end(session: WriteSession, listing_ids: Sequence[int], now: datetime) -> None:
    if listing_ids:
        turn = states.take_turn(session, now)
        session.execute(
            update(MarketListingState)
            .where(MarketListingState.listing_id.in_(listing_ids))
            .values(status=MarketStatus.DELISTED, delisted_at=now, updated_at=turn)
        )


def see_tags(
    session: WriteSession, exchange: str, markets: Iterable[ListedMarket], now: datetime
) -> None:
    """A base has the tag if one of its pairs has it."""
    has = dict[str, bool]()
    for one in markets:
        if one.has_st_tag is not None:
            has[one.native_base] = has.get(one.native_base, False) or one.has_st_tag
    rows = [
        {
            "exchange": exchange,
            "native_base": base,
            "first_seen_at": now,
            "with_at": now if tagged else None,
            "without_at": None if tagged else now,
        }
        for base, tagged in has.items()
    ]
    if not rows:
        return
    add = insert(MarketTag)
    newest = {
        name: func.coalesce(add.excluded[name], getattr(MarketTag, name))
        for name in ("with_at", "without_at")
    }
    session.execute(
        add.on_conflict_do_update(index_elements=["exchange", "native_base"], set_=newest), rows
    )
