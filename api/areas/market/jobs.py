"""The slow jobs of the market (docs/operations/keeper.md#slow-jobs):

    rollups     samples --> two hours           coins       networks --> identity and transfers of assets
    grades      a day of samples --> letters    warnings    facts --> the ledger of warnings
    wci         the ledger --> its statistics   summary     figures of the whole        market_prune
    shadow      gaps --> the shadow fund        insights    closings and books --> cards

Each computes outside of transactions (docs/operations/keeper.md#slow-jobs), and does again what a run
before it left undone.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from api.kernel.jobs import AreaJob, JobPlace
from core.db.arrays import parts_of
from core.jobs.schedule import RunTime
from core.market import (
    bursts,
    gaps,
    grading,
    identity,
    insights,
    parts,
    rollups,
    shadow,
    statistics,
    usual,
    watch,
)
from core.market.ledger import writer as warnings
from core.market.ledger.writer import NewWarning, StandingWarning
from core.market.rules.insights import MakerUsual
from core.market.usual import UsualFigures
from core.targets import views as targets
from core.targets.limits import target_limits

ROLLUPS_S: Final = 600
GRADES_S: Final = 300
COINS_S: Final = 300
WARNINGS_S: Final = 60
WCI_S: Final = 3_600
SUMMARY_S: Final = 60
SHADOW_S: Final = 60
SHADOW_RUN_S: Final = 45.0
SHADOW_PAGES: Final = 8  # of a run: what flaps each minute must not hold up what does not
INSIGHTS_S: Final = 300
PRUNE_S: Final = 3_600
LIMIT_S: Final = 600
PRUNE_LIMIT_S: Final = 3_600
BATCH: Final = 5_000
WARNINGS_A_WRITE: Final = 2_000  # rows are hashed while the ledger is held
KEPT_FOR: Final = timedelta(seconds=ROLLUPS_S)  # another worker takes no bucket sooner
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
MOST_BATCHES: Final = 25  # of a run; the next run goes on


@dataclass
class MarketHeld:
    """What jobs of one process keep between their runs: usual figures until a bucket is taken, here or
    by another worker.
    """

    known: Mapping[int, UsualFigures] = field(default_factory=dict)
    known_at: datetime = LONG_AGO
    makers: Mapping[int, MakerUsual] = field(default_factory=dict)
    makers_at: datetime = LONG_AGO
    taken: datetime | None = None  # the bucket that was taken last


def roll(place: JobPlace, now: datetime, held: MarketHeld) -> Mapping[str, Any]:
    """The bucket under way, and the one before while it may still grow; what is usual follows from
    that one, once.
    """
    bucket = rollups.bucket_of(now)
    before = bucket - rollups.BUCKET
    with place.database.write() as session:
        parts.ensure_ahead(session, now)
        done = {"before": rollups.roll(session, before, now)}
        done["now"] = rollups.roll(session, bucket, now)
    if held.taken == before:
        return done | {"usual": 0}
    with place.database.write() as session:
        done["usual"] = usual.take(session, before)
    held.taken, held.known_at, held.makers_at = before, LONG_AGO, LONG_AGO
    return done


def grade(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """The newest whole hour, once."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    with place.database.read() as session:
        rows = grading.rows(session, hour)
    if not rows:
        return {"listings": 0}
    graded = grading.graded(rows, hour)
    with place.database.write() as session:
        grading.write(session, graded, hour, now)
    return {"listings": len(rows)}


def show_coins(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    with place.database.read() as session:
        coins, shown = identity.coin_rows(session), identity.shown(session)
    changes = identity.changes(identity.graph_of(coins), shown)
    with place.database.write() as session:
        identity.show(session, changes, now)
    return {"changed": changes.count}


def warn(place: JobPlace, now: datetime, held: MarketHeld) -> Mapping[str, Any]:
    """Nobody else issues warnings: what stood when they were read does until they are written, and the
    ledger's writer looks once more.
    """
    with place.database.read() as session:
        if now - held.known_at >= KEPT_FOR:
            held.known, held.known_at = usual.known(session, now), now
        coins, seen = identity.coin_rows(session), watch.seen(session, now)
    found = watch.facts(identity.graph_of(coins), held.known, seen, now)
    raised, cleared = watch.changes(found, seen.standing)
    done = {"issued": 0, "reopened": 0, "cleared": 0}
    for some in parts_of([*cleared, *raised], WARNINGS_A_WRITE):
        new = [one for one in some if isinstance(one, NewWarning)]
        over = [one for one in some if isinstance(one, StandingWarning)]
        with place.database.write() as session:
            written = asdict(warnings.write(session, new, over))
        done = {name: count + written[name] for name, count in done.items()}
    return done


def publish(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """The UTC day's statistics, once; again if they are others by what is known since."""
    with place.database.read() as session:
        at, rows = statistics.as_of(session, now), statistics.wci_rows(session)
    found = statistics.wci_of(rows, at)
    with place.database.write() as session:
        made = statistics.publish(session, found, at, now)
    return {} if made is None else {"version": made.version, "cause": made.cause}


def summarise(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    with place.database.write() as session:
        return {"figures": len(statistics.summarise(session, now))}


def replay(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """A page of episodes a transaction; those that are left follow in the next run."""
    run, done = RunTime(SHADOW_RUN_S), defaultdict[str, int](int)
    for _ in range(SHADOW_PAGES):
        with place.database.write() as session:
            step = asdict(shadow.step(session, now))
        is_last = step.pop("is_last")
        for name, count in step.items():
            done[name] += count
        if is_last or run.is_over:
            break
    return dict(done)


def detect(place: JobPlace, now: datetime, held: MarketHeld) -> Mapping[str, Any]:
    with place.database.read() as session:
        if now - held.makers_at >= KEPT_FOR:
            held.makers, held.makers_at = usual.makers(session, now), now
        rows = insights.rows(session, now)
    chosen = insights.candidates(rows, held.makers)
    with place.database.read() as session:
        before = insights.looks(session, chosen, now)
    found = insights.cards(rows, chosen, before, held.makers)
    with place.database.write() as session:
        return asdict(insights.write(session, found, now))


def prune(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Whole partitions, samples of what is no active target, and what is kept for days alone."""
    with place.database.write() as session:
        dropped = parts.drop_past(
            session,
            {
                parts.SAMPLES: parts.TARGET_DAYS,
                parts.ROLLUPS: parts.ROLLUP_DAYS,
                parts.GRADES: parts.ROLLUP_DAYS,
            },
            now,
        )
        of_targets = targets.active(session, now, target_limits(place.limits))
        thinned = parts.thin_past(session, parts.SAMPLE_DAYS, of_targets, now)
        rows = gaps.prune(session, now) + shadow.prune(session, now)
    return {"partitions": dropped + thinned, "rows": rows, "bursts": _bursts(place, now)}


def _bursts(place: JobPlace, now: datetime) -> int:
    """Captures that are past, a batch a transaction, as long as samples are kept."""
    days, dropped = (parts.SAMPLE_DAYS, parts.TARGET_DAYS), 0
    for _ in range(MOST_BATCHES):
        with place.database.write() as session:
            of_targets = targets.active(session, now, target_limits(place.limits))
            gone = bursts.prune(session, of_targets, *days, now, BATCH)
        dropped += gone
        if gone < BATCH:
            break
    return dropped


HELD: Final = MarketHeld()
JOBS: Final = (
    AreaJob("rollups", ROLLUPS_S, LIMIT_S, partial(roll, held=HELD)),
    AreaJob("coins", COINS_S, LIMIT_S, show_coins),
    AreaJob("grades", GRADES_S, LIMIT_S, grade),
    AreaJob("warnings", WARNINGS_S, LIMIT_S, partial(warn, held=HELD)),
    AreaJob("wci", WCI_S, LIMIT_S, publish),
    AreaJob("summary", SUMMARY_S, LIMIT_S, summarise),
    AreaJob("shadow", SHADOW_S, LIMIT_S, replay),
    AreaJob("insights", INSIGHTS_S, LIMIT_S, partial(detect, held=HELD)),
    AreaJob("market_prune", PRUNE_S, PRUNE_LIMIT_S, prune),
)
