"""`make soak MINUTES=60`: the whole stack under a steady, realistic load, and faults beside it.

RATE calls a second (default 200) go to two API processes: reads of agents, an owner and visitors, and a few
writes, while an agent trades on chain. Each of the 16 callers has an address of this machine of its own.
After a minute to warm up and a quiet one, until three fifths of the time are over, one fault follows another:
the preferred node refuses, the indexer is killed, every connection to the database is cut, an API process is
killed, the keeper is killed: each is started again, as a supervisor would. Then the load goes on without
faults, so that memory shows.

It says each 10 s how it is. The last line is one JSON object: errors (answers that are no refusals), refusals,
restarts that no fault asked for, memory of each process when it was a tenth of the run old and at the end,
p99 beside the quiet minute's, and the events of the chain that the record lacks. Exit 1: an error, more than 1 % of the calls
refused, a restart that no fault asked for, a lost event, no event at all, or an agent that stopped trading; from 10 minutes on
also memory of ours that grew by more than 5 %, a process younger than three tenths of the run, or a p99 above a second.
"""

import asyncio
import itertools
import json
import os
import shutil
import signal
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg

from core.db.engine import Database
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.venues import test_venue
from scripts._ports import Ports, free_port
from scripts._processes import be_interrupted_by_signals
from scripts.demo import Story, sign_and_fund, sign_in
from scripts.devstack import Stack
from tests.bench.gate import NodeGate
from tests.bench.lost import lost_events
from tests.bench.place import CENT, folder, listens, tree
from tests.bench.traffic import Call, Caller, Tally, Traffic, get, post
from tests.world.seed import place_of, seed

MOST_MINUTES = 240
SAY_S = 10.0
FAULTS_UNTIL = 0.6  # of the time
JUDGED_FROM_MINUTES = 10
MOST_GROWTH = 0.05
OLD_ENOUGH = 0.3  # of the time, for what it holds to be judged
MOST_P99_MS = 1_000
MOST_REFUSED = 0.01  # of the calls
NOT_OURS = ("chain", "postgres")
# a cut connection takes their lead, and they end
LEADERS = ("indexer", "keeper", "scanner", "worker")
AGENTS, VISITORS = 12, 2  # beside the agent at work and its owner
OTHERS, DAYS = 20, 120  # simulated agents, and days of their ledgers
TRADE_EVERY_S = 3.0
WORKS_WITHIN_S = 20.0
PATIENCE_S = 120  # while the world is made
OUT_OF_THE_WAY = dict.fromkeys(
    (
        "DAILY_CEILING",
        "FREE_READS_PER_DAY",
        "FREE_READS_PER_OWNER_PER_DAY",
        "FREE_READS_PER_OWNERS_ADDRESS_PER_DAY",
        "FREE_READS_PER_ADDRESS_PER_DAY",
        "NOTES_PER_ADDRESS_PER_MINUTE",
    ),
    "100000000",
)


class MachineRoom:
    """The stack, a second API process, and who starts again what died."""

    def __init__(self, path: Path) -> None:
        ports = Ports.free()
        self.gate = NodeGate(gate_port := free_port(), ports.rpc)
        urls = f"http://127.0.0.1:{gate_port},http://127.0.0.1:{ports.rpc}"
        outside = OUT_OF_THE_WAY | {"RPC_URLS": urls, "LOG_FORMAT": "json"}
        self.stack = Stack(path, ports, say=say, outside=outside)
        self.api_ports = [ports.api]
        self.restarts = Counter[str]()
        self.asked_ends = Counter[str]()  # by the faults
        self._at_work: dict[str, int] = {}
        self._is_over = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)

    def start(self) -> None:
        self.stack.start()
        first, port = self.stack.children["api"], free_port()
        second = self.stack._child("api 2", first.command, first.environment | {"PORT": str(port)})
        second.start()
        self.api_ports.append(port)
        self.stack.wait_for(lambda: None if listens(port) else "the second API")
        self._supervisor.start()

    def stop(self) -> None:
        self._is_over.set()
        if self._supervisor.is_alive():
            self._supervisor.join()
        self.stack.stop()
        self.gate.stop()

    def kill(self, name: str) -> None:
        """Killed, it is started again. Errors: TimeoutError where it does not run."""
        until = time.monotonic() + WORKS_WITHIN_S
        while (pid := self._worker(name)) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"{name} does not work, and cannot be killed")
            time.sleep(0.1)
        self.asked_ends[name] += 1
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def cut_connections(self) -> None:
        everyone = """select pg_terminate_backend(pid) from pg_stat_activity
                       where pid <> pg_backend_pid() and backend_type = 'client backend'"""
        self.asked_ends.update(LEADERS)
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(everyone)

    @property
    def database_url(self) -> str:
        return str(self.stack.facts["database_url"]).replace("+psycopg", "")

    def _worker(self, name: str) -> int | None:
        """Its process; None: there is none now."""
        child = self.stack.children[name]
        return child.process.pid if child.process is not None and child.is_running() else None

    def memory_mib(self) -> dict[tuple[str, int], float]:
        """What each process holds that no file backs, with its children."""
        pids = {
            (name, pid) for name in self.stack.children if (pid := self._worker(name)) is not None
        }
        server = self.stack.postgres.pid if self.stack.postgres is not None else None
        if server is not None:
            pids.add(("postgres", server))
        return {one: sum(map(_anonymous_mib, tree(one[1]))) for one in sorted(pids)}

    def _supervise(self) -> None:
        while not self._is_over.wait(0.3):
            for name, child in list(self.stack.children.items()):
                if not child.is_running() and not self._is_over.is_set():
                    child.start()
                if (pid := self._worker(name)) is not None:
                    self.restarts[name] += self._at_work.get(name, pid) != pid
                    self._at_work[name] = pid


def _anonymous_mib(process: psutil.Process) -> float:
    """0: it has ended."""
    with suppress(psutil.NoSuchProcess):
        held = process.memory_info()
        return float(held.rss - held.shared) / 2**20
    return 0.0


class Trading(threading.Thread):
    """The agent buys for a cent and sells again, straight on chain; `sent` are the calls that the
    chain took.
    """

    def __init__(self, story: Story) -> None:
        super().__init__(daemon=True)
        self._story, self._is_over, self.sent = story, threading.Event(), 0

    def run(self) -> None:
        adapter = self._story.at["test_venue_adapter"]
        for turn in itertools.count():
            if self._is_over.wait(TRADE_EVERY_S):
                return
            spent = CENT if turn % 2 == 0 else 0
            data = test_venue.buy(CENT) if spent else test_venue.sell(CENT)
            call = calldata.execute(VaultCall(adapter, spent, data))
            sent = self._story.agent.send({"to": self._story.vault, "data": call})
            self.sent += sent["succeeded"]

    def end(self) -> None:
        self._is_over.set()
        self.join(30)


def profile(story: Story, keys: list[str]) -> list[Call]:
    """What is asked for, a hundredth each by weight: agents at work read what they may do before they
    act, and page through what is new; owners look; visitors read what is public.
    """
    one, count = f"/mandate-wallet/mandates/{story.id}", itertools.count()
    addresses = (f"127.0.0.{last}" for last in itertools.count(2))
    worker = Caller(next(addresses), {"x_svc_user_key": str(story.agent_api.key)})
    owner = Caller(next(addresses), {"authorization": f"Bearer {story.owner_api.session}"})
    agents = [Caller(next(addresses), {"x_svc_user_key": key}) for key in keys]
    visitors = [Caller(next(addresses)) for _ in range(VISITORS)]

    def read(name: str, weight: int, callers: Sequence[Caller], path: str) -> Call:
        return Call(name, weight, callers, lambda caller: get(path, **caller.headers))

    def note(caller: Caller) -> bytes:
        number = next(count)
        body = {"kind": "note", "why": "The price holds.", "payload": {"text": f"Look {number}."}}
        return post(
            f"{one}/events",
            body,
            idempotency_key=f"soak-{os.getpid()}-{number}",
            **caller.headers,
        )

    return [
        read("limits before an action", 18, [worker], one),
        read("own mandates", 14, agents, "/mandate-wallet/mandates"),
        read("who am I", 10, agents, "/mandate-wallet/agents/me"),
        read("status", 6, agents, "/agent/status"),
        read("steps", 8, [worker], f"{one}/steps"),
        read("ledger", 6, [owner], f"{one}/ledger"),
        read("the owner's view", 6, [owner], one),
        read("statement", 2, [owner], f"{one}/statement"),
        read("alerts", 2, [owner], "/mandate-wallet/me/alerts"),
        read("board of mandates", 4, agents, "/mandate-wallet/board"),
        read("hall", 4, visitors, "/mandate-wallet/hall"),
        read("credits", 3, agents, "/credits/balance"),
        read("market board", 3, agents, "/board"),
        read("tasks", 2, agents, "/tasks/browse"),
        read("catalogue", 3, visitors, "/agent/catalog"),
        read("rules", 2, visitors, "/rules/mandate-vault"),
        read("liveness", 1, visitors, "/health/live"),
        Call("a report", 3, [worker], note),
        read("what is next", 3, agents, "/agent/dashboard"),
    ]


@dataclass
class Soak:
    room: MachineRoom
    traffic: Traffic
    rate: float
    seconds: float
    begun: float = field(default_factory=time.monotonic)
    memory: dict[tuple[str, int], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    faults: list[str] = field(default_factory=list)
    warm: Tally = field(default_factory=Tally)
    quiet: Tally = field(default_factory=Tally)
    troubled: Tally = field(default_factory=Tally)

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self.begun

    async def run(self) -> None:
        quiet_s = min(60.0, self.seconds / 8)
        await self._stretch(quiet_s, self.warm)  # first connections and reads are no measure
        await self._stretch(quiet_s, self.quiet)
        breaking = asyncio.create_task(self._break_things())
        await self._stretch(self.seconds - 2 * quiet_s, self.troubled)
        breaking.cancel()
        (ended,) = await asyncio.gather(breaking, return_exceptions=True)
        if isinstance(ended, Exception):  # a fault that could not be made; a CancelledError is none
            raise ended
        self.traffic.close()

    async def _stretch(self, seconds: float, into: Tally) -> None:
        load = asyncio.create_task(self.traffic.run(self.rate, seconds))
        while not load.done():
            await asyncio.wait({load}, timeout=SAY_S)
            await self._look(into)
        load.result()

    async def _look(self, into: Tally) -> None:
        taken = self.traffic.take()
        into.add(taken)
        at = self.passed_s
        memory = await asyncio.to_thread(self.room.memory_mib)  # beside the loop, which sends
        for one, mib in memory.items():
            self.memory[one].append((at, mib))
        held = " ".join(f"{name} {mib:.0f}" for (name, _), mib in memory.items())
        wrong = f", errors {dict(taken.errors)}" if taken.errors else ""
        refused = f", refused {dict(taken.refused)}" if taken.refused else ""
        say(
            f"{self.passed_s:6.0f} s  {taken.answered / SAY_S:5.0f}/s  p50 {taken.p(50):.0f} p99 {taken.p(99):.0f} ms, "
            f"{self.traffic.in_flight} wait, {taken.sent_again} sent again{refused}{wrong}; MiB: {held}"
        )

    async def _break_things(self) -> None:
        until = self.seconds * FAULTS_UNTIL
        pause = max(12.0, min(60.0, (until - self.passed_s) / 6))
        for name, fault in itertools.cycle(self._faults().items()):
            if self.passed_s + pause > until:
                return
            say(f"{self.passed_s:6.0f} s  fault: {name}")
            self.faults.append(name)
            await fault(pause)

    def _faults(self) -> dict[str, Callable[[float], Any]]:
        async def shut(pause: float) -> None:
            self.room.gate.shut()
            await asyncio.sleep(pause / 2)
            self.room.gate.open()
            await asyncio.sleep(pause / 2)

        def at_once(act: Callable[[], None]) -> Callable[[float], Any]:
            async def run(pause: float) -> None:
                await asyncio.to_thread(act)
                await asyncio.sleep(pause)

            return run

        return {
            "the preferred node refuses": shut,
            "the indexer is killed": at_once(lambda: self.room.kill("indexer")),
            "every connection to the database is cut": at_once(self.room.cut_connections),
            "an API process is killed": at_once(lambda: self.room.kill("api 2")),
            "the keeper is killed": at_once(lambda: self.room.kill("keeper")),
        }

    def growth(self) -> dict[str, dict[str, float]]:
        """Of each process that is there and old enough: MiB when it was a tenth of the run's time old, and
        at the end.
        """
        found = {}
        last_at = max(samples[-1][0] for samples in self.memory.values())
        for (name, _), samples in self.memory.items():
            early = [mib for at, mib in samples if at >= samples[0][0] + self.seconds / 10][:3]
            age = samples[-1][0] - samples[0][0]
            if samples[-1][0] < last_at or age < OLD_ENOUGH * self.seconds or len(early) < 3:
                continue
            before, after = (
                statistics.median(early),
                statistics.median(mib for _, mib in samples[-3:]),
            )
            found[name] = {
                "mib_early": round(before, 1),
                "mib_end": round(after, 1),
                "growth": round(after / before - 1, 3),
            }
        return found


def world(room: MachineRoom) -> tuple[Story, list[str]]:
    """Months of others' mandates, one mandate at work, and agents with keys."""
    database = Database(str(room.stack.facts["database_url"]), application_name="soak")
    rows = seed(database, place_of(room.stack.facts), datetime.now(UTC), OTHERS, DAYS)
    database.close()
    story = Story(room.stack.facts, PATIENCE_S)
    sign_in(story)
    sign_and_fund(story)
    story.agent_api.mandates.accept(story.id)
    keys = [
        story.owner_api.identity.connect(agent_name=f"soak {number}")["api_key"]
        for number in range(AGENTS)
    ]
    say(f"world      {rows:,} rows of simulated ledgers, mandate {story.id} at work, {AGENTS} keys")
    return story, keys


def report(
    soak: Soak, lost: int, minutes: float, trades: int, *, traded_to_the_end: bool
) -> dict[str, Any]:
    whole, memory = Tally(), soak.growth()
    whole.add(soak.warm)
    whole.add(soak.quiet)
    whole.add(soak.troubled)
    ours = {name: one["growth"] for name, one in memory.items() if name not in NOT_OURS}
    begun_late = sorted(soak.room.stack.children.keys() - ours.keys() - set(NOT_OURS))
    unasked = soak.room.restarts - soak.room.asked_ends
    ratio = round(soak.troubled.p(99) / max(0.1, soak.quiet.p(99)), 2)
    return {
        "minutes": minutes,
        "rate": soak.rate,
        "answered": whole.answered,
        "served": whole.served,
        "refused": dict(whole.refused),
        "errors": dict(whole.errors),
        "sent_again": whole.sent_again,
        "faults": len(soak.faults),
        "restarts": dict(+soak.room.restarts),
        "unasked_restarts": dict(unasked),
        "trades": trades,
        "traded_to_the_end": traded_to_the_end,
        "lost_events": lost,
        "quiet_p50_ms": soak.quiet.p(50),
        "quiet_p99_ms": soak.quiet.p(99),
        "p50_ms": soak.troubled.p(50),
        "p99_ms": soak.troubled.p(99),
        "p99_ratio": ratio,
        "memory": memory,
        "begun_late": begun_late,
        "held": {
            "errors": not whole.errors,
            "refused": whole.refused.total() <= MOST_REFUSED * whole.answered,
            "restarts": not unasked,
            "events": lost == 0 < trades and traded_to_the_end,
            "memory": not begun_late and all(growth <= MOST_GROWTH for growth in ours.values()),
            "p99": soak.troubled.p(99) <= MOST_P99_MS,
        },
    }


def say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    minutes, rate = float(os.environ.get("MINUTES") or 60), float(os.environ.get("RATE") or 200)
    if not 1 <= minutes <= MOST_MINUTES or not 1 <= rate <= 2_000:
        print(f"MINUTES is 1 to {MOST_MINUTES}, RATE 1 to 2000", file=sys.stderr)
        return 2
    be_interrupted_by_signals()
    with folder() as path:
        return _run(path, minutes, rate)


def _run(path: Path, minutes: float, rate: float) -> int:
    room = MachineRoom(path / "s")
    try:
        room.start()
        story, keys = world(room)
        soak = Soak(room, Traffic(room.api_ports, profile(story, keys)), rate, minutes * 60)
        trading = Trading(story)
        trading.start()
        asyncio.run(soak.run())
        traded_to_the_end = trading.is_alive()
        trading.end()
        lost = lost_events(room.database_url, story)
        found = report(soak, lost, minutes, trading.sent, traded_to_the_end=traded_to_the_end)
    finally:
        room.stop()
        _keep_logs(path)
    for name, one in found["memory"].items():
        say(
            f"memory     {name:<10} {one['mib_early']:8.1f} -> {one['mib_end']:8.1f} MiB, {one['growth']:+.1%}"
        )
    say(json.dumps(found))
    is_short = minutes < JUDGED_FROM_MINUTES
    judged = [
        held for one, held in found["held"].items() if not (is_short and one in ("memory", "p99"))
    ]
    return 0 if all(judged) else 1


def _keep_logs(path: Path) -> None:
    kept = Path(".build/soak")
    shutil.rmtree(kept, ignore_errors=True)
    if (path / "s" / "logs").is_dir():
        shutil.copytree(path / "s" / "logs", kept)


if __name__ == "__main__":
    sys.exit(main())
