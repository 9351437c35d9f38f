"""Whole lists are read on a thread of their venue; the shared loop goes on meanwhile."""

import asyncio
import threading
from typing import Any

import pytest

from indexer.venues.apart import ListReader
from indexer.venues.port import VenueError
from indexer.venues.reach import within_reach
from tests.each import each
from tests.unit.indexer.venues.native.payloads import venue_of


def test_a_list_that_is_long_to_read__holds_up_no_other_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The parser waits for work of the loop: on the loop itself that would be for ever."""
    venue = venue_of("binance")
    went_on = threading.Event()
    read_on = list[str]()
    client = venue._lists.client
    parse = client.parse_tickers

    def slow(*values: Any, **named: Any) -> Any:
        assert went_on.wait(10)
        read_on.append(threading.current_thread().name)
        return parse(*values, **named)

    monkeypatch.setattr(client, "parse_tickers", slow)

    async def both() -> int:
        await venue.markets()
        reading = asyncio.ensure_future(venue.tickers())
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.01, went_on.set)
        found = await reading
        await venue.close()
        return len(found.values)

    assert asyncio.run(both()) > 0
    assert [name.startswith("venue-lists") for name in read_on] == [True]


def test_requests__are_sent_on_the_shared_loop_in_its_pace() -> None:
    sent = list[str]()

    class Sends:
        async def send(self, request: Any) -> Any:
            sent.append(threading.current_thread().name)
            return "answer"

        async def close(self) -> None:
            """Nothing."""

    class Client:
        def __init__(self, over: Any) -> None:
            self.over = over

        async def fetch_lists(self, count: int) -> list[Any]:
            return [await self.over.send(None) for _ in range(count)]

    async def pace() -> None:
        sent.append("paced")

    reader = ListReader(Client, Sends(), pace)
    assert asyncio.run(reader.call("fetch_lists", 2)) == ["answer", "answer"]
    reader.close()
    assert sent == ["paced", "MainThread", "paced", "MainThread"]


def test_an_error_of_the_thread__is_the_call_s() -> None:
    venue = venue_of("binance", **{"/api/v3/exchangeInfo": "text"})
    with pytest.raises(VenueError):
        asyncio.run(venue.markets())


@each("unit", ["1.", "1_", "9" * 299 + "x", "1 ", "1e ", "\\t1"])
@pytest.mark.slow
def test_a_text_that_is_nearly_out_of_reach_all_along__is_looked_through_once(unit: str) -> None:
    """Its length decides, not its square: it ends within the test's time."""
    text = '["' + unit * (1_000_000 // len(unit)) + '"]'
    assert within_reach(text, ["kept"]) == ["kept"]
