"""What the soak measures and judges."""

import asyncio
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

from tests.bench.soak import MachineRoom, Soak
from tests.bench.traffic import Tally, Traffic

SECONDS = 3_600.0


def soak_of(room: object) -> Soak:
    traffic = SimpleNamespace(in_flight=0, take=Tally)
    return Soak(cast(MachineRoom, room), cast(Traffic, traffic), 200.0, SECONDS)


def test_a_process_that_is_begun_again_while_it_is_looked_at__is_seen_once() -> None:
    pids = count(1)
    soak = soak_of(SimpleNamespace(memory_mib=lambda: {("keeper", next(pids)): 100.0}))
    asyncio.run(soak._look(Tally()))
    assert [(one, len(samples)) for one, samples in soak.memory.items()] == [(("keeper", 1), 1)]
