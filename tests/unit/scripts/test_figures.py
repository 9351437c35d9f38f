"""What `make figures` promises; the figures themselves need a quiet machine."""

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
