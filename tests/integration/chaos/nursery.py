"""Where the stories' processes come from: one that has imported a process's main module and forks a
fresh one on demand.

    test --{"logs": folder, "env": {...}}--> nursery --fork--> indexer.main.run(), or keeper.main.run()
    test <------- "started 17", "ended 17 -9" ------ nursery

A story kills and starts many; with the imports each start would cost a hundred times the processor
time. What runs is the same as `python -m indexer.main run`
(tests/integration/indexer/test_process.py and its twin of the keeper start it so): nothing of it
lives before the fork.

When its input ends, so do the nursery and all that it started.
"""

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[3]
START_S = 30.0
LOOK_S = 0.02


class Process:
    """A started one. `returncode` as subprocess has it: minus the signal that ended it."""

    def __init__(self, pid: int, nursery: "Nursery") -> None:
        self.pid = pid
        self._nursery = nursery

    @property
    def returncode(self) -> int | None:
        return self._nursery.ended.get(self.pid)

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> int:
        """Errors: TimeoutError."""
        end = time.monotonic() + seconds
        while (code := self.returncode) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"process {self.pid} did not end")
            time.sleep(LOOK_S / 4)
        return code


class Nursery:
    """The test's side. `module` is the process's main module, whose `run` the children run."""

    def __init__(self, module: str) -> None:
        command = [sys.executable, "-m", "tests.integration.chaos.nursery", module]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._started: list[int] = []
        self.ended: dict[int, int] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, env: dict[str, str], logs: Path) -> Process:
        """Its log will be logs/<process id>.log. Errors: TimeoutError."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"logs": str(logs), "env": env}) + "\n")
        self._process.stdin.flush()
        end = time.monotonic() + START_S
        while not self._started:
            if time.monotonic() > end:
                raise TimeoutError("the nursery does not answer")
            time.sleep(LOOK_S / 4)
        return Process(self._started.pop(), self)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(START_S)
        self._reader.join(START_S)
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, pid, *code = line.split()
            if word == "started":
                self._started.append(int(pid))
            else:
                self.ended[int(pid)] = int(code[0])


# The nursery's side


def main(module: str) -> None:
    import sqlalchemy.dialects.postgresql.psycopg  # noqa: F401 (what every child shares, as is the next line)

    run = importlib.import_module(module).run
    children: set[int] = set()
    orders = b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_S)
        if ready:
            read = os.read(0, 65_536)
            if not read:
                break
            *lines, orders = (orders + read).split(b"\n")
            for line in lines:
                children.add(_fork(run, json.loads(line)))
        children -= _reap(children)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _fork(run: Callable[[], None], order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _live(run, order)
    print("started", pid, flush=True)
    return pid


def _reap(children: set[int]) -> set[int]:
    ended = set()
    for pid in children:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended.add(pid)
            print("ended", pid, os.waitstatus_to_exitcode(status), flush=True)
    return ended


def _live(run: Callable[[], None], order: dict[str, Any]) -> NoReturn:
    """The child: a process with its own environment and log; ends as the interpreter would end
    it.
    """
    log = os.open(
        f"{order['logs']}/{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
    )
    empty = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, empty), (1, log), (2, log)):
        os.dup2(source, target)
    os.environ.update(order["env"])
    code = 0
    try:
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
