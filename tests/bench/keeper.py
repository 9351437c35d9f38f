"""How fast the keeper is, beside the block time of the chain it watches: `make bench-keeper`.

    mark        1,000 vaults read and judged at one block hash: HTTP requests and seconds, nothing sent
    stop        100 vaults fall through their floors in one block, three times over, on a chain with a block every 2 s: blocks
                from the crossing to each stop; the best possible is 1
    many        2,000 and 20,000 vaults at the default budget of calls, with a million judgements: the first look, a later tick
    take-over   a leading process killed, and one frozen: to the spare's epoch

The last line is one JSON object.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from core.blocks.tables import Vault
from core.chain.abi import topic_of
from core.chain.abi_text import call_by_signature
from core.chain.nodes import Nodes
from core.db import embedded, migrate
from core.db.engine import Database
from core.db.leader import leader_row
from core.db.leadership import Leadership
from core.hexes import bytes_of
from core.identity.tables import Account
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.terms import MandateTerms
from core.mandate.tables import Mandate
from core.mandate.venues import test_venue
from keeper.observe import Observer
from keeper.tick import Tick
from tests.bench import many_vaults
from tests.bench.indexer import until
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    ROOT,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.personas import AGENT, DEPLOYER, KEEPER, OPERATOR, OWNER

VAULTS = 1_000
FALLING = 100
ROUNDS = 3
BLOCK_S = 2
USDC = 1_000_000
BOUGHT = 100 * USDC
AT_THE_FLOOR = 500_000
STOPPED = topic_of("Stopped")
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


class World:
    """A chain with the vaults, a database that knows their mandates, and keepers as processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chain: DeployedChain = deploy_contracts(start_anvil())
        self.server = embedded.start(folder / "postgres")
        migrate.upgrade(self.server.url)
        self.database = Database(self.server.url)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.venues: list[str] = []
        self.groups: list[list[str]] = []
        self._write_settings()

    def fill(self) -> None:
        """Three groups whose vaults hold a position in a venue of their own, and vaults that hold
        cash alone.
        """
        print(f"making {VAULTS} vaults", flush=True)
        owner, agent = self._accounts()
        for group in range(ROUNDS):
            self._new_venue()
            self.groups.append(
                [
                    self._new_vault(group * FALLING + n, owner, agent, position=True)
                    for n in range(FALLING)
                ]
            )
        for n in range(ROUNDS * FALLING, VAULTS):
            self._new_vault(n, owner, agent, position=False)

    def _accounts(self) -> tuple[int, int]:
        at = datetime.now(UTC)
        with self.database.write() as session:
            people = [
                Account(kind=p.name, name=p.name, wallet_address=bytes_of(p.address), created_at=at)
                for p in (OWNER, AGENT)
            ]
            session.add_all(people)
            session.flush()
            return people[0].id, people[1].id

    def _new_venue(self) -> None:
        chain, usdc = self.chain, self.chain.contracts["usdc"]
        venue = chain.contracts["test_venue"] = chain.deploy(
            "TestVenue", usdc, OPERATOR.address, USDC
        )
        adapter = chain.contracts["test_venue_adapter"] = chain.deploy(
            "TestVenueAdapter", usdc, venue
        )
        chain.succeed(OPERATOR, venue, call_by_signature("setAdapter(address)", [adapter]))
        chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(adapter))
        chain.mint(venue, 1_000_000 * USDC)
        self.venues.append(venue)

    def _new_vault(self, number: int, owner: int, agent: int, *, position: bool) -> str:
        terms = self.chain.terms("m_keeper" + _letters(number))
        vault = self.chain.create_vault(terms)
        if position:
            assert self.chain.buy(vault, BOUGHT).status == 1
        self._write_rows(terms, vault, owner, agent)
        return vault

    def _write_rows(self, terms: MandateTerms, vault: str, owner: int, agent: int) -> None:
        """What API and indexer would have written of it."""
        at, digest = datetime.fromtimestamp(self.chain.now, UTC), bytes_of(self.chain.digest(terms))
        with self.database.write() as session:
            mandate = Mandate(
                public_id=terms.public_id, owner_id=owner, agent_id=agent, open_board=False, status="working", market_mode="testnet",
                purpose="bench", budget_usdc_e6=terms.budget_usdc, horizon_days=30, stop_floor_bps=500, payout_rule={}, allowed_targets=[],
                on_floor="keep", chain_id=CHAIN_ID, terms={}, rules=[], guard_targets=[], terms_digest=digest, terms_version=2,
                vault_address=bytes_of(vault), ends_at=datetime.fromtimestamp(terms.ends_at, UTC), created_at=at, updated_at=at,
            )  # fmt: skip
            session.add(mandate)
            session.flush()
            header = self.chain.reader.header()
            assert header is not None
            session.add(
                Vault(
                    chain_id=CHAIN_ID, address=bytes_of(vault), created_block_hash=bytes_of(header.hash), created_number=header.number,
                    created_at=self.chain.now, factory=bytes_of(self.chain.contracts["factory"]), terms_digest=digest,
                    public_id=terms.public_id, owner=bytes_of(OWNER.address), mandate_id=mandate.id,
                )
            )  # fmt: skip

    def _write_settings(self) -> None:
        contracts = [
            {"name": name, "address": address} for name, address in self.chain.contracts.items()
        ]
        record = {
            "chain_id": CHAIN_ID,
            "block": self.chain.start_block,
            "commit": "0" * 40,
            "contracts": contracts,
        }
        (self.folder / "deployment.json").write_text(json.dumps(record))

    def start_keeper(self) -> subprocess.Popen[bytes]:
        settings = {
            "DATABASE_URL": self.server.url,
            "RPC_URLS": self.chain.anvil.url,
            "RPC_REQUESTS_PER_S": "100000",  # a node on loopback sells no budget
            "DEPLOYMENT_FILE": str(self.folder / "deployment.json"),
            "KEEPER_PRIVATE_KEY": KEEPER.private_key,
            "KEEPER_MAX_HEAD_AGE_S": "3600",
            "LOG_FORMAT": "json",
        }
        with (self.folder / f"keeper-{len(self.processes)}.log").open("wb") as log:
            command = [sys.executable, "-m", "keeper.main", "run"]
            self.processes.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=os.environ | settings, stdout=log, stderr=log
                )
            )
        return self.processes[-1]

    def epoch(self) -> int:
        with self.database.read() as session:
            row = leader_row(session, "keeper")
        return 0 if row is None else row.epoch

    def judged(self) -> int:
        """How many vaults the leader saw at its last tick."""
        with self.database.read() as session:
            row = leader_row(session, "keeper")
        return 0 if row is None else int(row.status.get("vaults", 0))

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.database.close()
        self.server.stop()
        self.chain.anvil.stop()


def _letters(number: int) -> str:
    return LETTERS[number // 1024] + LETTERS[number // 32 % 32] + LETTERS[number % 32] + "a"


@contextmanager
def world() -> Iterator[World]:
    folder = Path(mkdtemp(prefix="bench-"))
    folder.chmod(0o755)
    made = World(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def mark(where: World) -> tuple[int, float]:
    """(HTTP requests, seconds) of the dearest of three ticks that read and judge every vault and
    send nothing.
    """
    leadership = Leadership(where.server.url, "keeper", "bench")
    assert leadership.try_take(datetime.now(UTC))
    rpc = Nodes([where.chain.anvil.url], calls_per_s=100_000)
    observer = Observer(VaultReader(rpc, where.chain.contracts), CHAIN_ID, 3_600)
    tick = Tick(
        database=where.database, observer=observer, leadership=leadership, sender=None, own=None
    )
    requests, seconds = [], []
    for _ in range(3):
        before, begun = rpc.stats()[0].requests, time.monotonic()
        report = tick.run(datetime.now(UTC))
        seconds.append(time.monotonic() - begun)
        requests.append(rpc.stats()[0].requests - before)
        assert (report.vaults, report.unknown) == (VAULTS, 0), report
    leadership.release()
    rpc.close()
    return max(requests), max(seconds)


def stops(where: World) -> list[int]:
    """Blocks from the one in which the price fell to the one with the stop, of each vault of each
    round.
    """
    where.start_keeper()
    until(lambda: where.judged() == VAULTS)
    where.chain.rpc.call("evm_setIntervalMining", [BLOCK_S])
    waited: list[int] = []
    for venue, vaults in zip(where.venues, where.groups, strict=True):
        crossed = where.chain.succeed(
            OPERATOR, venue, test_venue.set_price(AT_THE_FLOOR)
        ).block_number
        waited += [number - crossed for number in _stopped_at(where, vaults, crossed)]
        print(
            f"{len(vaults)} vaults fell in block {crossed}; stopped "
            f"{sorted(set(waited[-len(vaults) :]))} blocks later",
            flush=True,
        )
    where.chain.rpc.call("evm_setIntervalMining", [0])
    where.chain.rpc.call("evm_setAutomine", [True])
    return waited


def _stopped_at(where: World, vaults: Sequence[str], since: int) -> list[int]:
    wanted: dict[str, Any] = {"address": list(vaults), "topics": [STOPPED]}
    found: list[Any] = []

    def all_stopped() -> bool:
        nonlocal found
        found, _ = where.chain.reader.range_logs(since, where.chain.reader.block_number(), [wanted])
        return len(found) >= len(vaults)

    until(all_stopped, pause_s=0.5)
    assert len(found) == len({log.address for log in found}) == len(vaults), (
        "each vault is stopped once"
    )
    return [log.block_number for log in found]


def take_over(where: World, how: signal.Signals) -> float:
    """Seconds from the signal to the spare's epoch.

    The last process started leads; the one before is hit.
    """
    leader, epoch = where.processes[-1], where.epoch()
    where.start_keeper()
    time.sleep(4)  # the spare is up and waits
    os.kill(leader.pid, how)
    return until(lambda: where.epoch() > epoch)


def p99(values: Sequence[int]) -> int:
    return sorted(values)[-(-len(values) * 99 // 100) - 1]


def main() -> None:
    with world() as where:
        where.fill()
        calls, seconds = mark(where)
        waited = stops(where)
        killed = take_over(where, signal.SIGKILL)
        frozen = take_over(where, signal.SIGSTOP)
    result = {
        "mark_1000_calls": calls,
        "mark_1000_s": round(seconds, 2),
        "stop_p99_blocks": p99(waited),
        "stop_max_blocks": max(waited),
        "block_s": BLOCK_S,
        "takeover_s": round(max(killed, frozen), 2),
        "takeover_killed_s": round(killed, 2),
        **many_vaults.rows(),
    }
    print(f"{VAULTS} vaults judged with {calls} HTTP requests in {seconds:.2f} s")
    print(
        f"a stop is mined {result['stop_p99_blocks']} block(s) of {BLOCK_S} s after the "
        "crossing (p99; 1 is the least possible)"
    )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
