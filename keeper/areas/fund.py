"""The slow jobs of the fund (docs/fund.md): indices of the day, paper followers, bonds that are due."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from core.fund import applications, indices, paper
from keeper.schedule import Job, JobPlace

INDICES_S: Final = 900
PAPER_S: Final = 60
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


def follow(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Each vault in a transaction of its own."""
    with place.database.read() as session:
        ids = paper.vault_ids(session)
    trades = marks = 0
    for vault_id in ids:
        with place.database.write() as session:
            place.fence(session)
            done = paper.follow(session, vault_id, now)
        trades += done.trades
        marks += done.is_marked
    return {"vaults": len(ids), "trades": trades, "marks": marks}


def give_bonds_back(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    with place.database.write() as session:
        place.fence(session)
        return {"bonds": applications.give_back_due(session, now, BATCH)}
