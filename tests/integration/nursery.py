"""Where processes of tests come from: one that has imported what they import, and forks a fresh one
on demand.

    test --{"module": ..., "arguments": [...], "env": {...}}, output--> nursery --fork--> python -m module
    test <------- "started 17", "ended 17 -9" ------------------------- nursery

With the imports each start would cost a second or two of processor time; a fork costs some
milliseconds. What runs is the same as `python -m indexer.main run`: the child runs the module as
`__main__` with arguments, environment and output of its own, and nothing of it lives before the
fork. One test of each command starts an interpreter of its own (`is_real`).

When its connection ends, so do the nursery and all that it started.
"""

import atexit
import fcntl
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO

ROOT = Path(__file__).parents[2]
MODULES = ("api.worker", "indexer.main", "keeper.main", "indexer.rebuild")
START_S = 30.0
WITHIN_S = 60.0  # a busy machine
LOOK_S = 0.005
MOST_BYTES = 150_000  # of an order
PIPE_BYTES = 1_048_576  # that a process may say before anybody reads


class Process:
    """A started one, with what tests use of subprocess.Popen. `returncode` is minus the signal that
    ended it.
    """

    def __init__(
        self, pid: int, poll: Callable[[], int | None], stdout: TextIO | None = None
    ) -> None:
        self.pid = pid
        self.poll = poll
        self.stdout = stdout

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float) -> int:
        """Errors: TimeoutError."""
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"process {self.pid} did not end")
            time.sleep(LOOK_S)
        return code

    def close(self, timeout: float) -> None:
        """Kill it, when it still runs. Errors: TimeoutError."""
        self.kill()
        self.wait(timeout)
        if self.stdout is not None:
            self.stdout.close()

    def said(self, timeout: float) -> str:
        """Until it ended, of a process that is `piped`. Errors: TimeoutError."""
        assert self.stdout is not None
        self.wait(timeout)
        return self.stdout.read()


class Nursery:
    """The test's side."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.nursery", str(theirs.fileno())],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._started: list[int] = []
        self._ended: dict[int, int] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(
        self, module: str, *arguments: str, env: Mapping[str, str], out: IO[Any], err: IO[Any]
    ) -> Process:
        """Errors: TimeoutError."""
        order = json.dumps({"module": module, "arguments": arguments, "env": dict(env)}).encode()
        socket.send_fds(self._orders, [order], [out.fileno(), err.fileno()])
        end = time.monotonic() + START_S
        while not self._started:
            if time.monotonic() > end:
                raise TimeoutError("the nursery does not answer")
            time.sleep(LOOK_S / 5)
        pid = self._started.pop()
        return Process(pid, lambda: self._ended.get(pid))

    def close(self) -> None:
        self._orders.shutdown(socket.SHUT_RDWR)
        self._process.wait(START_S)
        self._reader.join(START_S)
        self._orders.close()

    def _read(self) -> None:
        while answer := self._orders.recv(100).decode():
            word, pid, *code = answer.split()
            if word == "started":
                self._started.append(int(pid))
            else:
                self._ended[int(pid)] = int(code[0])


@functools.cache
def nursery() -> Nursery:
    """The one of this run, or of this worker of a run."""
    started = Nursery()
    atexit.register(started.close)
    return started


def start(
    module: str,
    *arguments: str,
    env: Mapping[str, str],
    out: IO[Any],
    err: IO[Any],
    is_real: bool = False,
) -> Process:
    """`python -m module`, from the nursery, or by an interpreter of its own."""
    if not is_real:
        return nursery().start(module, *arguments, env=env, out=out, err=err)
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=err)
    return Process(process.pid, process.poll)


def piped(module: str, *arguments: str, env: Mapping[str, str], is_real: bool = False) -> Process:
    """One whose output can be read while it runs."""
    ours, theirs = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with open(theirs, "wb") as output:
        process = start(module, *arguments, env=env, out=output, err=output, is_real=is_real)
    process.stdout = open(ours)  # noqa: SIM115 (`close` closes it)
    return process


def ran(
    module: str, *arguments: str, env: Mapping[str, str], is_real: bool = False
) -> "subprocess.CompletedProcess[str]":
    """One that ended by itself."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = start(module, *arguments, env=env, out=out, err=err, is_real=is_real)
        try:
            code = process.wait(WITHIN_S)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([module, *arguments], code, out.read(), err.read())


# The nursery's side


def main(connection: socket.socket) -> None:
    import sqlalchemy.dialects.postgresql.psycopg  # noqa: F401 (what every child shares, as are the modules)

    from api.tables import import_tables

    for module in MODULES:
        importlib.import_module(module)
    import_tables()
    gc.freeze()
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([connection], [], [], LOOK_S)
        if ready:
            order, outputs, _, _ = socket.recv_fds(connection, MOST_BYTES, 2)
            if not order:
                break
            children.add(_fork(connection, json.loads(order), outputs))
        children -= _reap(connection, children)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _fork(connection: socket.socket, order: dict[str, Any], outputs: list[int]) -> int:
    pid = os.fork()
    if pid == 0:
        connection.close()
        _live(order, outputs)
    for output in outputs:
        os.close(output)
    connection.send(f"started {pid}".encode())
    return pid


def _reap(connection: socket.socket, children: set[int]) -> set[int]:
    ended = set()
    for pid in children:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended.add(pid)
            connection.send(f"ended {pid} {os.waitstatus_to_exitcode(status)}".encode())
    return ended


def _live(order: dict[str, Any], outputs: list[int]) -> NoReturn:
    """The child: a process with its own arguments, environment and output; ends as the interpreter
    would end it.
    """
    for target, source in zip((1, 2), outputs, strict=True):
        os.dup2(source, target)
        os.close(source)
    os.environ.clear()
    os.environ.update(order["env"])
    module = order["module"]
    sys.argv[1:] = order["arguments"]
    sys.modules.pop(module, None)
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
