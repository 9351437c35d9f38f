"""docs/contracts-proofs.md is held to the proofs: it names each that must pass, and nothing that is
not there.
"""

import re
from pathlib import Path

from tests.contracts.proofs.prove import proofs

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contracts-proofs.md").read_text()
NAMED = set(re.findall(r"`((?:check|lemma|reachable)_\w+)`", PAGE))


def test_every_proof_stands_in_the_page() -> None:
    assert sorted({one.name for one in proofs() if not one.must_fail} - NAMED) == []


def test_every_proof_that_the_page_names_exists() -> None:
    assert sorted(NAMED - {one.name for one in proofs()}) == []


def test_no_two_proofs_have_one_name() -> None:
    names = [one.name for one in proofs()]

    assert len(names) == len(set(names))


def test_every_file_of_proofs_shows_that_its_assumptions_can_be_met() -> None:
    files = {one.file.name for one in proofs()}

    assert files == {one.file.name for one in proofs() if one.must_fail}


def test_bounds_stand_in_the_page() -> None:
    source = (ROOT / "tests" / "contracts" / "proofs" / "prove.py").read_text()
    bounds = dict(
        re.findall(r"^(LOOP|SOLVER_TIMEOUT_S|PROOF_TIMEOUT_S) = (\d+)$", source, re.MULTILINE)
    )

    assert [name for name, value in bounds.items() if f"| `{name}` | {value} |" not in PAGE] == []
