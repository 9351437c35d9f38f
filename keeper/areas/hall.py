"""The slow job `hall`: brings the Hall up to the ledgers (docs/hall.md#the-build).

    ledgers with new rows --> days of mandates --> trades of an owner with itself --> figures of agents --> ranks --> computed_at

Laws
- What is read grows with the rows since the last build. A ledger is counted again from its first
  row only when one of its rows was reversed. At the first build of a UTC day every record is
  summed again, since windows end with the day; what the days before it make is kept until it is
  over (hall_past), unless one of them changes.
- Ids of rows are taken before rows are committed: each build looks OVERLAP ids back, and the first
  of a day compares all heads.
- Each transaction leaves what the next build goes on from; a build that is cut short has said no
  `computed_at`.
- A ledger that cannot be counted is its own trouble: its agent's record is incomplete, and the
  others are built.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

from core.db.arrays import parts_of
from core.db.engine import Database, WriteSession
from core.errors import MandateError, text_of
from core.hall import queries, views
from core.hall.records import figures_of, groups_of
from core.hall.rules.days import Day, Days, MandateStanding, standing_of
from core.hall.views import GrownMandate
from core.mandate.rules.rows import NewRow, is_told_by_agent
from keeper.schedule import Job, JobPlace

NAME: Final = "hall"
EVERY_S: Final = 120
OVERLAP: Final = 10_000
MANDATES_AT_A_TIME: Final = 1_000
ROWS_AT_A_TIME: Final = 30_000  # of all ledgers in one transaction
AGENTS_AT_A_TIME: Final = 200
TROUBLE_CHARACTERS: Final = 200
# what terms and payloads of another shape raise
UNREADABLE: Final = (MandateError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError)

log = structlog.get_logger("keeper")


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job(NAME, EVERY_S, HallJob(place.database, place.fence).run),)


class HallJob:
    """Give `run` to a Job. `fence`: of the leader's epoch, called first in each transaction."""

    def __init__(self, database: Database, fence: Callable[[Session], None]) -> None:
        self._database = database
        self._fence = fence

    def run(self, now: datetime) -> Mapping[str, Any]:
        """How many ledgers had grown, and how many agents were summed. Errors: the database's."""
        with self._database.read() as session:
            last = queries.build_of(session)
            event_id, account_id = views.newest_event(session), views.newest_account(session)
            is_new_day = last is None or last.day != now.date()
            candidates = (
                None
                if last is None or is_new_day
                else views.written_after(session, last.event_id - OVERLAP)
            )
            grown = views.grown_among(session, candidates)
        for some in parts_of(grown, MANDATES_AT_A_TIME):
            self._grow(list(some))
        self._find_due(is_new_day, None if last is None else last.computed_at)
        after_id = 0 if last is None or is_new_day else last.account_id - OVERLAP
        agents = self._sum(now.date(), after_id)
        with self._database.write() as session:
            self._fence(session)
            queries.rank(session)
            queries.note_build(
                session, event_id=event_id, account_id=account_id, day=now.date(), now=now
            )
        return {"ledgers": len(grown), "agents": agents}

    def _grow(self, mandate_ids: Sequence[int]) -> None:
        """Count the new rows of some ledgers; a long one in several transactions."""
        left: Sequence[int] = mandate_ids
        while left:
            with self._database.write() as session:
                self._fence(session)
                counted = _within(views.grown(session, left))
                _count_rows(session, counted)
                _save(session, counted)
            done = {one.mandate.id for one in counted if one.is_done}
            left = [mandate_id for mandate_id in left if mandate_id not in done]

    def _find_due(self, is_new_day: bool, since: datetime | None) -> None:
        with self._database.write() as session:
            self._fence(session)
            held = views.held_otherwise(session)
            queries.flip_held(session, held)
            queries.add_due(session, queries.agents_of(session, held))
            if is_new_day:
                queries.all_due(session)
            elif since is not None:
                linked = views.linked_since(session, since - timedelta(seconds=EVERY_S))
                queries.add_due(session, linked)

    def _sum(self, today: date, after_id: int) -> int:
        """Figures of the agents that are due, and rows of new ones; how many."""
        summed = 0
        while True:
            with self._database.write() as session:
                self._fence(session)
                due = queries.due(session, AGENTS_AT_A_TIME)
                found = figures_of(session, groups_of(session, due), today)
                queries.save_pasts(session, found.pasts, today)
                queries.save_agents(session, found.figures)
            summed += len(found.figures)
            if not due:
                break
        with self._database.read() as session:
            new = views.new_agents(session, after_id)
        for some in parts_of(new, queries.AGENTS_AT_A_TIME):
            with self._database.write() as session:
                self._fence(session)
                queries.add_agents(session, some)
        return summed + len(new)


class _Count:
    """The counting of one mandate's new rows: all of them, or from the first on."""

    def __init__(self, grown: GrownMandate, rows: int) -> None:
        """`rows`: how many at most."""
        self.grown, self.mandate = grown, grown.mandate
        standing = None if grown.is_reversed else _standing(grown)
        self.is_new = standing is None
        self.standing = standing or MandateStanding()
        self.after = 0 if self.is_new else grown.seq
        self.until = min(grown.head_seq, self.after + rows)
        self.last_day = self.standing.last_day
        self.trouble: str | None = None
        self._wallet: bytes | None = None
        self._counted: Days | None = None

    @property
    def is_done(self) -> bool:
        return self.until == self.grown.head_seq or self.trouble is not None

    @property
    def days(self) -> list[Day]:
        """Those that rows touched; of a ledger in trouble none."""
        is_sound = self._counted is not None and self.trouble is None
        return list(self._counted.changed.values()) if self._counted and is_sound else []

    def begin(self, known: Day | None) -> None:
        """`known`: the day that the standing ended with, as it was kept."""
        try:
            self._wallet = views.wallet_of(self.mandate)
            self._counted = Days(views.told_of(self.mandate), self.standing, known)
        except UNREADABLE as error:
            self._give_up(error)

    def add(self, row: NewRow) -> None:
        if self._counted is None or self.trouble or self._is_left_out(row):
            return
        try:
            self._counted.add(row)
        except UNREADABLE as error:
            self._give_up(error)

    def _is_left_out(self, row: NewRow) -> bool:
        """On paper nothing bears out what anybody says."""
        return self.grown.is_paper and not is_told_by_agent(row)

    def _give_up(self, error: Exception) -> None:
        """Whatever terms or a row hold, it is their own ledger's trouble."""
        self.trouble = text_of(error, TROUBLE_CHARACTERS) or type(error).__name__
        log.warning("ledger not counted", mandate=self.mandate.public_id, error=self.trouble)

    def columns(self) -> dict[str, Any]:
        return {
            "mandate_id": self.mandate.id,
            "agent_id": self.mandate.agent_id,
            "owner_id": self.mandate.owner_id,
            "wallet": self._wallet,
            "is_paper": self.grown.is_paper,
            "is_held": False,  # what is held is asked when all ledgers are counted
            "seq": self.grown.head_seq if self.trouble else self.until,
            "head_seq": self.grown.head_seq,
            # without a standing it is counted from the first row when it grows
            "standing": {} if self.trouble else self.standing.as_json(),
            "violations": self.grown.violations,
            "trouble": self.trouble,
        }


def _within(grown: Sequence[GrownMandate]) -> list[_Count]:
    """The first of these whose rows one transaction counts; the last one perhaps in part."""
    counted, room = list[_Count](), ROWS_AT_A_TIME
    for one in grown:
        if room <= 0:
            break
        counted.append(_Count(one, room))
        room -= counted[-1].until - counted[-1].after
    return counted


def _standing(grown: GrownMandate) -> MandateStanding | None:
    """None: it is counted from the first row."""
    try:
        return None if grown.standing is None else standing_of(grown.standing)
    except KeyError:
        return None


def _count_rows(session: Session, counted: Sequence[_Count]) -> None:
    by_id = {one.mandate.id: one for one in counted}
    kept = {id_: one.last_day for id_, one in by_id.items() if one.last_day is not None}
    days = queries.days_at(session, kept)
    for mandate_id, one in by_id.items():
        one.begin(days.get(mandate_id))
    bounds = {mandate_id: (one.after, one.until) for mandate_id, one in by_id.items()}
    for mandate_id, row in views.rows_after(session, bounds):
        by_id[mandate_id].add(row)


def _save(session: WriteSession, counted: Sequence[_Count]) -> None:
    """Days and standings; whose figures are behind them is due."""
    again = [one.mandate.id for one in counted if one.is_new]
    traded = queries.drop_days(session, again)  # others were judged by what is gone, perhaps
    days = [(one.mandate, day) for one in counted for day in one.days]
    grown = {
        one.mandate.id: one.last_day
        for one in counted
        if one.last_day is not None and any(day.day == one.last_day for day in one.days)
    }
    queries.drop_days_at(session, grown)
    queries.add_days(session, [(of.id, of.owner_id, day) for of, day in days])
    queries.save_mandates(session, [one.columns() for one in counted])
    traded |= {(of.owner_id, day.day) for of, day in days if day.trades}
    washed = queries.wash(session, traded)
    mandates = {one.mandate.id for one in counted} | washed
    queries.add_due(session, queries.agents_of(session, mandates))
