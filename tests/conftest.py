"""Profiles of the property tests: `deep` (make test-deep) looks at eighty times as many examples. Logs
of the code under test are plain text: pretty tracebacks took a twentieth of the run. What is
collected is never garbage: looking through it again and again took half of the collection's time.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from tests.slow import QUICK, is_slow

# In CI too: by default it tries the same examples there each time.
new_ones = {"deadline": None, "derandomize": False, "print_blob": True}
settings.register_profile("standard", **new_ones, max_examples=25)
settings.register_profile("deep", **new_ones, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "standard"))

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
        gc.collect()
        gc.freeze()
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == QUICK and is_slow(collection_path) else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What repeats the order of a run that failed."""
    if (seed := getattr(config.option, "randomly_seed", None)) is not None:
        terminalreporter.write_line(f"Order: PYTEST_ADDOPTS=--randomly-seed={seed}")


@pytest.hookimpl(tryfirst=True)  # before marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)
