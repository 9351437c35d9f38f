"""Stacks and their folders: short paths that other users can enter, since Postgres runs as its own
user and has a socket there.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scripts._ports import Ports

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 300  # whatever else the machine does


@contextmanager
def stack_folder() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="stack-"))
    parent.chmod(0o755)
    yield parent / "s"
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture
def stack_directory() -> Iterator[Path]:
    with stack_folder() as folder:
        yield folder


class RunningStack:
    """`make up` as a process; what it has said so far is in `lines`."""

    def __init__(self, directory: Path, ports: Ports, **settings: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scripts.devstack"],
            cwd=ROOT,
            env={
                **os.environ,
                "STACK_DIR": str(directory),
                "PORT": str(ports.api),
                "RPC_PORT": str(ports.rpc),
                **settings,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            self.lines.extend(said)

    def await_ready(self) -> dict[str, Any]:
        """What it wrote into stack.json."""
        facts = self.directory / "stack.json"
        ends = time.monotonic() + WITHIN_S
        while time.monotonic() < ends and self.process.poll() is None:
            if facts.exists():
                return dict(json.loads(facts.read_text()))
            time.sleep(0.2)
        self.process.kill()
        raise AssertionError(f"no stack: {self.output()[-3000:]}")

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def output(self) -> str:
        """All that it said, once it has ended."""
        self.process.wait(timeout=WITHIN_S)
        self._reader.join(timeout=WITHIN_S)
        return "".join(self.lines)
