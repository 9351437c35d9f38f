"""What notes are written from, read of the market's and mining's rows: one statement for a token,
and the same for a page of them.

Law: what a token has many of is read up to a bound, the newest or largest first; so are tokens,
where all of them are read.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final, TypeVar

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from api.areas.claims.queries import SHOWN
from api.areas.claims.rules.claims import ClaimKind, ClaimState, backer_named
from api.areas.notes.rules.facts import (
    NoteClaim,
    NoteContract,
    NoteEvent,
    NoteFacts,
    NoteGap,
    NoteGroup,
    NoteLink,
    NoteNetwork,
    NoteOnchain,
    NoteProject,
    NoteTrackRecord,
    NoteVenue,
    NoteWarning,
)
from api.areas.notes.tables import KgLink
from core.db.arrays import parts_of
from core.db.bounded import count_up_to
from core.market.rules.identity import shown_address
from core.market.rules.warnings import foreign_outcome
from core.market.tables import MarketAssetState

T = TypeVar("T")

PAGE: Final = 250
MOST_NOTES: Final = 20_000  # of the vault and the index
MOST_EVENTS: Final = 30
MOST_CONTRACTS: Final = 64
MOST_COINS: Final = 20  # of a group
DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)

_FACTS: Final = f"""
select a.token, a.grade, a.grade_worst, a.gpa_7d, a.graded_venues, a.identity, a.transfer, a.exchanges,
    a.contracts, a.groups, a.links, a.is_simulated,
    (select json_agg(json_build_array(
            s.exchange, s.symbol, s.token_id, s.status, s.grade, s.is_provisional, s.score, s.gpa_7d, s.gates,
            s.price_usd, s.spread_bps, s.bid_2_usd, s.ask_2_usd, s.imbalance, s.slip_buy_10k_bps,
            s.slip_sell_10k_bps, s.in_spread_bps, s.in_depth_usd, s.volume_24h_usd, s.in_uptime, s.sampled_at,
            s.asset_class) order by s.order_usd desc, s.listing_id)
        from (select * from listing_state where asset_id = a.asset_id order by order_usd desc, listing_id limit 60) s
    ) venues,
    (select json_agg(json_build_array(
            n.exchange, n.chain, n.can_deposit, n.can_withdraw, n.deposit_since, n.withdraw_since, n.withdraw_fee)
            order by n.exchange, n.native_base, n.chain)
        from (select * from network_status s where asset_id = a.asset_id and exists (
            select from listing_state l where l.asset_id = a.asset_id and l.exchange = s.exchange
                and l.native_base = s.native_base and l.delisted_at is null
            ) order by exchange, native_base, chain limit 200) n
    ) networks,
    (select json_agg(r.token order by r.token)
        from (select distinct o.token
            from (select distinct strong_group from listing_state
                where asset_id = a.asset_id and strong_group is not null order by strong_group limit 20) s
            cross join lateral (select token from listing_state where strong_group = s.strong_group
                order by token limit 100) o
            where o.token <> a.token order by o.token limit 100) r
    ) related,
    (select json_agg(json_build_array(w.exchange, w.type, w.severity, w.issued_at, w.evidence) order by w.seq desc)
        from (select * from warning_standing where asset_id = a.asset_id order by seq desc limit 30) w
    ) warnings,
    (select json_agg(json_build_array(t.direction, t.is_open, t.exchange, t.at, t.chain) order by t.id desc)
        from (select * from transfer_event where asset_id = a.asset_id order by id desc limit 20) t
    ) transfers,
    (select json_agg(json_build_array(coalesce(o.kind, o.notice_kind), o.exchange, o.at, null, o.title, o.url) order by o.id desc)
        from (select d.id, d.kind, d.exchange, d.at, m.kind as notice_kind, m.title, m.url
            from market_outcome d left join market_notice m on m.id = d.notice_id
            where d.asset_id = a.asset_id and (d.kind is not null or m.kind = 'resume_notice')
            order by d.id desc limit 20) o
    ) outcomes,
    (select json_agg(json_build_array('delisted', l.exchange, l.delisted_at))
        from (select * from listing_state where asset_id = a.asset_id and delisted_at is not null
            order by delisted_at desc, listing_id limit 30) l
    ) delistings,
    (select json_agg(json_build_array(f.field_name, f.value, f.exchange, f.approved_at)
            order by f.field_name, f.exchange, f.approved_at desc)
        from (select f.field_name, f.value, l.exchange, f.approved_at
            from listing_state l join mining_fact f on f.listing_id = l.listing_id
            where l.asset_id = a.asset_id and f.field_name like '%\\_url'
            order by f.approved_at desc, f.field_name, l.listing_id limit 60) f
    ) project,
    (select json_agg(json_build_array(
            g.buy_exchange, g.sell_exchange, g.gross_bps, g.net_1k_bps, g.transferable, g.is_actionable, g.suspect,
            g.observed_at) order by g.net_1k_bps desc nulls last, g.buy_id, g.sell_id)
        from (select * from arb_observation where asset_id = a.asset_id
            order by net_1k_bps desc nulls last, buy_id, sell_id limit 10) g
    ) gaps,
    (select count(*) from arb_episode e where e.asset_id = a.asset_id and e.last_at >= :day_ago) hits,
    exists (select from listing_state s where s.asset_id = a.asset_id and s.strong_group is not null
        group by s.strong_group having count(distinct s.exchange) > 1
    ) is_compared,
    (select json_build_array(sum(h.gaps), sum(h.actionable))
        from arb_asset_hour h where h.asset_id = a.asset_id and h.hour >= :week_ago
    ) looks,
    (select json_agg(json_build_array(c.chain, c.supply, c.holders, c.top10_share, c.transfers_24h, c.at) order by c.chain)
        from (select distinct on (chain) * from onchain_day where asset_id = a.asset_id
            order by chain, day desc limit 20) c
    ) onchain,
    (select json_build_array(p.n, p.hits, p.pnl_usd_e6, p.since) from shadow_asset p where p.asset_id = a.asset_id
    ) paper,
    (select json_agg(json_build_array(
            k.kind, k.claim, k.source_url, k.state = '{ClaimState.VERIFIED}', k.made_at) order by k.id desc)
        from ({SHOWN}) k
    ) claims
"""  # noqa: S608 (of constants alone)
_STATE: Final = "left join asset_state a on a.token = asked.token"
# Not a page of one: a list of who knows how many is planned anew each time, for longer than it is read.
_ONE: Final = text(f"{_FACTS} from (select cast(:token as text) as token) asked {_STATE}")
_PAGE: Final = text(
    f"{_FACTS} from unnest(cast(:tokens as text[])) asked (token) {_STATE} order by asked.token"
)
_Row = namedtuple(
    "_Row",
    "token grade grade_worst gpa_7d graded_venues identity transfer exchanges contracts groups links "
    "is_simulated venues networks related warnings transfers outcomes delistings project gaps hits "
    "is_compared looks onchain paper claims",
)


@dataclass(frozen=True, slots=True)
class ListedNote:
    token: str
    grade: str | None
    identity: str | None
    exchanges: Sequence[str]


def facts_of(session: Session, token: str, now: datetime) -> NoteFacts:
    """Of a token that nobody lists: what is claimed of it, alone."""
    found = _Row(*session.execute(_ONE, {"token": token, **_since(now)}).one())
    if found.token is None:
        return NoteFacts(token=token, claims=_each(found.claims, _claim))
    return facts_from(found)


def count(session: Session) -> int:
    """Tokens that have a note: exchanges list them, or did."""
    return session.scalar(select(func.count()).select_from(MarketAssetState)) or 0


def count_kept(session: Session) -> int:
    """How many `tokens` gives."""
    return count_up_to(session, select(MarketAssetState.asset_id), MOST_NOTES)


def all_facts(
    read: Callable[[], AbstractContextManager[Session]], now: datetime
) -> Iterator[NoteFacts]:
    """Of `tokens`, in the order of the database; related are those among them alone.

    Each page is a snapshot of its own, which has ended when the first of its facts is given.
    """
    with read() as session:
        every = tokens(session)
    there = frozenset(every)
    for page in parts_of(every, PAGE):
        with read() as session:
            rows = session.execute(_PAGE, {"tokens": page, **_since(now)}).all()
        for row in rows:
            facts = facts_from(row)
            yield replace(facts, related=tuple(one for one in facts.related if one in there))


def listed(
    session: Session, *, prefix: str, links_to: str | None, after: str, limit: int
) -> Sequence[ListedNote]:
    """Tokens after that one, in the order of the database. `links_to`: those alone whose notes lead
    to that file.
    """
    of = MarketAssetState
    query = select(of.token, of.grade, of.identity, of.exchanges).where(of.token > after)
    if prefix:
        query = query.where(of.token.startswith(prefix, autoescape=True))
    if links_to is not None:
        query = query.join(KgLink, KgLink.token == of.token).where(KgLink.target == links_to)
    rows = session.execute(query.order_by(of.token).limit(limit))
    return [ListedNote(*row) for row in rows]


def tokens(session: Session) -> list[str]:
    """Of the tokens that have a note MOST_NOTES, in the order of the database. Where there are
    more, those that most exchanges list: whoever lists a hundred thousand alone displaces nobody.
    """
    of = MarketAssetState
    most = (
        select(of.asset_id)
        .order_by(func.cardinality(of.exchanges).desc(), of.token)
        .limit(MOST_NOTES)
    )
    return [*session.scalars(select(of.token).where(of.asset_id.in_(most)).order_by(of.token))]


def facts_from(row: Any) -> NoteFacts:
    """A row of the statement as values, of a token that exchanges list."""
    classes = {one[-1] for one in row.venues or ()} - {None}
    looks, actionable = row.looks
    listed = row.contracts[:MOST_CONTRACTS]
    contracts = _each(listed, _contract)
    shown = {f"{one['chain']}:{one['address']}" for one in listed}
    groups = [one for one in row.groups if one["id"] in shown]
    return NoteFacts(
        token=row.token,
        is_known=True,
        is_simulated=row.is_simulated,
        grade=row.grade,
        grade_worst=row.grade_worst,
        gpa_7d=row.gpa_7d,
        graded_venues=row.graded_venues,
        identity=row.identity,
        transfer=row.transfer,
        asset_class=classes.pop() if len(classes) == 1 else None,
        exchanges=tuple(row.exchanges),
        contracts=contracts,
        groups=_each(groups, lambda one: NoteGroup(one["id"], tuple(one["coins"][:MOST_COINS]))),
        links=_each(row.links, _link),
        related=tuple(row.related or ()),
        venues=_each(row.venues, _venue),
        networks=_each(row.networks, _network),
        warnings=_each(row.warnings, _warning),
        events=_events(row),
        project=_each(row.project, lambda one: _of(NoteProject, *one[:3], _time(one[3]))),
        gaps=_each(row.gaps, _gap),
        arb_hits_24h=row.hits if row.is_compared or row.hits else None,
        one_price_actionable_pct=100 * actionable / looks if looks else None,
        onchain=_each(row.onchain, _onchain),
        claims=_each(row.claims, _claim),
        track_record=None if row.paper is None else _track_record(*row.paper),
    )


def _since(now: datetime) -> dict[str, datetime]:
    return {"day_ago": now - DAY, "week_ago": now - WEEK}


def _each(rows: Any, made: Callable[[Any], Any]) -> tuple[Any, ...]:
    """No rows are null."""
    return tuple(map(made, rows or ()))


def _warning(one: Any) -> NoteWarning:
    exchange, kind, severity, issued_at, evidence = one
    of = foreign_outcome(evidence)
    outcome = None if of is None else NoteEvent(of.kind, of.exchange, of.at)
    return NoteWarning(exchange, kind, severity, _time(issued_at), outcome)


def _claim(one: Any) -> NoteClaim:
    kind, value, source_url, is_verified, at = one
    backer = backer_named(ClaimKind(kind), value)
    return NoteClaim(kind, value, source_url, is_verified, _time(at), backer)


def _track_record(closed: int, won: int, pnl_usd_e6: int, since: str) -> NoteTrackRecord:
    return NoteTrackRecord(closed, won, pnl_usd_e6 / 1_000_000, _time(since))


def _contract(one: Any) -> NoteContract:
    chain, address = one["chain"], one["address"]
    return NoteContract(chain, shown_address(chain, address), tuple(one["exchanges"]))


def _link(one: Any) -> NoteLink:
    return NoteLink(
        one["one"], one["other"], tuple(one["exchanges"]), one["is_weak"], one["is_refused"]
    )


def _venue(one: Any) -> NoteVenue:
    fields = (*one[:6], *map(_figure, one[6:8]), tuple(one[8]), *map(_figure, one[9:20]))
    return _of(NoteVenue, *fields, _time_or_none(one[20]))


def _network(one: Any) -> NoteNetwork:
    return _of(NoteNetwork, *one[:4], _time(one[4]), _time(one[5]), _figure(one[6]))


def _gap(one: Any) -> NoteGap:
    return _of(NoteGap, *one[:2], *map(_figure, one[2:4]), *one[4:7], _time(one[7]))


def _onchain(one: Any) -> NoteOnchain:
    return _of(NoteOnchain, one[0], *map(_figure, one[1:5]), _time(one[5]))


def _of(kind: Callable[..., T], *values: Any) -> T:
    """What the statement lists is in the order of the fields."""
    return kind(*values)


def _events(row: Any) -> tuple[NoteEvent, ...]:
    """The newest first."""
    found = [
        NoteEvent(f"{direction}_{_state(is_open)}", exchange, _time(at), chain)
        for direction, is_open, exchange, at, chain in row.transfers or ()
    ]
    found += [
        NoteEvent(kind, exchange, _time(at), *more)
        for kind, exchange, at, *more in (*(row.outcomes or ()), *(row.delistings or ()))
    ]
    return tuple(sorted(found, key=lambda one: one.at, reverse=True)[:MOST_EVENTS])


def _state(is_open: bool | None) -> str:
    return "unknown" if is_open is None else "opened" if is_open else "closed"


def _figure(value: Any) -> float | None:
    """JSON has no figure that is none: it comes as a text."""
    return value if isinstance(value, int | float) and isfinite(value) else None


def _time(value: str) -> datetime:
    return datetime.fromisoformat(value)


def _time_or_none(value: str | None) -> datetime | None:
    return None if value is None else _time(value)
