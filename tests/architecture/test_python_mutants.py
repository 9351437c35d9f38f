"""The mutants of Python rules still have their places and their tests (docs/testing.md, Mutants of
Python rules).
"""

from tests.mutants.judge import ROOT, PlaceIsGoneError, python_rows, wrong_source

ROWS = [row for row in python_rows() if not row["struck"]]


def test_a_listed_mutant__has_its_place() -> None:
    gone = []
    for row in ROWS:
        try:
            wrong_source(row)
        except PlaceIsGoneError as error:
            gone.append(str(error))
    assert gone == [], "\n".join(gone)


def test_a_listed_mutant__names_a_test_that_is_there() -> None:
    for row in ROWS:
        file, _, name = row["test"].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), f"{row['id']}: {row['test']}"


def test_the_list__has_300_mutants_that_are_run_or_struck_out() -> None:
    rows = python_rows()
    places = {
        tuple(row[key] for key in ("file", "rule", "old", "new", "occurrence")) for row in rows
    }
    assert len({row["id"] for row in rows}) == len(places) == len(rows) >= 300
