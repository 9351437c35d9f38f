"""Which seeds are told, and which need not be told again.

    SEEDS=a..b   these, whatever passed before
    RESUME=a..b  these, without those that passed at this very state of the code (make test-deep)
    neither      1..5

Passed seeds stand in .build/chaos-<hash of the code>.json, with the commit points at which a process was killed.
"""

import json
import os
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.integration.chain_fixtures import ROOT

EVERY_RUN = "1..5"
CODE = ("core", "indexer", "contracts", "tests/integration/indexer", "tests/integration/chain_fixtures.py", "requirements.lock")


def chosen() -> list[int]:
    """The seeds of this run."""
    if "SEEDS" in os.environ:
        return _range(os.environ["SEEDS"])
    if "RESUME" not in os.environ:
        return _range(EVERY_RUN)
    passed = load()
    return [seed for seed in _range(os.environ["RESUME"]) if str(seed) not in passed]


def summary() -> str:
    """What is left out, and why; empty when nothing is."""
    if "SEEDS" in os.environ or "RESUME" not in os.environ:
        return ""
    wanted, left = _range(os.environ["RESUME"]), chosen()
    return f"chaos: {len(wanted) - len(left)} of {len(wanted)} seeds passed at this state of the code ({memory()}); SEEDS forces them"


def remember(seed: int, points: list[str]) -> None:
    """Write down that the seed passed."""
    passed = load() | {str(seed): sorted(points)}
    memory().parent.mkdir(exist_ok=True)
    new = memory().with_suffix(".new")
    new.write_text(json.dumps(passed, indent=1))
    new.replace(memory())


def load() -> dict[str, list[str]]:
    """Passed seeds, each with its commit points."""
    return dict(json.loads(memory().read_text())) if memory().exists() else {}


@cache
def memory() -> Path:
    digest = sha256()
    for path in _files():
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return ROOT / ".build" / f"chaos-{digest.hexdigest()[:12]}.json"


def _files() -> Iterator[Path]:
    for name in CODE:
        found = ROOT / name
        yield from [found] if found.is_file() else sorted(path for path in found.rglob("*") if path.suffix in (".py", ".sol", ".json"))


def _range(text: str) -> list[int]:
    first, _, last = text.partition("..")
    return list(range(int(first), int(last or first) + 1))
