"""Profiles of the property tests: `deep` (make test-deep) looks at forty times as many examples. Logs
of the code under test are plain text: pretty tracebacks took a twentieth of the run. What is
collected is never garbage: looking through it again and again took half of the collection's time.
"""

import gc
import os

import pytest
import structlog
from hypothesis import settings

gc.disable()  # until all tests are collected

settings.register_profile("standard", deadline=None, max_examples=50)
settings.register_profile("deep", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "standard"))

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
