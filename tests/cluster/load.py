"""Who writes while the database fails, and keeps what was acknowledged: it must still be there.

Laws
- What was answered with an error or not at all is unknown: it may stand or not, but never twice.
- A caller that wrote reads at once, through whichever process: it finds what it wrote.
"""

import itertools
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg

REST_S = 0.05
SAMPLE = 20
REFUSALS_OF_AN_OUTAGE = (429, 500, 502, 503, 504)


@dataclass
class Writer:
    """Numbers into a table of one column, as fast as one connection can, with what a driver does:
    connect again. `acks`: (number, when it was acknowledged).
    """

    dsn: str
    acks: list[tuple[int, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("create table written (number bigint not null)")
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        assert self._thread is not None
        self._thread.join(60)

    def gap_s(self, since: float) -> float:
        """The longest time without an acknowledged write since then, until now."""
        times = [at for _, at in list(self.acks) if at >= since]
        return max(
            later - earlier
            for earlier, later in itertools.pairwise([since, *times, time.monotonic()])
        )

    def has_written(self, since: float) -> bool:
        return bool(self.acks) and self.acks[-1][1] > since

    def lost(self) -> list[int]:
        """Acknowledged numbers that are not there."""
        acked = {number for number, _ in list(self.acks)}
        with psycopg.connect(self.dsn, connect_timeout=5) as connection:
            found = {row[0] for row in connection.execute("select number from written")}
        return sorted(acked - found)

    def _run(self) -> None:
        numbers = itertools.count()
        while not self._ended.is_set():
            try:
                with psycopg.connect(
                    self.dsn, autocommit=True, connect_timeout=2, tcp_user_timeout=10_000
                ) as connection:
                    for number in numbers:
                        connection.execute("insert into written values (%s)", [number])
                        self.acks.append((number, time.monotonic()))
                        if self._ended.wait(REST_S / 2):
                            return
            except psycopg.Error as error:
                self.errors.append(type(error).__name__)
                self._ended.wait(REST_S)


@dataclass
class Callers:
    """Agents that register through the load balancer, each with a key of its own, and read
    themselves at once; a call without an answer is sent again with the same Idempotency-Key.
    """

    url: str
    count: int = 2
    registered: dict[str, str] = field(default_factory=dict)  # external id -> key
    faults: list[str] = field(default_factory=list)
    calls: int = 0
    refused: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for number in range(self.count):
            thread = threading.Thread(target=self._run, args=(number,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, number: int) -> None:
        with httpx.Client(base_url=self.url, timeout=15) as client:
            for turn in itertools.count():
                if self._ended.is_set():
                    return
                self._turn(client, f"caller-{number}-{turn}")
                self._ended.wait(REST_S * 4)

    def _turn(self, client: httpx.Client, name: str) -> None:
        body, key = (
            {"external_id": name, "agent_name": name},
            {"Idempotency-Key": f"{name}-{secrets.token_hex(16)}"},
        )
        answer = self._insisted(lambda: client.post("/mining/register", json=body, headers=key))
        if answer is None:
            return
        if answer.status_code != 200:
            self.faults.append(f"{name}: register {answer.status_code} {answer.text[:200]}")
            return
        self.registered[name] = api_key = answer.json()["api_key"]
        headers = {"X-SVC-User-Key": api_key}
        read = self._insisted(lambda: client.get("/agent/status", headers=headers))
        if read is not None and read.status_code != 200:
            self.faults.append(f"{name}: reads itself {read.status_code} {read.text[:200]}")

    def _insisted(self, send: Callable[[], httpx.Response]) -> httpx.Response | None:
        """The first answer that is none of an outage; None when the load ends before."""
        while not self._ended.is_set():
            self.calls += 1
            try:
                answer = send()
                if answer.status_code not in REFUSALS_OF_AN_OUTAGE:
                    return answer
                if answer.status_code == 500:
                    self.faults.append(f"500: {answer.text[:200]}")
            except httpx.HTTPError:
                pass
            self.refused += 1
            self._ended.wait(REST_S * 4)
        return None

    def lost(self, dsn: str) -> list[str]:
        """Registered agents that the database does not know; of the newest, the API is asked."""
        known = dict(self.registered)
        with psycopg.connect(dsn, connect_timeout=5) as connection:
            found = {row[0] for row in connection.execute("select name from account")}
        missing = [name for name in known if name not in found]
        with httpx.Client(base_url=self.url, timeout=15) as client:
            for name, key in list(known.items())[-SAMPLE:]:
                answer = client.get("/agent/status", headers={"X-SVC-User-Key": key})
                if answer.status_code != 200:
                    missing.append(f"{name}: {answer.status_code}")
        return missing


def twice(dsn: str) -> list[Any]:
    """Numbers and names that were written more than once."""
    with psycopg.connect(dsn, connect_timeout=5) as connection:
        numbers = connection.execute(
            "select number from written group by 1 having count(*) > 1"
        ).fetchall()
        names = connection.execute(
            "select name from account where name like 'caller-%' group by 1 having count(*) > 1"
        ).fetchall()
    return [*numbers, *names]
