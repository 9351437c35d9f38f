"""Calls at a steady rate over several API processes, as a balancer with health checks would spread
them: a call whose connection breaks is sent again, to the next process.

Everything sent is safe to repeat: reads, and writes with an Idempotency-Key. Each caller calls from one
address of its own. Answers are counted as what they are to the caller: served, refused (a body that names
its reason, and is no defect), or an error.
"""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.bench.load import Wire, request

ANSWER_S = 30.0
UNANSWERED_S = 15.0
PAUSE_S = 0.1
MOST_IN_FLIGHT = 2_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever calls from one address of this machine. `headers`: its credential, if it has one."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One kind of call, each time of one of its `callers`. `text`: the whole request, head and body."""

    name: str
    weight: int
    callers: Sequence[Caller]
    text: Callable[[Caller], bytes]


@dataclass
class Tally:
    """What became of the calls of a stretch of time."""

    latencies_s: list[float] = field(default_factory=list)
    by_call: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    served: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    sent_again: int = 0

    @property
    def answered(self) -> int:
        return self.served + self.refused.total() + self.errors.total()

    def p(self, percent: float) -> float:
        """Milliseconds, from when a call was due to its last answer."""
        ordered = sorted(self.latencies_s)
        if not ordered:
            return 0.0
        return round(1000 * ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))], 1)

    def add(self, other: "Tally") -> None:
        self.latencies_s += other.latencies_s
        self.served += other.served
        self.refused += other.refused
        self.errors += other.errors
        self.sent_again += other.sent_again
        for name, outcomes in other.by_call.items():
            self.by_call[name] += outcomes


def outcome(status: int, body: bytes) -> tuple[str, str]:
    """(served, refused or error; its words)."""
    if status < 400:
        return "served", str(status)
    try:
        said = json.loads(body)
        reason = str(said["service"]["reason"] if "service" in said else said["detail"])
    except (ValueError, KeyError, TypeError):
        return "error", f"{status} without a reason"
    if status >= 500 and status != 503:
        return "error", f"{status} {reason}"
    return "refused", f"{status} {reason}"


class Traffic:
    """`ports`: of the API processes that calls are sent to; it may be changed while calls go on."""

    def __init__(
        self,
        ports: Sequence[int],
        calls: Sequence[Call],
        *,
        most_in_flight: int = MOST_IN_FLIGHT,
        is_patient: bool = False,
        seed: int = 0,
    ) -> None:
        """`is_patient`: a call that is due waits while `most_in_flight` are; else it is an error."""
        self.ports = list(ports)
        self._most, self._is_patient = most_in_flight, is_patient
        self._calls, self._weights = list(calls), [one.weight for one in calls]
        self._draw = random.Random(seed)
        self._idle: dict[tuple[int, str], list[Wire]] = defaultdict(list)
        self._turn = 0
        self.is_over = False
        self.in_flight = 0
        self.now = Tally()

    async def run(self, rate: float, seconds: float) -> None:
        """Calls are sent when they are due, whatever became of those before; until `is_over`."""
        begun, sent, under_way = time.monotonic(), 0, set[asyncio.Task[None]]()
        while not self.is_over and (passed := time.monotonic() - begun) < seconds:
            while sent < passed * rate:
                if self._is_patient and len(under_way) >= self._most:
                    break
                (call,) = self._draw.choices(self._calls, self._weights)
                if len(under_way) >= self._most:
                    self.now.errors["not sent: too many wait"] += 1
                else:
                    task = asyncio.create_task(self._ask(call, begun + sent / rate))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                sent += 1
            await asyncio.sleep(1 / rate)
        if under_way:
            await asyncio.wait(under_way, timeout=ANSWER_S + UNANSWERED_S)

    def take(self) -> Tally:
        """What was counted since the last time."""
        taken, self.now = self.now, Tally()
        return taken

    def close(self) -> None:
        for connections in self._idle.values():
            for wire in connections:
                wire.close()
        self._idle.clear()

    async def _ask(self, call: Call, due: float) -> None:
        self.in_flight += 1
        try:
            kind, words = await self._answered(call)
        finally:
            self.in_flight -= 1
        tally = self.now
        tally.latencies_s.append(time.monotonic() - due)
        tally.by_call[call.name][kind] += 1
        if kind == "served":
            tally.served += 1
        else:
            (tally.refused if kind == "refused" else tally.errors)[f"{words} ({call.name})"] += 1

    async def _answered(self, call: Call) -> tuple[str, str]:
        caller, until = self._draw.choice(call.callers), time.monotonic() + UNANSWERED_S
        text = call.text(caller)
        self._turn += 1
        turn, broken = self._turn, 0
        while True:
            port = self.ports[(turn + broken) % len(self.ports)]
            try:
                once = self._once(port, caller.address, text)
                return outcome(*await asyncio.wait_for(once, ANSWER_S))
            except TimeoutError:
                return "error", f"no answer within {ANSWER_S:.0f} s"
            except (ValueError, asyncio.LimitOverrunError):
                return "error", "an answer that cannot be read"
            except (OSError, asyncio.IncompleteReadError) as error:
                self.now.sent_again += 1
                broken += 1
                if time.monotonic() > until:
                    return "error", f"no process answers ({type(error).__name__})"
                if broken % len(self.ports) == 0:
                    await asyncio.sleep(PAUSE_S)

    async def _once(self, port: int, address: str, text: bytes) -> tuple[int, bytes]:
        idle = self._idle[port, address]
        while idle and idle[-1].is_over:  # closed there, since it rested too long
            idle.pop().close()
        wire = idle.pop() if idle else await Wire.to(port, address)
        answer = await wire.ask(text)
        if not wire.is_over:
            idle.append(wire)
        return answer


def get(path: str, **headers: str) -> bytes:
    return request("GET", path, _named(headers)).encode()


def post(path: str, body: object, **headers: str) -> bytes:
    return request("POST", path, _named(headers), body).encode()


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
