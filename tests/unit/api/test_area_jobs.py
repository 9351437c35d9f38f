"""The slow jobs are found by folder."""

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from api.kernel import jobs
from api.kernel.jobs import AREAS, AreaJob, area_jobs
from core.jobs.rules import KEEPERS
from keeper import funds, perps_closing

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "keeper.md"
UNITS = {"s": 1, "min": 60, "h": 3_600}


def test_every_jobs_module__gives_its_jobs() -> None:
    areas = {file.parent.name for file in AREAS.glob("*/jobs.py")}
    for area in areas:
        module = __import__(f"api.areas.{area}.jobs", fromlist=["JOBS"])
        assert set(module.JOBS) <= set(area_jobs())
    assert len(areas) == 15


def test_the_names_of_the_keepers_jobs__are_those_of_its_modules() -> None:
    assert KEEPERS == (funds.NAME, perps_closing.NAME)


def test_every_job__is_in_the_table_of_the_page_with_its_period_and_limit() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\d+) (s|min|h) \| (\d+) (s|min|h) \|", PAGE.read_text(), re.M
    )
    shown = {
        (name, int(every) * UNITS[unit], int(limit) * UNITS[of_limit])
        for name, every, unit, limit, of_limit in rows
    }
    keepers = {
        (funds.NAME, funds.EVERY_S, funds.LIMIT_S),
        (perps_closing.NAME, perps_closing.EVERY_S, perps_closing.LIMIT_S),
    }
    assert shown == {(one.name, one.every_s, one.limit_s) for one in area_jobs()} | keepers


@pytest.mark.parametrize("name", ["prune", funds.NAME])
def test_two_jobs_of_one_name__stop_the_start(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = SimpleNamespace(JOBS=(AreaJob(name, 60, 60, lambda place, now: {}),) * 2)
    monkeypatch.setattr(jobs, "import_module", lambda _: module)
    with pytest.raises(ValueError, match=f"two slow jobs are named {name}"):
        area_jobs()


def test_a_module_without_jobs__stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "import_module", ModuleType)
    with pytest.raises(ValueError, match=r"api\.areas\.\w+\.jobs must export JOBS \(CONTRIBUTING"):
        area_jobs()
