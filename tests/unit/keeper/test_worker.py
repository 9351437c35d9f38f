"""The slow jobs are found by folder."""

from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from keeper import funds, worker
from keeper.schedule import Job, JobPlace
from keeper.worker import AREAS, jobs_of

PLACE = cast(
    "JobPlace",
    SimpleNamespace(
        database=None, reader=None, fence=None, mark_retention_days=90, intent_retention_days=90
    ),
)  # jobs hold it and do not look at it before they run


def test_every_module_of_the_folder__gives_its_jobs() -> None:
    modules = [file.stem for file in AREAS.glob("*.py") if file.stem != "__init__"]
    assert {job.run.__module__.rpartition(".")[2] for job in jobs_of(PLACE)} == set(modules)


@pytest.mark.parametrize("name", ["prune", funds.NAME])
def test_two_jobs_of_one_name__stop_the_start(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = cast(
        "ModuleType", SimpleNamespace(jobs=lambda place: (Job(name, 60, lambda now: {}),) * 2)
    )
    monkeypatch.setattr(worker, "import_module", lambda _: module)
    with pytest.raises(ValueError, match=f"two slow jobs are named {name}"):
        jobs_of(PLACE)


def test_a_module_without_jobs__stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "import_module", lambda name: ModuleType(name))
    with pytest.raises(
        ValueError, match=r"keeper\.areas\.\w+ must export jobs\(place\) \(CONTRIBUTING"
    ):
        jobs_of(PLACE)
