"""The two detectors of insights, run over what changed (docs/shadow-fund.md#insights). Nothing here
commits.

Law: usual figures are those of seven days, and change every two hours (usual.py); a run reads
beside them one row a listing, and samples only of listings whose newest look says something.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from sqlalchemy import Row, exists, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.market.rules.insights import (
    DRAIN_WITHIN,
    SUSTAINED,
    ClosedCoin,
    InsightCard,
    InsightKind,
    MakerLook,
    MakerUsual,
    card_key,
    drains,
    in_turn,
    is_candidate,
    maker_card,
    maker_sign,
)
from core.market.shadow_tables import MarketInsight

MOST_CANDIDATES: Final = 2_000
FRESH: Final = timedelta(hours=1)  # an older book says nothing of now
_NOW: Final = text("""
select listing_id, exchange, token, is_simulated, sampled_at as at, spread_bps, bid_2_usd, ask_2_usd
from listing_state where sampled_at > :fresh
""")
_LOOKS: Final = text("""
select listing_id, ts as at, spread_bps, bid_2_usd, ask_2_usd from snap_1m
where listing_id = any(:ids) and ts > :since and fault is null order by listing_id, ts
""")
# The coins that each exchange closed, each once whatever names it has there; what is still closed; the smallest book of the coin there.
_CLOSED: Final = text("""
with closed as (
    select exchange, asset_id, array_agg(distinct native_base) as names, array_agg(distinct chain) as chains
    from transfer_event where was_open and is_open is false and at > :since group by exchange, asset_id
)
select c.exchange, c.chains, a.ticker,
       exists (select from network_status n where n.exchange = c.exchange and n.native_base = any(c.names)
               and n.chain = any(c.chains)
               and (n.can_deposit is false or n.can_withdraw is false)) as is_closed,
       s.listing_id, case when s.sampled_at > :fresh then least(s.bid_2_usd, s.ask_2_usd) end as depth,
       coalesce(s.is_simulated, false) as is_simulated
from closed c join market_asset a on a.id = c.asset_id
left join lateral (
    select * from listing_state where asset_id = c.asset_id and exchange = c.exchange
    order by order_usd desc, listing_id limit 1
) s on true
order by c.exchange, a.ticker
""")


@dataclass(frozen=True, slots=True)
class InsightsRun:
    cards: int
    suppressed: int


@dataclass(frozen=True, slots=True)
class InsightRows:
    """`closed` coins, and the newest look of each listing, as rows."""

    closed: Sequence[Row[Any]]
    now: Sequence[Row[Any]]


SeenCards: TypeAlias = Sequence[tuple[InsightCard, bool]]  # with whether the venue is simulated


def rows(session: Session, now: datetime) -> InsightRows:
    bounds = {"since": now - DRAIN_WITHIN, "fresh": now - FRESH}
    newest = session.execute(_NOW, {"fresh": now - timedelta(minutes=10)})
    return InsightRows(session.execute(_CLOSED, bounds).all(), newest.all())


def candidates(rows: InsightRows, usual: Mapping[int, MakerUsual]) -> list[Row[Any]]:
    """Looks that say something; what they say is seen in the looks before them."""
    found = [one for one in rows.now if is_candidate(usual.get(one.listing_id), _look(one))]
    found = in_turn(sorted(found, key=lambda one: one.listing_id), lambda one: one.exchange)
    return found[:MOST_CANDIDATES]


def looks(session: Session, chosen: Sequence[Row[Any]], now: datetime) -> Sequence[Row[Any]]:
    if not chosen:
        return ()
    since = now - SUSTAINED - timedelta(minutes=10)
    ids = [one.listing_id for one in chosen]
    return session.execute(_LOOKS, {"ids": ids, "since": since}).all()


def cards(
    rows: InsightRows,
    chosen: Sequence[Row[Any]],
    before: Sequence[Row[Any]],
    usual: Mapping[int, MakerUsual],
) -> SeenCards:
    """What the detectors see."""
    return [*_drains(rows.closed, usual), *_makers(chosen, before, usual)]


def write(session: WriteSession, found: SeenCards, now: datetime) -> InsightsRun:
    for card, is_simulated in found:
        _put(session, card, now, is_simulated=is_simulated)
    return InsightsRun(len(found), _suppress(session, now))


def _drains(
    rows: Iterable[Row[Any]], usual: Mapping[int, MakerUsual]
) -> Iterable[tuple[InsightCard, bool]]:
    by_venue: defaultdict[str, list[ClosedCoin]] = defaultdict(list)
    simulated = set[str]()
    for row in rows:
        known = usual.get(row.listing_id)
        by_venue[row.exchange].append(
            ClosedCoin(
                token=row.ticker,
                chains=frozenset(row.chains),
                is_still_closed=row.is_closed,
                depth_usd=row.depth,
                usual_depth_usd=None if known is None else known.depth_usd,
            )
        )
        if row.is_simulated:
            simulated.add(row.exchange)
    for exchange, closed in by_venue.items():
        for card in drains(exchange, closed):
            yield card, exchange in simulated


def _makers(
    chosen: Iterable[Row[Any]], before: Iterable[Row[Any]], usual: Mapping[int, MakerUsual]
) -> Iterable[tuple[InsightCard, bool]]:
    looks_of: defaultdict[int, list[MakerLook]] = defaultdict(list)
    for row in before:
        looks_of[row.listing_id].append(_look(row))
    for one in chosen:
        known = usual[one.listing_id]
        kind = maker_sign(known, looks_of[one.listing_id])
        if kind is not None:
            yield maker_card(kind, one.exchange, one.token, known, _look(one)), one.is_simulated


def _look(row: Any) -> MakerLook:
    return MakerLook(row.at, row.spread_bps, row.bid_2_usd, row.ask_2_usd)


def _put(session: WriteSession, card: InsightCard, now: datetime, *, is_simulated: bool) -> None:
    """The day's card. One of a coin keeps what was seen first; one of a venue is written again when
    anything of it changed.
    """
    values = {"headline": card.headline, "evidence": dict(card.evidence)}
    add = insert(MarketInsight).values(
        key=card_key(card, now.date()),
        kind=card.kind.value,
        exchange=card.exchange,
        token=card.token,
        day=now.date(),
        is_suppressed=False,
        is_simulated=is_simulated,
        at=now,
        updated_at=now,
        **values,
    )
    session.execute(
        add.on_conflict_do_update(
            index_elements=["key"],
            set_=values | {"updated_at": now},
            where=(MarketInsight.kind == InsightKind.VENUE_RISK.value)
            & MarketInsight.evidence.is_distinct_from(add.excluded.evidence),
        )
    )


def _suppress(session: WriteSession, now: datetime) -> int:
    """The day's cards of coins whose venue has one of its own that day, also where fewer than ten of
    them are left by now.
    """
    venue = aliased(MarketInsight)
    says_it_all = exists().where(
        venue.exchange == MarketInsight.exchange,
        venue.kind == InsightKind.VENUE_RISK.value,
        venue.day == now.date(),
    )
    done = session.execute(
        update(MarketInsight)
        .where(
            MarketInsight.kind == InsightKind.VENUE_DRAIN.value,
            MarketInsight.day == now.date(),
            MarketInsight.is_suppressed.is_(False),
            says_it_all,
        )
        .values(is_suppressed=True, updated_at=now)
    )
    return int(done.rowcount)  # type: ignore[attr-defined]  # of a CursorResult
