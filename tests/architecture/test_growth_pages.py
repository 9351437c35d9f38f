"""Every table is in the table of what is kept, each job that it names exists, and the pages say what
was measured.
"""

import json

from api.kernel.jobs import area_jobs
from api.tables import import_tables
from core.db.base import Base
from tests.append_only import append_only
from tests.bench.growth_pages import (
    EVER,
    FIRST,
    FOLDER,
    NO_JOBS,
    SIZES,
    STATE,
    Costs,
    first_to_break,
    growing_tables,
    jobs_named,
    stale,
    with_new_tables,
)

import_tables()
FIGURES = json.loads((FOLDER / "growth.json").read_text())


def test_every_table__is_in_the_table_once() -> None:
    named = [one.table for one in growing_tables()]
    assert len(named) == len(set(named))
    wrong = sorted(set(named) ^ set(Base.metadata.tables))
    assert wrong == [], "a row of tests/spec/growth.tsv is missing, or its table is gone"


def test_every_table__was_measured() -> None:
    wrong = sorted(FIGURES["bytes_a_row"].keys() ^ {one.table for one in growing_tables()})
    assert wrong == [], "run `python -m tests.bench.growth --rows`"
    assert [name for name, octets in FIGURES["bytes_a_row"].items() if octets <= 0] == []


def test_every_job_that_drops__exists() -> None:
    assert jobs_named() <= {job.name for job in area_jobs()}


def test_what_is_kept_for_days__names_a_job_that_drops_it() -> None:
    nobody = [
        one.table
        for one in growing_tables()
        if one.kept not in (EVER, STATE) and (int(one.kept) < 1 or one.by in NO_JOBS)
    ]
    assert nobody == []


def test_rows_of_ledgers_and_logs__are_kept_for_ever() -> None:
    kept = {one.table: one.kept for one in growing_tables()}
    assert {name: kept[name] for name in append_only() if kept[name] != EVER} == {}


def test_every_unit__has_a_rate() -> None:
    assert {one.unit for one in growing_tables()} <= set(FIRST.a_year())
    assert [one.table for one in growing_tables() if one.factor <= 0] == []


def test_standing_rows__of_days__are_those_of_the_days_alone() -> None:
    (marks,) = (one for one in growing_tables() if one.table == "vault_mark")
    (blocks,) = (one for one in growing_tables() if one.table == "chain_block")
    assert marks.standing(FIRST, 1) == 1_000 * 1_440 * 90
    assert marks.standing(FIRST, 10) == marks.standing(FIRST, 1)
    assert blocks.standing(SIZES[-1], 10) == 157_680_000


def test_the_pages__say_what_the_figures_come_to() -> None:
    assert stale(FIGURES) == [], "run `python -m tests.bench.growth --pages`"


def test_figures_of_new_tables__leave_the_others_and_drop_what_is_gone() -> None:
    figures = {"costs": {"look_ms": 1.0}, "bytes_a_row": {"gone": 1.0, "old": 2.0}}
    assert with_new_tables(figures, {"new": 3.0, "old": 4.0}) == {
        "costs": {"look_ms": 1.0},
        "bytes_a_row": {"new": 3.0, "old": 2.0},
    }


def test_what_is_furthest_beyond_its_limit__comes_first() -> None:
    costs = Costs(FIGURES)
    shares = [part.value(costs, SIZES[-1]) / part.limit for part in first_to_break(costs)]
    assert shares == sorted(shares, reverse=True)
