"""The slow jobs of areas: api/areas/<area>/jobs.py exports JOBS, found by folder, so that a new one
edits no list. Nothing here has a key: what is to be sent goes into the outbox.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from core.jobs.schedule import Job, JobDatabase
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.perps.venue import PerpsVenue

AREAS = Path(__file__).parents[1] / "areas"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """What the jobs of areas work with.

    `limits`: the figures that an operator may change. `perps`: None while the perpetuals leg is off.
    """

    database: JobDatabase
    reader: VaultReader
    mark_retention_days: int
    intent_retention_days: int
    limits: CallerLimits
    perps: PerpsVenue | None = None


AreaJob: TypeAlias = Job[JobPlace]


def area_jobs() -> tuple[AreaJob, ...]:
    """Every slow job of the areas, in the order of the areas' names."""
    areas = sorted(file.parent.name for file in AREAS.glob("*/jobs.py"))
    return tuple(job for area in areas for job in import_module(f"api.areas.{area}.jobs").JOBS)
