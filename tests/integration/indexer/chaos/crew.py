"""The indexer's processes as a supervisor runs them: one leads, one waits, and one that ends is started again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.chain_fixtures import ROOT

END_S = 15.0
# How a process may end by itself: it lost the lead, or the database was away. Any other exception is a defect.
ALLOWED_ENDS = ("sqlalchemy.exc.OperationalError", "psycopg.OperationalError", "core.db.repositories.leader.LeadershipLostError")


@dataclass(slots=True)
class Crew:
    settings: Mapping[str, str]
    folder: Path
    size: int = 2
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _started: int = 0

    def tend(self) -> None:
        """Start what is missing; look at how the others ended."""
        for pid, process in list(self.running.items()):
            if process.poll() is not None:
                self._take_leave(pid)
        while len(self.running) < self.size:
            self._start()

    def kill(self, pid: int) -> None:
        """SIGKILL; the supervisor has started the next one when this returns."""
        if pid in self.running:
            self.running[pid].kill()
            self.running[pid].wait(END_S)
        self.tend()

    def freeze(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)

    def thaw(self, pid: int) -> int:
        """Wake a frozen process that another one replaced; its exit code, once it has seen that."""
        os.kill(pid, signal.SIGCONT)
        code = self.running[pid].wait(END_S)
        self.tend()
        return code

    def end(self) -> None:
        """Kill all of them."""
        for process in self.running.values():
            process.kill()
        for pid, process in list(self.running.items()):
            process.wait(END_S)
            self._take_leave(pid)

    def _start(self) -> None:
        self._started += 1
        log = self.folder / f"indexer-{self._started}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "indexer.main"], cwd=ROOT, env=os.environ | dict(self.settings), stdout=output, stderr=output
            )
        self.running[process.pid] = process
        (self.folder / f"{process.pid}.name").write_text(log.name)

    def _take_leave(self, pid: int) -> None:
        process = self.running.pop(pid)
        if process.returncode == -signal.SIGKILL:
            return
        lines = (self.folder / (self.folder / f"{pid}.name").read_text()).read_text(errors="replace").splitlines()
        raised = [line for line in lines if not line.startswith((" ", "{"))]
        if "Traceback (most recent call last):" in raised and not any(line.startswith(ALLOWED_ENDS) for line in raised):
            self.faults.append(f"a process ended by itself: {raised[-1]}")


def until(condition: object, seconds: float) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
