"""How `make test` runs all tests: workers of pytest-xdist, LANES of them, each with a Postgres and
chains of its own.

A file stays on one worker, and so do the files of a folder in TOGETHER. The order is random but for
what takes longest, which begins first, so that no worker ends with it alone. A line now and then
says how far the run is, and the last ones which files took longest: if one of them is missing in
FIRST, it belongs there.
"""

import os
import time
from collections import Counter
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

# one run of forge; two stacks; a stack and a browser
TOGETHER = ("tests/contracts/", "tests/acceptance/stacks/", "tests/browser/")
FIRST = (
    "tests/browser/",
    "tests/acceptance/stacks/",
    "tests/acceptance/test_demo.py",
    "tests/contracts/",
    "tests/integration/api/mandates/test_credential_matrix.py",
    "tests/integration/api/fund/test_fund_applications.py",
    "tests/integration/api/sponsored/test_sponsored_buy.py",
    "tests/integration/indexer/test_quarantine.py",
    "tests/integration/api/fund/test_fund_plans.py",
    "tests/integration/api/sponsored/test_sponsored_refusals.py",
    "tests/integration/indexer/test_retry.py",
)
LINE_EVERY_S = 30.0
SLOWEST = 20


def unit_of(nodeid: str) -> str:
    """What is given to a worker as a whole: the test's file, or its folder of TOGETHER."""
    file = nodeid.partition("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


class Scheduler(LoadScopeScheduling):
    """Units in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(tryfirst=True)  # before the plugin's own, which says one per core
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: each often waits for a chain, a database or a process."""
    return 1 + len(os.sched_getaffinity(0))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduler:
    config.option.loadscopereorder = False
    return Scheduler(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {unit: place for place, unit in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(unit_of(item.nodeid), len(FIRST)))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config))


class Progress:
    """What the run says, in place of a dot a test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._begun = self._said = time.monotonic()
        self._seconds: Counter[str] = Counter()
        self._ended = 0
        self._total = 0

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._total = len(ids)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        """Counted as pytest counts it, without a letter."""
        if report.failed:
            return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")
        return (
            report.outcome if report.when == "call" or report.skipped else "",
            "",
            report.outcome.upper(),
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[unit_of(report.nodeid)] += report.duration
        if report.failed:
            self._say(f"FAILED {report.nodeid} ({report.when})")
        if report.when == "teardown":
            self._ended += 1
        if time.monotonic() > self._said + LINE_EVERY_S:
            self._say(f"{self._ended:,} of {self._total:,} tests")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line("Slowest:")
        for unit, seconds in self._seconds.most_common(SLOWEST):
            terminalreporter.write_line(f"{seconds:7.0f} s  {unit}")

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"{self._said - self._begun:7.0f} s  {line}")
