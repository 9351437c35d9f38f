"""What the kernel costs: `python -m tests.bench.api`, a part of `make bench-api`.

    keyed     GET /mandate-wallet/mandates with a key: credential, count, scope, snapshot, SELECT, log line, by the real process
    bare      a FastAPI route that does one SELECT, under the same server in a process of its own
    two       the keyed read by two processes at once, half the clients each, beside one alone
    counter   64 writers on one key: answers beside the day's count in Postgres

One process each, one real Postgres, 64 clients. They take turns in rounds, and medians count: a busy
machine slows all. The last line is one JSON object.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg

from core.db import embedded, migrate
from core.mandate.chain.lens import LENS
from scripts._ports import free_port
from tests.bench import bare

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 7
SECONDS = 3.0
CLIENTS = 64
PATH = "/mandate-wallet/mandates"
HEAVIER_PATH = "/mandate-wallet/agents/me"
UP_S = 600.0  # whatever else the machine does


@dataclass
class Place:
    """A database, and the two servers on it."""

    database_url: str
    product_port: int
    bare_port: int
    environment: dict[str, str] = field(default_factory=dict)  # of the product

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.product_port}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))

    def counted(self) -> int:
        """Calls of all keys, as Postgres has them."""
        with psycopg.connect(self.database_url.replace("+psycopg", "")) as connection:
            row = connection.execute("select coalesce(sum(n), 0) from request_count").fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def place(**settings: str) -> Iterator[Place]:
    """`settings`: more of the environment."""
    folder = Path(mkdtemp(prefix="bench-api-"))
    folder.chmod(0o755)
    server = embedded.start(folder / "postgres")
    processes: list[subprocess.Popen[bytes]] = []
    try:
        migrate.upgrade(server.url)
        made = Place(server.url, free_port(), free_port())
        environment = made.environment = os.environ | _settings(folder, made) | settings
        with (folder / "api.log").open("wb") as log:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "api.main"],
                    cwd=ROOT,
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
            command = [sys.executable, "-m", "tests.bench.bare", str(made.bare_port)]
            processes.append(
                subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
            )
        _until_up(made.product_port)
        _until_up(made.bare_port)
        yield made
    finally:
        for process in processes:
            process.kill()
            process.wait()
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def second_process(where: Place) -> Iterator[int]:
    """Another process of the product beside the first; its port."""
    port = free_port()
    environment = where.environment | {"PORT": str(port)}
    with subprocess.Popen(
        [sys.executable, "-m", "api.main"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _until_up(port)
            prices = f"http://127.0.0.1:{port}/prices"  # the first call takes the longest
            urllib.request.urlopen(prices, timeout=60).read()
            yield port
        finally:
            process.kill()


def _settings(folder: Path, where: Place) -> dict[str, str]:
    """Ceilings out of the way, all else as it comes. The chain is never asked."""
    lens = {"name": LENS, "address": "0x" + "11" * 20}  # which the API asks for when it starts
    (folder / "deployment.json").write_text(
        json.dumps({"chain_id": 84532, "block": 0, "commit": "0" * 40, "contracts": [lens]})
    )
    return {
        "DATABASE_URL": where.database_url,
        "RPC_URLS": "http://127.0.0.1:9",
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "KEY_PEPPER": "p" * 32,
        "LOG_FORMAT": "json",
        "PORT": str(where.product_port),
        "DAILY_CEILING": "1000000000",
        "REGISTRATIONS_PER_MINUTE": "1000",
        "REGISTRATIONS_PER_DAY": "1000",
    }


def _until_up(port: int) -> None:
    begun = time.monotonic()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() - begun > UP_S:
                raise
            time.sleep(0.1)


def load(
    port: int, heads: list[str], clients: int = CLIENTS, seconds: float = SECONDS
) -> dict[str, Any]:
    """One round from a client process of its own."""
    command = [sys.executable, "-m", "tests.bench.load", str(port), str(clients), str(seconds)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        input=json.dumps(heads).encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=seconds + 90,
    )
    answered = dict(json.loads(done.stdout))
    assert set(answered["statuses"]) == {"200"}, answered
    return answered


def head(path: str, key: str | None = None) -> str:
    return (
        f"GET {path} HTTP/1.1\r\nHost: bench\r\n"
        + ("" if key is None else f"X-SVC-User-Key: {key}\r\n")
        + "\r\n"
    )


def lost_updates(where: Place, key: str) -> int:
    """64 writers on one counter: calls of one key that were answered, less those that its row
    counts.
    """
    before = where.counted()
    one = load(where.product_port, [head(PATH, key)])
    print(f"one key, {CLIENTS} clients: {one}", flush=True)
    return int(one["answered"]) - (where.counted() - before)


def measure() -> dict[str, Any]:
    with place() as where:
        keys = [
            str(where.post("/auth/agent/connect", {"agent_name": f"bench-{n}"})["api_key"])
            for n in range(CLIENTS)
        ]
        rounds: dict[str, list[dict[str, Any]]] = {"bare": [], "keyed": []}
        for number in range(ROUNDS):
            rounds["bare"].append(load(where.bare_port, [head(bare.PATH)]))
            rounds["keyed"].append(load(where.product_port, [head(PATH, key) for key in keys]))
            print(
                f"round {number + 1}: bare {rounds['bare'][-1]}; keyed {rounds['keyed'][-1]}",
                flush=True,
            )
        both_rps = two_processes_rps(where, [head(PATH, key) for key in keys])
        heavier = load(where.product_port, [head(HEAVIER_PATH, key) for key in keys])
        lost = lost_updates(where, keys[0])
    keyed_rps, bare_rps = (
        statistics.median(_rps(one) for one in rounds[kind]) for kind in ("keyed", "bare")
    )
    p99_ms = {kind: statistics.median(one["p99_ms"] for one in rounds[kind]) for kind in rounds}
    print(
        f"{PATH}: {keyed_rps:.0f}/s, {keyed_rps / bare_rps:.2f} of a bare SELECT's "
        f"{bare_rps:.0f}/s; p99 {p99_ms}"
    )
    print(f"{HEAVIER_PATH} (three SELECTs): {_rps(heavier):.0f}/s, p99 {heavier['p99_ms']} ms")
    return {
        "keyed_read_rps": round(keyed_rps),
        "bare_select_rps": round(bare_rps),
        "p99_ratio_64": round(p99_ms["keyed"] / p99_ms["bare"], 2),
        "two_process_ratio": round(both_rps / keyed_rps, 2),
        "lost_updates": lost,
    }


def two_processes_rps(where: Place, heads: list[str]) -> float:
    """What both answer in a second, the median of the rounds."""
    with second_process(where) as second, ThreadPoolExecutor(2) as pool:

        def half(port: int) -> float:
            return _rps(load(port, heads, CLIENTS // 2))

        ports = (where.product_port, second)
        return statistics.median(sum(pool.map(half, ports)) for _ in range(ROUNDS))


def _rps(one: Mapping[str, Any]) -> float:
    return float(one["requests"] / one["seconds"])


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
