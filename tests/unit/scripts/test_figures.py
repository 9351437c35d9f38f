"""What `make figures` promises; the figures themselves need a quiet machine."""

import pytest

from scripts import figures


def test_parts__have_as_many_figures_as_there_are_bounds() -> None:
    assert sum(figures.PARTS.values()) == len(figures.BOUNDS)


def test_only__an_unknown_part__is_refused_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONLY", "demo,speed")
    with pytest.raises(SystemExit, match=r"ONLY names speed; write some of demo, ci, idle"):
        figures.main()


def test_passed__reads_how_many_tests_ran() -> None:
    found = figures.PASSED.search("7543 passed, 3 skipped in 421.07s (0:07:01)")
    assert found is not None
    assert found[1] == "7543"
