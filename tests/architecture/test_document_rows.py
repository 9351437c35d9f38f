"""Each row of the mandate wallet's document (tests/spec/rows/*.txt, a line `<section> <row>`) is
held by a test that names it.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "spec" / "rows").glob("*.txt"))


@cache
def rows_named() -> frozenset[str]:
    """The rows that tests say they hold: the arguments of @pytest.mark.row("2.1 status", ...)."""
    files = [
        file for file in (ROOT / "tests").rglob("test_*.py") if "mark.row(" in file.read_text()
    ]
    calls = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    return frozenset(
        ast.literal_eval(name)
        for call in calls
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mark.row")
        for name in call.args
    )


def rows_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_row_of_the_document_is_held_by_a_test_that_names_it(file: Path) -> None:
    assert [row for row in rows_of(file) if row not in rows_named()] == []


def test_no_test_names_a_row_that_the_document_lacks() -> None:
    known = {row for file in FILES for row in rows_of(file)}

    assert sorted(rows_named() - known) == []


def test_no_row_is_written_twice() -> None:
    rows = [row for file in FILES for row in rows_of(file)]

    assert sorted({row for row in rows if rows.count(row) > 1}) == []
