"""All tests, in groups, some of them side by side: most wait for a chain, a database or a process. `make test`

A group is some files of one folder and one run of pytest. A line tells of each that ended, and what a failed one said.
Exit 1 when any failed. LANES=n runs n groups at once (default: as many as there are cores).
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
WHOLE = ("contracts", "acceptance", "unit", "architecture")  # one run each; of the other folders FILES_A_GROUP files
FILES_A_GROUP = 16  # a run begins with seconds of imports
SLOW = ("contracts", "acceptance", "indexer", "keeper")  # begin first, so that no lane ends with them alone
LANES = int(os.environ.get("LANES", os.cpu_count() or 1))


@dataclass(frozen=True)
class Ended:
    name: str
    is_good: bool
    seconds: float
    said: str

    @property
    def line(self) -> str:
        summary = self.said.rstrip().rsplit("\n", 1)[-1].strip("= ")
        return f"{'ok' if self.is_good else 'FAILED':7}{self.seconds:5.0f} s  {self.name}: {summary}"


def groups() -> Iterator[tuple[str, list[Path]]]:
    """(name, what pytest is given) of each group; together they are every test but the slow ones of tests/deep."""
    for whole in WHOLE:
        yield whole, [TESTS / whole]
    for folder in sorted(path for path in (TESTS / "integration").iterdir() if path.is_dir()):
        files = sorted(folder.rglob("test_*.py"))
        for first in range(0, len(files), FILES_A_GROUP):
            yield f"{folder.name} {first + 1}", files[first : first + FILES_A_GROUP]


def run(name: str, paths: list[Path]) -> Ended:
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "pytest", *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    return Ended(name, done.returncode == 0, time.monotonic() - begun, done.stdout + done.stderr)


def main() -> None:
    todo = sorted(groups(), key=lambda group: not group[0].startswith(SLOW))
    failed = list[str]()
    with ThreadPoolExecutor(LANES) as lanes:
        for number, ending in enumerate(as_completed([lanes.submit(run, *group) for group in todo]), 1):
            ended = ending.result()
            print(f"{number:2}/{len(todo)}  {ended.line}", flush=True)
            if not ended.is_good:
                print(ended.said, flush=True)
                failed.append(ended.name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
