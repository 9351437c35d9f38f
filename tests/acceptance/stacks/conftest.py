"""Two stacks that this folder's tests share: each is started once, by the first test that asks for it,
and ended after the last of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from scripts._ports import Ports
from tests.acceptance.conftest import RunningStack, stack_folder

OUTSIDE = {
    "OPERATOR_KEY": "op_local_of_the_environment",
    "REGISTRATIONS_PER_MINUTE": "7",
    "REGISTRATIONS_PER_DAY": "",
}


@dataclass(frozen=True, slots=True)
class ReadyStack:
    """A stack, and what it wrote of itself."""

    running: RunningStack
    facts: dict[str, Any]


@contextmanager
def ready(**settings: str) -> Iterator[ReadyStack]:
    """It must end on an interrupt and leave no stack.json."""
    with stack_folder() as folder:
        running = RunningStack(folder, Ports.free(), **settings)
        try:
            yield ReadyStack(running, running.await_ready())
        finally:
            running.interrupt()
            output = running.output()
        assert "stopped" in output
        assert not (folder / "stack.json").exists()


@pytest.fixture(scope="package")
def first() -> Iterator[ReadyStack]:
    with ready() as stack:
        yield stack


@pytest.fixture(scope="package")
def second() -> Iterator[ReadyStack]:
    """Beside the first, with settings from outside."""
    with ready(**OUTSIDE) as stack:
        yield stack
