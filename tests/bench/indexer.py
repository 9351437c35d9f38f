"""How fast the indexer is: `make bench-indexer`.

    tip        a mined block to its committed row, on the whole stack
    backfill   a chain with 40,000 transfers and 10,000 vault events, by the real process from its first look to the last
               row; an event counts when its raw row and its ledger row are committed
    reorg      64 blocks with rows in them replaced: from the node's answer to the cursor on the new head
    ledgers    one block that concerns 4,000 ledgers: its rollback, and a factory event to the last owner's note (ledgers.py)
    take-over  a leader killed, and one frozen: to the spare's epoch
    plan       46 blocks behind on a rented node with a plan of 25 calls a second (rented_tip.py)

The last line is one JSON object.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from core.db.engine import Database
from core.db.leadership import Leadership
from core.identity.tables import Account
from tests.bench import ledgers, rented_tip, tip
from tests.bench.place import a_database, begun, folder, peak_mb, until, url_of
from tests.bench.workload import LARGE, SMALL, Generator, Size
from tests.integration.chain_fixtures import DeployedChain, deploy_contracts, start_anvil
from tests.integration.indexer.conftest import Follower

LINKED = datetime(2020, 1, 1, tzinfo=UTC)
ROWS = """
    select (select count(*) from mandate_event where block_hash is not null), (select count(*) from transfer_entry),
           (select count(*) from raw_log)
"""
AT = "select {} from chain_cursor where name = 'tip'"
EPOCH = "select coalesce(max(epoch), 0) from leader where name = 'indexer'"


class Followed:
    """A chain with the workload on it, a database that knows its mandates and wallets, and
    processes of the indexer.
    """

    def __init__(self, path: Path, size: Size, chain: DeployedChain, database: Database) -> None:
        self.path, self.size, self.chain, self.database = path, size, chain, database
        print(f"putting {size.events} events of {size.blocks} blocks on a chain", flush=True)
        generator = Generator(chain, size)
        self.workload = generator.run()
        self._issue(generator)
        self.processes: list[subprocess.Popen[bytes]] = []
        plain_url = url_of(database).replace("+psycopg", "")
        self._connection = psycopg.connect(plain_url, autocommit=True)

    def _issue(self, generator: Generator) -> None:
        leadership = Leadership(url_of(self.database), "indexer", "bench")
        leadership.try_take(datetime.now(UTC))
        with self.database.write() as session:
            linked = {"created_at": LINKED, "wallet_linked_at": LINKED}
            session.add_all(
                Account(kind="agent", name="a", wallet_address=bytes.fromhex(one[2:]), **linked)
                for one in self.workload.wallets
            )
        follower = Follower(self.chain, self.database, leadership)
        for terms in generator.terms:
            follower.issue(
                terms.public_id, agent=terms.agent, ends_at=terms.ends_at, issued_at=terms.issued_at
            )
        leadership.release()

    def start_indexer(self) -> subprocess.Popen[bytes]:
        self.chain.write_record(self.path)
        settings = {
            "DATABASE_URL": url_of(self.database),
            "RPC_URLS": self.chain.anvil.url,
            "DEPLOYMENT_FILE": str(self.path / "deployment.json"),
            "LOG_FORMAT": "json",
        }
        log = self.path / f"indexer-{len(self.processes)}.log"
        self.processes.append(begun(settings, "indexer.main", log=log))
        return self.processes[-1]

    def row(self, query: str) -> tuple[Any, ...]:
        found = self._connection.execute(query.encode()).fetchone()
        return found or (None,)

    def log_calls(self) -> int:
        lines = (self.path / "indexer-0.log").read_text().splitlines()
        said = [json.loads(line) for line in lines if line.startswith("{")]
        ranges = (int(line["log_calls"]) for line in said if line.get("event") == "range")
        return max(ranges, default=0)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self._connection.close()


@contextmanager
def followed(size: Size) -> Iterator[Followed]:
    with ExitStack() as stack:
        path, database = stack.enter_context(folder()), stack.enter_context(a_database())
        chain = deploy_contracts(start_anvil())
        stack.callback(chain.anvil.stop)
        where = Followed(path, size, chain, database)
        stack.callback(where.close)
        yield where


def backfill(where: Followed) -> tuple[float, int]:
    """(seconds from the first look to the last row, peak memory in MB)."""
    process = where.start_indexer()
    until(lambda: where.row(EPOCH)[0] > 1)
    last = where.workload.last_block
    seconds = until(lambda: (where.row(AT.format("number"))[0] or 0) >= last)
    mandates, transfers, raw = where.row(ROWS)
    assert (mandates, transfers) == (where.size.vault_events, where.size.transfers), raw
    assert raw >= where.size.events, "every event has its raw row"
    return seconds, peak_mb(process.pid)


def reorg64(where: Followed) -> float:
    """Seconds to heal 64 blocks, each with an action of an agent."""
    until(lambda: _is_at_head(where))
    for _ in range(64):
        where.chain.mint(where.workload.wallets[0], 1)
    until(lambda: _is_at_head(where))
    where.chain.anvil.reorg(64)
    return until(lambda: _is_at_head(where))


def _is_at_head(where: Followed) -> bool:
    header = where.chain.reader.header()
    assert header is not None
    return bool(where.row(AT.format("encode(hash, 'hex')"))[0] == header.hash[2:])


def take_over(
    leader: subprocess.Popen[bytes],
    start: Callable[[], object],
    epoch: Callable[[], int],
    how: signal.Signals,
) -> float:
    """Seconds from the leader's signal to the epoch of the spare that is started before."""
    before = epoch()
    start()
    time.sleep(4)  # the spare is up and waits
    os.kill(leader.pid, how)
    return until(lambda: epoch() > before)


def main() -> None:
    at_tip = tip.measure()
    with followed(SMALL) as small:
        _, rss_small = backfill(small)
    with followed(LARGE) as large:
        seconds, rss_large = backfill(large)
        log_calls, healed = large.log_calls(), reorg64(large)
        killed, frozen = (
            take_over(
                large.processes[-1], large.start_indexer, lambda: int(large.row(EPOCH)[0]), how
            )
            for how in (signal.SIGKILL, signal.SIGSTOP)
        )
    result = {
        "backfill_events_per_s": round(LARGE.events / seconds),
        "log_calls": log_calls,
        "tip_p50_ms": at_tip["p50_ms"],
        "tip_p95_ms": at_tip["p95_ms"],
        "reorg64_s": round(healed, 2),
        **ledgers.measure(),
        **rented_tip.rows(),
        "takeover_s": round(max(killed, frozen), 2),
        "takeover_killed_s": round(killed, 2),
        "rss_mb_small": rss_small,
        "rss_mb_large": rss_large,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
