"""A part of `make preflight` that hangs keeps what it found before."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from core.findings import PartFinding, right
from scripts.preflight import findings_of, said


def test_said__a_part_that_hangs__has_what_it_found_before_and_that_it_hangs() -> None:
    goes_on, has_found, found = threading.Event(), threading.Event(), list[PartFinding]()

    def check_nodes(_: Any) -> Iterator[PartFinding]:
        yield right("node a", "fine")
        has_found.set()
        goes_on.wait(10)
        yield right("node b", "late")

    nothing: Any = None
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(found.extend, findings_of(check_nodes, nothing))
        assert has_found.wait(10)
        first, last = said("nodes", running, found, time.monotonic())
        goes_on.set()
    assert first == right("node a", "fine")
    assert last.says.startswith("no answer within 8 s")
