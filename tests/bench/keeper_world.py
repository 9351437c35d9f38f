"""A chain with vaults, a database that knows their mandates, and keepers as processes: where the keeper is measured."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from core.blocks.tables import Vault
from core.chain.abi import call_by_signature, topic_of
from core.db import embedded, migrate
from core.db.engine import Database
from core.db.leadership import leader_row
from core.hexes import bytes_of
from core.identity.tables import Account
from core.mandate.chain import calldata
from core.mandate.rules.terms import MandateTerms
from core.mandate.tables import Mandate
from tests.bench.indexer import until
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    ROOT,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.personas import AGENT, DEPLOYER, KEEPER, OPERATOR, OWNER, STRANGER

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
        self._write_settings()

    def accounts(self) -> tuple[int, int]:
        at = datetime.now(UTC)
        with self.database.write() as session:
            people = [
                Account(kind=p.name, name=p.name, wallet_address=bytes_of(p.address), created_at=at)
                for p in (OWNER, AGENT)
            ]
            session.add_all(people)
            session.flush()
            return people[0].id, people[1].id

    def new_venue(self) -> str:
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
        return venue

    def new_vault(self, number: int, owner: int, agent: int, *, position: bool) -> str:
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
        self.chain.write_record(self.folder)

    def start_keeper(self, urls: Sequence[str] = (), code: Path = ROOT) -> subprocess.Popen[bytes]:
        """`urls`: of nodes, anvil's own unless given. `code`: a checkout."""
        settings = {
            "DATABASE_URL": self.server.url,
            "RPC_URLS": ",".join(urls or [self.chain.anvil.url]),
            "RPC_REQUESTS_PER_S": "100000",  # a node on loopback sells no budget
            "DEPLOYMENT_FILE": str(self.folder / "deployment.json"),
            "KEEPER_PRIVATE_KEY": KEEPER.private_key,
            "KEEPER_STOP_PRIVATE_KEY": STRANGER.private_key,
            "PYTHONPATH": str(code),
            "KEEPER_MAX_HEAD_AGE_S": "3600",
            "LOG_FORMAT": "json",
        }
        with (self.folder / f"keeper-{len(self.processes)}.log").open("wb") as log:
            command = [sys.executable, "-m", "keeper.main", "run"]
            self.processes.append(
                subprocess.Popen(
                    command, cwd=code, env=os.environ | settings, stdout=log, stderr=log
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

    def stopped_at(
        self, vaults: Sequence[str], since: int, within_blocks: int = 1_000
    ) -> list[int] | None:
        """The block of each vault's stop; None: not all are stopped by then."""
        wanted: dict[str, Any] = {"address": list(vaults), "topics": [STOPPED]}
        found: list[Any] = []
        head = since

        def is_over() -> bool:
            nonlocal found, head
            head = self.chain.reader.block_number()
            found, _ = self.chain.reader.range_logs(since, head, [wanted])
            return len(found) >= len(vaults) or head > since + within_blocks

        until(is_over, pause_s=0.5)
        if len(found) < len(vaults):
            return None
        assert len(found) == len({log.address for log in found}), "each vault is stopped once"
        return [log.block_number for log in found]

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


def p99(values: Sequence[int]) -> int:
    return sorted(values)[-(-len(values) * 99 // 100) - 1]
