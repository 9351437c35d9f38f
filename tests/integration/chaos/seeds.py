"""Which seeds of a suite of stories are told, and which need not be told again.

    SEEDS=a..b   these, whatever passed before
    RESUME=a..b  these, without those that passed at this very state of the code (make test-deep)
    neither      the suite's own few

Passed seeds stand in .build/<suite>-<hash of the code>.json, with what the suite wants to remember
of each.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from tests.integration.chain_fixtures import ROOT

CODE = (
    "core",
    "contracts",
    "tests/integration/chaos",
    "tests/integration/chain_fixtures.py",
    "tests/integration/nursery.py",
    "requirements.lock",
)


@dataclass(frozen=True)
class Seeds:
    """`every_run`: what is told when nothing is asked for; `code`: folders and files that the
    stories hang on, beside CODE.
    """

    suite: str
    every_run: str
    code: Sequence[str]

    def chosen(self) -> list[int]:
        """The seeds of this run."""
        if "SEEDS" in os.environ:
            return _range(os.environ["SEEDS"])
        if "RESUME" not in os.environ:
            return _range(self.every_run)
        passed = self.load()
        return [seed for seed in _range(os.environ["RESUME"]) if str(seed) not in passed]

    def summary(self) -> str:
        """What is left out, and why; empty when nothing is."""
        if "SEEDS" in os.environ or "RESUME" not in os.environ:
            return ""
        wanted, left = _range(os.environ["RESUME"]), self.chosen()
        done = f"{len(wanted) - len(left)} of {len(wanted)} seeds passed at this state of the code"
        return f"{self.suite}: {done} ({self.memory}); SEEDS forces them"

    def remember(self, seed: int, points: Sequence[str]) -> None:
        """Write down that the seed passed."""
        passed = self.load() | {str(seed): sorted(points)}
        self.memory.parent.mkdir(exist_ok=True)
        new = self.memory.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps(passed, indent=1))
        new.replace(self.memory)

    def load(self) -> dict[str, list[str]]:
        """Passed seeds, each with what was remembered of it."""
        return dict(json.loads(self.memory.read_text())) if self.memory.exists() else {}

    @cached_property
    def memory(self) -> Path:
        digest = sha256()
        for path in self._files():
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
        return ROOT / ".build" / f"{self.suite}-{digest.hexdigest()[:12]}.json"

    def _files(self) -> Iterator[Path]:
        for name in (*CODE, *self.code):
            found = ROOT / name
            yield from (
                [found]
                if found.is_file()
                else sorted(
                    path for path in found.rglob("*") if path.suffix in (".py", ".sol", ".json")
                )
            )


def _range(text: str) -> list[int]:
    first, _, last = text.partition("..")
    return list(range(int(first), int(last or first) + 1))
