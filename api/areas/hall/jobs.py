"""The slow job `hall`: brings the Hall up to the ledgers (docs/hall.md#the-build).

    ledgers with new rows --> days of mandates --> trades of an owner with itself --> figures of agents --> ranks --> computed_at

Laws
- What is read grows with the rows since the last build. A ledger is counted again from its first
  row only when one of its rows was reversed. At the first build of a UTC day every record is
  summed again, since windows end with the day; what the days before it make is kept until it is
  over (hall_past), unless one of them changes.
- Ids of rows are taken before rows are committed: each build looks OVERLAP ids back, and the first
  of a day compares all heads.
- Each transaction leaves what the next run goes on from. A run ends after RUN_S, and says how much is
  left; `computed_at` is said by the run that leaves nothing.
- Nothing is computed inside a transaction: only this job writes the Hall, so that what it read is so
  until it writes.
- A ledger that cannot be counted is its own trouble: its agent's record is incomplete, and the
  others are built.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

import structlog

from api.areas.hall import queries
from api.areas.hall.rules.days import Day, Days, MandateStanding, standing_of
from api.areas.hall.rules.wash import TradedDay, Washed, judged_anew
from api.areas.hall.views import sources
from api.areas.hall.views.records import WalletGroup, days_of, figures_of, groups_of
from api.areas.hall.views.sources import GrownMandate
from api.kernel.jobs import AreaJob
from core.db.arrays import parts_of
from core.db.engine import WriteSession
from core.errors import MandateError, text_of
from core.jobs.schedule import JobDatabase, RunTime
from core.mandate.rules.rows import NewRow, is_agent_report

NAME: Final = "hall"
EVERY_S: Final = 120
LIMIT_S: Final = 600
OVERLAP: Final = 10_000
MANDATES_AT_A_TIME: Final = 1_000
ROWS_AT_A_TIME: Final = 30_000  # of all ledgers in one transaction, whether counted or summed
RUN_S: Final = 90.0
AGENTS_AT_A_TIME: Final = 200
OWNER_DAYS_AT_A_TIME: Final = 5_000
TROUBLE_CHARACTERS: Final = 200
# what terms and payloads of another shape raise
UNREADABLE: Final = (MandateError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError)

log = structlog.get_logger("worker")


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

    def traded(self, day: Day) -> TradedDay:
        """One of `days`, of which nothing was judged yet."""
        return TradedDay(self.mandate.id, day.day, day.result_usdc_e6, day.sides)

    def begin(self, known: Day | None) -> None:
        """`known`: the day that the standing ended with, as it was kept."""
        try:
            self._wallet = sources.wallet_of(self.mandate)
            self._counted = Days(sources.terms_of(self.mandate), self.standing, known)
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
        return self.grown.is_paper and not is_agent_report(row)

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


class HallJob:
    """One build."""

    def __init__(self, database: JobDatabase, run_s: float = RUN_S) -> None:
        self._database = database
        self._run_s = run_s

    def run(self, now: datetime) -> Mapping[str, Any]:
        """How many ledgers were counted up to their ends, how many agents were summed, and how much of
        either is left to the next run. Errors: the database's.
        """
        run = RunTime(self._run_s)
        with self._database.read() as session:
            last = queries.build_of(session)
            event_id, account_id = sources.newest_event(session), sources.newest_account(session)
            is_new_day = last is None or last.day != now.date()
            candidates = (
                None
                if last is None or is_new_day
                else sources.written_after(session, last.event_id - OVERLAP)
            )
            grown = sources.grown_among(session, candidates)
        left = self._grow(grown, run)
        if left:
            return {"ledgers": len(grown) - left, "agents": 0, "left": left}
        self._find_due(now, None if last is None else last.computed_at, is_new_day=is_new_day)
        agents = self._sum(now.date(), run)
        with self._database.read() as session:
            left = queries.count_due(session)
        if left:
            return {"ledgers": len(grown), "agents": agents, "left": left}
        agents += self._add_new(0 if last is None or is_new_day else last.account_id - OVERLAP)
        with self._database.write() as session:
            queries.rank(session)
            queries.note_build(
                session, event_id=event_id, account_id=account_id, day=now.date(), now=now
            )
        return {"ledgers": len(grown), "agents": agents, "left": 0}

    def _grow(self, mandate_ids: Sequence[int], run: RunTime) -> int:
        """Count the new rows of these ledgers, a long one in several parts; how many are left."""
        left = mandate_ids
        while left:
            some = left[:MANDATES_AT_A_TIME]
            done = self._count(some)
            left = [*(one for one in some if one not in done), *left[MANDATES_AT_A_TIME:]]
            if run.is_over:
                break
        return len(left)

    def _count(self, mandate_ids: Sequence[int]) -> set[int]:
        """Count the first of these ledgers' rows; the ledgers that are counted up to their ends."""
        with self._database.read() as session:
            counted = _within(sources.grown(session, mandate_ids))
            by_id = {one.mandate.id: one for one in counted}
            kept = {id_: one.last_day for id_, one in by_id.items() if one.last_day is not None}
            days = queries.days_at(session, kept)
            bounds = {mandate_id: (one.after, one.until) for mandate_id, one in by_id.items()}
            rows = sources.rows_after(session, bounds)
            # others were judged by what is counted again, perhaps
            traded = queries.days_traded(session, [id_ for id_, one in by_id.items() if one.is_new])
        for mandate_id, one in by_id.items():
            one.begin(days.get(mandate_id))
        for mandate_id, row in rows:
            by_id[mandate_id].add(row)
        washed = self._washed(counted, traded)
        with self._database.write() as session:
            _save(session, counted, washed)
        return {one.mandate.id for one in counted if one.is_done}

    def _washed(
        self, counted: Sequence[_Count], traded: set[tuple[int, date]]
    ) -> list[tuple[TradedDay, Washed]]:
        """What is to be saved of trades of owners with themselves, after these rows: of `traded`,
        (owner id, day), and of the days that they touched.
        """
        again = {one.mandate.id for one in counted if one.is_new}
        fresh = defaultdict[tuple[int, date], list[TradedDay]](list)
        for one in counted:
            for day in one.days:
                if day.trades:
                    fresh[one.mandate.owner_id, day.day].append(one.traded(day))
        found = list[tuple[TradedDay, Washed]]()
        for some in parts_of(sorted(traded | set(fresh)), OWNER_DAYS_AT_A_TIME):
            with self._database.read() as session:
                stored = queries.traded_on(session, some)
            for key in some:
                new = fresh.get(key, [])
                gone = again | {one.mandate_id for one in new}
                old = [one for one in stored.get(key, ()) if one.mandate_id not in gone]
                found += judged_anew([*old, *new])
        return found

    def _find_due(self, now: datetime, since: datetime | None, *, is_new_day: bool) -> None:
        with self._database.write() as session:
            held = sources.held_otherwise(session)
            queries.flip_held(session, held)
            queries.add_due(session, queries.agents_of(session, held))
            if is_new_day:
                queries.all_due(session, now.date())
            if since is not None:
                linked = sources.linked_since(session, since - timedelta(seconds=EVERY_S))
                queries.add_due(session, linked)

    def _sum(self, today: date, run: RunTime) -> int:
        """Figures of the agents that are due; how many."""
        summed = 0
        while True:
            with self._database.read() as session:
                groups = groups_of(session, queries.due(session, AGENTS_AT_A_TIME))
            for some in _parts(groups):
                summed += self._sum_some(some, today)
                if run.is_over:
                    return summed
            if not groups:
                return summed

    def _sum_some(self, groups: Sequence[WalletGroup], today: date) -> int:
        with self._database.read() as session:
            read = days_of(session, groups, today)
        found = figures_of(read, today)
        with self._database.write() as session:
            queries.save_pasts(session, found.pasts, today)
            queries.save_agents(session, found.figures)
        return len(found.figures)

    def _add_new(self, after_id: int) -> int:
        """Rows of agents that have had no mandate; how many."""
        with self._database.read() as session:
            new = sources.new_agents(session, after_id)
        for some in parts_of(new, queries.AGENTS_AT_A_TIME):
            with self._database.write() as session:
                queries.add_agents(session, some)
        return len(new)


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


def _parts(groups: Sequence[WalletGroup]) -> Iterator[list[WalletGroup]]:
    """As many at a time as have ROWS_AT_A_TIME, or one alone: a day has a row at least."""
    part, rows = list[WalletGroup](), 0
    for one in groups:
        its = sum(life.seq for life in one.lives)
        if part and rows + its > ROWS_AT_A_TIME:
            yield part
            part, rows = [], 0
        part.append(one)
        rows += its
    if part:
        yield part


def _save(
    session: WriteSession, counted: Sequence[_Count], washed: Sequence[tuple[TradedDay, Washed]]
) -> None:
    """Days and standings; whose figures are behind them is due."""
    queries.drop_days(session, [one.mandate.id for one in counted if one.is_new])
    days = [(one.mandate, day) for one in counted for day in one.days]
    grown = {
        one.mandate.id: one.last_day
        for one in counted
        if one.last_day is not None and any(day.day == one.last_day for day in one.days)
    }
    queries.drop_days_at(session, grown)
    queries.add_days(session, [(of.id, of.owner_id, day) for of, day in days])
    queries.save_mandates(session, [one.columns() for one in counted])
    queries.save_washed(session, washed)
    changed = {one.mandate.id for one in counted} | {one.mandate_id for one, _ in washed}
    queries.add_due(session, queries.agents_of(session, changed))


JOBS: Final = (
    AreaJob(NAME, EVERY_S, LIMIT_S, lambda place, now: HallJob(place.database).run(now)),
)
