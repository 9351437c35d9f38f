"""The console's module that reads streams of events, by Node's own test runner (tests/web)."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_module_that_reads_events__passes_its_tests_in_node() -> None:
    done = subprocess.run(
        ["node", "--test", "tests/web/events.test.mjs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "# fail 0" in done.stdout and "# pass 0" not in done.stdout
