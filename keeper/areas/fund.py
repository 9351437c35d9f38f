"""The slow jobs of the fund (docs/fund.md): indices of the day, paper followers, bonds that are due."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from core.fund import applications, indices, paper
from core.fund.paper import PaperRun
from keeper.schedule import Job, JobPlace, RunTime
from keeper.spared import did_of, spared_row

INDICES_S: Final = 900
PAPER_S: Final = 60
RUN_S: Final = 45  # of which a run of paper followers takes as much
BONDS_S: Final = 600
BATCH: Final = 100  # bonds a run; the next run goes on


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (
        Job("fund_indices", INDICES_S, lambda now: write_indices(place, now)),
        Job("fund_paper", PAPER_S, lambda now: follow(place, now)),
        Job("fund_bonds", BONDS_S, lambda now: give_bonds_back(place, now)),
    )


def write_indices(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """The UTC day's constituents, once a day and index."""
    with place.database.write() as session:
        place.fence(session)
        return indices.write_days(session, now)


def follow(place: JobPlace, now: datetime, run_s: float = RUN_S) -> Mapping[str, Any]:
    """Each vault that is due, in a transaction of its own, for so long; `left` wait for the next run."""
    run = RunTime(run_s)
    with place.database.read() as session:
        ids = paper.due(session, now)
    done = list[PaperRun | None]()
    for vault_id in ids:
        done.append(spared_row(partial(_follow_one, place, vault_id, now), vault=vault_id))
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
        place.fence(session)
        return paper.follow(session, vault_id, now)


def give_bonds_back(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Each in a transaction of its own."""
    with place.database.read() as session:
        ids = applications.due_in_credits(session, now, BATCH)
    return did_of(
        "bonds", [spared_row(partial(_give_back, place, one, now), application=one) for one in ids]
    )


def _give_back(place: JobPlace, application_id: int, now: datetime) -> bool:
    with place.database.write() as session:
        place.fence(session)
        return applications.give_back_credits(session, application_id, now)
