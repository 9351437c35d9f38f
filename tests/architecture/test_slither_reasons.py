"""Each reason for a finding of Slither cites only tests and proofs that exist."""

import json
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "contracts"
REASONS = [one["reason"] for one in json.loads((TESTS / "slither.json").read_text())["findings"]]
FUNCTIONS = {
    name
    for path in TESTS.rglob("*.sol")
    for name in re.findall(r"function (\w+)\(", path.read_text())
}


def test_every_cited_file_exists() -> None:
    cited = {name for reason in REASONS for name in re.findall(r"[\w/]+\.t\.sol", reason)}

    assert sorted(name for name in cited if not list(TESTS.rglob(name))) == []


def test_every_cited_test_exists() -> None:
    cited = {
        name
        for reason in REASONS
        for name in re.findall(r"\b(?:test|testFuzz|check|invariant)_+\w+", reason)
    }

    assert sorted(cited - FUNCTIONS) == []
