"""The whole story, as a newcomer runs it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_demo(directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scripts.demo"],
        cwd=ROOT,
        env={**os.environ, "STACK_DIR": str(directory), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_demo_tells_nine_steps_and_ends_with_zero(stack_directory: Path) -> None:
    done = run_demo(stack_directory)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert done.stdout.count("   ok, ") == 9
    assert "All 9 steps came out as told" in done.stdout


def test_a_demo_whose_story_fails_names_the_step_and_ends_with_one(stack_directory: Path) -> None:
    """A stack that answers with another chain's facts: here, nobody listens at its addresses."""
    broken = stack_directory / "broken.json"
    stack_directory.mkdir(parents=True)
    broken.write_text("{}")

    done = run_demo(stack_directory, STACK=str(broken))

    assert done.returncode != 0
