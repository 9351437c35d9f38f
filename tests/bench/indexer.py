"""How fast the indexer is, beside a bound measured in the same run: `make bench-indexer`.

    tip        a mined block to its committed row, on the whole stack; beside a bare poller
    backfill   a chain with 40,000 transfers and 10,000 vault events, by the real process from its first beat to the last
               row; an event counts when its raw row and its ledger row are committed; beside a bare COPY of the same logs
    reorg      64 blocks with rows in them replaced: from the node's answer to the cursor on the new head
    ledgers    one block that concerns 4,000 ledgers: its rollback, and a factory event to the last owner's note (ledgers.py)
    take-over  a leader killed, and one frozen: to the spare's epoch
    plan       46 blocks behind on a rented node with a plan of 25 calls a second (rented_tip.py)

The last line is one JSON object.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg

from core.db import embedded, migrate
from core.db.engine import Database
from core.db.leadership import Leadership
from core.identity.tables import Account
from core.mandate.chain.decode import TRANSFER_TOPIC
from tests.bench import copy_pipeline, ledgers, rented_tip, tip
from tests.bench.workload import LARGE, SMALL, Generator, Size, Workload
from tests.integration.chain_fixtures import (
    ROOT,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.indexer.conftest import Follower

WITHIN_S = 300.0
LINKED = datetime(2020, 1, 1, tzinfo=UTC)
ROWS = """
    select (select count(*) from mandate_event where block_hash is not null), (select count(*) from transfer_entry),
           (select count(*) from raw_log)
"""


class Place:
    """A chain with the workload on it, a database that knows its mandates and wallets, and
    processes of the indexer.
    """

    def __init__(self, folder: Path, size: Size) -> None:
        self.folder = folder
        self.size = size
        self.chain: DeployedChain = deploy_contracts(start_anvil())
        print(f"putting {size.events} events of {size.blocks} blocks on a chain", flush=True)
        generator = Generator(self.chain, size)
        self.workload: Workload = generator.run()
        self.server = embedded.start(folder / "postgres")
        migrate.upgrade(self.server.url)
        self.plain_url = self.server.url.replace("+psycopg", "")
        self._issue(generator)
        self.processes: list[subprocess.Popen[bytes]] = []

    def _issue(self, generator: Generator) -> None:
        database, leadership = (
            Database(self.server.url),
            Leadership(self.server.url, "indexer", "bench"),
        )
        leadership.try_take(datetime.now(UTC))
        with database.write() as session:
            wallets = [bytes.fromhex(wallet[2:]) for wallet in self.workload.wallets]
            session.add_all(
                [
                    Account(
                        kind="agent",
                        name="a",
                        created_at=LINKED,
                        wallet_address=one,
                        wallet_linked_at=LINKED,
                    )
                    for one in wallets
                ]
            )
        follower = Follower(self.chain, database, leadership)
        for terms in generator.terms:
            follower.issue(
                terms.public_id, agent=terms.agent, ends_at=terms.ends_at, issued_at=terms.issued_at
            )
        leadership.release()
        database.close()

    def start_indexer(self) -> subprocess.Popen[bytes]:
        self.chain.write_record(self.folder)
        settings = {
            "DATABASE_URL": self.server.url,
            "RPC_URLS": self.chain.anvil.url,
            "DEPLOYMENT_FILE": str(self.folder / "deployment.json"),
            "LOG_FORMAT": "json",
        }
        with (self.folder / f"indexer-{len(self.processes)}.log").open("wb") as log:
            command = [sys.executable, "-m", "indexer.main"]
            self.processes.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=os.environ | settings, stdout=log, stderr=log
                )
            )
        return self.processes[-1]

    def scalar(self, query: str) -> Any:
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        if not hasattr(self, "_open"):
            self._open = psycopg.connect(self.plain_url, autocommit=True)
        return self._open

    def rows(self) -> tuple[int, int, int]:
        found = self._connection.execute(ROWS).fetchone()
        assert found is not None
        return found[0], found[1], found[2]

    def log_calls(self) -> int:
        said = [
            json.loads(line)
            for line in (self.folder / "indexer-0.log").read_text().splitlines()
            if line.startswith("{")
        ]
        return max(
            (int(line["log_calls"]) for line in said if line.get("event") == "range"), default=0
        )

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self._connection.close()
        self.server.stop()
        self.chain.anvil.stop()


@contextmanager
def place(size: Size) -> Iterator[Place]:
    folder = Path(mkdtemp(prefix="bench-"))
    folder.chmod(0o755)
    made = Place(folder, size)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def until(condition: Callable[[], bool], pause_s: float = 0.005) -> float:
    """Seconds until it holds."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > WITHIN_S:
            raise SystemExit(f"it did not happen within {WITHIN_S:.0f} s")
        time.sleep(pause_s)
    return time.monotonic() - begun


def peak_mb(process: subprocess.Popen[bytes]) -> int:
    """The most memory that the process ever held."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return (
        int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
        // 1024
    )


def backfill(where: Place) -> tuple[float, int]:
    """(seconds from the first beat to the last row, peak memory in MB)."""
    process = where.start_indexer()
    until(
        lambda: bool(
            where.scalar("select count(*) from leader where name = 'indexer' and epoch > 1")
        )
    )
    last = where.workload.last_block
    seconds = until(
        lambda: (where.scalar("select number from chain_cursor where name = 'tip'") or 0) >= last
    )
    mandates, transfers, raw = where.rows()
    assert (mandates, transfers) == (where.size.vault_events, where.size.transfers), (
        mandates,
        transfers,
        raw,
    )
    assert raw >= where.size.events, "every event has its raw row"
    return seconds, peak_mb(process)


def bare_copy(where: Place) -> float:
    """Logs a second."""
    word = "0x" + "0" * 24
    filters: list[dict[str, Any]] = [
        {"address": [where.chain.contracts["factory"], *where.workload.vaults]},
        {
            "address": where.chain.contracts["usdc"],
            "topics": [
                TRANSFER_TOPIC,
                None,
                [word + one[2:].lower() for one in where.workload.wallets],
            ],
        },
    ]
    written, seconds = copy_pipeline.measure(
        where.chain.anvil.url, where.plain_url, where.workload.last_block, filters
    )
    return written / seconds


def reorg64(where: Place) -> float:
    """Seconds to heal 64 blocks, each with an action of an agent."""
    until(lambda: _is_at_head(where))
    for _ in range(64):
        where.chain.mint(where.workload.wallets[0], 1)
    until(lambda: _is_at_head(where))
    where.chain.anvil.reorg(64)
    return until(lambda: _is_at_head(where))


def _is_at_head(where: Place) -> bool:
    header = where.chain.reader.header()
    assert header is not None
    return bool(
        where.scalar(
            f"select encode(hash, 'hex') = '{header.hash[2:]}' from chain_cursor where name = 'tip'"
        )
    )


def take_over(where: Place, how: signal.Signals) -> float:
    """Seconds from the signal to the spare's epoch.

    The last process started leads or will; the one before is hit.
    """
    leader, epoch = (
        where.processes[-1],
        where.scalar("select epoch from leader where name = 'indexer'"),
    )
    where.start_indexer()
    time.sleep(4)  # the spare is up and waits
    os.kill(leader.pid, how)
    return until(
        lambda: bool(where.scalar(f"select epoch > {epoch} from leader where name = 'indexer'"))
    )


def main() -> None:
    at_tip = tip.measure()
    with place(SMALL) as small:
        _, rss_small = backfill(small)
    with place(LARGE) as large:
        copied = bare_copy(large)
        seconds, rss_large = backfill(large)
        log_calls = large.log_calls()
        healed = reorg64(large)
        killed = take_over(large, signal.SIGKILL)
        frozen = take_over(large, signal.SIGSTOP)
    of_ledgers = ledgers.measure()
    result = {
        "backfill_events_per_s": round(LARGE.events / seconds),
        "copy_pipeline_events_per_s": round(copied),
        "log_calls": log_calls,
        "tip_p50_ms": at_tip["mined_to_row"]["p50_ms"],
        "tip_p95_ms": at_tip["mined_to_row"]["p95_ms"],
        "bare_poller_p95_ms": at_tip["bare_poller"]["p95_ms"],
        "reorg64_s": round(healed, 2),
        **of_ledgers,
        **rented_tip.rows(),
        "takeover_s": round(max(killed, frozen), 2),
        "takeover_killed_s": round(killed, 2),
        "rss_mb_small": rss_small,
        "rss_mb_large": rss_large,
    }
    print(
        f"mined block -> committed row p95 {result['tip_p95_ms']} ms; a bare poller "
        f"{result['bare_poller_p95_ms']} ms"
    )
    print(
        f"backfill {result['backfill_events_per_s']} events/s; a bare COPY of the same logs "
        f"{result['copy_pipeline_events_per_s']}"
    )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
