"""The slow job `tasks`: what has run out of time in the task market ends (docs/tasks.md#time).

    claim without a proof, of a task that it holds    expires; the task opens again
    closing task whose 24 hours are over              its open claims expire; it settles

Law: each task is a transaction of its own, so that no caller waits for more than one, and one that
fails is left for the next run, while the others go on.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from api.areas.tasks.queries import lapsed_tasks, overdue_tasks
from api.areas.tasks.writes.claims import end_in_time
from api.kernel.jobs import AreaJob, JobPlace
from core.jobs.each import did_of, isolated

EVERY_S: Final = 60
LIMIT_S: Final = 300
A_RUN: Final = 1_000


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many tasks moved. Errors: the database's."""
    with place.database.read() as session:
        due = [*lapsed_tasks(session, now, A_RUN), *overdue_tasks(session, now, A_RUN)]
    done = [isolated(partial(_end, place, task_id, now), task=task_id) for task_id in due]
    return did_of("ended", done)


def _end(place: JobPlace, task_id: int, now: datetime) -> bool:
    with place.database.write() as session:
        return end_in_time(session, task_id, now)


JOBS: Final = (AreaJob("tasks", EVERY_S, LIMIT_S, run),)
