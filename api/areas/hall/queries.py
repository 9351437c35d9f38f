"""All SQL of the Hall's own tables. Nothing here commits."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Date,
    Row,
    and_,
    delete,
    exists,
    func,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from api.areas.hall.rules.days import Day
from api.areas.hall.rules.path import Path
from api.areas.hall.rules.sums import WINDOWS, CountedDay, MandatePast, Sums, grown, weight_of
from api.areas.hall.rules.wash import TradedDay, Washed
from api.areas.hall.tables import (
    TRADED,
    HallAgent,
    HallBuild,
    HallDay,
    HallDue,
    HallMandate,
    HallPast,
)
from core.db.arrays import parts_of, table_of
from core.db.base import Uint256
from core.db.engine import WriteSession

AGENTS_AT_A_TIME: Final = 5_000


def build_of(session: Session) -> HallBuild | None:
    """The last build that came to its end; None: there was none."""
    return session.get(HallBuild, 1)


def computed_at(session: Session) -> datetime | None:
    """Of that build."""
    return session.scalar(select(HallBuild.computed_at))


def note_build(
    session: WriteSession, *, event_id: int, account_id: int, day: date, now: datetime
) -> None:
    values = {"event_id": event_id, "account_id": account_id, "day": day, "computed_at": now}
    session.execute(
        insert(HallBuild)
        .values(id=1, **values)
        .on_conflict_do_update(index_elements=[HallBuild.id], set_=values)
    )


# Mandates and their days


def save_mandates(session: WriteSession, rows: Sequence[Mapping[str, Any]]) -> None:
    """Where mandates stand; all columns of each."""
    if not rows:
        return
    statement = insert(HallMandate)
    changed = {name: statement.excluded[name] for name in rows[0] if name != "mandate_id"}
    session.execute(
        statement.on_conflict_do_update(index_elements=[HallMandate.mandate_id], set_=changed),
        rows,
    )


def days_traded(session: Session, mandate_ids: Collection[int]) -> set[tuple[int, date]]:
    """(owner id, day) of the days on which one of these mandates traded."""
    if not mandate_ids:
        return set()
    traded = select(HallDay.owner_id, HallDay.day).where(HallDay.mandate_id.in_(mandate_ids))
    return {(owner_id, day) for owner_id, day in session.execute(traded.where(text(TRADED)))}


def drop_days(session: WriteSession, mandate_ids: Collection[int]) -> None:
    """Of mandates that are counted again from their first row."""
    if mandate_ids:
        session.execute(delete(HallDay).where(HallDay.mandate_id.in_(mandate_ids)))
        session.execute(delete(HallPast).where(HallPast.mandate_id.in_(mandate_ids)))


def drop_days_at(session: WriteSession, days: Mapping[int, date]) -> None:
    """Of each mandate that day."""
    if days:
        asked = table_of("asked", {"id": (BigInteger, [*days]), "day": (Date, [*days.values()])})
        ours = and_(HallDay.mandate_id == asked.c.id, HallDay.day == asked.c.day)
        session.execute(delete(HallDay).where(ours).execution_options(synchronize_session=False))


def add_days(session: WriteSession, days: Sequence[tuple[int, int, Day]]) -> None:
    """(mandate id, owner id, day); none of them is there."""
    if not days:
        return
    session.execute(insert(HallDay), [_row_of(*one) for one in days])
    _drop_pasts(session, [(mandate_id, day.day) for mandate_id, _, day in days])


def _drop_pasts(session: WriteSession, changed: Sequence[tuple[int, date]]) -> None:
    """Those that have one of these days, (mandate id, day)."""
    if not changed:
        return
    asked = table_of(
        "asked",
        {
            "id": (BigInteger, [mandate_id for mandate_id, _ in changed]),
            "day": (Date, [day for _, day in changed]),
        },
    )
    has_it = and_(HallPast.mandate_id == asked.c.id, HallPast.day > asked.c.day)
    session.execute(delete(HallPast).where(has_it).execution_options(synchronize_session=False))


_AS_THEY_ARE: Final = [one.name for one in fields(Day) if one.name not in ("path", "sides")]


def _row_of(mandate_id: int, owner_id: int, day: Day) -> dict[str, Any]:
    kept = {name: getattr(day, name) for name in _AS_THEY_ARE}
    ids = {"mandate_id": mandate_id, "owner_id": owner_id}
    return ids | kept | day.path._asdict() | {"sides": day.sides or None}


def day_of(row: HallDay | Row[Any]) -> Day:
    kept = {name: getattr(row, name) for name in _AS_THEY_ARE}
    path = Path(row.growth, row.high, row.low, row.kept)
    return Day(path=path, sides=row.sides or {}, **kept)


def days_at(session: Session, days: Mapping[int, date]) -> dict[int, Day]:
    """Of each mandate that day."""
    if not days:
        return {}
    asked = table_of("asked", {"id": (BigInteger, [*days]), "day": (Date, [*days.values()])})
    ours = and_(HallDay.mandate_id == asked.c.id, HallDay.day == asked.c.day)
    rows = session.execute(select(HallDay.__table__).join(asked, ours))
    return {row.mandate_id: day_of(row) for row in rows}


def days_of(session: Session, first: Mapping[int, date]) -> Sequence[Row[Any]]:
    """What counts of each mandate's days, from that one on (inclusive), rising; as `counted_days`
    reads it.
    """
    asked = table_of("asked", {"id": (BigInteger, [*first]), "first": (Date, [*first.values()])})
    ours = and_(asked.c.id == HallDay.mandate_id, HallDay.day >= asked.c.first)
    query = (
        select(HallDay.mandate_id, HallDay.day, func.concat_ws(" ", *_COUNTED))
        .join(asked, ours)
        .order_by(HallDay.mandate_id, HallDay.day)
    )
    return session.execute(query).all()


def counted_days(rows: Iterable[Any]) -> dict[int, list[CountedDay]]:
    """By mandate; without those that have none."""
    found = dict[int, list[CountedDay]]()
    for mandate_id, day, figures in rows:
        result, off, trades, capital, least, worth, growth, high, low, kept, *reported = map(
            int, figures.split()
        )
        weight = weight_of(result, growth, least, capital)
        path = growth, high, low, kept
        one = CountedDay(
            day, result - off, trades, weight, worth, grown(weight, growth, off), path, *reported
        )
        found.setdefault(mandate_id, []).append(one)
    return found


# As one text: a numeric of its own takes a microsecond each, and there may be a million days.
_COUNTED: Final = (
    HallDay.result_usdc_e6,
    HallDay.washed_result_usdc_e6,
    HallDay.trades - HallDay.washed_trades,
    HallDay.capital_usdc_e6,
    HallDay.least_usdc_e6,
    HallDay.worth_usdc_e6,
    HallDay.growth,
    HallDay.high,
    HallDay.low,
    HallDay.kept,
    HallDay.said_trades,
    HallDay.said_result_usdc_e6,
    HallDay.said_fees_usdc_e6,
)


def traded_on(
    session: Session, days: Sequence[tuple[int, date]]
) -> dict[tuple[int, date], list[TradedDay]]:
    """By owner and day, of these, the days of all the owner's mandates that traded."""
    asked = table_of(
        "asked",
        {
            "owner_id": (BigInteger, [owner_id for owner_id, _ in days]),
            "day": (Date, [day for _, day in days]),
        },
    )
    ours = and_(HallDay.owner_id == asked.c.owner_id, HallDay.day == asked.c.day)
    query = select(
        HallDay.owner_id,
        HallDay.mandate_id,
        HallDay.day,
        HallDay.result_usdc_e6,
        HallDay.sides,
        HallDay.washed_trades,
        HallDay.washed_result_usdc_e6,
    )
    found = dict[tuple[int, date], list[TradedDay]]()
    rows = session.execute(query.join(asked, ours).where(text(TRADED))).all()
    for owner_id, mandate_id, day, result, sides, trades, off in rows:
        one = TradedDay(mandate_id, day, int(result), sides, Washed(trades, int(off)))
        found.setdefault((owner_id, day), []).append(one)
    return found


def save_washed(session: WriteSession, changed: Sequence[tuple[TradedDay, Washed]]) -> None:
    if not changed:
        return
    new = table_of(
        "new",
        {
            "id": (BigInteger, [one.mandate_id for one, _ in changed]),
            "day": (Date, [one.day for one, _ in changed]),
            "trades": (BigInteger, [off.trades for _, off in changed]),
            "result": (Uint256, [off.result_usdc_e6 for _, off in changed]),
        },
    )
    session.execute(
        update(HallDay)
        .where(HallDay.mandate_id == new.c.id, HallDay.day == new.c.day)
        .values(washed_trades=new.c.trades, washed_result_usdc_e6=new.c.result)
        .execution_options(synchronize_session=False)
    )
    _drop_pasts(session, [(one.mandate_id, one.day) for one, _ in changed])


# What days before today make


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPast:
    """As in HallPast."""

    mandate_id: int
    funded: bytes
    past: MandatePast
    together: Mapping[str, Path]


def pasts_at(session: Session, mandate_ids: Collection[int], day: date) -> dict[int, KeptPast]:
    """Of those of these mandates that have one of that day."""
    asked = table_of("asked", {"id": (BigInteger, [*mandate_ids])})
    query = (
        select(HallPast.__table__)
        .join(asked, asked.c.id == HallPast.mandate_id)
        .where(HallPast.day == day)
    )
    return {row.mandate_id: _past_of(row) for row in session.execute(query)}


def _past_of(row: Row[Any]) -> KeptPast:
    windows = (Sums._make((*counts, Path(*path))) for *counts, path in row.windows)
    return KeptPast(
        mandate_id=row.mandate_id,
        funded=row.funded,
        past=MandatePast(dict(zip(WINDOWS, windows, strict=True)), row.worth_usdc_e6),
        together=dict(zip(WINDOWS, (Path(*path) for path in row.together), strict=True)),
    )


def save_pasts(session: WriteSession, pasts: Sequence[KeptPast], day: date) -> None:
    """In place of those that these mandates have."""
    ids = [one.mandate_id for one in pasts]
    session.execute(
        delete(HallPast)
        .where(HallPast.mandate_id.in_(ids))
        .execution_options(synchronize_session=False)
    )
    rows = [
        {
            "mandate_id": one.mandate_id,
            "day": day,
            "funded": one.funded,
            "windows": [one.past.windows[name] for name in WINDOWS],
            "together": [one.together[name] for name in WINDOWS],
            "worth_usdc_e6": one.past.worth,
        }
        for one in pasts
    ]
    if rows:
        session.execute(insert(HallPast), rows)


# Agents


def add_due(session: WriteSession, agent_ids: Iterable[int]) -> None:
    for some in parts_of(sorted(set(agent_ids)), AGENTS_AT_A_TIME):
        asked = table_of("asked", {"agent_id": (BigInteger, some)})
        session.execute(
            insert(HallDue)
            .from_select(["agent_id"], select(asked.c.agent_id))
            .on_conflict_do_nothing()
        )


def all_due(session: WriteSession, today: date) -> None:
    """Every agent that was not summed yet today, of those that have had a mandate or show a record,
    perhaps of a wallet that they have no more: a day began. A mandate's past of today says that its
    agent was.
    """
    summed = exists().where(HallPast.mandate_id == HallMandate.mandate_id, HallPast.day == today)
    has_mandates = exists().where(HallMandate.agent_id == HallAgent.agent_id)
    shown = select(HallAgent.agent_id).where(HallAgent.record.is_not(None), ~has_mandates)
    session.execute(
        insert(HallDue)
        .from_select(["agent_id"], select(HallMandate.agent_id).where(~summed).union(shown))
        .on_conflict_do_nothing()
    )


def count_due(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(HallDue)) or 0


def due(session: Session, limit: int) -> list[int]:
    return list(session.scalars(select(HallDue.agent_id).order_by(HallDue.agent_id).limit(limit)))


def agents_of(session: Session, mandate_ids: Collection[int]) -> set[int]:
    if not mandate_ids:
        return set()
    asked = table_of("asked", {"id": (BigInteger, [*mandate_ids])})
    query = select(HallMandate.agent_id).join(asked, asked.c.id == HallMandate.mandate_id)
    return set(session.scalars(query))


def flip_held(session: WriteSession, mandate_ids: Sequence[int]) -> None:
    if mandate_ids:
        session.execute(
            update(HallMandate)
            .where(HallMandate.mandate_id.in_(mandate_ids))
            .values(is_held=~HallMandate.is_held)
            .execution_options(synchronize_session=False)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFigures:
    """A row of the Hall but for its rank."""

    agent_id: int
    is_listed: bool
    ranked: bool
    days_live: int
    trades: int
    sorts: list[int | None] | None
    record: dict[str, Any] | None
    as_of: datetime | None


def save_agents(session: WriteSession, agents: Sequence[AgentFigures]) -> None:
    """Write them; they are due no more."""
    if not agents:
        return
    statement = insert(HallAgent)
    names = [name for name in AgentFigures.__slots__ if name != "agent_id"]
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[HallAgent.agent_id],
            set_={name: statement.excluded[name] for name in names} | {"rank": None},
        ),
        [{name: getattr(one, name) for name in AgentFigures.__slots__} for one in agents],
    )
    session.execute(
        delete(HallDue)
        .where(HallDue.agent_id.in_([one.agent_id for one in agents]))
        .execution_options(synchronize_session=False)
    )


def add_agents(session: WriteSession, agent_ids: Sequence[int]) -> None:
    """Rows of agents that have never had a mandate."""
    asked = table_of("asked", {"agent_id": (BigInteger, agent_ids)})
    never = {"is_listed": True, "ranked": False, "days_live": 0, "trades": 0}
    columns = [asked.c.agent_id, *(literal(value) for value in never.values())]
    session.execute(
        insert(HallAgent)
        .from_select(["agent_id", *never], select(*columns))
        .on_conflict_do_nothing()
    )


def rank(session: WriteSession) -> None:
    """Number the ranked agents by days live, equal ones by id; those whose place is another."""
    place = func.row_number().over(order_by=(HallAgent.days_live.desc(), HallAgent.agent_id))
    ranked = (
        select(HallAgent.agent_id, place.label("place"))
        .where(HallAgent.is_listed, HallAgent.ranked)
        .subquery()
    )
    session.execute(
        update(HallAgent)
        .where(HallAgent.agent_id == ranked.c.agent_id)
        .where(HallAgent.rank.is_distinct_from(ranked.c.place))
        .values(rank=ranked.c.place)
        .execution_options(synchronize_session=False)
    )


def standings_of(session: Session, agent_ids: Collection[int]) -> Sequence[Any]:
    """(agent_id, ranked, rank, days_live, trades) of these agents."""
    asked = table_of("asked", {"agent_id": (BigInteger, [*agent_ids])})
    columns = (
        HallAgent.agent_id,
        HallAgent.ranked,
        HallAgent.rank,
        HallAgent.days_live,
        HallAgent.trades,
    )
    query = select(*columns).join(asked, asked.c.agent_id == HallAgent.agent_id)
    return session.execute(query).all()
