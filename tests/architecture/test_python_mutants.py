"""The mutants of Python rules still have their places (docs/testing.md, Mutants of Python rules)."""

from scripts.python_mutants import listed
from scripts.python_mutants.listed import SIZE


def test_a_listed_mutant__has_its_place() -> None:
    found = list(listed.gone(listed.read()))
    assert found == [], "\n".join(found)


def test_the_list__has_300_mutants_that_are_run_or_struck_out() -> None:
    rows = listed.read()
    assert len({row.id for row in rows}) == len({row.place for row in rows}) == len(rows) >= SIZE
