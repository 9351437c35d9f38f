"""The slow jobs are found by folder."""

import re
from importlib import import_module
from pathlib import Path

from api.kernel.jobs import AREAS, area_jobs
from core.jobs.rules import KEEPERS
from keeper import funds, perps_closing

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "keeper.md"
UNITS = {"s": 1, "min": 60, "h": 3_600}


def test_every_jobs_module__gives_its_jobs() -> None:
    areas = {file.parent.name for file in AREAS.glob("*/jobs.py")}
    for area in areas:
        module = import_module(f"api.areas.{area}.jobs")
        assert set(module.JOBS) <= set(area_jobs())
        assert module.JOBS, area
    assert areas


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


def test_no_two_jobs__have_one_name() -> None:
    """By which their runs are found."""
    names = [*(one.name for one in area_jobs()), *KEEPERS]
    assert len(names) == len({*names})
