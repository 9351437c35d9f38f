"""`make up`: chain, database, contracts, indexer, keeper and API on this machine until Ctrl-C.

It starts empty each time and writes STACK_DIR/stack.json (default .local) when /health/ready says
ready. Ports come from PORT (API, 8000) and RPC_PORT (chain, 8545). For a second stack beside it:

    PORT=8100 RPC_PORT=8645 STACK_DIR=.local/second make up

Settings that the environment has (core/settings.py) win over those that the stack would choose. It
waits for readiness as long as its processes live, and says what for.
"""

import fcntl
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import httpx
from eth_utils.crypto import keccak

from core.db import embedded
from core.environment import unquoted
from core.settings import Settings
from scripts._accounts import (
    ACCOUNTS,
    GAS_NUMBER,
    SETTLER_NUMBER,
    SPONSOR_NUMBER,
    TEST_PHRASE,
    TREASURY_NUMBER,
    VISITOR_NUMBER,
    personas,
    wallet_of,
)
from scripts._ape import APE, run_ape
from scripts._ports import Ports, free_port
from scripts._processes import (
    ROOT,
    SAY_EVERY_S,
    Child,
    StackError,
    run_shown,
    run_until_ended,
    saying,
    show_news,
    undisturbed,
)

ANVIL = ROOT / "node_modules" / ".bin" / "anvil-native"
CHAIN_ID = 84532
PROCESSES = {
    "indexer": ("indexer.main",),
    "keeper": ("keeper.main", "run"),
    "worker": ("api.worker",),
    "scanner": ("indexer.main", "scan"),
    "api": ("api.main",),
}
NICE = {"worker": 5, "scanner": 5}  # as their units say: nobody waits for them
MINT_SELECTOR = keccak(b"mint(address,uint256)")[:4]  # MockUSDC's, which anyone may call
OWNER_USDC = 100_000
AGENT_USDC = 100  # for calls that cost something
VENUE_USDC = 1_000_000
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (asked at, not bound)
RESTART_PAUSE_S = 1.0
NEEDED_MB = 500  # an empty cluster with its logs takes about 200


@dataclass
class Stack:
    """Start, watch and stop everything.

    Usable as a context manager: it is ready inside, and gone after.
    """

    directory: Path
    ports: Ports
    say: Callable[[str], None] = print
    show: Callable[[str, str], None] = lambda name, line: None
    # settings that win over the stack's own
    outside: Mapping[str, str] = field(default_factory=dict, repr=False)
    children: dict[str, Child] = field(default_factory=dict)
    postgres: embedded.EmbeddedPostgres | None = None
    # one for all polls: each new client reads the certificates again
    http: httpx.Client = field(default_factory=httpx.Client, repr=False)
    facts: dict[str, Any] = field(default_factory=dict)
    # API and keeper share it
    custody_key: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)
    _lock: IO[str] | None = None

    def __enter__(self) -> "Stack":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def rpc_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.rpc}"

    @property
    def base_url(self) -> str:
        """Where the API says that it is."""
        return self.outside.get("BASE_URL", self._local_url)

    @property
    def _local_url(self) -> str:
        host = self.outside.get("HOST", "127.0.0.1")
        return f"http://{'127.0.0.1' if host in EVERYWHERE else host}:{self.ports.api}"

    def start(self) -> None:
        began = time.monotonic()
        self.start_chain()
        with ThreadPoolExecutor(1) as beside:  # neither needs the other, and both take seconds
            starting = beside.submit(self._start_database)
            if "DATABASE_URL" in self.outside:
                starting.result()  # a wrong one is said before the deployment
            contracts = self._deploy()
            url = starting.result()
        self._fund(contracts)
        self._write_facts(url, contracts)
        settable = self._defaults(url).keys() - {"PYTHONUNBUFFERED"} | {"HOST"}
        if overridden := sorted(self.outside.keys() & settable):
            self.say(f"settings   of the environment: {', '.join(overridden)}")
        wanted = [one for one in PROCESSES if one not in os.environ.get("WITHOUT", "")]
        self._start([one for one in wanted if one not in NICE], url)
        self._wait_until_ready()
        # their imports would take seconds of the cores that the others need to be ready
        self._start([one for one in wanted if one in NICE], url)
        (self.directory / "stack.json").write_text(json.dumps(self.facts, indent=2) + "\n")
        for line in self.summary(time.monotonic() - began):
            self.say(line)

    def summary(self, took_s: float) -> tuple[str, ...]:
        """What runs where, and what to open."""
        where = f"embedded, in {self.directory / 'postgres'}" if self.postgres else "DATABASE_URL's"
        metrics = {
            name: f"{name} (metrics on port {urlsplit(self.facts[f'{name}_metrics_url']).port})"
            for name in ("indexer", "keeper")
        }
        running = [metrics.get(name, name) for name in self.children if name != "chain"]
        contracts, facts = self.facts["contracts"], self.directory / "stack.json"
        return (
            f"open       {self.base_url} in a browser and press Try it; its API: {self.base_url}/docs",
            f"chain      anvil at {self.rpc_url}, id {CHAIN_ID}; factory {contracts['factory']}",
            f"database   Postgres, {where}",
            f"processes  {', '.join(running)}; logs in {self.directory / 'logs'}",
            f"ready      after {took_s:.1f} s; addresses and keys in {facts}; Ctrl-C stops everything",
        )

    def watch(self) -> None:
        """Restart what dies, until interrupted.

        The chain is in memory: when it dies, the stack ends.
        """
        while True:
            time.sleep(0.5)
            if self.postgres is not None and self.postgres.pid is None:
                self.say("the database ended; starting it again")
                self.postgres = embedded.start(self.postgres.data_dir)
            for child in self.children.values():
                if not child.is_running():
                    self._restart(child)

    def _restart(self, child: Child) -> None:
        if child.name == "chain":
            raise StackError(f"the chain ended; its last output:\n{child.last_lines()}")
        child.restarts += 1
        self.say(
            f"{child.name} ended with code "
            f"{child.process.returncode if child.process else None}; starting it again"
        )
        time.sleep(min(RESTART_PAUSE_S * child.restarts, 10))
        child.start()

    def stop(self) -> None:
        """Everything, whatever signals come meanwhile."""
        with undisturbed():
            self.http.close()
            for child in self.children.values():
                if child.name != "chain":
                    child.ask_to_end()
            for child in reversed(list(self.children.values())):
                child.stop()
            if self.postgres is not None:
                self.postgres.stop()
                self.postgres = None
            if self._lock is not None:
                (self.directory / "stack.json").unlink(missing_ok=True)
                self._lock.close()
                self._lock = None

    def _take_directory(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if not (self.directory / "lock").exists() and any(
                (self.directory / name).exists() for name in ("logs", "postgres")
            ):
                raise StackError(
                    f"{self.directory} has logs or a postgres that no stack made, and a stack "
                    "begins by removing them: set STACK_DIR to another folder"
                )
            lock = (self.directory / "lock").open("w")
        except OSError as error:
            raise StackError(
                f"STACK_DIR is {self.directory}: {error.strerror}. Name a folder that this "
                "account can write to"
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StackError(
                f"a stack already runs from {self.directory}. For another one: "
                f"STACK_DIR={self.directory}-2 make up"
            ) from None
        self._lock = lock
        shutil.rmtree(self.directory / "logs", ignore_errors=True)
        (self.directory / "logs").mkdir()

    def _child(
        self, name: str, command: list[str], environment: dict[str, str] | None = None
    ) -> Child:
        child = Child(
            name,
            command,
            environment or dict(os.environ),
            self.directory / "logs" / f"{name}.log",
            self.show,
            NICE.get(name, 0),
        )
        self.children[name] = child
        return child

    def start_chain(self) -> None:
        """Take the directory and start anvil alone."""
        self._take_directory()
        free_mb = shutil.disk_usage(self.directory).free >> 20
        if free_mb < NEEDED_MB:
            raise StackError(
                f"the disk is nearly full: {free_mb} MB are free in {self.directory} and "
                f"{NEEDED_MB} MB are needed. Free some, or set STACK_DIR to a folder on another disk"
            )
        self.ports.require_free()
        if not ANVIL.exists():
            raise StackError(
                "anvil is not installed; run `make setup` first (it needs Node.js 20 or newer)"
            )
        if not APE.exists():
            raise StackError(
                "Ape, which deploys the contracts, is not installed; run `make setup` first"
            )
        flags = ["--chain-id", str(CHAIN_ID), "--port", str(self.ports.rpc)]
        flags += ["--mnemonic", TEST_PHRASE, "--silent"]
        # Without a block a second an idle chain looks stalled; depth 1 epochs make `safe` and
        # `finalized` move.
        flags += ["--block-time", "1", "--mixed-mining", "--slots-in-an-epoch", "1"]
        flags += ["--accounts", str(ACCOUNTS)]
        self._child("chain", [str(ANVIL), *flags]).start()
        self.wait_for(
            lambda: None if self._rpc("eth_chainId") == hex(CHAIN_ID) else "the chain to answer"
        )

    def _start_database(self) -> str:
        """Errors: StackError for a DATABASE_URL whose database is not empty: the stack begins again
        each time.
        """
        url = self.outside.get("DATABASE_URL")
        if url is None:
            data = self.directory / "postgres"
            embedded.remove(data)
            self.postgres = embedded.start(data)
            url = self.postgres.url
        command = [sys.executable, "-m", "scripts._listings"]
        done = run_shown(command, {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(ROOT)})
        if done.returncode != 0:
            raise StackError(done.stdout.strip()[-3000:])
        return url

    def _deploy(self) -> dict[str, str]:
        record = self.directory / "deployment.json"
        record.unlink(missing_ok=True)
        with saying("contracts  deploying", self.say):
            done = run_ape(
                "deploy", self.rpc_url, record, show=lambda line: self.show("deploy", line)
            )
        (self.directory / "logs" / "deploy.log").write_text(done.stdout)
        if done.returncode != 0:
            raise StackError(f"deployment failed:\n{done.stdout[-3000:]}")
        return {c["name"]: c["address"] for c in json.loads(record.read_text())["contracts"]}

    def _fund(self, contracts: dict[str, str]) -> None:
        """Mint mock USDC to the owner and the agent, and to the venue so that it can pay whoever
        sells at a gain.
        """
        for role, usdc in (
            ("owner", OWNER_USDC),
            ("agent", AGENT_USDC),
            ("visitor", OWNER_USDC),
            ("test_venue", VENUE_USDC),
        ):
            to = {**contracts, "visitor": wallet_of(VISITOR_NUMBER)["address"]}.get(role)
            to = to or personas()[role]["address"]
            data = (
                MINT_SELECTOR
                + bytes.fromhex(to[2:]).rjust(32, b"\0")
                + (usdc * 10**6).to_bytes(32, "big")
            )
            self._rpc(
                "eth_sendTransaction",
                {
                    "from": personas()["deployer"]["address"],
                    "to": contracts["usdc"],
                    "data": "0x" + data.hex(),
                },
            )

    def _write_facts(self, database_url: str, contracts: dict[str, str]) -> None:
        metrics_ports = {
            name: int(os.environ.get(f"{name.upper()}_METRICS_PORT", "0")) or free_port()
            for name in ("indexer", "keeper")
        }
        self.facts = {
            "base_url": self.base_url,
            "rpc_url": self.rpc_url,
            "database_url": database_url,
            "chain_id": CHAIN_ID,
            "contracts": contracts,
            "accounts": personas(),
            "operator_key": self.outside.get("OPERATOR_KEY", f"op_local_{secrets.token_hex(24)}"),
            **{
                f"{name}_metrics_url": f"http://127.0.0.1:{port}/metrics"
                for name, port in metrics_ports.items()
            },
        }

    def _environment(self, database_url: str) -> dict[str, str]:
        """Of the processes: what is set outside wins."""
        return {
            **os.environ,
            **self._defaults(database_url),
            **self.outside,
            "PYTHONPATH": str(ROOT),
            "PORT": str(self.ports.api),
        }

    def _defaults(self, database_url: str) -> dict[str, str]:
        return {
            "PYTHONUNBUFFERED": "1",
            "DATABASE_URL": database_url,
            "RPC_URLS": self.rpc_url,
            "CHAIN_ID": str(CHAIN_ID),
            "DEPLOYMENT_FILE": str(self.directory / "deployment.json"),
            "BASE_URL": self.base_url,
            "LOCAL_STACK": "1",
            "INDEXER_METRICS_PORT": str(urlsplit(self.facts["indexer_metrics_url"]).port),
            "KEEPER_METRICS_PORT": str(urlsplit(self.facts["keeper_metrics_url"]).port),
            "KEY_PEPPER": secrets.token_hex(32),
            "CUSTODY_KEY": self.custody_key,
            "CUSTODY_GAS_PRIVATE_KEY": wallet_of(GAS_NUMBER)["private_key"],
            "SPONSOR_PRIVATE_KEY": wallet_of(SPONSOR_NUMBER)["private_key"],
            "SPONSOR_GAS_WEI_PER_DAY": str(10**19),
            "GAS_ETH_USD": "1000",
            "GAS_ETH_SOURCE": "fixed",
            "OPERATOR_KEY": self.facts["operator_key"],
            "OPERATOR_ADDRESSES": self.facts["accounts"]["operator"]["address"],
            "KEEPER_PRIVATE_KEY": self.facts["accounts"]["keeper"]["private_key"],
            "GUARD_PRIVATE_KEY": self.facts["accounts"]["guard"]["private_key"],
            "X402_PAY_TO": wallet_of(TREASURY_NUMBER)["address"],
            "X402_SETTLE_PRIVATE_KEY": wallet_of(SETTLER_NUMBER)["private_key"],
            "HL_OPERATOR_ACCOUNT": self.facts["accounts"]["operator"]["address"],
            "X402_GAS_WEI_PER_USDC": str(10**18),  # 1 gwei and more, and nobody's money
            "X402_GAS_WEI_PER_DAY": str(10**19),
            "X402_CONTRACT_GAS_WEI_PER_DAY": str(10**18),
            # Everybody here shares one address: limits per address would only be in the way.
            "REGISTRATIONS_PER_MINUTE": "10000",
            "REGISTRATIONS_PER_DAY": "100000",
            "OWNER_SIGN_UPS_PER_DAY": "100000",
            "OWNED_REGISTRATIONS_PER_DAY": "100000",
            "FREE_READS_PER_ADDRESS_PER_DAY": "1000000",
            "FREE_READS_PER_OWNERS_ADDRESS_PER_DAY": "1000000",
            "WELCOME_PER_ADDRESS_PER_DAY": "10000",
            "RECOVERY_FAILURES_PER_HOUR": "10000",
            "MINING_SUBMISSIONS_PER_ADDRESS_PER_DAY": "100000",
        }

    def _start(self, names: Iterable[str], database_url: str) -> None:
        for name in names:
            command = [sys.executable, "-m", *PROCESSES[name]]
            self._child(name, command, self._environment(database_url)).start()

    def _wait_until_ready(self) -> None:
        self.wait_for(self._not_ready)

    def _not_ready(self) -> str | None:
        """Which parts are down, each with what it says of itself; None when all work."""
        try:
            answer = self.http.get(f"{self._local_url}/health/ready", timeout=15)
        except httpx.HTTPError:
            return "the API to answer"
        parts = (
            answer.json().get("parts", {})
            if answer.headers.get("content-type", "").startswith("application/json")
            else {}
        )
        down = [
            f"{name} ({part['note'] or part['status']})"
            for name, part in parts.items()
            if part["status"] == "down"
        ]
        return (
            None
            if answer.status_code == 200
            else "; ".join(down) or f"the API, which answers {answer.status_code}"
        )

    def wait_for(self, missing: Callable[[], str | None]) -> None:
        """Until nothing is `missing`, for as long as every process lives; what is, is said every
        few seconds. Errors: StackError.
        """
        began = said = time.monotonic()
        while True:
            try:
                what = missing()
            except httpx.HTTPError as error:
                what = f"an answer ({type(error).__name__})"
            # whoever answered: another program may have taken a port
            for name, one in self.children.items():
                if not one.is_running():
                    raise StackError(f"{name} ended at start; its last output:\n{one.last_lines()}")
            if what is None:
                return
            if time.monotonic() - said >= SAY_EVERY_S:
                said = time.monotonic()
                self.say(f"waiting    {said - began:.0f} s for {what}")
            time.sleep(0.1)

    def _rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        return self.http.post(self.rpc_url, json=body, timeout=5).json().get("result")


def set_outside() -> dict[str, str]:
    """The environment's variables, settings as the processes read them; an empty one is as one that
    is not set.
    """
    outside = {name: _read(name, value) for name, value in os.environ.items()}
    return {name: value for name, value in outside.items() if value}


def _read(name: str, value: str) -> str:
    if name.lower() not in Settings.model_fields:
        return value
    try:
        return unquoted(value)
    except ValueError:  # the process that it is for refuses it by name
        return value


def directory_from_environment(default: str = ".local") -> Path:
    return Path(os.environ.get("STACK_DIR") or ROOT / default).resolve()


def run() -> int:
    stack = Stack(
        directory_from_environment(),
        Ports.from_environment(),
        say=lambda line: print(line, flush=True),
        show=show_news,
        outside=set_outside(),
    )
    with stack:
        stack.watch()
    return 0


def main() -> None:
    run_until_ended("make up", run, interrupted=(0, "stopped"))


if __name__ == "__main__":
    main()
