"""The whole story, as a newcomer runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts._accounts import personas
from scripts._demo_venues import VENUES
from scripts._ports import Ports
from scripts.devstack import Stack

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


@pytest.mark.parametrize("venue", VENUES)
def test_the_demo_tells_ten_steps_and_ends_with_zero(stack_directory: Path, venue: str) -> None:
    done = run_demo(stack_directory, VENUE=venue)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert done.stdout.count("   ok, ") == 10
    assert "All 10 steps passed" in done.stdout


def test_a_step_that_is_not_as_told__is_named_and_ends_with_one(stack_directory: Path) -> None:
    """The chain is there, the API is not: the first step cannot sign in."""
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    try:
        stack.start_chain()
        facts = {
            "rpc_url": stack.rpc_url,
            "base_url": stack.base_url,
            "accounts": personas(),
            "contracts": {},
        }
        (stack_directory / "facts.json").write_text(json.dumps(facts))

        done = run_demo(stack_directory, STACK=str(stack_directory / "facts.json"))
    finally:
        stack.stop()

    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED after" in done.stdout
    assert "Step 1 (sign_in) failed." in done.stdout
