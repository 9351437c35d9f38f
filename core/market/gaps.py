"""Gaps between venues, as they were seen last: the current ones, spreads of three venues and more,
what changed of them (the reel), episodes. Nothing here commits.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.rules.arbitrage import (
    EPISODE_BPS,
    ArbPair,
    ArbSnapshot,
    episode_end,
    is_in_reel,
)
from core.market.tables import (
    MarketAssetGapHour,
    MarketGap,
    MarketGapChange,
    MarketGapEpisode,
    MarketSpread,
)

REEL_KEPT: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class SeenGap:
    """A gap of two listings. `pair.buy_at` and `sell_at` are exchanges."""

    asset_id: int
    token: str
    buy_id: int
    sell_id: int
    buy_seen_at: datetime
    sell_seen_at: datetime
    pair: ArbPair


@dataclass(frozen=True, slots=True)
class SeenSpread:
    asset_id: int
    token: str
    snapshot: ArbSnapshot


def write(
    session: WriteSession, gaps: Sequence[SeenGap], spreads: Sequence[SeenSpread], now: datetime
) -> int:
    """All gaps that there are now; those that are not among them are over. How many changed."""
    old = {(one.buy_id, one.sell_id): one for one in session.scalars(select(MarketGap))}
    new = {(one.buy_id, one.sell_id): one for one in gaps}
    rows = [_change(one, old.get(key)) for key, one in new.items()]
    changes = [one | {"at": now} for one in rows if one is not None]
    if changes:
        session.execute(plain_insert(MarketGapChange), changes)
    _replace_gaps(session, old, new, now)
    _step_episodes(session, new, now)
    _count_hour(session, gaps, now)
    _replace_spreads(session, spreads, now)
    return len(changes)


def prune(session: WriteSession, now: datetime) -> int:
    """Changes, episodes and hours of more than seven days ago."""
    gone = 0
    for column, table in (
        (MarketGapChange.at, MarketGapChange),
        (MarketGapEpisode.last_at, MarketGapEpisode),
        (MarketAssetGapHour.hour, MarketAssetGapHour),
    ):
        done = session.execute(delete(table).where(column < now - REEL_KEPT))
        gone += int(done.rowcount)  # type: ignore[attr-defined]  # of a CursorResult
    return gone


def _change(one: SeenGap, was: MarketGap | None) -> dict[str, Any] | None:
    """A row of the reel; None: it is not in it."""
    was_bps, was_actionable = (None, False) if was is None else (was.gross_bps, was.is_actionable)
    if not is_in_reel(was_bps, was_actionable, one.pair):
        return None
    return {
        "asset_id": one.asset_id,
        "token": one.token,
        "buy_exchange": one.pair.buy_at,
        "sell_exchange": one.pair.sell_at,
        "gross_bps": one.pair.gross_bps,
        "was_bps": was_bps,
        "net_1k_bps": one.pair.net_bps[0],
    }


def _replace_gaps(
    session: WriteSession,
    old: Mapping[tuple[int, int], MarketGap],
    new: Mapping[tuple[int, int], SeenGap],
    now: datetime,
) -> None:
    gone = [key for key in old if key not in new]
    if gone:
        key = tuple_(MarketGap.buy_id, MarketGap.sell_id)
        session.execute(delete(MarketGap).where(key.in_(gone)))
    rows = [_gap_row(one, now) for one in new.values()]
    if rows:
        add = insert(MarketGap)
        moved = {name: add.excluded[name] for name in rows[0] if name not in ("buy_id", "sell_id")}
        session.execute(
            add.on_conflict_do_update(index_elements=["buy_id", "sell_id"], set_=moved), rows
        )


def _gap_row(one: SeenGap, now: datetime) -> dict[str, Any]:
    pair = one.pair
    return {
        "buy_id": one.buy_id,
        "sell_id": one.sell_id,
        "asset_id": one.asset_id,
        "token": one.token,
        "buy_exchange": pair.buy_at,
        "sell_exchange": pair.sell_at,
        "gross_bps": pair.gross_bps,
        "net_1k_bps": pair.net_bps[0],
        "net_5k_bps": pair.net_bps[1],
        "net_10k_bps": pair.net_bps[2],
        "transferable": str(pair.gate),
        "chains": list(pair.chains),
        "is_actionable": pair.is_actionable,
        "suspect": str(pair.suspicions[0]) if pair.suspicions else None,
        "fx_source": " and ".join(dict.fromkeys(pair.fx_sources)),
        "buy_at": one.buy_seen_at,
        "sell_at": one.sell_seen_at,
        "observed_at": now,
    }


def _step_episodes(
    session: WriteSession, new: Mapping[tuple[int, int], SeenGap], now: datetime
) -> None:
    """Actionable gaps begin and go on; one that was seen at or below for five minutes is over."""
    open_ones = select(MarketGapEpisode).where(MarketGapEpisode.ended_at.is_(None))
    going = {(one.buy_id, one.sell_id): one for one in session.scalars(open_ones)}
    above = {
        key
        for key, one in new.items()
        if one.pair.is_actionable and one.pair.gross_bps > EPISODE_BPS
    }
    for key in {*going, *above}:
        row = going.get(key)
        if row is not None and (over_at := episode_end(row.last_at, now)) is not None:
            row.ended_at, row = over_at, None
            session.flush()  # before the pair begins another
        if row is None and key in above:
            session.add(_episode(new[key], now))
        elif row is not None and key in above:
            row.last_at = now
    session.flush()


def _episode(seen: SeenGap, now: datetime) -> MarketGapEpisode:
    return MarketGapEpisode(
        asset_id=seen.asset_id,
        buy_id=seen.buy_id,
        sell_id=seen.sell_id,
        began_at=now,
        last_at=now,
        ended_at=None,
        buy_fee_bps=seen.pair.taker_fees_bps[0],
        sell_fee_bps=seen.pair.taker_fees_bps[1],
        net_1k_bps=seen.pair.net_bps[0],
        chain=seen.pair.withdraw_chain,
        withdraw_fee=seen.pair.withdraw_fee,
    )


def _count_hour(session: WriteSession, gaps: Iterable[SeenGap], now: datetime) -> None:
    """Looks at gaps above 25 bps, of each asset."""
    wide = [one for one in gaps if one.pair.gross_bps > EPISODE_BPS]
    if not wide:
        return
    hour = now.replace(minute=0, second=0, microsecond=0)
    looks = Counter(one.asset_id for one in wide)
    actionable = Counter(one.asset_id for one in wide if one.pair.is_actionable)
    rows = [
        {"asset_id": one, "hour": hour, "gaps": count, "actionable": actionable[one]}
        for one, count in looks.items()
    ]
    of_each = insert(MarketAssetGapHour)
    session.execute(
        of_each.on_conflict_do_update(
            index_elements=["asset_id", "hour"],
            set_={
                "gaps": MarketAssetGapHour.gaps + of_each.excluded.gaps,
                "actionable": MarketAssetGapHour.actionable + of_each.excluded.actionable,
            },
        ),
        rows,
    )


def _replace_spreads(session: WriteSession, spreads: Sequence[SeenSpread], now: datetime) -> None:
    kept = [one.asset_id for one in spreads]
    session.execute(delete(MarketSpread).where(MarketSpread.asset_id.not_in(kept)))
    rows = [
        {
            "asset_id": one.asset_id,
            "token": one.token,
            "venues": len(one.snapshot.venues),
            "dispersion": one.snapshot.dispersion,
            "size_usd": one.snapshot.size_usd,
            "profit_usd": one.snapshot.profit_usd,
            "actionable_profit_usd": one.snapshot.actionable_profit_usd,
            "legs": [asdict(leg) for leg in one.snapshot.legs],
            "is_actionable": one.snapshot.is_actionable,
            "observed_at": now,
        }
        for one in spreads
    ]
    if rows:
        add = insert(MarketSpread)
        moved = {name: add.excluded[name] for name in rows[0] if name != "asset_id"}
        session.execute(add.on_conflict_do_update(index_elements=["asset_id"], set_=moved), rows)


@dataclass(frozen=True, slots=True)
class GapFigures:
    """hits_24h: episodes of a day. actionable_share_7d: None: there was no gap above 25 bps."""

    hits_24h: int
    actionable_share_7d: float | None


def figures(session: Session, now: datetime) -> GapFigures:
    hits = session.scalar(
        select(func.count())
        .select_from(MarketGapEpisode)
        .where(MarketGapEpisode.last_at >= now - timedelta(days=1))
    )
    looks, actionable = session.execute(
        select(func.sum(MarketAssetGapHour.gaps), func.sum(MarketAssetGapHour.actionable)).where(
            MarketAssetGapHour.hour >= now - REEL_KEPT
        )
    ).one()
    return GapFigures(int(hits or 0), float(actionable / looks) if looks else None)


def current(
    session: Session, *, limit: int, asset_id: int | None = None, is_actionable: bool = False
) -> Sequence[MarketGap]:
    """The best first, unknown ones last; of an asset, or those alone that are actionable."""
    query = select(MarketGap)
    if asset_id is not None:
        query = query.where(MarketGap.asset_id == asset_id)
    if is_actionable:
        query = query.where(MarketGap.is_actionable)
    ordered = query.order_by(
        MarketGap.net_1k_bps.desc().nulls_last(), MarketGap.buy_id, MarketGap.sell_id
    )
    return session.scalars(ordered.limit(limit)).all()


def spreads(session: Session, limit: int) -> Sequence[MarketSpread]:
    """The most profitable first, unknown ones last."""
    query = select(MarketSpread).order_by(
        MarketSpread.profit_usd.desc().nulls_last(), MarketSpread.asset_id
    )
    return session.scalars(query.limit(limit)).all()


def reel(session: Session, before: int | None, limit: int) -> Sequence[MarketGapChange]:
    """Changes, the newest first; `before`: an id, exclusive."""
    query = select(MarketGapChange)
    if before is not None:
        query = query.where(MarketGapChange.id < before)
    return session.scalars(query.order_by(MarketGapChange.id.desc()).limit(limit)).all()
