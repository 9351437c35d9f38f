"""What the board and the pages of tokens read (docs/board.md).

Law: an order has an index, and a page reads its own rows alone; figures of the whole are counted by
a slow job (`market_summary`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import ceil
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    any_,
    bindparam,
    cast,
    exists,
    func,
    literal,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.orm import Session, aliased

from core.market.facts import DataSource
from core.market.scan_tables import MarketSummary, MarketVenueState
from core.market.tables import (
    MarketAssetState,
    MarketListingState,
    MarketNetwork,
    MarketWarningStanding,
)


@dataclass(frozen=True, slots=True)
class WatchedAssets:
    """`assets`: the lowest of `graded`; `unknown`: listed somewhere, without a grade, on no list. None:
    not counted yet.
    """

    assets: Sequence[MarketAssetState]
    graded: int
    unknown: int | None


ROW: Final = (
    "listing_id", "asset_id", "token_id", "token", "exchange", "symbol", "status", "asset_class",
    "mid", "price_usd", "spread_bps", "bid_2_usd", "ask_2_usd", "slip_buy_10k_bps",
    "slip_sell_10k_bps", "volume_24h_usd", "is_truncated", "grade", "score", "is_provisional",
    "in_depth_usd", "in_spread_bps", "in_slip_10k_bps", "in_volume_24h_usd", "in_volume_30d_usd",
    "in_uptime", "in_hours", "in_coverage", "graded_at", "can_deposit", "can_withdraw",
    "has_st_tag", "has_caution", "sampled_at", "every_s", "fault", "source", "is_simulated",
    "week_closes",
)  # fmt: skip
"""The columns of listing_state that a row of the board shows."""

BoardValues: TypeAlias = Mapping[str, Any]
"""One row: the columns of ROW by name."""

_COLUMNS: Final = tuple(getattr(MarketListingState, name) for name in ROW)


class RowVersion(NamedTuple):
    """Which row a page has, and which of its versions: each write of a row gives it another xmin,
    the id of the transaction that wrote it.
    """

    listing_id: int
    asset_id: int
    updated_at: datetime
    xmin: str


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row of a page. `warnings`: the open ones of its asset at its exchange, the newest first:
    type, severity, seconds since 1970.
    """

    version: RowVersion
    warnings: Sequence[tuple[str, str, int]]


_VERSION: Final[tuple[Any, ...]] = (
    MarketListingState.listing_id,
    MarketListingState.asset_id,
    MarketListingState.updated_at,
    literal_column("listing_state.xmin::text").label("row_xmin"),
)
_WARNINGS: Final = (
    select(
        func.json_agg(
            aggregate_order_by(
                func.json_build_array(
                    MarketWarningStanding.type,
                    MarketWarningStanding.severity,
                    cast(
                        func.floor(func.extract("epoch", MarketWarningStanding.issued_at)),
                        BigInteger,
                    ),
                ),
                MarketWarningStanding.seq.desc(),
            )
        )
    )
    .where(
        MarketWarningStanding.asset_id == MarketListingState.asset_id,
        MarketWarningStanding.exchange == MarketListingState.exchange,
    )
    .scalar_subquery()
    .label("warnings")
)
_PLACED: Final = (*_VERSION, _WARNINGS)
_PLACE: Final[tuple[Any, ...]] = (MarketListingState.listing_id, MarketListingState.order_usd)
SELECTIVE: Final = 3  # characters
WATCHLIST_PERCENT: Final = 5
MOST_PERCENT: Final = 50


def board_page(
    session: Session,
    exchange: str | None,
    prefix: str | None,
    offset: int,
    limit: int,
    after: int | None = None,
) -> Sequence[PlacedRow]:
    """Listings by volume, the largest first; `prefix`: how their symbols begin; `after`: those behind
    this listing. An offset costs the rows before it, a listing nothing.
    """
    asked = (exchange is not None, prefix is not None, _is_selective(prefix))
    values = {
        "exchange": exchange, "begins": _pattern(prefix or ""), "offset": offset, "most": limit,
        "after": after,
    }  # fmt: skip
    return _versions(session, (_board if after is None else _board_after)(*asked), values)


@cache
def _board(of_exchange: bool, of_prefix: bool, is_selective: bool) -> Select[Any]:
    query = _listed(of_exchange, of_prefix)
    ordered = query.order_by(_order(is_selective).desc(), MarketListingState.listing_id)
    return _placed_at(ordered.offset(bindparam("offset")).limit(bindparam("most")))


@cache
def _board_after(of_exchange: bool, of_prefix: bool, is_selective: bool) -> Select[Any]:
    """Those of the listing's own volume first: each part is a walk from its place in the index."""
    order, listing_id = _order(is_selective), MarketListingState.listing_id
    last, most = aliased(MarketListingState), bindparam("most", type_=Integer)
    place = select(last.order_usd).where(last.listing_id == bindparam("after")).scalar_subquery()
    asked = _listed(of_exchange, of_prefix)
    same = asked.where(order == place, listing_id > bindparam("after")).order_by(listing_id)
    less = asked.where(order < place).order_by(order.desc(), listing_id)
    found = union_all(same.limit(most), less.limit(most)).subquery()
    query = select(found).order_by(found.c.order_usd.desc(), found.c.listing_id)
    return _placed_at(query.limit(most))


def _listed(of_exchange: bool, of_prefix: bool) -> Select[Any]:
    query = select(*_PLACE)
    if of_exchange:
        query = query.where(MarketListingState.exchange == bindparam("exchange"))
    if of_prefix:
        query = query.where(MarketListingState.symbol.like(bindparam("begins")))
    return query


def values_of(session: Session, listing_ids: Collection[int]) -> Sequence[BoardValues]:
    """In no order."""
    query = select(*_COLUMNS).where(MarketListingState.listing_id == any_(_ids(listing_ids)))
    return [dict(zip(ROW, row, strict=True)) for row in session.execute(query)]


def _versions(
    session: Session, query: Select[Any], values: Mapping[str, Any] | None = None
) -> Sequence[PlacedRow]:
    return [_placed(row) for row in session.execute(query, values)]


def _placed(row: Any) -> PlacedRow:
    *version, warnings = row
    return PlacedRow(RowVersion(*version), [] if warnings is None else warnings)


def found_tokens(session: Session, prefix: str, offset: int, limit: int) -> Sequence[PlacedRow]:
    """Listings whose symbols begin so; those of the very token first, each by volume."""
    token, slash, _ = prefix.partition("/")
    values = {
        "begins": _pattern(prefix), "own": _pattern(prefix if slash else f"{token}/"),
        "token": token, "most": offset + limit, "offset": offset, "limit": limit,
    }  # fmt: skip
    return _versions(session, _search(bool(slash), _is_selective(prefix)), values)


@cache
def _search(is_pair: bool, is_selective: bool) -> Select[Any]:
    symbol = MarketListingState.symbol
    most: ColumnElement[int] = bindparam("most", type_=Integer)

    def ranked(rank: int, *where: ColumnElement[bool]) -> Any:
        query = select(*_PLACE, literal_column(str(rank)).label("rank")).where(*where)
        order = _order(is_selective).desc()
        return query.order_by(order, MarketListingState.listing_id).limit(most)

    found = [ranked(0, symbol.like(bindparam("own")))]
    if not is_pair:
        is_other = MarketListingState.token != bindparam("token")
        found.append(ranked(1, symbol.like(bindparam("begins")), is_other))
    place = union_all(*found).subquery()
    query = select(place).order_by(place.c.rank, place.c.order_usd.desc(), place.c.listing_id)
    return _placed_at(query.offset(bindparam("offset")).limit(bindparam("limit")))


def _pattern(prefix: str) -> str:
    """What begins so, for LIKE: nothing of the prefix is a wildcard."""
    return re.sub(r"([\\%_])", r"\\\1", prefix) + "%"


def _is_selective(prefix: str | None) -> bool:
    return prefix is not None and len(prefix) >= SELECTIVE


def _order(is_selective: bool) -> ColumnElement[float]:
    """What lists are sorted by. Few symbols begin with three letters: they are found by their
    index and sorted, since a walk down the index of the order may pass all others by.
    """
    order = MarketListingState.order_usd.expression
    return order + literal_column("0") if is_selective else order


def _placed_at(places: Select[Any]) -> Select[Any]:
    """The rows of these places, in their order; what is beside a row is read of those alone."""
    found = places.subquery()
    by_rank = [found.c.rank] if "rank" in found.c else []
    query = select(*_PLACED).join(found, found.c.listing_id == MarketListingState.listing_id)
    return query.order_by(*by_rank, found.c.order_usd.desc(), found.c.listing_id)


def find_state(session: Session, token_id: str) -> MarketListingState | None:
    return session.scalar(select(MarketListingState).where(MarketListingState.token_id == token_id))


def placed_row(session: Session, listing_id: int) -> PlacedRow:
    """Errors: NoResultFound."""
    query = select(*_PLACED).where(MarketListingState.listing_id == listing_id)
    return _placed(session.execute(query).one())


def venues_of(session: Session, asset_id: int, limit: int) -> Sequence[PlacedRow]:
    """The listings of an asset at all exchanges, by volume."""
    query = select(*_PLACED).where(MarketListingState.asset_id == asset_id)
    ordered = query.order_by(MarketListingState.order_usd.desc(), MarketListingState.listing_id)
    return _versions(session, ordered.limit(limit))


def find_asset(session: Session, token: str) -> MarketAssetState | None:
    return session.scalar(select(MarketAssetState).where(MarketAssetState.token == token))


def asset_state(session: Session, asset_id: int) -> MarketAssetState | None:
    return session.get(MarketAssetState, asset_id)


def networks_of(session: Session, asset_id: int, limit: int) -> Sequence[MarketNetwork]:
    query = select(MarketNetwork).where(MarketNetwork.asset_id == asset_id)
    ordered = query.order_by(MarketNetwork.exchange, MarketNetwork.native_base, MarketNetwork.chain)
    return session.scalars(ordered.limit(limit)).all()


@dataclass(frozen=True, slots=True)
class OpenOfAsset:
    """An open warning as a row of the board shows it."""

    asset_id: int
    exchange: str
    type: str
    severity: str
    issued_at: datetime


def standing_of(
    session: Session, asset_ids: Collection[int]
) -> Mapping[int, Sequence[OpenOfAsset]]:
    """The open warnings of these assets, each asset's newest first."""
    query = (
        select(
            MarketWarningStanding.asset_id,
            MarketWarningStanding.exchange,
            MarketWarningStanding.type,
            MarketWarningStanding.severity,
            MarketWarningStanding.issued_at,
        )
        .where(MarketWarningStanding.asset_id == any_(_ids(asset_ids)))
        .order_by(MarketWarningStanding.seq.desc())
    )
    found: dict[int, list[OpenOfAsset]] = {}
    for row in session.execute(query):
        one = OpenOfAsset(*row)
        found.setdefault(one.asset_id, []).append(one)
    return found


def _ids(ids: Collection[int]) -> Any:
    """One parameter, whatever their number, so that the statement is prepared once."""
    return literal(sorted(ids), ARRAY(BigInteger))


def row_count(session: Session) -> int:
    """Of the whole board: each listing that there ever was has one."""
    return session.scalar(select(func.count()).select_from(MarketListingState)) or 0


def token_ids_of(session: Session, listing_ids: Collection[int]) -> Mapping[int, str]:
    query = select(MarketListingState.listing_id, MarketListingState.token_id).where(
        MarketListingState.listing_id.in_(listing_ids)
    )
    return dict(session.execute(query).all())


def is_simulated(session: Session) -> bool:
    """Whether any venue that is watched is simulated."""
    query = select(exists().where(MarketVenueState.source == DataSource.SIMULATED))
    return bool(session.scalar(query))


def venue_states(session: Session) -> Sequence[MarketVenueState]:
    return session.scalars(select(MarketVenueState).order_by(MarketVenueState.exchange)).all()


def summary(session: Session) -> MarketSummary | None:
    """None: nothing was counted yet."""
    return session.get(MarketSummary, 1)


def watched(session: Session, percent: int, most: int) -> WatchedAssets:
    """The lowest `percent` of graded assets, rounded up: by GPA, worst letter, name; `most` of
    them at most.
    """
    is_graded = MarketAssetState.gpa_7d.is_not(None)
    graded = session.scalar(select(func.count()).where(is_graded)) or 0
    query = (
        select(MarketAssetState)
        .where(is_graded)
        .order_by(
            MarketAssetState.gpa_7d, MarketAssetState.grade_worst.desc(), MarketAssetState.token
        )
        .limit(min(ceil(graded * percent / 100), most))
    )
    counted = summary(session)
    unknown = None if counted is None else counted.figures.get("ungraded_tokens")
    return WatchedAssets(session.scalars(query).all(), graded, unknown)
