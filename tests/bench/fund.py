"""Plans of signals: `python -m tests.bench.fund`, `make bench-fund`. The last line is a JSON object.

    plans    as many as one worker answers: each an agent's first plan of a live signal, which it is charged for
    paced    167 a second of distinct payers for 12 seconds, each sent at its time; p99 of what each waited
    64       reads of one live signal by one agent at once: what its ledger was charged

The real process with one worker, a real Postgres, and a node that answers `eth_call` at once: what an
account holds is read by each plan. Servers and load share this machine; what each of them computed for
a plan is told beside the figures.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
from sqlalchemy import func, insert, select

from api.kernel.tokens import token_hash
from core.credits.ledger import batch, writer
from core.credits.rules.buckets import Credits
from core.credits.tables import CreditEntry
from core.db import embedded, migrate
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database, WriteSession
from core.fund import queries as fund
from core.fund.ledger import writer as signal_ledger
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.signals import NewSignal
from core.fund.tables import FundMirror, FundPlan
from core.identity.tables import Account, ApiKey
from core.listings.queries import add_listings, find_listing
from core.listings.rules import Symbol
from core.mandate.chain.lens import LENS
from core.market import parts
from core.market.tables import MarketAsset, MarketListing, MarketListingState, MarketRollup
from core.money import UsdcE6
from scripts._ports import free_port
from tests.bench.api import ROOT
from tests.bench.load import percentile

PEPPER = "p" * 32
PACE, PACED_S, PACED_CONNECTIONS = 167, 12.0, 64
CONNECTIONS, SECONDS = 8, 10.0
AGENTS = 7_000
AT_ONCE = 64
UP_S = 120.0
MARKET = "binance_btc_usdt"
USDC = "0x" + "12" * 20


def seed(session: WriteSession, now: datetime) -> tuple[int, list[tuple[str, str]]]:
    """A live signal, and agents with 20 credits each who consented to its vault: key and address."""
    operator = Account(kind="operator", name="bench", created_at=now)
    session.add(operator)
    session.flush()
    _market(session, now)
    vault_id = fund.add_vault(
        session, "Bench", FundKind.SPOT, is_simulated=True, maker_id=None, now=now
    )
    rules = FrozenRules(
        vault_id=vault_id,
        version=1,
        kind=FundKind.SPOT,
        mandate="Bench.",
        universe=(UniverseMarket(MARKET, "always", UsdcE6(10_000_000)),),
        most_leverage_e2=100,
    )
    digest = fund.freeze(session, rules, None, now)
    signal = NewSignal(
        vault_id=vault_id,
        rules_version=1,
        market=MARKET,
        weight_e4=2_500,
        leverage_e2=100,
        mid=None,
    )
    seq = signal_ledger.publish(session, signal, operator.id, now)
    ids = session.scalars(
        insert(Account).returning(Account.id),
        [{"kind": "agent", "name": f"b{n}", "created_at": now} for n in range(AGENTS)],
    ).all()
    keys = [(f"svc_key_{account_id:032d}", f"0x{account_id:040x}") for account_id in ids]
    session.execute(
        insert(ApiKey),
        [
            {
                "account_id": account_id,
                "key_hash": token_hash(PEPPER.encode(), key),
                "created_at": now,
            }
            for account_id, (key, _) in zip(ids, keys, strict=True)
        ],
    )
    session.execute(
        insert(FundMirror),
        [
            {
                "account_id": account_id,
                "vault_id": vault_id,
                "address": bytes.fromhex(address[2:]),
                "max_order_usdc_e6": 500_000_000,
                "max_leverage_e2": 100,
                "rules_hash": digest,
                "given_at": now,
            }
            for account_id, (_, address) in zip(ids, keys, strict=True)
        ],
    )
    postings = [
        batch.NewPosting(
            account_id=account_id,
            kind=writer.EARN,
            base_key="bench",
            deltas=Credits(earned=20),
            counter=writer.ISSUANCE,
            payload={},
        )
        for account_id in ids
    ]
    batch.post_all(session, batch.hold(session, ids, now), postings, now)
    return seq, keys


def _market(session: WriteSession, now: datetime) -> None:
    pair = Symbol("BTC", "USDT")
    add_listings(session, "binance", [pair], is_simulated=True, now=now)
    listing = find_listing(session, "binance", pair)
    assert listing is not None
    asset_id = session.scalars(
        insert(MarketAsset).values(ticker="BTC").returning(MarketAsset.id)
    ).one()
    named = {"exchange": "binance", "listing_id": listing.id, "asset_id": asset_id}
    native = {"native_id": "BTCUSDT", "native_base": "BTC", "native_quote": "USDT"}
    seen = {"first_seen_at": now, "seen_at": now, "min_size_quote": 5.0}
    session.add(MarketListing(**named, **native, **seen, base="BTC", quote="USDT"))
    session.flush()
    within = {"05": 50_000.0, "1": 90_000.0, "2": 150_000.0}
    session.add(
        MarketListingState(
            **named,
            **{f"{side}_{x}_usd": usd for x, usd in within.items() for side in ("bid", "ask")},
            in_depth_usd=123_456.0,
            in_volume_24h_usd=5e7,
            grade="B",
            is_provisional=False,
            mid=91_250.5,
            usd_per_quote=1.0,
            fx_source="par",
            sampled_at=now,
            every_s=3_600,
            token="BTC",
            symbol="BTC/USDT",
            token_id=listing.token_id,
            source="simulated",
            is_simulated=True,
            is_truncated=False,
            first_seen_at=now,
            updated_at=now,
        )
    )
    begins = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=23)
    parts.ensure(session, parts.ROLLUPS, begins, now)
    figures = {"expected": 120, "n": 120, "rejected": 0, "gaps": 0, "rv": 0.01, "coverage": 1.0}
    session.execute(
        insert(MarketRollup),
        [
            {"listing_id": listing.id, "bucket": begins + n * timedelta(hours=2), **figures}
            for n in range(12)
        ],
    )


def plan_of(seq: int, key: str, address: str) -> bytes:
    body = json.dumps({"account_address": address})
    return (
        f"POST /fund/signals/{seq}/plan HTTP/1.1\r\nHost: bench\r\nX-SVC-User-Key: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _answer(
    reader: asyncio.StreamReader, writing: asyncio.StreamWriter, request: bytes
) -> None:
    """Errors: AssertionError for a plan that is not charged."""
    writing.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    body = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
    assert head.startswith(b"http/1.1 200"), body
    assert b'"charged_credits":10' in body, body


async def closed_loop(port: int, requests: Sequence[bytes]) -> float:
    """Plans a minute over CONNECTIONS, each with one under way."""
    waiting, done, ends = iter(requests), 0, time.perf_counter() + SECONDS

    async def client() -> int:
        reader, writing = await asyncio.open_connection("127.0.0.1", port)
        count = 0
        for request in waiting:
            if time.perf_counter() > ends:
                break
            await _answer(reader, writing, request)
            count += 1
        writing.close()
        return count

    begun = time.perf_counter()
    done = sum(await asyncio.gather(*(client() for _ in range(CONNECTIONS))))
    return done * 60 / (time.perf_counter() - begun)


async def paced(port: int, requests: Sequence[bytes]) -> list[float]:
    """What each plan waited, from the time that it was due; in seconds."""
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(PACED_CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    begins = time.perf_counter() + 0.1
    waited: list[float] = []

    async def one(number: int, request: bytes) -> None:
        due = begins + number / PACE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        reader, writing = await free.get()
        await _answer(reader, writing, request)
        waited.append(time.perf_counter() - due)
        free.put_nowait((reader, writing))

    await asyncio.gather(*(one(number, request) for number, request in enumerate(requests)))
    while not free.empty():
        free.get_nowait()[1].close()
    return sorted(waited)


def charges_of_reads(database: Database, port: int, seq: int, key: str, account_id: int) -> int:
    """What 64 reads at once charged, in prices of a signal."""
    with httpx.Client(limits=httpx.Limits(max_connections=AT_ONCE), timeout=30) as client:

        def read(_: int) -> int:
            url = f"http://127.0.0.1:{port}/fund/signals/{seq}"
            return client.get(url, headers={"X-SVC-User-Key": key}).status_code

        with ThreadPoolExecutor(AT_ONCE) as pool:
            assert set(pool.map(read, range(AT_ONCE))) == {200}
    with database.read() as session:
        spent = select(func.sum(CreditEntry.counter_delta)).where(
            CreditEntry.account_id == account_id, CreditEntry.kind == writer.SPEND
        )
        return int(session.scalar(spent) or 0) // 10


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


@contextmanager
def served(folder: Path, database_url: str) -> Iterator[tuple[int, int, int]]:
    """The port, the process that serves it, and that of the node."""
    port, node = free_port(), free_port()
    record = {
        "chain_id": 84532,
        "block": 0,
        "commit": "0" * 40,
        "contracts": [{"name": name, "address": USDC} for name in ("usdc", LENS)],
    }
    (folder / "deployment.json").write_text(json.dumps(record))
    settings = {
        "DATABASE_URL": database_url,
        "RPC_URLS": f"http://127.0.0.1:{node}",
        "RPC_REQUESTS_PER_S": "100000",
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "KEY_PEPPER": PEPPER,
        "LOG_FORMAT": "json",
        "PORT": str(port),
        "DAILY_CEILING": "1000000000",
    }
    commands = ["-m", "api.main"], ["-m", "tests.bench.fund_node", str(node)]
    with (folder / "log").open("wb") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=os.environ | settings,
                stdout=log,
                stderr=log,
            )
            for command in commands
        ]
        try:
            for where in (node, port):
                _until_up(where)
            yield port, processes[0].pid, processes[1].pid
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _plans(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(FundPlan)) or 0


def _cpu_s(pid: int) -> float:
    """What a process and its children have computed for; 0: it has ended."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return 0
    own = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return own + sum(_cpu_s(int(child)) for child in children)


@dataclass(frozen=True, slots=True)
class Computed:
    """Who computed for how long, in seconds, and for how many plans."""

    worker: float
    client: float
    database: float
    node: float
    plans: int

    def since(self, before: "Computed") -> str:
        plans = self.plans - before.plans
        return ", ".join(
            f"{name} {1_000 * (getattr(self, name) - getattr(before, name)) / plans:.2f}"
            for name in ("worker", "client", "database", "node")
        )


def measured(folder: Path, server: EmbeddedPostgres) -> dict[str, Any]:
    database = Database(server.url)
    with database.write() as session:
        seq, keys = seed(session, datetime.now(UTC))
    requests = [plan_of(seq, key, address) for key, address in keys]
    on_time = round(PACE * PACED_S)
    with served(folder, server.url) as (port, worker, node):

        def computed() -> Computed:
            postmaster = server.pid
            assert postmaster is not None
            return Computed(
                worker=_cpu_s(worker),
                client=time.process_time(),
                database=_cpu_s(postmaster),
                node=_cpu_s(node),
                plans=_plans(database),
            )

        asyncio.run(closed_loop(port, requests[:200]))  # warm
        begun = computed()
        rate = asyncio.run(closed_loop(port, requests[200 : -on_time - 1]))
        between = computed()
        waited = asyncio.run(paced(port, requests[-on_time - 1 : -1]))
        ended = computed()
        key, address = keys[-1]
        charges = charges_of_reads(database, port, seq, key, int(address, 16))
    plans = _plans(database)
    with database.read() as reading:
        sold = reading.scalar(
            select(func.count()).where(CreditEntry.base_key == fund.sale_key(seq))
        )
    print(
        f"{plans} plans, each charged: {sold == plans + 1}; p50 {percentile(waited, 0.5):.4f} s\n"
        f"CPU a plan in ms, as many as it answers: {between.since(begun)}\n"
        f"CPU a plan in ms, at {PACE} a second: {ended.since(between)}"
    )
    database.close()
    return {
        "plans_per_min": round(rate),
        "plan_p99_ms": round(percentile(waited, 0.99) * 1000, 1),
        "charges_of_64": charges,
    }


def measure() -> dict[str, Any]:
    folder = Path(mkdtemp(prefix="bench-fund-"))
    folder.chmod(0o755)
    server = embedded.start(folder / "postgres")
    try:
        migrate.upgrade(server.url)
        return measured(folder, server)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
