"""Processes of the local stack, and how a command that started them ends."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from scripts import _processes
from scripts._processes import Child, StackError, run_until_ended, undisturbed


@pytest.fixture(autouse=True)
def handlers() -> object:
    ends = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {end: signal.getsignal(end) for end in ends}
    for end in ends:  # whatever nohup or a shell in the background made of them
        signal.signal(end, signal.SIG_DFL)
    yield
    for end, handler in before.items():
        signal.signal(end, handler)


def exit_of(command: str, run: object) -> object:
    with pytest.raises(SystemExit) as ended:
        run_until_ended(command, run, (0, "stopped"))  # type: ignore[arg-type]
    return ended.value.code


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal__interrupts_what_runs_so_that_it_can_stop_what_it_started(
    end: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = []

    def run() -> int:
        try:
            os.kill(os.getpid(), end)
            time.sleep(5)
        finally:
            with undisturbed():  # people press Ctrl-C twice
                os.kill(os.getpid(), end)
                stopped.append(True)
        return 0

    assert exit_of("make up", run) == 0
    assert (stopped, capsys.readouterr().out) == ([True], "stopped\n")


def test_under_nohup__a_closed_terminal_ends_nothing() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def run() -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return 3

    assert exit_of("make up", run) == 3


def test_a_fault__is_one_sentence_and_this_machine_needs_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "example.com")
    monkeypatch.setenv("no_proxy", "")

    def run() -> int:
        said = [os.environ[name] for name in ("NO_PROXY", "no_proxy")]
        raise StackError(str(said))

    assert exit_of("make demo", run) == (
        "make demo: ['example.com,127.0.0.1,localhost', '127.0.0.1,localhost']"
    )


def test_a_disk_that_is_full__costs_lines_of_the_log_and_is_said_once(tmp_path: Path) -> None:
    shown: list[str] = []
    log = tmp_path / "full.log"
    log.symlink_to("/dev/full")
    child = Child(
        "api",
        [sys.executable, "-c", "for n in range(3): print(n)"],
        dict(os.environ),
        log,
        lambda _, line: shown.append(line),
    )
    child.start()
    assert child.process is not None
    child.process.wait(30)
    until = time.monotonic() + 10
    while "2" not in shown and time.monotonic() < until:
        time.sleep(0.01)
    assert shown == [f"{log} {_processes.NOT_WRITTEN}: No space left on device", "0", "1", "2"]
