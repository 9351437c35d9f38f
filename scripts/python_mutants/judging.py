"""The pytest session that judges mutants. It collects the tests once; each mutant is then a process
forked from it, which puts the mutant into its own memory and runs the tests that touch its line.

Laws
- A test that fails counts only if it passes without the mutant: it is run again, alone and without.
  One that fails then too is left out from there on.
- A test that does not end in HANG_S and ten times what it usually takes has noticed the mutant. The
  limit of a mutant is another matter: when it is over, the tests that are left are not run.
- Unit tests are first, the fastest before the others, and one case of each before the second of
  any; then the rest, file by file.
"""

import os
import resource
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from scripts.python_mutants.contexts import Contexts
from scripts.python_mutants.listed import RuleMutant, applied
from scripts.python_mutants.swap import LoadedFunctions
from scripts.python_mutants.verdicts import MutantOutcome, MutantVerdict

PROFILE: Final = "mutants"
UNIT: Final = "tests/unit/"
HANG_S: Final = {True: 30.0, False: 120.0}  # of a unit test; of another, which may start servers
MOST_BYTES: Final = 6 * 2**30  # of a mutant that fills the memory
TICK_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class ForkedRun:
    """Tests to run in a process of their own, with a mutant or without."""

    mutant: RuleMutant | None
    tests: Sequence[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class ForkedRunEnd:
    """How many tests were run, and the one that failed or did not end."""

    run: int
    test: str = ""
    is_hung: bool = False


Judging = Generator[ForkedRun, ForkedRunEnd, MutantVerdict]


@dataclass(slots=True)
class _Running:
    """A job's process. It writes `start <test>` and `failed <test>` into `said`, a line each."""

    process: int
    said: Path
    size: int = -1
    grown_at: float = 0.0


class Judge:
    """The plugin. `keep` gets each verdict at once."""

    def __init__(
        self,
        mutants: Sequence[RuleMutant],
        contexts: Contexts,
        folder: Path,
        limit_s: float,
        lanes: int,
        keep: Callable[[MutantVerdict], None],
    ) -> None:
        self._todo = list(mutants)[::-1]
        self._files = {mutant.file for mutant in mutants}
        self._contexts = contexts
        self._folder = folder
        self._limit_s = limit_s
        self._lanes = lanes
        self._keep = keep
        self._sound = set[str]()
        self._unsound = set[str]()
        self.items: dict[str, pytest.Item] = {}
        self.is_child = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Property tests try the same examples in each run, and do not look for the smallest that
        fails. hypothesis is imported here since pytest rewrites its plugin first.
        """
        from hypothesis import Phase, settings

        settings.register_profile(
            PROFILE,
            deadline=None,
            max_examples=25,
            derandomize=True,
            database=None,
            phases=(Phase.explicit, Phase.generate),
        )
        os.environ["HYPOTHESIS_PROFILE"] = PROFILE

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self) -> None:
        self._loaded = LoadedFunctions.of(self._files)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """In a forked process None: pytest's own loop runs the tests that are left in it."""
        self.items = {item.nodeid: item for item in session.items}
        active = list[tuple[Judging, _Running]]()
        while active or self._todo:
            heard = list[tuple[Judging, ForkedRunEnd | None]]()
            for judging, running in list(active):
                if ended := self._ended(running):
                    active.remove((judging, running))
                    heard.append((judging, ended))
            while self._todo and len(active) + len(heard) < self._lanes:
                heard.append((self.judged(self._todo.pop()), None))
            for judging, ended in heard:
                try:
                    job = judging.send(ended)  # type: ignore[arg-type]  # None begins a generator
                except StopIteration as verdict:
                    self._keep(verdict.value)
                    continue
                begun = self._begun(session, job)
                if begun is None:
                    return None
                active.append((judging, begun))
            time.sleep(TICK_S)
        return True

    def judged(self, mutant: RuleMutant) -> Judging:
        """Asks for processes, and is sent how each ended."""
        begun = time.monotonic()
        tests = [test for test in self._nearest(mutant) if test not in self._unsound]
        touching, run = len(tests), 0
        while tests:
            left_s = self._limit_s - (time.monotonic() - begun)
            ended = yield ForkedRun(mutant, tests, left_s)
            run += ended.run
            test = ended.test
            if not test:
                break
            if test not in self._sound:
                control = yield ForkedRun(None, [test], self._limit_s)
                (self._unsound if control.test else self._sound).add(test)
            if test in self._sound:
                outcome = MutantOutcome.TIMED_OUT if ended.is_hung else MutantOutcome.NOTICED
                return MutantVerdict(mutant.id, outcome, test, _since(begun), run, touching)
            tests = tests[tests.index(test) + 1 :]
        outcome = MutantOutcome.SURVIVED if touching else MutantOutcome.NO_TEST
        return MutantVerdict(mutant.id, outcome, "", _since(begun), run, touching)

    def _nearest(self, mutant: RuleMutant) -> list[str]:
        """The collected tests that touch the lines of the mutant, or else of its statement, or else
        of its function.
        """
        _, mutation = applied(mutant)
        function = mutation.functions[-1]
        body = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
        for lines in (mutation.lines, mutation.statement_lines, body):
            if found := self._contexts.of_lines(mutant.file, lines) & self.items.keys():
                return nearest_first(found, self._contexts.seconds)
        return []

    def _begun(self, session: pytest.Session, job: ForkedRun) -> _Running | None:
        """None in the process that was forked."""
        said = self._folder / f"{time.monotonic_ns()}.said"
        said.touch()
        process = os.fork()
        if process:
            return _Running(process, said)
        self.is_child = True
        os.setsid()
        out = os.open(said.with_suffix(".out"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, resource.RLIM_INFINITY))
        if job.mutant:
            self._loaded.put(job.mutant)
        session.items[:] = [self.items[test] for test in job.tests]
        session.config.pluginmanager.register(_Speaker(session, said, job.seconds))
        return None

    def _ended(self, running: _Running) -> ForkedRunEnd | None:
        now = time.monotonic()
        size = running.said.stat().st_size
        if size != running.size:
            running.size, running.grown_at = size, now
        is_over = os.waitpid(running.process, os.WNOHANG)[0] != 0
        lines = [line.split(" ", 1) for line in running.said.read_text().splitlines()]
        begun = [test for what, test in lines if what == "start"]
        failed = next((test for what, test in lines if what == "failed"), "")
        if not is_over:
            allowed_s = hang_s(begun[-1], self._contexts.seconds) if begun else max(HANG_S.values())
            if now < running.grown_at + allowed_s:
                return None
            os.killpg(running.process, signal.SIGKILL)
            os.waitpid(running.process, 0)
        elif not begun:
            raise RuntimeError(running.said.with_suffix(".out").read_text()[-2_000:])
        running.said.unlink()
        running.said.with_suffix(".out").unlink()
        if failed or is_over:
            return ForkedRunEnd(len(begun), failed)
        return ForkedRunEnd(len(begun), begun[-1], is_hung=True)


class _Speaker:
    """Of a forked process: says what it runs, and stops when its time is over."""

    def __init__(self, session: pytest.Session, said: Path, seconds: float) -> None:
        self._session = session
        self._said = said
        self._until = time.monotonic() + seconds

    def _say(self, what: str, test: str) -> None:
        with self._said.open("a") as lines:
            lines.write(f"{what} {test}\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._say("start", nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._say("failed", report.nodeid)

    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self._until:
            self._session.shouldstop = "the time of the mutant is over"


def nearest_first(tests: Collection[str], seconds: Mapping[str, float]) -> list[str]:
    """In the order in which a mutant is shown to them."""
    by_time = sorted(tests, key=lambda test: (seconds.get(test, 0.0), test))
    cases, numbers = Counter[str](), dict[str, int]()
    of_file = defaultdict[str, float](float)
    for test in by_time:
        function = test.partition("[")[0]
        numbers[test] = cases[function]
        cases[function] += 1
        of_file[_file(test)] += seconds.get(test, 0.0)

    def rank(test: str) -> tuple[bool, int, float, str]:
        if test.startswith(UNIT):
            return (False, numbers[test], 0.0, "")
        return (True, min(numbers[test], 1), of_file[_file(test)], _file(test))

    return sorted(by_time, key=rank)


def hang_s(test: str, seconds: Mapping[str, float]) -> float:
    """After how long a test is said not to end."""
    return HANG_S[test.startswith(UNIT)] + 10 * seconds.get(test, 0.0)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 1)
