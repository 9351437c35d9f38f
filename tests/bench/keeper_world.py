"""A chain with vaults, a database that knows their mandates, and keepers as processes: where the keeper is measured."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import insert

from core.blocks.tables import Vault
from core.chain.abi import call_by_signature, topic_of
from core.db.engine import Database
from core.db.leadership import leader_row
from core.hexes import bytes_of
from core.identity.tables import Account
from core.mandate.chain import calldata
from core.mandate.rules.terms import MandateTerms
from core.mandate.tables import Mandate
from tests.bench.mandates import mandate_row, public_id
from tests.bench.place import CHAIN_ID, USDC, a_database, begun, folder, until, url_of
from tests.integration.chain_fixtures import DeployedChain, deploy_contracts, start_anvil
from tests.personas import AGENT, DEPLOYER, KEEPER, OPERATOR, OWNER, STRANGER

BLOCK_S: Final = 2
BOUGHT: Final = 100 * USDC
AT_THE_FLOOR: Final = 500_000
STOPPED: Final = topic_of("Stopped")


class World:
    """A chain with the vaults, a database that knows their mandates, and keepers as processes."""

    def __init__(self, path: Path, chain: DeployedChain, database: Database) -> None:
        self.path, self.chain, self.database = path, chain, database
        self.processes: list[subprocess.Popen[bytes]] = []
        self.venues: list[str] = []
        chain.write_record(path)

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
        terms = self.chain.terms(public_id(number))
        vault = self.chain.create_vault(terms)
        if position:
            assert self.chain.buy(vault, BOUGHT).status == 1
        self._write_rows(terms, vault, owner, agent)
        return vault

    def _write_rows(self, terms: MandateTerms, vault: str, owner: int, agent: int) -> None:
        """What API and indexer would have written of it."""
        at, digest = datetime.fromtimestamp(self.chain.now, UTC), bytes_of(self.chain.digest(terms))
        row = mandate_row(
            terms.public_id,
            owner,
            at,
            agent_id=agent,
            status="working",
            budget_usdc_e6=terms.budget_usdc,
            terms_digest=digest,
            vault_address=bytes_of(vault),
            ends_at=datetime.fromtimestamp(terms.ends_at, UTC),
        )
        header = self.chain.reader.header()
        assert header is not None
        with self.database.write() as session:
            mandate_id = session.scalars(insert(Mandate).returning(Mandate.id), [row]).one()
            session.add(
                Vault(
                    chain_id=CHAIN_ID,
                    address=bytes_of(vault),
                    created_block_hash=bytes_of(header.hash),
                    created_number=header.number,
                    created_at=self.chain.now,
                    factory=bytes_of(self.chain.contracts["factory"]),
                    terms_digest=digest,
                    public_id=terms.public_id,
                    owner=bytes_of(OWNER.address),
                    mandate_id=mandate_id,
                )
            )

    def start_keeper(self, urls: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """`urls`: of nodes, anvil's own unless given."""
        settings = {
            "DATABASE_URL": url_of(self.database),
            "RPC_URLS": ",".join(urls or [self.chain.anvil.url]),
            "RPC_REQUESTS_PER_S": "100000",  # a node on loopback sells no budget
            "DEPLOYMENT_FILE": str(self.path / "deployment.json"),
            "KEEPER_PRIVATE_KEY": KEEPER.private_key,
            "KEEPER_STOP_PRIVATE_KEY": STRANGER.private_key,
            "KEEPER_MAX_HEAD_AGE_S": "3600",
            "LOG_FORMAT": "json",
        }
        log = self.path / f"keeper-{len(self.processes)}.log"
        self.processes.append(begun(settings, "keeper.main", "run", log=log))
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


@contextmanager
def world() -> Iterator[World]:
    with ExitStack() as stack:
        path, database = stack.enter_context(folder()), stack.enter_context(a_database())
        chain = deploy_contracts(start_anvil())
        stack.callback(chain.anvil.stop)
        made = World(path, chain, database)
        stack.callback(made.close)
        yield made


def p99(values: Sequence[int]) -> int:
    return sorted(values)[-(-len(values) * 99 // 100) - 1]
