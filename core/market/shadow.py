"""The shadow fund replays episodes of gaps on recorded samples (docs/shadow-fund.md). Nothing here
commits.

Law: a step costs what is new: episodes behind the last one, trades that are due. No trade is read
twice, and whoever reads the fund reads its sums.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row, select, text, update
from sqlalchemy.dialects.postgresql import insert

from core.db.engine import WriteSession
from core.market import shadow_views
from core.market.rules import quartermaster
from core.market.rules.quartermaster import decayed
from core.market.rules.shadow import (
    CLOSED,
    ENTRY_WITHIN,
    EXIT_WITHIN,
    RECURS_WITHIN,
    STAKE_USD,
    STAKE_USD_E6,
    EntryFacts,
    ShadowSide,
    ShadowState,
    bought,
    fingerprint,
    result_bps,
    result_usd_e6,
    transfer_time,
)
from core.market.shadow_tables import (
    ShadowAsset,
    ShadowBin,
    ShadowBook,
    ShadowMove,
    ShadowSlice,
    ShadowTrade,
    ShadowVenue,
)

CAPITAL_USD_E6: Final = 100_000_000_000
FIRST_AT_VENUE_USD_E6: Final = 10_000_000_000
A_STEP: Final = 500  # trades that are due
A_PAGE: Final = 500  # episodes
KEPT: Final = timedelta(days=400)

# A day's volatility is that of its whole two hours; where some are not known, of the others.
BUCKETS_A_DAY: Final = 12
SIGMA_BUCKETS_LEAST: Final = 6
# Samples of a minute are written until it is over.
WRITTEN_WITHIN: Final = timedelta(minutes=1)

# The letter that a listing had when the episode began.
_LETTER = """
select g.letter from grade_hour g where g.listing_id = {listing} and g.hour <= e.began_at
  and g.hour > e.began_at - interval '24 hours' order by g.hour desc limit 1
"""
# The first sample of a listing in (after, until] that measured something.
_SAMPLE = """
select ts, mid * usd_per_quote as mid_usd, slip_buy_1k_bps, slip_sell_1k_bps, usd_per_quote
from snap_1m where listing_id = {listing} and ts > {after} and ts <= {until}
  and fault is null and usd_per_quote is not null order by ts limit 1
"""
_EPISODES: Final = text(
    f"""
with new as (
    select id, asset_id, buy_id, sell_id, began_at, buy_fee_bps, sell_fee_bps, net_1k_bps, chain, withdraw_fee
    from arb_episode where id > :after and began_at <= :ripe order by id limit :most
)
select e.*, b.token, b.exchange as buy_exchange, s.exchange as sell_exchange,
       ({_LETTER.format(listing="e.buy_id")}) as buy_grade, ({_LETTER.format(listing="e.sell_id")}) as sell_grade,
       b.is_simulated or s.is_simulated as is_simulated,
       coalesce(b.has_st_tag or b.has_caution or s.has_st_tag or s.has_caution, false) as is_designated,
       split_part(b.symbol, '/', 2) as buy_quote, split_part(s.symbol, '/', 2) as sell_quote,
       bought.ts as bought_at, bought.mid_usd as buy_mid, bought.slip_buy_1k_bps as buy_slip,
       bought.usd_per_quote as rate, sold.ts as seen_at,
       exists (select from transfer_event t where t.asset_id = e.asset_id and t.was_open is false and t.is_open
               and t.at > e.began_at - interval '24 hours' and t.at <= e.began_at) as is_reopened,
       exists (select from shadow_trade p where p.buy_id = e.buy_id and p.sell_id = e.sell_id
               and p.entered_at > e.began_at - :recurs) as is_recurring,
       (select case when count(r.rv) >= {SIGMA_BUCKETS_LEAST} then sqrt({BUCKETS_A_DAY} * avg(r.rv * r.rv)) end
        from snap_2h r where r.listing_id = e.buy_id and r.bucket > e.began_at - interval '26 hours'
        and r.bucket <= e.began_at - interval '2 hours') as sigma
from new e
join listing_state b on b.listing_id = e.buy_id
join listing_state s on s.listing_id = e.sell_id
left join lateral ({_SAMPLE.format(listing="e.buy_id", after="e.began_at", until="e.began_at + :within")}) bought on true
left join lateral ({_SAMPLE.format(listing="e.sell_id", after="e.began_at", until="e.began_at + :within")}) sold on true
order by e.id
"""  # noqa: S608 (of constants alone)
)
_LAST: Final = text("""
select max(id) from (
    select id from arb_episode where id > :after and began_at <= :ripe order by id limit :most
) new
""")
_DUE: Final = text(
    f"""
select p.episode_id, p.asset_id, p.buy_exchange, p.sell_exchange, p.coins, p.fee_coins, p.buy_fee_bps,
       p.sell_fee_bps, p.fingerprint, p.entered_at, p.due_at,
       exists (select from transfer_event t where t.asset_id = p.asset_id and t.exchange = p.buy_exchange
               and t.direction = 'withdraw' and t.is_open is false and (p.chain is null or t.chain = p.chain)
               and t.at > p.entered_at and t.at <= p.due_at) as is_closed,
       there.mid_usd as there_mid, there.slip_sell_1k_bps as there_slip,
       here.mid_usd as here_mid, here.slip_sell_1k_bps as here_slip
from shadow_trade p
left join lateral ({_SAMPLE.format(listing="p.sell_id", after="p.due_at", until="p.due_at + :within")}) there on true
left join lateral ({_SAMPLE.format(listing="p.buy_id", after="p.due_at", until="p.due_at + :within")}) here on true
where p.state = 'open' and p.due_at <= :ripe order by p.due_at, p.episode_id limit :most
"""  # noqa: S608 (of constants alone)
)


@dataclass(frozen=True, slots=True)
class ShadowStep:
    """What one transaction did; `is_last`: it left no episode that is ripe."""

    entered: int
    skipped: int
    closed: int
    voided: int
    moves: int
    is_last: bool


def step(session: WriteSession, now: datetime) -> ShadowStep:
    """Replay a page of what is new, once."""
    book = _book(session, now)
    venues = {one.exchange: one for one in session.scalars(select(ShadowVenue))}
    moved = _rebalance(session, book, venues, now)
    closed, voided = _close(session, venues, now)
    entered, skipped = _enter(session, book, venues, now)
    book.computed_at = now
    session.flush()
    return ShadowStep(entered, skipped, closed, voided, moved, entered + skipped < A_PAGE)


def prune(session: WriteSession, now: datetime) -> int:
    """Trades of more than 400 days ago that are closed; sums keep them."""
    gone = session.execute(
        text("delete from shadow_trade where entered_at < :before and state <> 'open'"),
        {"before": now - KEPT},
    )
    return int(gone.rowcount)  # type: ignore[attr-defined]  # of a CursorResult


def _book(session: WriteSession, now: datetime) -> ShadowBook:
    first = insert(ShadowBook).values(
        id=1,
        episode_id=0,
        unplaced_usd_e6=CAPITAL_USD_E6,
        rebalanced_on=None,
        is_simulated=False,
        computed_at=now,
    )
    session.execute(first.on_conflict_do_nothing())
    return session.scalars(select(ShadowBook).with_for_update()).one()


# Entry


def _enter(
    session: WriteSession, book: ShadowBook, venues: dict[str, ShadowVenue], now: datetime
) -> tuple[int, int]:
    """The next page of episodes."""
    bounds = {"after": book.episode_id, "ripe": now - ENTRY_WITHIN - WRITTEN_WITHIN, "most": A_PAGE}
    last = session.scalar(_LAST, bounds)
    entered = skipped = 0
    newest = dict[tuple[int, int], datetime]()  # entries of this step, which no statement sees yet
    for row in session.execute(
        _EPISODES, bounds | {"within": ENTRY_WITHIN, "recurs": RECURS_WITHIN}
    ):
        pair = row.buy_id, row.sell_id
        is_again = pair in newest and newest[pair] > row.began_at - RECURS_WITHIN
        trade = _trade(row, is_recurring=row.is_recurring or is_again)
        newest[pair] = trade.entered_at
        venue = _venue(session, book, venues, row.buy_exchange, row.buy_quote, row.began_at)
        _venue(session, book, venues, row.sell_exchange, row.sell_quote, row.began_at)
        _note_opportunity(venue, row)
        reason = _why_not(row, trade, venue)
        if reason is not None:
            trade.state, trade.reason, trade.coins = ShadowState.SKIPPED.value, reason, None
            trade.closed_at = row.began_at
            venue.skipped += 1
            skipped += 1
        else:
            venue.usd_e6 -= STAKE_USD_E6
            entered += 1
        session.add(trade)
        book.is_simulated = book.is_simulated or row.is_simulated
    if last is not None:
        book.episode_id = last
    session.flush()
    return entered, skipped


def _why_not(row: Row[Any], trade: ShadowTrade, venue: ShadowVenue) -> str | None:
    if row.bought_at is None or row.seen_at is None:
        return "no_sample"
    if row.buy_fee_bps is None or row.sell_fee_bps is None:
        return "taker_fee_unknown"
    if trade.coins is None:
        return "book_too_short" if row.withdraw_fee is not None else "fee_unknown"
    if trade.coins <= row.withdraw_fee:
        return "fee_above_stake"
    return "no_capital" if venue.usd_e6 < STAKE_USD_E6 else None


def _trade(row: Row[Any], *, is_recurring: bool) -> ShadowTrade:
    coins = None
    if None not in (row.buy_mid, row.withdraw_fee, row.buy_fee_bps):
        side = ShadowSide(row.buy_mid, row.buy_slip, row.buy_fee_bps)
        coins = bought(side)
    at = row.bought_at or row.began_at
    facts = EntryFacts(
        buy_at=row.buy_exchange,
        sell_at=row.sell_exchange,
        chain=row.chain,
        letters=(row.buy_grade, row.sell_grade),
        quotes=(row.buy_quote, row.sell_quote),
        is_designated=row.is_designated,
        is_reopened=row.is_reopened,
        net_1k_bps=row.net_1k_bps,
        is_recurring=is_recurring,
        at=at,
    )
    return ShadowTrade(
        episode_id=row.id,
        asset_id=row.asset_id,
        token=row.token,
        buy_id=row.buy_id,
        sell_id=row.sell_id,
        buy_exchange=row.buy_exchange,
        sell_exchange=row.sell_exchange,
        chain=row.chain,
        fingerprint=fingerprint(facts),
        coins=coins,
        fee_coins=row.withdraw_fee,
        buy_fee_bps=row.buy_fee_bps,
        sell_fee_bps=row.sell_fee_bps,
        sigma_24h=row.sigma,
        is_simulated=row.is_simulated,
        state=ShadowState.OPEN.value,
        reason=None,
        pnl_usd_e6=None,
        entered_at=at,
        due_at=at + transfer_time(row.chain),
        closed_at=None,
    )


def _venue(
    session: WriteSession,
    book: ShadowBook,
    venues: dict[str, ShadowVenue],
    exchange: str,
    quote: str,
    at: datetime,
) -> ShadowVenue:
    """The venue's row; the first time it gets its part of the capital that is left."""
    found = venues.get(exchange)
    if found is None:
        placed = min(FIRST_AT_VENUE_USD_E6, book.unplaced_usd_e6)
        book.unplaced_usd_e6 -= placed
        found = ShadowVenue(
            exchange=exchange,
            usd_e6=placed,
            opportunity_usd=0.0,
            opportunity_at=at,
            quote=quote,
            settled=0,
            returned=0,
            voided=0,
            skipped=0,
            hits=0,
            pnl_usd_e6=0,
        )
        session.add(found)
        venues[exchange] = found
    return found


def _note_opportunity(venue: ShadowVenue, row: Row[Any]) -> None:
    worth = max(row.net_1k_bps or 0.0, 0.0) * STAKE_USD / 10_000
    past = decayed(venue.opportunity_usd, venue.opportunity_at, row.began_at)
    venue.opportunity_usd = past + worth
    venue.opportunity_at = max(venue.opportunity_at, row.began_at)
    if row.rate is not None:
        venue.quote, venue.usd_per_quote, venue.rate_at = row.buy_quote, row.rate, row.bought_at


# Exit


def _close(
    session: WriteSession, venues: Mapping[str, ShadowVenue], now: datetime
) -> tuple[int, int]:
    closed = voided = 0
    due = {"ripe": now - EXIT_WITHIN - WRITTEN_WITHIN, "within": EXIT_WITHIN, "most": A_STEP}
    for row in session.execute(_DUE, due):
        at = row.buy_exchange if row.is_closed else row.sell_exchange
        mid, slip, fee = (
            (row.here_mid, row.here_slip, row.buy_fee_bps)
            if row.is_closed
            else (row.there_mid, row.there_slip, row.sell_fee_bps)
        )
        coins = row.coins if row.is_closed else row.coins - row.fee_coins
        pnl = None if mid is None else result_usd_e6(coins, ShadowSide(mid, slip, fee))
        venue = venues[row.buy_exchange]
        if pnl is None:
            state = ShadowState.VOID
            venue.usd_e6 += STAKE_USD_E6
            venue.voided += 1
            voided += 1
        else:
            state = ShadowState.RETURNED if row.is_closed else ShadowState.SETTLED
            venues[at].usd_e6 += STAKE_USD_E6 + pnl
            _count(session, venue, state, row, pnl)
            closed += 1
        session.execute(
            update(ShadowTrade)
            .where(ShadowTrade.episode_id == row.episode_id)
            .values(
                state=state.value,
                pnl_usd_e6=pnl,
                closed_at=now,
                reason=_why(state, is_priced=mid is not None and slip is not None),
            )
        )
    session.flush()
    return closed, voided


def _why(state: ShadowState, *, is_priced: bool) -> str | None:
    if state is ShadowState.RETURNED:
        return "withdrawals_closed"
    if state is ShadowState.SETTLED:
        return None
    return "not_believed" if is_priced else "no_sample"


def _count(
    session: WriteSession,
    venue: ShadowVenue,
    state: ShadowState,
    trade: Row[Any],
    pnl: int,
) -> None:
    assert state in CLOSED
    if state is ShadowState.SETTLED:
        venue.settled += 1
    else:
        venue.returned += 1
    hit = int(pnl > 0)
    venue.hits += hit
    venue.pnl_usd_e6 += pnl
    venue.worst_usd_e6 = pnl if venue.worst_usd_e6 is None else min(venue.worst_usd_e6, pnl)
    binned = insert(ShadowBin).values(pnl_bps=result_bps(pnl), n=1)
    session.execute(
        binned.on_conflict_do_update(index_elements=["pnl_bps"], set_={"n": ShadowBin.n + 1})
    )
    _sum_up(session, ShadowSlice, trade.fingerprint, hit, pnl)
    _sum_up(session, ShadowAsset, {"asset_id": trade.asset_id}, hit, pnl, since=trade.entered_at)


def _sum_up(
    session: WriteSession,
    table: type[ShadowSlice | ShadowAsset],
    key: Mapping[str, Any],
    hit: int,
    pnl: int,
    **first: datetime,
) -> None:
    """`first`: what the first row of the key keeps."""
    summed = insert(table).values(**key, **first, n=1, hits=hit, pnl_usd_e6=pnl)
    session.execute(
        summed.on_conflict_do_update(
            index_elements=list(key),
            set_={
                "n": table.n + 1,
                "hits": table.hits + hit,
                "pnl_usd_e6": table.pnl_usd_e6 + pnl,
            },
        )
    )


# Where capital is


def _rebalance(
    session: WriteSession, book: ShadowBook, venues: Mapping[str, ShadowVenue], now: datetime
) -> int:
    """Carry out the day's plan, on paper, at the first run of a UTC day."""
    if book.rebalanced_on == now.date() or not venues:
        return 0
    book.rebalanced_on = now.date()
    planned = quartermaster.moves(shadow_views.paper_venues(venues.values(), now))
    held = quartermaster.after({name: one.usd_e6 for name, one in venues.items()}, planned)
    for name, usd_e6 in held.items():
        venues[name].usd_e6 = usd_e6
    session.add_all(
        ShadowMove(
            from_exchange=one.from_at,
            to_exchange=one.to_at,
            usd_e6=one.usd_e6,
            fee_usd_e6=one.fee_usd_e6,
            takes_s=one.takes_s,
            at=now,
        )
        for one in planned
    )
    session.flush()
    return len(planned)
