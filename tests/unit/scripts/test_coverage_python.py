"""What `make coverage` sums up, and when it fails."""

from typing import Any

from scripts.coverage_python import Covered, below_floor, by_folder


def file(lines: int, lines_run: int, branches: int = 0, branches_run: int = 0) -> dict[str, Any]:
    """A file of coverage.py's JSON report."""
    return {
        "summary": {
            "num_statements": lines,
            "covered_lines": lines_run,
            "num_branches": branches,
            "covered_branches": branches_run,
        }
    }


def test_by_folder__sums_a_top_folder_and_each_folder_in_it() -> None:
    folders = by_folder(
        {
            "core/money.py": file(10, 10),
            "core/db/engine.py": file(20, 5, 4, 1),
            "core/db/migrations/env.py": file(10, 0),
        }
    )

    assert folders == {"core": Covered(40, 15, 4, 1), "core/db": Covered(30, 5, 4, 1)}


def test_percent__counts_lines_and_branches_together() -> None:
    assert Covered(lines=6, lines_run=6, branches=4, branches_run=3).percent == 90.0


def test_percent__nothing_to_run__is_100() -> None:
    assert Covered().percent == 100.0


def test_below_floor__at_the_floor__holds() -> None:
    at_floor = Covered(lines=1_000, lines_run=900)

    assert below_floor({"core": at_floor, "api/kernel": at_floor}) == []


def test_below_floor__one_line_less__names_the_folder() -> None:
    at_floor, below = Covered(1_000, 900), Covered(1_000, 899)

    assert below_floor({"core": at_floor, "api/kernel": below}) == [
        "api/kernel is covered by 89.90 %; at least 90 % are required"
    ]


def test_below_floor__a_folder_that_was_not_measured__fails() -> None:
    assert below_floor({"core": Covered(1_000, 900)}) == [
        "api/kernel is covered by 0.00 %; at least 90 % are required"
    ]
