"""Processes that the local stack starts: those that run until they are stopped, and commands that
run to their end.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from core.errors import OutsideError

ROOT = Path(__file__).resolve().parent.parent
SAY_EVERY_S = 5.0
HERE = "127.0.0.1,localhost"
# before a command: it ends when whoever started it does, however that ends (util-linux)
ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM", "--")
NOT_WRITTEN = "cannot be written"
NEWS = ("starting it again", NOT_WRITTEN)


class StackError(Exception):
    """The stack cannot run; the message says what to do."""


def run_until_ended(command: str, run: Callable[[], int], interrupted: tuple[int, str]) -> None:
    """Exit with what `run` answers. Ctrl-C, SIGTERM and a closed terminal interrupt it, so that it
    stops what it has started; `interrupted` is the exit code then, and its message. A fault is one
    sentence.

    Addresses of this machine are reached without a proxy.
    """
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), HERE)))
    be_interrupted_by_signals()
    try:
        code = run()
    except KeyboardInterrupt:
        code, message = interrupted
        with suppress(OSError):  # the terminal may be gone
            print(message, flush=True)
    except (StackError, OutsideError) as error:
        sys.exit(f"{command}: {error}")
    sys.exit(code)


def be_interrupted_by_signals() -> None:
    """Ctrl-C, which a job in a shell's background would ignore, SIGTERM and a closed terminal raise
    KeyboardInterrupt, so that what was started is stopped.
    """
    for end in _ends():
        signal.signal(end, signal.default_int_handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """People press Ctrl-C twice: what stops processes is not interrupted again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {end: signal.signal(end, signal.SIG_IGN) for end in _ends()}
    try:
        yield
    finally:
        for end, handler in before.items():
            signal.signal(end, handler)


def _ends() -> list[signal.Signals]:
    """SIGHUP not under nohup."""
    is_kept = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGINT] + ([] if is_kept else [signal.SIGHUP])


@dataclass
class Child:
    """One supervised process; its output goes to a file and, line by line, to `show`. `nice`: by how much it
    gives way to the others.
    """

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    show: Callable[[str, str], None]
    nice: int = 0
    process: subprocess.Popen[str] | None = None
    restarts: int = 0

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*ENDS_WITH_PARENT, "nice", f"-n{self.nice}", *self.command],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        threading.Thread(target=self._copy_output, args=(self.process.stdout,), daemon=True).start()

    def _copy_output(self, output: IO[str]) -> None:
        is_full = False
        with output, self.log.open("ab", buffering=0) as log:
            for line in output:
                try:
                    log.write(line.encode())
                except OSError as error:
                    if not is_full:
                        self.show(self.name, f"{self.log} {NOT_WRITTEN}: {error.strerror}")
                    is_full = True
                else:
                    is_full = False
                self.show(self.name, line.rstrip())

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ask_to_end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def stop(self, within_s: float = 10) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(within_s)

    def last_lines(self, count: int = 15) -> str:
        return (
            "\n".join(self.log.read_text().splitlines()[-count:])
            if self.log.exists()
            else "(no output)"
        )


def show_news(name: str, line: str) -> None:
    """Of what processes write: the deployment, and that one was begun again; all is in the logs."""
    if name == "deploy":
        print(line, flush=True)
    elif any(news in line for news in NEWS):
        print(f"{name:<10} {line}", flush=True)


@contextmanager
def saying(what: str, say: Callable[[str], None]) -> Iterator[None]:
    """Say every few seconds how long `what` is under way."""
    began, is_over = time.monotonic(), threading.Event()

    def run() -> None:
        while not is_over.wait(SAY_EVERY_S):
            say(f"{what}, {time.monotonic() - began:.0f} s")

    speaker = threading.Thread(target=run, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        is_over.set()
        speaker.join()


def run_shown(
    command: Sequence[str],
    environment: Mapping[str, str],
    show: Callable[[str], None] = lambda line: None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, each line going to `show` as it comes; all of them are the result's
    `stdout`.
    """
    lines: list[str] = []
    with subprocess.Popen(
        [*ENDS_WITH_PARENT, *command],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line)
                show(line.rstrip())
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, "".join(lines), "")
