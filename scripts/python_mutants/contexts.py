"""Which tests run which lines: a pytest plugin that measures it, and what it found, read again.

`-p scripts.python_mutants.contexts` with CONTEXTS=<folder> measures the files of the list with
coverage.py, a context per test, in each worker of pytest-xdist or in the one process there is.

<folder>/.coverage.<worker>  lines by test
<folder>/seconds.json        how long each test took, with what it set up
"""

import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from coverage import Coverage, CoverageData

from scripts.python_mutants.listed import ROOT, files

FOLDER: Final = "CONTEXTS"
SECONDS: Final = "seconds.json"


@dataclass(frozen=True, slots=True)
class Contexts:
    """`tests_of_line`: by file from the root, by line."""

    tests_of_line: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]

    def of_lines(self, file: str, lines: Iterable[int]) -> frozenset[str]:
        by_line = self.tests_of_line.get(file, {})
        return frozenset().union(*(by_line.get(line, frozenset()) for line in lines))


def read(folder: Path, wanted: Collection[str]) -> Contexts:
    """What was measured of these files, wherever the tree stood that was measured."""
    found: dict[str, defaultdict[int, set[str]]] = {file: defaultdict(set) for file in wanted}
    for stored in sorted(folder.glob(".coverage.*")):
        data = CoverageData(str(stored))
        data.read()
        for path in data.measured_files():
            for file in wanted:
                if path.endswith(f"/{file}"):
                    for line, tests in data.contexts_by_lineno(path).items():
                        found[file][line] |= {test for test in tests if test}
    seconds = json.loads((folder / SECONDS).read_text())
    frozen = {
        file: {line: frozenset(tests) for line, tests in by_line.items()}
        for file, by_line in found.items()
    }
    return Contexts(frozen, seconds)


class _Measurement:
    """Of one process that runs tests."""

    def __init__(self, stored: Path) -> None:
        self._coverage = Coverage(
            data_file=str(stored),
            include=[str(ROOT / file) for file in files()],
            config_file=False,
        )
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        self._coverage.switch_context("")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()


class _Durations:
    """Of the process that gets all reports."""

    def __init__(self, stored: Path) -> None:
        self._stored = stored
        self._seconds = defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        self._stored.write_text(
            json.dumps({test: round(seconds, 3) for test, seconds in self._seconds.items()})
        )


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(os.environ[FOLDER])
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker is None:
        config.pluginmanager.register(_Durations(folder / SECONDS))
    if worker is not None or not config.getoption("numprocesses", None):
        config.pluginmanager.register(_Measurement(folder / f".coverage.{worker or 'alone'}"))
