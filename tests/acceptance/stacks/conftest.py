"""Two stacks that this folder's tests share: they are started once, and ended after the last of
them.
"""

from collections.abc import Iterator
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
class Pair:
    """Two stacks side by side and what each wrote of itself."""

    stacks: tuple[RunningStack, RunningStack]
    facts: tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="package")
def pair() -> Iterator[Pair]:
    """Two stacks of one machine. Both must end on an interrupt and leave no stack.json."""
    with stack_folder() as folder:
        stacks = (
            RunningStack(folder / "one", Ports.free()),
            RunningStack(folder / "two", Ports.free(), **OUTSIDE),
        )
        try:
            yield Pair(stacks, (stacks[0].await_ready(), stacks[1].await_ready()))
        finally:
            for stack in stacks:
                stack.interrupt()
            outputs = [stack.output() for stack in stacks]
        assert all("stopped" in output for output in outputs)
        assert not any((stack.directory / "stack.json").exists() for stack in stacks)
