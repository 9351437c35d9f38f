"""Gas is asked for once, for everybody who asks within five seconds."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import cast

import pytest

from core.chain.errors import RpcRefusedError
from core.chain.reader import ChainReader
from core.sponsored.kept_gas import SharedGasReading
from tests.each import each
from tests.unit.core.sponsored.test_gas_readings import CountingReader, SevenWeiHeader

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
SIZES = (200, 1_000)
READERS = 16


class HeldReader(CountingReader):
    """Answers once it is let go, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.asked_once, self.let_go, self.fails = Event(), Event(), fails

    def header(self) -> SevenWeiHeader:
        self.asked_once.set()
        assert self.let_go.wait(10)
        if self.fails:
            self.asked["header"] += 1
            raise RpcRefusedError("eth_getBlockByNumber", -32000, "no")
        return super().header()


def read(kept: SharedGasReading, reader: CountingReader, at: datetime) -> datetime:
    return kept.read(cast("ChainReader", reader), SIZES, at).as_of


@each(("after_s", "asked"), [(0, 1), (4.999, 1), (5, 2), (-1, 2)])
def test_a_reading__is_kept_for_five_seconds(after_s: float, asked: int) -> None:
    kept, reader = SharedGasReading(), CountingReader()
    assert read(kept, reader, NOON) == NOON
    later = NOON + timedelta(seconds=after_s)
    assert read(kept, reader, later) == (NOON if asked == 1 else later)
    assert reader.asked["header"] == asked


def test_many_at_once__ask_the_node_once() -> None:
    kept, reader = SharedGasReading(), HeldReader()
    with ThreadPoolExecutor(READERS) as pool:
        found = [pool.submit(read, kept, reader, NOON) for _ in range(READERS)]
        assert reader.asked_once.wait(10)
        reader.let_go.set()
        assert [one.result() for one in found] == [NOON] * READERS
    assert reader.asked["header"] == 1


def test_an_error__is_everybodys_who_waited_and_nobodys_later() -> None:
    kept, reader = SharedGasReading(), HeldReader(fails=True)
    reader.let_go.set()
    with pytest.raises(RpcRefusedError):
        read(kept, reader, NOON)
    reader.fails = False
    assert read(kept, reader, NOON) == NOON
    assert reader.asked["header"] == 2
