"""`make test` gives each test to one worker, and what it is told of files is true of them."""

from pathlib import Path

import pytest

from tests.lanes import SLOW, TOGETHER, unit_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("unit", sorted({*SLOW, *TOGETHER}))
def test_what_is_slow_or_stays_together__exists(unit: str) -> None:
    assert (ROOT / unit).is_dir() if unit.endswith("/") else (ROOT / unit).is_file()


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
