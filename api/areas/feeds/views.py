"""Rows of feeds, from the tables of the market. Nothing here writes.

Law: a page costs what it shows, over an index; the feeds of states alone sort all states, of which
there is one a listing or asset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from sqlalchemy import (
    ColumnElement,
    FromClause,
    RowMapping,
    Select,
    Table,
    exists,
    func,
    literal,
    select,
    tuple_,
)
from sqlalchemy.orm import Session

from api.areas.feeds.rules import SETTLED_AFTER, FeedKey
from core.market.facts import DataSource as MarketSource
from core.market.tables import (
    MarketAsset,
    MarketGapChange,
    MarketGrade,
    MarketInsight,
    MarketListingState,
    MarketNotice,
    MarketOutcome,
    MarketSpread,
    MarketTransferEvent,
    MarketVenueState,
    MarketWarning,
)
from core.times import instant_text

PLACED_AMONG: Final = 1_000  # rows from a time on; ids and times part by a transaction's length
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, order=True)
class FeedPlace:
    """Where a row is in its feed: microseconds since 1970 (0 of a feed of rows), then its id."""

    at_us: int
    id: int


@dataclass(frozen=True, slots=True)
class DataFeedRow:
    """`at`: when it was written, or declared."""

    place: FeedPlace
    at: datetime
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a feed's rows come from. `written`: the time by which they settle; None: they are
    committed in the order of their ids. `by_time`: the order is (at, id), not id alone, and they
    settle by `at` unless they are `in_order`, committed in that order. `declared`: `at` is what an
    exchange says, and follows no order of ids.
    """

    rows: FromClause
    id: ColumnElement[Any]
    at: ColumnElement[Any]
    data: tuple[ColumnElement[Any], ...]
    written: ColumnElement[Any] | None = None
    by_time: bool = False
    in_order: bool = False
    declared: bool = False


def page(
    session: Session, key: FeedKey, after: FeedPlace | None, limit: int, now: datetime
) -> Sequence[DataFeedRow]:
    """At most `limit` rows behind that place (exclusive; None: from the first that is kept)."""
    source = _SOURCES[key]
    query = _settled(source, now)
    if after is not None:
        query = query.where(_behind(source, after))
    order = (source.at, source.id) if source.by_time else (source.id,)
    found = session.execute(query.order_by(*order).limit(limit)).mappings()
    return [_row(source, row) for row in found]


def place_at(session: Session, key: FeedKey, at: datetime) -> FeedPlace | None:
    """The place behind which rows from that time on are; None: there are none yet."""
    source = _SOURCES[key]
    if source.by_time:
        return FeedPlace(max((at - _EPOCH) // _MICROSECOND, 0), 0)
    time = source.at if source.written is None else source.written
    near = select(source.id.label("id")).select_from(source.rows).where(time >= at)
    if not source.declared:
        # over the index of times: the least id of all would be looked for from the oldest row on
        near = near.order_by(time, source.id).limit(PLACED_AMONG)
    first = session.scalar(select(func.min(near.subquery().c.id)))
    if first is not None:
        return FeedPlace(0, first - 1)
    last = session.scalar(select(func.max(source.id)).select_from(source.rows))
    return None if last is None else FeedPlace(0, last)


def is_simulated(session: Session) -> bool:
    """Whether a venue that is watched is the simulator's."""
    one = exists().where(MarketVenueState.source == MarketSource.SIMULATED.value)
    return bool(session.scalar(select(one)))


def _settled(source: _Source, now: datetime) -> Select[*tuple[Any, ...]]:
    columns = (source.id.label("feed_id"), source.at.label("feed_at"), *source.data)
    query = select(*columns).select_from(source.rows)
    by = source.at if source.by_time and not source.in_order else source.written
    return query if by is None else query.where(by <= now - SETTLED_AFTER)


def _behind(source: _Source, after: FeedPlace) -> ColumnElement[bool]:
    if not source.by_time:
        return source.id > after.id
    at = _EPOCH + after.at_us * _MICROSECOND
    return tuple_(source.at, source.id) > tuple_(literal(at), literal(after.id))


def _row(source: _Source, row: RowMapping) -> DataFeedRow:
    found = dict(row)
    id_, at = found.pop("feed_id"), found.pop("feed_at")
    place = FeedPlace((at - _EPOCH) // _MICROSECOND if source.by_time else 0, id_)
    return DataFeedRow(place, at, {name: _plain(value) for name, value in found.items()})


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return instant_text(value)
        case bytes():
            return value.hex()
    return value


def _columns(table: FromClause, *names: str) -> tuple[ColumnElement[Any], ...]:
    return tuple(table.c[name] for name in names)


def _table(of: Any) -> Table:
    return cast("Table", of.__table__)


_STATE = _table(MarketListingState)
_GRADE = _table(MarketGrade)
_WARNING = select(MarketWarning).subquery()
_CHANGE = _table(MarketGapChange)
_SPREAD = _table(MarketSpread)
_TRANSFER = _table(MarketTransferEvent)
_OUTCOME, _ASSET = _table(MarketOutcome), _table(MarketAsset)
_NOTICE = _table(MarketNotice)
_INSIGHT = _table(MarketInsight)
_NAMES: Final = ("token_id", "exchange", "symbol", "token")

_SOURCES: Final[Mapping[FeedKey, _Source]] = {
    FeedKey.BOARD: _Source(
        _STATE,
        _STATE.c.listing_id,
        _STATE.c.updated_at,
        _columns(
            _STATE,
            *_NAMES,
            *("price_usd", "spread_bps", "bid_2_usd", "ask_2_usd", "volume_24h_usd"),
            *("can_deposit", "can_withdraw", "is_truncated", "grade", "is_simulated"),
        ),
        by_time=True,
        in_order=True,  # who changes states takes turns (core/market/states.py)
    ),
    FeedKey.GRADES: _Source(
        _GRADE.join(_STATE, _STATE.c.listing_id == _GRADE.c.listing_id),
        _GRADE.c.listing_id,
        _GRADE.c.hour,
        (
            *_columns(_STATE, *_NAMES),
            _GRADE.c.letter.label("grade"),
            *_columns(_GRADE, "score", "is_provisional"),
            _GRADE.c.version.label("grade_version"),
            _STATE.c.is_simulated,
        ),
        by_time=True,
        in_order=True,  # one job writes an hour in one transaction, and never an earlier one after it
    ),
    FeedKey.WARNINGS: _Source(
        _WARNING,
        _WARNING.c.seq,
        _WARNING.c.at,
        (
            _WARNING.c.action,
            _WARNING.c.clears_seq.label("clears"),
            _WARNING.c.reopens_seq.label("reopens"),
            *_columns(_WARNING, "exchange", "token", "type", "severity", "is_predictive"),
            *_columns(_WARNING, "evidence", "rule_version", "row_hash"),
        ),
    ),
    FeedKey.ARB2: _Source(
        _CHANGE,
        _CHANGE.c.id,
        _CHANGE.c.at,
        _columns(
            _CHANGE,
            *("token", "buy_exchange", "sell_exchange", "gross_bps", "was_bps", "net_1k_bps"),
        ),
        written=_CHANGE.c.at,
    ),
    FeedKey.ARB3: _Source(
        _SPREAD,
        _SPREAD.c.asset_id,
        _SPREAD.c.observed_at,
        _columns(
            _SPREAD,
            *("token", "venues", "dispersion", "size_usd", "profit_usd"),
            *("actionable_profit_usd", "is_actionable", "legs"),
        ),
        by_time=True,
    ),
    FeedKey.TRANSFERS: _Source(
        _TRANSFER,
        _TRANSFER.c.id,
        _TRANSFER.c.at,
        _columns(_TRANSFER, "exchange", "native_base", "chain", "direction", "was_open", "is_open"),
        written=_TRANSFER.c.at,
    ),
    FeedKey.DESIGNATIONS: _Source(
        _OUTCOME.join(_ASSET, _ASSET.c.id == _OUTCOME.c.asset_id),
        _OUTCOME.c.id,
        _OUTCOME.c.at,
        (
            _OUTCOME.c.exchange,
            _ASSET.c.ticker.label("token"),
            *_columns(_OUTCOME, "kind", "exclusion", "is_genuine"),
        ),
        declared=True,
    ),
    FeedKey.TIMELINE: _Source(
        _NOTICE,
        _NOTICE.c.id,
        _NOTICE.c.received_at,
        _columns(
            _NOTICE,
            *("exchange", "kind", "scope", "native_bases", "title", "url"),
            *("published_at", "effective_at"),
        ),
        written=_NOTICE.c.received_at,
    ),
    FeedKey.INSIGHTS: _Source(
        _INSIGHT,
        _INSIGHT.c.id,
        _INSIGHT.c.updated_at,
        _columns(
            _INSIGHT,
            *("kind", "exchange", "token", "headline", "evidence", "is_suppressed", "is_simulated"),
        ),
        by_time=True,
    ),
}
