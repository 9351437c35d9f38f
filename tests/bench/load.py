"""The one client: callers over raw sockets, so that it is never the slow side.

    python -m tests.bench.load PORT CONNECTIONS SECONDS A_SECOND < requests.json

Connection i sends request i modulo their number, one at a time, again and again: as fast as it is
answered, or A_SECOND times a second (0: the former). The last line is one JSON object: requests answered within the
seconds, answers by status, percentiles of their latency, and `answered`, those of the warm-up included.
"""

import asyncio
import gc
import http.client
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.bench.place import ROOT, percentile

WARM_S: Final = 0.5
ROUNDS, CALLS = 5, 2_000
Ask = Callable[[str], bytes]


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: object = None
) -> str:
    """As it goes over the wire. `body`: text, or what is written as JSON."""
    lines = {"Host": "bench", **(headers or {})}
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    if text:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(text))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n{text}"


def begin(
    port: int, requests: Sequence[str], clients: int, seconds: float, a_second: float = 0.0
) -> subprocess.Popen[bytes]:
    """`a_second`: of each client; 0: as fast as it is answered."""
    figures = (str(port), str(clients), str(seconds), str(a_second))
    command = [sys.executable, "-m", "tests.bench.load", *figures]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(list(requests)).encode())
    process.stdin.close()
    return process


def answer_of(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    with process.stdout as out:
        answered = json.loads(out.read())
    assert process.wait() == 0
    return dict(answered)


def load(port: int, requests: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    """One round, each answer of which is a 200, from a process of its own."""
    answered = answer_of(begin(port, requests, clients, seconds))
    assert set(answered["statuses"]) == {"200"}, answered
    return answered


def caller(port: int, headers: Mapping[str, str] | None = None) -> Ask:
    """Asks over one connection that stays open. Errors: AssertionError for what is not 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(path: str) -> bytes:
        connection.request("GET", path, headers=dict(headers or {}))
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[:300])
        return body

    return ask


def p99_ratio(few: Callable[[], object], many: Callable[[], object], calls: int = CALLS) -> float:
    """The 99th percentile of `many` by that of `few`: the median of rounds, each of `calls` calls to
    either, in turn, so that what the machine does meanwhile bears on both.
    """
    ratios = []
    for turn in range(ROUNDS + 1):
        times: dict[Callable[[], object], list[float]] = {few: [], many: []}
        gc.collect()
        gc.disable()
        for _ in range(calls if turn else calls // 10):
            for call in (few, many):
                times[call].append(seconds_of(call))
        gc.enable()
        if turn:  # the first one warms up
            in_few, in_many = (statistics.quantiles(times[call], n=100)[98] for call in (few, many))
            print(f"p99 {in_few * 1000:.2f} ms, {in_many * 1000:.2f} ms over many", flush=True)
            ratios.append(in_many / in_few)
    return round(statistics.median(ratios), 2)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class Wire:
    """One connection, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int, address: str | None = None) -> "Wire":
        """`address`: of this machine, where it comes from."""
        source = None if address is None else (address, 0)
        return cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=source))

    async def ask(self, sent: bytes) -> tuple[int, bytes]:
        """Status and body. Errors: OSError, IncompleteReadError, ValueError."""
        try:
            self._writer.write(sent)
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            status, length = int(head[9:12]), _length(head)
            body = b"" if status in (204, 304) else await self._reader.readexactly(length)
        except BaseException:
            self.close()
            raise
        if b"\r\nconnection: close" in head:
            self.close()
        return status, body

    @property
    def is_over(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    def close(self) -> None:
        self._writer.close()


def _length(head: bytes) -> int:
    at = head.find(b"\r\ncontent-length:")
    return 0 if at < 0 else int(head[at + 17 : head.index(b"\r", at + 17)])


# The process


@dataclass
class Tally:
    """What all connections saw.

    Answers before `begins` warm up and are not counted, nor are those after `ends`.
    """

    begins: float
    ends: float
    pause_s: float  # from one request of a connection to its next
    answered: int = 0
    latencies_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


async def ask_on(port: int, sent: bytes, tally: Tally) -> None:
    wire, due = await Wire.to(port), time.perf_counter()
    while due < tally.ends:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        status, _ = await wire.ask(sent)
        now = time.perf_counter()
        tally.answered += 1
        if tally.begins <= now < tally.ends:
            tally.latencies_s.append(now - began)
            tally.statuses[status] += 1
        due = max(now, began + tally.pause_s)
        if wire.is_over:
            wire = await Wire.to(port)
    wire.close()


async def run(
    port: int, connections: int, seconds: float, requests: list[str], a_second: float
) -> Tally:
    begins = time.perf_counter() + WARM_S
    tally = Tally(begins, begins + seconds, 1 / a_second if a_second else 0.0)
    asked = (
        ask_on(port, requests[index % len(requests)].encode(), tally)
        for index in range(connections)
    )
    await asyncio.wait_for(asyncio.gather(*asked), seconds + 60)
    return tally


def main() -> None:
    port, connections = map(int, sys.argv[1:3])
    seconds, a_second = map(float, sys.argv[3:])
    tally = asyncio.run(run(port, connections, seconds, json.load(sys.stdin), a_second))
    ordered = sorted(tally.latencies_s)
    found = {
        "requests": len(ordered),
        "seconds": seconds,
        "a_second": round(len(ordered) / seconds, 1),
        "answered": tally.answered,
        "statuses": tally.statuses,
    }
    for share in (50, 95, 99):
        found[f"p{share}_ms"] = round(percentile(ordered, share / 100) * 1000, 2)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
