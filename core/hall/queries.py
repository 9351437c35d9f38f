"""All SQL of the Hall's own tables. Nothing here commits."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import BigInteger, Date, Row, and_, delete, func, literal, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.arrays import parts_of, table_of
from core.db.base import Uint256
from core.db.copying import NULL, bytes_cell, copy_lines, json_cell
from core.db.engine import WriteSession
from core.hall.rules.days import Day
from core.hall.rules.path import Path
from core.hall.rules.sums import WINDOWS, CountedDay, MandatePast, Sums, grown, weight_of
from core.hall.rules.wash import DayOfOwner, Washed, washed
from core.hall.tables import (
    TRADED,
    HallAgent,
    HallBuild,
    HallDay,
    HallDue,
    HallMandate,
    HallPast,
)

DAYS: Final = (
    "mandate_id",
    "day",
    "owner_id",
    "flow_usdc_e6",
    "result_usdc_e6",
    "capital_usdc_e6",
    "least_usdc_e6",
    "worth_usdc_e6",
    "growth",
    "high",
    "low",
    "kept",
    "trades",
    "sides",
    "said_trades",
    "said_result_usdc_e6",
    "said_fees_usdc_e6",
)
PASTS: Final = ("mandate_id", "day", "funded", "windows", "together", "worth_usdc_e6")
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


def drop_days(session: WriteSession, mandate_ids: Collection[int]) -> set[tuple[int, date]]:
    """Of mandates that are counted again from their first row; answers the days, (owner id, day),
    on which they had traded.
    """
    if not mandate_ids:
        return set()
    theirs = HallDay.mandate_id.in_(mandate_ids)
    traded = select(HallDay.owner_id, HallDay.day).where(theirs, text(TRADED))
    days = {(owner_id, day) for owner_id, day in session.execute(traded)}
    session.execute(delete(HallDay).where(theirs))
    session.execute(delete(HallPast).where(HallPast.mandate_id.in_(mandate_ids)))
    return days


def drop_days_at(session: WriteSession, days: Mapping[int, date]) -> None:
    """Of each mandate that day."""
    if days:
        asked = table_of("asked", {"id": (BigInteger, [*days]), "day": (Date, [*days.values()])})
        ours = and_(HallDay.mandate_id == asked.c.id, HallDay.day == asked.c.day)
        session.execute(delete(HallDay).where(ours).execution_options(synchronize_session=False))


def add_days(session: WriteSession, days: Sequence[tuple[int, int, Day]]) -> None:
    """(mandate id, owner id, day); none of them is there."""
    copy_lines(session, "hall_day", DAYS, (_line(*one) for one in days))
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


def _line(mandate_id: int, owner_id: int, day: Day) -> str:
    path = day.path
    return "\t".join(
        (
            str(mandate_id),
            day.day.isoformat(),
            str(owner_id),
            str(day.flow_usdc_e6),
            str(day.result_usdc_e6),
            str(day.capital_usdc_e6),
            str(day.least_usdc_e6),
            str(day.worth_usdc_e6),
            str(path.growth),
            str(path.high),
            str(path.low),
            str(path.kept),
            str(day.trades),
            json_cell(json.dumps(day.sides)) if day.sides else NULL,
            str(day.said_trades),
            str(day.said_result_usdc_e6),
            str(day.said_fees_usdc_e6),
        )
    )


def day_of(row: HallDay | Row[Any]) -> Day:
    return Day(
        day=row.day,
        flow_usdc_e6=row.flow_usdc_e6,
        result_usdc_e6=row.result_usdc_e6,
        capital_usdc_e6=row.capital_usdc_e6,
        least_usdc_e6=row.least_usdc_e6,
        worth_usdc_e6=row.worth_usdc_e6,
        path=Path(row.growth, row.high, row.low, row.kept),
        trades=row.trades,
        sides=row.sides or {},
        said_trades=row.said_trades,
        said_result_usdc_e6=row.said_result_usdc_e6,
        said_fees_usdc_e6=row.said_fees_usdc_e6,
    )


def days_at(session: Session, days: Mapping[int, date]) -> dict[int, Day]:
    """Of each mandate that day."""
    if not days:
        return {}
    asked = table_of("asked", {"id": (BigInteger, [*days]), "day": (Date, [*days.values()])})
    ours = and_(HallDay.mandate_id == asked.c.id, HallDay.day == asked.c.day)
    rows = session.execute(select(HallDay.__table__).join(asked, ours))
    return {row.mandate_id: day_of(row) for row in rows}


def days_of(session: Session, first: Mapping[int, date]) -> dict[int, list[CountedDay]]:
    """By mandate what counts of its days, from that one on (inclusive), rising."""
    asked = table_of("asked", {"id": (BigInteger, [*first]), "first": (Date, [*first.values()])})
    ours = and_(asked.c.id == HallDay.mandate_id, HallDay.day >= asked.c.first)
    query = (
        select(HallDay.mandate_id, HallDay.day, func.concat_ws(" ", *_COUNTED))
        .join(asked, ours)
        .order_by(HallDay.mandate_id, HallDay.day)
    )
    found: dict[int, list[CountedDay]] = {mandate_id: [] for mandate_id in first}
    for mandate_id, day, figures in session.execute(query).all():
        result, off, trades, capital, least, worth, growth, high, low, kept, *said = map(
            int, figures.split()
        )
        weight = weight_of(result, growth, least, capital)
        path = growth, high, low, kept
        one = CountedDay(
            day, result - off, trades, weight, worth, grown(weight, growth, off), path, *said
        )
        found[mandate_id].append(one)
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


def wash(session: WriteSession, days: Collection[tuple[int, date]]) -> set[int]:
    """Judge these days, (owner id, day), for trades of the owner with itself; the mandates of which
    something counts otherwise now.
    """
    changed = list[tuple[int, date, Washed]]()
    for some in parts_of(sorted(days), AGENTS_AT_A_TIME):
        for (_, day), rows in _of_owners(session, some).items():
            found = washed(
                DayOfOwner(row.mandate_id, int(row.result_usdc_e6), row.sides) for row in rows
            )
            for row in rows:
                off = found.get(row.mandate_id, Washed())
                if off != Washed(row.washed_trades, int(row.washed_result_usdc_e6)):
                    changed.append((row.mandate_id, day, off))
    _save_washed(session, changed)
    return {mandate_id for mandate_id, _, _ in changed}


def _of_owners(
    session: Session, days: Sequence[tuple[int, date]]
) -> dict[tuple[int, date], list[Any]]:
    """Days with trades of these owners' mandates; those of one alone are left out, unless it had
    company.
    """
    asked = table_of(
        "asked",
        {
            "owner_id": (BigInteger, [owner_id for owner_id, _ in days]),
            "day": (Date, [day for _, day in days]),
        },
    )
    ours = and_(HallDay.owner_id == asked.c.owner_id, HallDay.day == asked.c.day)
    together = func.count().over(partition_by=(HallDay.owner_id, HallDay.day)).label("together")
    traded = (
        select(
            HallDay.mandate_id,
            HallDay.owner_id,
            HallDay.day,
            HallDay.result_usdc_e6,
            HallDay.sides,
            HallDay.washed_trades,
            HallDay.washed_result_usdc_e6,
            together,
        )
        .join(asked, ours)
        .where(text(TRADED))
        .subquery()
    )
    found = dict[tuple[int, date], list[Any]]()
    query = select(traded).where(or_(traded.c.together > 1, traded.c.washed_trades > 0))
    for row in session.execute(query).all():
        found.setdefault((row.owner_id, row.day), []).append(row)
    return found


def _save_washed(session: WriteSession, changed: Sequence[tuple[int, date, Washed]]) -> None:
    if not changed:
        return
    new = table_of(
        "new",
        {
            "id": (BigInteger, [mandate_id for mandate_id, _, _ in changed]),
            "day": (Date, [day for _, day, _ in changed]),
            "trades": (BigInteger, [off.trades for _, _, off in changed]),
            "result": (Uint256, [off.result_usdc_e6 for _, _, off in changed]),
        },
    )
    session.execute(
        update(HallDay)
        .where(HallDay.mandate_id == new.c.id, HallDay.day == new.c.day)
        .values(washed_trades=new.c.trades, washed_result_usdc_e6=new.c.result)
        .execution_options(synchronize_session=False)
    )
    _drop_pasts(session, [(mandate_id, day) for mandate_id, day, _ in changed])


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
    copy_lines(session, "hall_past", PASTS, (_past_line(one, day) for one in pasts))


def _past_line(kept: KeptPast, day: date) -> str:
    past = kept.past
    return "\t".join(
        (
            str(kept.mandate_id),
            day.isoformat(),
            bytes_cell(kept.funded),
            json.dumps([past.windows[name] for name in WINDOWS]),
            json.dumps([kept.together[name] for name in WINDOWS]),
            str(past.worth),
        )
    )


# Agents


def add_due(session: WriteSession, agent_ids: Iterable[int]) -> None:
    for some in parts_of(sorted(set(agent_ids)), AGENTS_AT_A_TIME):
        asked = table_of("asked", {"agent_id": (BigInteger, some)})
        session.execute(
            insert(HallDue)
            .from_select(["agent_id"], select(asked.c.agent_id))
            .on_conflict_do_nothing()
        )


def all_due(session: WriteSession) -> None:
    """Every agent that has had a mandate or shows a record, perhaps of a wallet that it has no more:
    a day began.
    """
    shown = select(HallAgent.agent_id).where(HallAgent.record.is_not(None))
    session.execute(
        insert(HallDue)
        .from_select(["agent_id"], select(HallMandate.agent_id).union(shown))
        .on_conflict_do_nothing()
    )


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
