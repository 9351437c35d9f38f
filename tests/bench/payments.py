"""What paying costs, beside a bound of the same run: `python -m tests.bench.payments`. The last
line is a JSON object.

    bare      a FastAPI route that does one SELECT
    free      a metered page, paid by a free read: key, free read and call are counted in Postgres
    credits   the same page when the free reads are used up: paid by a posting of the credit ledger
    one       the same, all connections with one agent's key: postings of one account go one by one, each to the disk
    ledger    postings alone, by 8 threads: on 32 accounts, and all on one

Servers and load share this machine. Each is a process of its own; rounds alternate, and the median
counts.
"""

import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from core.credits.ledger import writer as credit_ledger
from core.db import embedded, migrate
from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.chain.lens import LENS
from scripts._ports import free_port
from tests.bench import bare
from tests.integration.chain_fixtures import ROOT

PAGE = "/playbooks/first-hour/loop.md"
AGENTS, CONNECTIONS, SECONDS, WARM_S, ROUNDS = 16, 16, 4.0, 1.0, 3
START_S = 30.0
HEAP = 1_000_000_000  # of credits, calls or free reads: never used up


def ledger_tx_per_s(
    database: Database, accounts: Sequence[int], seconds: float = SECONDS, threads: int = 8
) -> float:
    """Committed postings a second, spread over these accounts, each of which has credits to
    spend.
    """
    ends = time.perf_counter() + seconds

    def spend(number: int) -> int:
        done = 0
        while time.perf_counter() < ends:
            account = accounts[(number + done * threads) % len(accounts)]
            key, now = secrets.token_hex(8), datetime.now(UTC)
            with database.write() as session:
                credit_ledger.spend(session, account, 1, key, {"price": "bench"}, now)
            done += 1
        return done

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(spend, range(threads))) / seconds


async def _reads(port: int, head: bytes, ends: float) -> int:
    """Answers on one connection after the warm-up; each must be a 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    counted = 0
    while time.perf_counter() < ends:
        writer.write(head)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(answer.split(b"content-length:")[1].split(b"\r\n")[0]))
        assert answer.startswith(b"http/1.1 200"), answer
        counted += time.perf_counter() > ends - SECONDS
    writer.close()
    return counted


def read_rps(port: int, path: str, keys: Sequence[str | None]) -> float:
    """Answers a second over CONNECTIONS connections that take the keys in turn."""

    def head(key: str | None) -> bytes:
        line = "" if key is None else f"X-SVC-User-Key: {key}\r\n"
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{line}\r\n".encode()

    async def load() -> float:
        ends = time.perf_counter() + WARM_S + SECONDS
        counts = await asyncio.gather(
            *(_reads(port, head(keys[n % len(keys)]), ends) for n in range(CONNECTIONS))
        )
        return sum(counts) / SECONDS

    return asyncio.run(load())


@contextmanager
def served(command: list[str], environment: dict[str, str], port: int, path: str) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + START_S
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}{path}", timeout=1)
                break
            except httpx.HTTPError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(15)


def api(folder: Path, database_url: str, free_reads: int) -> Any:
    record, port = folder / "deployment.json", free_port()
    lens = {"name": LENS, "address": "0x" + "11" * 20}
    facts = {"chain_id": 84532, "block": 1, "commit": "", "contracts": [lens]}
    record.write_text(json.dumps(facts))
    environment = {
        "DATABASE_URL": database_url,
        "RPC_URLS": "http://127.0.0.1:1",
        "DEPLOYMENT_FILE": str(record),
        "PORT": str(port),
        "KEY_PEPPER": "p" * 32,
        "LOG_FORMAT": "json",
        "DAILY_CEILING": str(HEAP),
        "FREE_READS_PER_DAY": str(free_reads),
        "FREE_READS_PER_ADDRESS_PER_DAY": str(HEAP),
        "WELCOME_CREDITS": str(HEAP),
        **dict.fromkeys(
            ("REGISTRATIONS_PER_MINUTE", "REGISTRATIONS_PER_DAY", "WELCOME_PER_ADDRESS_PER_DAY"),
            str(HEAP),
        ),
    }
    return served(["api.main"], environment, port, "/health/live")


def agents_of(port: int) -> list[str | None]:
    names = [{"agent_name": f"reader {number}"} for number in range(AGENTS)]
    return [
        httpx.post(f"http://127.0.0.1:{port}/auth/agent/connect", json=name).json()["api_key"]
        for name in names
    ]


def _measured(folder: Path, database_url: str) -> dict[str, Any]:
    bare_port = free_port()
    rounds: dict[str, list[float]] = {"bare": [], "free": [], "credits": [], "one": []}
    with (
        api(folder, database_url, HEAP) as free,
        api(folder, database_url, 1) as charging,
        served(
            ["tests.bench.bare", str(bare_port)], {"DATABASE_URL": database_url}, bare_port, "/docs"
        ) as bare_select,
    ):
        readers, spenders = agents_of(free), agents_of(charging)
        keys: dict[str, tuple[int, str, list[str | None]]] = {
            "bare": (bare_select, bare.PATH, [None]),
            "free": (free, PAGE, readers),
            "credits": (charging, PAGE, spenders),
            "one": (charging, PAGE, spenders[:1]),
        }
        for number in range(ROUNDS):
            for name, (port, path, of) in keys.items():
                rounds[name].append(read_rps(port, path, of))
            print(
                f"round {number + 1}: "
                + ", ".join(f"{name} {rates[-1]:.0f}/s" for name, rates in rounds.items()),
                flush=True,
            )
    found = {name: statistics.median(rates) for name, rates in rounds.items()}
    ratios = {name: round(rate / found["bare"], 2) for name, rate in found.items()}
    print(
        f"of a bare SELECT: a free read {ratios['free']}, by credits {ratios['credits']}, "
        f"all by one account {ratios['one']}"
    )
    return _ledger(database_url) | {
        "metered_read_rps": round(found["credits"]),
        "metered_ratio": ratios["credits"],
        "metered_one_account_ratio": ratios["one"],
        "free_read_ratio": ratios["free"],
    }


def _ledger(database_url: str) -> dict[str, int]:
    database = Database(database_url)
    with database.read() as session:
        accounts = list(session.scalars(select(Account.id).where(Account.kind == "agent")))
    spread, hot = ledger_tx_per_s(database, accounts), ledger_tx_per_s(database, accounts[:1])
    database.close()
    return {"ledger_tx_per_s": round(spread), "ledger_one_account_tx_per_s": round(hot)}


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        Path(name).chmod(0o755)  # The database runs under an account of its own.
        server = embedded.start(Path(name) / "postgres")
        try:
            migrate.upgrade(server.url)
            return _measured(Path(name), server.url)
        finally:
            server.stop()


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
