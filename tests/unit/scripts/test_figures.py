"""What `make figures` promises; the figures themselves need a quiet machine."""

import sys
import time
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from scripts import figures


def test_parts__are_those_that_have_bounds() -> None:
    assert figures.PARTS.keys() == figures.BOUNDS.keys()
    assert {name for part in figures.BOUNDS.values() for name in part} >= figures.AT_LEAST


def test_only__an_unknown_part__is_refused_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONLY", "demo,speed")
    with pytest.raises(SystemExit, match=r"ONLY names speed; write some of demo, ci, idle"):
        figures.main()


def test_a_rate_beside_another__holds_from_its_bound_on_and_all_else_up_to_it() -> None:
    held = [figures.is_held(name, 0.6, 0.6) for name in ("report_twin_ratio", "takeover_s")]
    assert held == [True, True]
    assert not figures.is_held("report_twin_ratio", 0.59, 0.6)
    assert not figures.is_held("takeover_s", 0.61, 0.6)


def test_a_command_that_takes_too_long__is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(figures, "COMMAND_S", 0.5)
    began = time.monotonic()
    with pytest.raises(CalledProcessError):
        figures.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path)
    assert time.monotonic() - began < 30


def test_passed__reads_how_many_tests_ran() -> None:
    found = figures.PASSED.search("7543 passed, 3 skipped in 421.07s (0:07:01)")
    assert found is not None
    assert found[1] == "7543"
