"""The whole service on a database of three nodes: a chain that goes on, indexer and keeper with a
spare each, two API processes behind HAProxy, and people who write.
"""

import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
from sqlalchemy import make_url

from core.chain.abi import call_by_signature, function
from core.db import migrate
from core.db.engine import Database
from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from tests.cluster.cluster import Cluster
from tests.cluster.load import Callers, Writer, twice
from tests.integration.chain_fixtures import (
    USDC,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.chaos.crew import Crew, until
from tests.integration.indexer.conftest import issue
from tests.integration.nursery import Process, ran, start
from tests.personas import DEPLOYER, KEEPER, OPERATOR

WORKING, STOPPED = 1, 2  # of MandateVault.status
FALLEN = 450_000
READY_S, SEEN_S, STOPPED_S, END_S = 280.0, 30.0, 45.0, 20.0
TEND_S = 0.2
BLOCK_S = 1


@dataclass
class Service:
    cluster: Cluster
    chain: DeployedChain
    folder: Path
    settings: dict[str, str]
    crews: dict[str, Crew]
    apis: list[Process]
    writer: Writer
    callers: Callers
    epochs: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    faults: set[str] = field(default_factory=set)
    last_said: str = ""  # by /health/ready
    _ended: threading.Event = field(default_factory=threading.Event)
    _tending: threading.Thread | None = None
    _made: int = 0

    @property
    def dsn(self) -> str:
        return dsn_of(self.cluster.url)

    def _tend(self) -> None:
        """As a supervisor would, until the end; and look who leads."""
        while not self._ended.wait(TEND_S):
            for crew in self.crews.values():
                crew.tend()
            self._look_who_leads()

    def start(self) -> None:
        self._tending = threading.Thread(target=self._tend, daemon=True)
        self._tending.start()

    def end(self) -> None:
        """Indexer and keeper, for good."""
        self._ended.set()
        assert self._tending is not None
        self._tending.join(END_S)
        for crew in self.crews.values():
            crew.end()

    def _look_who_leads(self) -> None:
        """An epoch that was seen never comes back: else two would lead."""
        try:
            with psycopg.connect(self.dsn, connect_timeout=1, autocommit=True) as connection:
                connection.execute("set statement_timeout = '1s'")
                rows = connection.execute("select name, epoch from leader").fetchall()
        except psycopg.Error:
            return
        for name, epoch in rows:
            seen = self.epochs.setdefault(name, [])
            if seen and epoch < seen[-1][0]:
                self.faults.add(f"{name}: epoch {epoch} after {seen[-1][0]}")
            if not seen or epoch > seen[-1][0]:
                seen.append((epoch, time.time()))

    # Vaults

    def vault(self) -> tuple[DeployedChain, str]:
        """At a venue of its own, working, and known to the record."""
        self._made += 1
        chain = self._another_venue()
        terms = chain.terms(f"m_cluster{self._made:03d}", nonce=self._made)
        database = Database(self.cluster.url, application_name="test")
        try:
            issue(chain, database, terms)
        finally:
            database.close()
        vault = chain.create_vault(terms)
        assert chain.buy(vault, 100 * USDC).status == 1
        assert until(lambda: self._is_marked(vault), SEEN_S), "the keeper does not mark the vault"
        return chain, vault

    def let_fall(self, chain: DeployedChain) -> None:
        chain.succeed(OPERATOR, chain.contracts["test_venue"], test_venue.set_price(FALLEN))

    def is_stopped(self, vault: str) -> bool:
        abi = function("MandateVault", "status")
        return int(abi.decode_output(self.chain.reader.call(vault, abi.encode()))[0]) == STOPPED

    def _is_marked(self, vault: str) -> bool:
        with psycopg.connect(self.dsn, connect_timeout=5) as connection:
            found = connection.execute(
                "select 1 from vault_mark where vault = %s", [bytes.fromhex(vault[2:])]
            ).fetchone()
        return found is not None

    def _another_venue(self) -> DeployedChain:
        chain, usdc = self.chain, self.chain.contracts["usdc"]
        venue = chain.deploy("TestVenue", usdc, OPERATOR.address, USDC)
        adapter = chain.deploy("TestVenueAdapter", usdc, venue)
        chain.succeed(OPERATOR, venue, call_by_signature("setAdapter(address)", [adapter]))
        chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(adapter))
        chain.mint(venue, 1_000_000 * USDC)
        contracts = {**chain.contracts, "test_venue": venue, "test_venue_adapter": adapter}
        return replace(chain, contracts=contracts)

    # Looking

    def ready(self) -> dict[str, Any] | None:
        """What /health/ready says, through the load balancer; None: nothing."""
        try:
            said = httpx.get(f"{self.cluster.api_url}/health/ready", timeout=5)
        except httpx.HTTPError:
            return None
        self.last_said = said.text
        return dict(said.json()) if said.status_code == 200 else None

    def follows(self) -> bool:
        """Whether the record is at most a few blocks behind the chain."""
        head = self.chain.reader.block_number()
        try:
            with psycopg.connect(self.dsn, connect_timeout=2) as connection:
                row = connection.execute("select max(number) from chain_block").fetchone()
        except psycopg.Error:
            return False
        return row is not None and row[0] is not None and row[0] >= head - 3

    def wrong(self) -> list[str]:
        """What may never be, whatever befell the database."""
        found = [*self.faults, *self.callers.faults]
        found += [f"{name}: {fault}" for name, crew in self.crews.items() for fault in crew.faults]
        lost = self.writer.lost()
        found += [f"acknowledged and lost: {len(lost)}, from {lost[0]}"] if lost else []
        found += [f"registered and lost: {name}" for name in self.callers.lost(self.dsn)]
        found += [f"written twice: {one}" for one in twice(self.dsn)]
        found += ["an API process ended" for api in self.apis if api.returncode is not None]
        return found

    def stops_of(self, vault: str) -> int:
        """How many transactions of the keeper stopped it."""
        with psycopg.connect(self.dsn, connect_timeout=5) as connection:
            row = connection.execute(
                "select count(*) from keeper_intent where vault = %s and kind like 'stop%%'"
                " and state in ('mined', 'safe', 'done')",
                [bytes.fromhex(vault[2:])],
            ).fetchone()
        assert row is not None
        return int(row[0])

    def rescanned(self) -> str:
        """What a rescan of the chain finds that the record has not, or has twice; nobody may lead."""
        done = ran("indexer.rebuild", env=os.environ | self.settings)
        return "" if done.returncode == 0 else done.stdout + done.stderr


def dsn_of(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def settings_of(cluster: Cluster, chain: DeployedChain, folder: Path) -> dict[str, str]:
    """The environment of all processes."""
    chain.write_record(folder)
    return {
        "DATABASE_URL": cluster.url,
        "DATABASE_POOLED_URL": cluster.pooled_url,
        "DATABASE_READ_URL": cluster.read_url,
        "RPC_URLS": chain.anvil.url,
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "BASE_URL": cluster.api_url,
        "KEY_PEPPER": secrets.token_hex(32),
        "KEEPER_PRIVATE_KEY": KEEPER.private_key,
        "LOG_FORMAT": "json",
        "PYTHONUNBUFFERED": "1",
        "REGISTRATIONS_PER_MINUTE": "1000000",
        "REGISTRATIONS_PER_DAY": "1000000",
        "WELCOME_PER_ADDRESS_PER_DAY": "1000000",
        "FREE_READS_PER_ADDRESS_PER_DAY": "1000000",
    }


@contextmanager
def served(cluster: Cluster, folder: Path) -> Iterator[Service]:
    """All of it, ready and under load."""
    migrate.upgrade(cluster.url)
    with ExitStack() as stack:
        anvil = start_anvil("--block-time", str(BLOCK_S), "--mixed-mining")
        stack.callback(anvil.stop)
        chain = deploy_contracts(anvil)
        settings = settings_of(cluster, chain, folder)
        crews = {}
        for name in ("indexer", "keeper"):
            logs = folder / name
            logs.mkdir()
            crews[name] = Crew(f"{name}.main", settings, logs)
            crews[name].tend()
        apis = []
        for number in (1, 2):
            host, port = cluster.api_address(number)
            log = stack.enter_context((folder / f"api{number}.log").open("wb"))
            env = os.environ | settings | {"HOST": host, "PORT": str(port)}
            apis.append(start("api.main", env=env, out=log, err=log))
            stack.callback(apis[-1].close, END_S)
        writer, callers = Writer(dsn_of(cluster.url)), Callers(cluster.api_url)
        service = Service(cluster, chain, folder, settings, crews, apis, writer, callers)
        service.start()
        stack.callback(service.end)
        assert until(lambda: service.ready() is not None, READY_S), service.last_said + _words(
            folder
        )
        for load in (writer, callers):
            load.start()
            stack.callback(load.stop)
        yield service


def _words(folder: Path) -> str:
    return "\n".join(
        f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in folder.rglob("*.log")
    )


def waited(what: str, condition: Any, seconds: float) -> float:
    """How long it took. Errors: AssertionError."""
    begun = time.monotonic()
    assert until(condition, seconds), f"{what}: not within {seconds:.0f} s"
    return time.monotonic() - begun
