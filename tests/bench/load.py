"""A load client that is never the slow side: raw sockets, one request under way on each, no HTTP
library.

    python -m tests.bench.load PORT CONNECTIONS SECONDS [A_SECOND] < heads.json

Heads is a JSON list of request heads; connection i sends head i modulo their number, again and
again, as fast as it is answered or A_SECOND times a second. Prints one JSON object: requests
answered within the measured seconds, answers by status, percentiles of their latency in
milliseconds, and `answered`: all answers, those of the warm-up included.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

WARM_S = 0.5


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
    def __init__(self, head: bytes, tally: Tally, done: asyncio.Future[None]) -> None:
        self.head, self.tally, self.done = head, tally, done
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._send()

    def _send(self) -> None:
        self.sent_at = time.perf_counter()
        self.transport.write(self.head)

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
    """The answer's Content-Length; every answer of the two servers has one."""
    lower = head.lower()
    at = lower.index(b"content-length:") + 15
    end = lower.find(b"\r\n", at)
    return int(lower[at : end if end >= 0 else None])


async def load(
    port: int, connections: int, seconds: float, heads: list[str], a_second: float
) -> Tally:
    loop = asyncio.get_running_loop()
    begins = time.perf_counter() + WARM_S
    tally = Tally(begins, begins + seconds, 1 / a_second if a_second else 0.0)
    done: list[asyncio.Future[None]] = [loop.create_future() for _ in range(connections)]
    for index in range(connections):
        head = heads[index % len(heads)].encode()
        await loop.create_connection(partial(Client, head, tally, done[index]), "127.0.0.1", port)
    await asyncio.wait_for(asyncio.gather(*done), seconds + 60)
    return tally


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main() -> None:
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    a_second = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    tally = asyncio.run(load(port, connections, seconds, json.load(sys.stdin), a_second))
    ordered = sorted(tally.latencies_s)
    times_ms = {
        f"p{share}_ms": round(percentile(ordered, share / 100) * 1000, 2) for share in (50, 95, 99)
    }
    print(
        json.dumps(
            {
                "requests": len(ordered),
                "seconds": seconds,
                "answered": tally.answered,
                "statuses": tally.statuses,
            }
            | times_ms
        )
    )


if __name__ == "__main__":
    main()
