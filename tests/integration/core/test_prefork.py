"""`python -m core.prefork MODULE`: what dies is forked again, and what ends stays ended."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import prefork
from core.startup import EXIT_CODE

WITHIN_S = 20.0
READY = "at work as "

WORK = """
import ctypes, os, signal, sys, threading, time

state = []

def allocate():
    together = threading.Barrier(6)
    def one():
        held = [bytes(10_000) for _ in range(100)]
        together.wait()
    threads = [threading.Thread(target=one) for _ in range(together.parties)]
    [one.start() for one in threads], [one.join() for one in threads]
    ctypes.CDLL(None).malloc_stats()  # glibc's: "Arena 0:" and so on
    print("allocated", flush=True)

def main():
    state.append(1)
    asked = sys.argv[1:]
    print("at work as", os.getpid(), "with", len(state), *asked, flush=True)
    if asked[:1] == ["allocate"]:
        allocate()
    if asked[:1] == ["exit"]:
        sys.exit(int(asked[1]))

    def end(number, _):
        print("told", number, flush=True)
        time.sleep(0.3)
        sys.exit(int(asked[1]) if asked[:1] == ["end"] else 0)

    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) if asked != ["by default"] else ():
        signal.signal(one, end)
    while True:
        time.sleep(0.05)
"""


class Parent:
    """`ignored`: signals that it is started to ignore; the tests' own may be, and are not passed on."""

    def __init__(
        self, folder: Path, *arguments: str, ignored: tuple[signal.Signals, ...] = ()
    ) -> None:
        def begin() -> None:
            for one in (*prefork.PASSED_ON, signal.SIGCHLD):
                signal.signal(one, signal.SIG_IGN if one in ignored else signal.SIG_DFL)

        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "core.prefork", "work_of_a_test", *arguments],
                env=os.environ | {"PYTHONPATH": f"{os.getcwd()}:{folder}", "LOG_FORMAT": "json"},
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=begin,
            )

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    @property
    def workers(self) -> list[int]:
        """The pid of each that began to work, in their order."""
        return [int(line.split()[3]) for line in self.lines if line.startswith(READY)]

    def wait_for(self, found: Callable[[], bool]) -> None:
        until = time.monotonic() + WITHIN_S
        while not found():
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)

    def worker(self, number: int = 1) -> int:
        self.wait_for(lambda: len(self.workers) >= number)
        return self.workers[number - 1]


@pytest.fixture
def parent_of(tmp_path: Path) -> Iterator[Callable[..., Parent]]:
    (tmp_path / "work_of_a_test.py").write_text(WORK)
    started: list[Parent] = []

    def start(*arguments: str, ignored: tuple[signal.Signals, ...] = ()) -> Parent:
        started.append(Parent(tmp_path, *arguments, ignored=ignored))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait(WITHIN_S)


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pauses(parent: Parent) -> list[float]:
    return [json.loads(line)["pause_s"] for line in parent.lines if "starting it again" in line]


def test_a_worker_that_is_killed__is_forked_again_with_nothing_of_the_last(
    parent_of: Callable[..., Parent],
) -> None:
    parent = parent_of("run", "--fast")
    os.kill(first := parent.worker(), signal.SIGKILL)
    second = parent.worker(2)
    assert first != second
    assert not is_there(first)
    begun = [line for line in parent.lines if line.startswith(READY)]
    assert [line.split()[5:] for line in begun] == [["1", "run", "--fast"]] * 2
    assert parent.process.poll() is None


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal__reaches_the_worker_once__and_its_code_is_the_parents(
    parent_of: Callable[..., Parent], told: signal.Signals
) -> None:
    parent = parent_of("end", "7")
    worker = parent.worker()
    parent.process.send_signal(told)
    assert parent.process.wait(WITHIN_S) == 7
    assert [line for line in parent.lines if line.startswith("told")] == [f"told {int(told)}"]
    assert not is_there(worker)
    assert len(parent.workers) == 1


@pytest.mark.parametrize("code", [0, EXIT_CODE])
def test_a_worker_that_ends_by_itself__or_whose_settings_are_refused__is_not_forked_again(
    parent_of: Callable[..., Parent], code: int
) -> None:
    parent = parent_of("exit", str(code))
    assert parent.process.wait(WITHIN_S) == code
    assert len(parent.workers) == 1


def test_a_worker_that_keeps_failing__is_forked_more_and_more_slowly__until_the_parent_is_told(
    parent_of: Callable[..., Parent],
) -> None:
    parent = parent_of("exit", "1")
    begun = time.monotonic()
    parent.worker(5)
    assert time.monotonic() - begun >= 0.2 + 0.4 + 0.8 + 1.6
    parent.wait_for(lambda: len(pauses(parent)) == 5)
    assert pauses(parent) == [0.2, 0.4, 0.8, 1.6, 3.2]
    parent.process.terminate()
    assert parent.process.wait(1.5) == 0  # at once, not after the pause


def test_a_worker_that_a_signal_ends__ends_its_parent_in_the_same_way(
    parent_of: Callable[..., Parent],
) -> None:
    """As a supervisor expects of the process that it told."""
    parent = parent_of("by default")
    parent.worker()
    parent.process.terminate()
    assert parent.process.wait(WITHIN_S) == -signal.SIGTERM


def test_a_signal_that_was_ignored_at_the_start__stays_ignored(
    parent_of: Callable[..., Parent],
) -> None:
    """Under nohup a closed terminal is nothing to end for."""
    parent = parent_of("by default", ignored=(signal.SIGHUP,))
    first = parent.worker()
    parent.process.send_signal(signal.SIGHUP)
    os.kill(first, signal.SIGKILL)
    assert parent.worker(2) != first


def test_a_parent_that_was_told_to_ignore_its_children__forks_again(
    parent_of: Callable[..., Parent],
) -> None:
    parent = parent_of("by default", ignored=(signal.SIGCHLD,))
    os.kill(first := parent.worker(), signal.SIGKILL)
    assert parent.worker(2) != first


def test_two_signals_at_once__end_the_parent(parent_of: Callable[..., Parent]) -> None:
    parent = parent_of("end", "7")
    parent.worker()
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        parent.process.send_signal(one)
    assert parent.process.wait(WITHIN_S) == 7


def test_a_pause__grows_to_its_most_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that failed 1,024 times in a row ended its parent with an OverflowError."""
    parent, waited = prefork.Parent(), list[float]()

    def is_told_within(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) == 1_100

    monkeypatch.setattr(parent, "_passed_on", [])
    monkeypatch.setattr(parent, "_fork", lambda _: False)
    monkeypatch.setattr(parent, "_ended", lambda: 1)
    monkeypatch.setattr(parent, "_is_told_within", is_told_within)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with pytest.raises(SystemExit):
        parent.fork_until_ended()
    assert waited[:6] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    assert set(waited[6:]) == {5.0}


def test_a_signal_just_before_a_fork__ends_the_parent_without_one() -> None:
    code = """
import os, signal
from core import prefork
of_this = os.getpid()
def told():
    os.kill(of_this, signal.SIGTERM)
    return of_this
prefork.os.getpid = told  # asked just before signals are held back
prefork.Parent().fork_until_ended()
print("worked")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_no_worker__outlives_its_parent(parent_of: Callable[..., Parent]) -> None:
    parent = parent_of()
    worker = parent.worker()
    parent.process.kill()
    parent.wait_for(lambda: not is_there(worker))


def test_a_module_that_starts_a_thread__is_refused(
    tmp_path: Path, parent_of: Callable[..., Parent]
) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
    (tmp_path / "work_of_a_test.py").write_text(thread + WORK)
    parent = parent_of()
    assert parent.process.wait(WITHIN_S) == 1
    assert "starts a thread" in parent.log.read_text()
    assert parent.workers == []


@pytest.mark.parametrize("module", ["api.main", "keeper.main", "indexer.main"])
def test_each_process__can_be_forked__and_says_what_its_settings_lack(
    tmp_path: Path, module: str
) -> None:
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    arguments = [] if module == "api.main" else ["run"]
    done = subprocess.run(
        [sys.executable, "-m", "core.prefork", module, *arguments],
        env=bare | {"PYTHONPATH": os.getcwd()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == EXIT_CODE
    assert "DATABASE_URL" in done.stdout


@pytest.mark.parametrize(("asked", "heaps"), [(None, 1), ("3", 3)])
def test_threads_of_a_child_share_one_heap_unless_the_environment_says_otherwise(
    parent_of: Callable[..., Parent], monkeypatch: pytest.MonkeyPatch, asked: str | None, heaps: int
) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if asked is not None:
        monkeypatch.setenv("MALLOC_ARENA_MAX", asked)
    parent = parent_of("allocate")
    parent.wait_for(lambda: "allocated" in parent.lines)
    assert sum(line.startswith("Arena ") for line in parent.lines) == heaps
