"""Processes as a supervisor runs them: one leads, the others wait, and one that ends is started
again.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.nursery import Process, start

END_S = 15.0
# How a process may end by itself: it lost the lead, or the database was away. Any other exception
# is a defect.
ALLOWED_ENDS = (
    "sqlalchemy.exc.OperationalError",
    "psycopg.OperationalError",
    "core.db.leadership.LeadershipLostError",
)


@dataclass(slots=True)
class Crew:
    """`settings` is the environment of each process of `module`, `folder` holds their logs, `size`
    is how many there are at a time.
    """

    module: str
    settings: dict[str, str]
    folder: Path
    size: int = 2
    running: dict[int, Process] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def tend(self) -> None:
        """Start what is missing; look at how the others ended."""
        for pid, process in list(self.running.items()):
            if process.returncode is not None:
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
        for pid, process in list(self.running.items()):
            process.kill()
            process.wait(END_S)
            self._take_leave(pid)

    def _start(self) -> None:
        new = self.folder / "new.log"
        with new.open("a") as log:
            process = start(self.module, "run", env=os.environ | self.settings, out=log, err=log)
        new.rename(self._log(process.pid))
        self.running[process.pid] = process

    def _log(self, pid: int) -> Path:
        return self.folder / f"{pid}.log"

    def _take_leave(self, pid: int) -> None:
        process = self.running.pop(pid)
        if process.returncode == -signal.SIGKILL:
            return
        lines = self._log(pid).read_text(errors="replace").splitlines()
        raised = [line for line in lines if not line.startswith((" ", "{"))]
        if "Traceback (most recent call last):" in raised and not any(
            line.startswith(ALLOWED_ENDS) for line in raised
        ):
            self.faults.append(f"a process ended by itself: {raised[-1]}")


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
