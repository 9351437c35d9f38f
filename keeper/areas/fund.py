"""The slow jobs of the fund (docs/fund.md): indices of the day, paper followers, bonds that are due."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from core.fund import applications, indices, paper
from keeper.schedule import Job, JobPlace

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
        ids = indices.register(session, now)
        written = {key: indices.write_day(session, ids[key], key, now) for key in sorted(ids)}
    return {key: count for key, count in written.items() if count is not None}


def follow(place: JobPlace, now: datetime, run_s: float = RUN_S) -> Mapping[str, Any]:
    """Each vault that is due, in a transaction of its own, for so long; `left` wait for the next run."""
    until = time.monotonic() + run_s
    with place.database.read() as session:
        ids = paper.due(session, now)
    vaults = trades = marks = 0
    for vault_id in ids:
        with place.database.write() as session:
            place.fence(session)
            done = paper.follow(session, vault_id, now)
        vaults += 1
        trades += done.trades
        marks += done.is_marked
        if time.monotonic() >= until:
            break
    return {"vaults": vaults, "trades": trades, "marks": marks, "left": len(ids) - vaults}


def give_bonds_back(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    with place.database.write() as session:
        place.fence(session)
        return {"bonds": applications.give_back_due(session, now, BATCH)}
