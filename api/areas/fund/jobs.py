"""The slow jobs of the fund (docs/fund.md): indices of the day, paper followers, bonds that are due."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from api.kernel.jobs import AreaJob, JobPlace
from core.fund import applications, indices, paper
from core.fund.paper import PaperRun
from core.jobs.each import did_of, isolated
from core.jobs.schedule import RunTime

INDICES_S: Final = 900
PAPER_S: Final = 60
RUN_S: Final = 45  # of which a run of paper followers takes as much
BONDS_S: Final = 600
LIMIT_S: Final = 300
BATCH: Final = 100  # bonds a run; the next run goes on


def write_indices(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """The UTC day's constituents, once a day and index."""
    with place.database.write() as session:
        return indices.write_days(session, now)


def follow(place: JobPlace, now: datetime, run_s: float = RUN_S) -> Mapping[str, Any]:
    """Each vault that is due, in a transaction of its own, for so long; `left` wait for the next run."""
    run = RunTime(run_s)
    with place.database.read() as session:
        ids = paper.due(session, now)
    done = list[PaperRun | None]()
    for vault_id in ids:
        done.append(isolated(partial(_follow_one, place, vault_id, now), vault=vault_id))
        if run.is_over:
            break
    made = [one for one in done if one is not None]
    return {
        **did_of("vaults", [None if one is None else True for one in done]),
        "trades": sum(one.trades for one in made),
        "marks": sum(one.is_marked for one in made),
        "left": len(ids) - len(done),
    }


def _follow_one(place: JobPlace, vault_id: int, now: datetime) -> PaperRun:
    with place.database.write() as session:
        return paper.follow(session, vault_id, now)


def give_bonds_back(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Each in a transaction of its own."""
    with place.database.read() as session:
        ids = applications.due_in_credits(session, now, BATCH)
    return did_of(
        "bonds", [isolated(partial(_give_back, place, one, now), application=one) for one in ids]
    )


def _give_back(place: JobPlace, application_id: int, now: datetime) -> bool:
    with place.database.write() as session:
        return applications.give_back_credits(session, application_id, now)


JOBS: Final = (
    AreaJob("fund_indices", INDICES_S, LIMIT_S, write_indices),
    AreaJob("fund_paper", PAPER_S, LIMIT_S, follow),
    AreaJob("fund_bonds", BONDS_S, LIMIT_S, give_bonds_back),
)
