"""The one client: callers over raw sockets, so that it is never the slow side.

    python -m tests.bench.load PORT CONNECTIONS SECONDS [A_SECOND] < requests.json

Connection i sends request i modulo their number, one at a time, again and again: as fast as it is
answered, or A_SECOND times a second. The last line is one JSON object: requests answered within the
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
from functools import partial
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


# The process


@dataclass
class Tally:
    """What all connections saw.

    Answers before `begins` warm up and are not counted, nor are those after `ends`.
    """

    begins: float
    ends: float
    pause_s: float = 0.0  # from one request of a connection to its next
    answered: int = 0
    latencies_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


class Client(asyncio.Protocol):
    def __init__(self, sent: bytes, tally: Tally, done: asyncio.Future[None]) -> None:
        self.sent, self.tally, self.done = sent, tally, done
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._send()

    def _send(self) -> None:
        self.sent_at = time.perf_counter()
        self.transport.write(self.sent)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0 or len(self.buffer) < end + 4 + _length(self.buffer[:end]):
            return
        now = time.perf_counter()
        self.tally.answered += 1
        if self.tally.begins <= now < self.tally.ends:
            self.tally.latencies_s.append(now - self.sent_at)
            self.tally.statuses[int(self.buffer[9:12])] += 1
        self.buffer = b""
        next_at = max(now, self.sent_at + self.tally.pause_s)
        if next_at >= self.tally.ends:
            self.transport.close()
        elif next_at == now:
            self._send()
        else:
            asyncio.get_running_loop().call_later(next_at - now, self._send)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _length(head: bytes) -> int:
    """The answer's Content-Length, which every answer has."""
    lower = head.lower()
    at = lower.index(b"content-length:") + 15
    end = lower.find(b"\r\n", at)
    return int(lower[at : end if end >= 0 else None])


async def run(
    port: int, connections: int, seconds: float, requests: list[str], a_second: float
) -> Tally:
    loop = asyncio.get_running_loop()
    begins = time.perf_counter() + WARM_S
    tally = Tally(begins, begins + seconds, 1 / a_second if a_second else 0.0)
    done: list[asyncio.Future[None]] = [loop.create_future() for _ in range(connections)]
    for index in range(connections):
        sent = requests[index % len(requests)].encode()
        await loop.create_connection(partial(Client, sent, tally, done[index]), "127.0.0.1", port)
    await asyncio.wait_for(asyncio.gather(*done), seconds + 60)
    return tally


def main() -> None:
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    a_second = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
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
