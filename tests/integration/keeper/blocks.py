"""Blocks that come while a keeper ticks, and a clock that goes with them."""

import time
from collections.abc import Callable
from contextlib import suppress

from core.errors import OutsideError
from tests.integration.keeper.conftest import KeeperProcess, Stage

BLOCK_S = 2


class Clock:
    """Seconds that only rise, and go with the chain's."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.passed_s


def blocks(
    stage: Stage,
    keeper: KeeperProcess,
    clock: Clock,
    count: int,
    until: Callable[[], bool] = lambda: False,
) -> int:
    """A tick and a block, so often or until that is so; answers how often."""
    for done in range(count):
        if until():
            return done
        with suppress(OutsideError):
            keeper.run()
        stage.pass_time(stage.chain.now + BLOCK_S)
        clock.passed_s += BLOCK_S
    return count
