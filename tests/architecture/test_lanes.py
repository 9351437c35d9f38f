"""`make test` gives each test to one worker, and what it is told of files is true of them."""

from pathlib import Path

import pytest

from tests.each import each
from tests.lanes import FIRST, TOGETHER, unit_of
from tests.slow import PATHS, is_slow

ROOT = Path(__file__).resolve().parents[2]
GATE = (ROOT / "tests" / "gate.txt").read_text().splitlines()


@each("unit", sorted({*FIRST, *TOGETHER}))
def test_what_begins_first_or_stays_together__exists(unit: str) -> None:
    assert (ROOT / unit).is_dir() if unit.endswith("/") else (ROOT / unit).is_file()


@each("path", PATHS)
def test_what_is_slow__exists_and_is_named_once(path: str) -> None:
    assert (ROOT / path).exists()
    assert [one for one in PATHS if Path(path).is_relative_to(one)] == [path]


@each("nodeid", GATE)
def test_the_gate__is_of_slow_tests_that_exist(nodeid: str) -> None:
    file, _, name = nodeid.partition("::")
    source = (ROOT / file).read_text()
    assert is_slow(ROOT / file) or "pytest.mark.slow" in source
    assert not name or f"def {name}(" in source


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/contracts/MandateVault/execute.t.sol::test_a", "tests/contracts/"),
        ("tests/acceptance/stacks/test_stack.py::test_a", "tests/acceptance/stacks/"),
        ("tests/unit/keeper/test_state.py::test_a[x::y]", "tests/unit/keeper/test_state.py"),
    ],
)
def test_a_file_stays_on_one_worker__and_a_folder_that_shares_what_is_dear(
    nodeid: str, unit: str
) -> None:
    assert unit_of(nodeid) == unit
