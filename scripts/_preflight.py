"""What a deployment depends on, asked part by part: nodes, clock, database, contracts, offices,
accounts, disk, ports (`make preflight`).

Laws
- Each finding is one sentence: what is there, or what is wrong and what to do. None shows a value
  of a secret setting, and a node is named by host and port.
- Nothing is sent, written or locked.
- A part that fails is a finding, and the others are asked all the same.
"""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from core.chain.abi import AbiDecodeError, function
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcError
from core.chain.nodes import Nodes
from core.chain.provider import names_of
from core.chain.reader import is_anvil
from core.chain.signer import local_signer
from core.db.engine import Database
from core.findings import PartFinding, right, wrong
from core.health.rules import judge_clock
from core.jobs.rules import ATTENTION
from core.jobs.schedule import JobSkippedError
from core.mandate.chain.reader import VaultReader
from core.money import eth_text
from core.settings import Deployment, Settings
from keeper.funds import Funds
from keeper.gas import GWEI
from keeper.signers import (
    require_all_allowed,
    require_allowed,
    signers_of,
)
from keeper.state import Role
from scripts._deployed_code import recorded_code_faults
from scripts._deployments import ARTIFACTS, NOT_OURS, Record, load
from scripts._preflight_database import (
    GIGABYTE,
    SOON,
    database_lines,
    durability_line,
    proxy_lines,
)
from scripts._preflight_venues import venue_lines
from scripts._recorded import record_faults

ANSWER_S = 3.0
MOST_HEAD_AGE_S = 60  # a block of Base comes every 2 s
MOST_AHEAD_S = 5  # of a block's time over ours
COMMON_DEPTH = 8  # blocks below the lower of two heads that both nodes must agree on
LEAST_FREE_BYTES = 5 * 10**9
LEAST_TEMPORARY_BYTES = 10**8  # where a page is printed; often in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What the checks ask. `nodes`: one reader a node, by host and port."""

    settings: Settings
    deployment: Deployment
    record: Record
    nodes: Mapping[str, VaultReader]
    all_nodes: VaultReader
    database: Database

    def client(self) -> str:
        """Errors: RpcError."""
        return self.all_nodes.client_version()

    def close(self) -> None:
        for reader in (*self.nodes.values(), self.all_nodes):
            reader.rpc.close()
        self.database.close()


Check = Callable[[Preflight], Iterable[PartFinding]]


def asked_of(settings: Settings) -> Preflight:
    """Nothing is asked yet. Errors: InvalidParameterError; SystemExit for a record that is another
    chain's.
    """
    deployment = settings.deployment("factory", "usdc")
    names = names_of(settings.rpc_urls)
    return Preflight(
        settings=settings,
        deployment=deployment,
        record=load(settings.deployment_file, settings.chain_id),
        nodes={
            name: VaultReader(
                Nodes([url], answer_s=ANSWER_S, deadline_s=ANSWER_S), deployment.contracts
            )
            for name, url in zip(names, settings.rpc_urls, strict=True)
        },
        all_nodes=VaultReader(
            Nodes(settings.rpc_urls, answer_s=ANSWER_S, deadline_s=2 * ANSWER_S),
            deployment.contracts,
        ),
        database=Database(
            settings.database_url,
            application_name="preflight",
            bounds=SOON,
            replica=settings.replica(),
        ),
    )


def check_nodes(asked: Preflight) -> Iterator[PartFinding]:
    """Each node: the right chain, and a young head; all of them: the same blocks."""
    heads: dict[str, BlockHeader] = {}
    for name, reader in asked.nodes.items():
        what = f"node {name}"
        try:
            chain_id, head = reader.chain_id(), reader.header()
        except RpcError as error:
            yield wrong(what, f"no answer ({error}): is it up, and is its URL in RPC_URLS right?")
            continue
        if chain_id != asked.settings.chain_id:
            yield wrong(
                what,
                f"it serves chain {chain_id}, CHAIN_ID is {asked.settings.chain_id}: put another "
                "node into RPC_URLS",
            )
        elif head is None:
            yield wrong(what, "it has no latest block: wait until it is synced")
        elif (age := time.time() - head.timestamp) > MOST_HEAD_AGE_S:
            yield wrong(
                what,
                f"its latest block {head.number} is {age:.0f} s old: wait until it is synced, and "
                "check the clock line",
            )
        elif -age > MOST_AHEAD_S:
            yield wrong(
                what,
                f"its latest block {head.number} is {-age:.0f} s in the future: if the clock line is ok, "
                "put another node into RPC_URLS",
            )
        else:
            heads[name] = head
            yield right(what, f"chain {chain_id}, block {head.number} is {max(0, age):.0f} s old")
    yield from _agreement(asked, heads)


def _agreement(asked: Preflight, heads: Mapping[str, BlockHeader]) -> Iterator[PartFinding]:
    what = "nodes agree"
    if len(asked.nodes) == 1:
        if is_anvil(asked.client()):
            yield right(what, "one node, of a chain on this machine")
        else:
            yield wrong(what, "there is only one node: add one of another provider to RPC_URLS")
        return
    if len(heads) < 2:
        yield wrong(what, "fewer than two nodes can be compared: fix the ones above")
        return
    height = max(0, min(head.number for head in heads.values()) - COMMON_DEPTH)
    blocks = {name: asked.nodes[name].header(height) for name in heads}
    hashes = {name: block and block.hash for name, block in blocks.items()}
    if len(set(hashes.values())) == 1 and None not in hashes.values():
        yield right(what, f"on block {height}")
    else:
        listed = ", ".join(f"{name} has {found or 'none'}" for name, found in hashes.items())
        yield wrong(what, f"they disagree on block {height}: {listed}; remove the wrong one")


def check_clock(asked: Preflight) -> Iterator[PartFinding]:
    """Against the database, and against the newest block, which is never ahead of a right clock."""
    what = "clock"
    faults, compared = [], []
    try:
        with asked.database.read() as session:
            before = time.time()
            answered = session.execute(text("select clock_timestamp()")).scalar_one()
            after = time.time()
        compared.append("the database's")
        if judge_clock(before, answered.timestamp(), after) is not None:
            off_s = before - answered.timestamp()
            faults.append(
                f"{abs(off_s):.0f} s {'ahead of' if off_s > 0 else 'behind'} the database's"
            )
    except SQLAlchemyError:
        pass  # the database's own line says it
    try:
        head = asked.all_nodes.header()
    except RpcError:
        head = None  # the nodes' own lines say it
    if head is not None:
        compared.append("the newest block's")
        ahead = head.timestamp - time.time()
        if ahead > MOST_AHEAD_S:
            faults.append(f"{ahead:.0f} s behind the newest block's")
    if faults:
        yield wrong(
            what,
            f"this machine's is {' and '.join(faults)}: synchronise it with NTP (`timedatectl`)",
        )
    elif compared:
        yield right(what, f"agrees with {' and '.join(compared)}")
    else:
        yield wrong(what, "there is nothing to compare it with: fix the lines above")


def check_database(asked: Preflight) -> Iterator[PartFinding]:
    return database_lines(asked.settings, asked.database)


def check_commits(asked: Preflight) -> Iterator[PartFinding]:
    if is_anvil(asked.client()):
        yield right("commits", "of a chain on this machine: lost data is made again")
    else:
        yield durability_line(asked.database)


def check_proxies(asked: Preflight) -> Iterator[PartFinding]:
    return proxy_lines(asked.settings, asked.database)


def check_contracts(asked: Preflight) -> Iterator[PartFinding]:
    """Each byte of the code, as `make verify` does it, from every node."""
    on_devnet = is_anvil(asked.client())
    faults = list(record_faults(asked.record, on_devnet=on_devnet))
    if faults:
        yield wrong("record", f"{faults[0]}: run `make deploy`, or set DEPLOYMENT_FILE")
        return
    yield right(
        "record", f"{len(asked.record.contracts)} contracts of chain {asked.record.chain_id}"
    )
    # an image or a server has the tree without compiler and contracts
    is_built = ARTIFACTS.exists()
    for name, reader in asked.nodes.items():
        differing = []
        for one in asked.record.contracts:
            try:
                found = reader.code_at(one.address)
            except RpcError as error:
                differing.append(f"{one.name} can't be read ({error})")
                break
            if not found:
                differing.append(f"{one.name} has no code at {one.address}")
            elif is_built and one.contract not in NOT_OURS:
                faults = recorded_code_faults(one, asked.record, found)
                differing += [f"{one.name}: {fault}" for fault in faults]
        what = f"contracts by {name}"
        if differing:
            yield wrong(
                what,
                f"{differing[0]} ({len(differing)} faults): is DEPLOYMENT_FILE of this chain? "
                "`make verify` shows all",
            )
        elif is_built:
            yield right(what, "every byte of code is what this tree compiles to")
        else:
            yield right(
                what,
                "each has code; nothing is compiled here to compare it with: `make verify` does, "
                "where the tree is built",
            )


def check_factory(asked: Preflight) -> Iterator[PartFinding]:
    """What is paused, which adapters are listed, of whom the record is."""
    reader, at = asked.all_nodes, asked.deployment.contracts
    try:
        paused = _view(reader, "MandateVaultFactory", "paused", at["factory"])
        usdc = reader.usdc_of_factory()
        unlisted = [name for name in asked.record.adapters() if not reader.is_adapter(at[name])]
    except (RpcError, AbiDecodeError) as error:
        yield wrong("factory", f"no answer ({error}): fix the nodes above")
        return
    if usdc != reader.contracts["usdc"]:
        yield wrong(
            "factory", f"its USDC is {usdc}, the record has {at['usdc']}: use the right record"
        )
    elif paused:
        yield wrong("factory", "it is paused, so no vault can be made: its admin calls unpause()")
    else:
        yield right("factory", "not paused")
    if unlisted:
        yield wrong("adapters", f"{', '.join(unlisted)}: not listed; the admin calls listAdapter()")
    else:
        yield right("adapters", "all adapters of the record are listed")


def check_venues(asked: Preflight) -> Iterator[PartFinding]:
    """What stands behind the adapters that an operator chose."""
    yield from venue_lines(asked.all_nodes, asked.record)


def check_guard(asked: Preflight) -> Iterator[PartFinding]:
    """Does the factory obey the API's key?"""
    signer = _key_of("GUARD", asked)
    if signer is None:
        yield right("guard", "no key is set, so vaults cannot pay for calls")
    elif signer != (guard := asked.all_nodes.guard()):
        yield wrong(
            "guard",
            f"the key is of {signer}, the factory obeys {guard}: set GUARD_KEYSTORE to that "
            "account's, or let the keeper's admin propose the other",
        )
    else:
        yield right("guard", guard)


def _view(reader: VaultReader, contract: str, name: str, to: str) -> Any:
    abi = function(contract, name)
    return abi.decode_output(reader.call(to, abi.encode()))[0]


def _key_of(prefix: str, asked: Preflight) -> str | None:
    """The account of a key of the API; None: none is set. Errors: RpcError; InvalidParameterError, also
    when it must not sign on this chain.
    """
    plain, keystore, password_file = (
        getattr(asked.settings, f"{prefix.lower()}_{kind}")
        for kind in ("private_key", "keystore", "keystore_password_file")
    )
    signer = local_signer(prefix, plain, keystore, password_file)
    if signer is None:
        return None
    variable = None if plain is None else f"{prefix}_PRIVATE_KEY"
    require_allowed(signer.address, asked.client(), plain_variable=variable)
    return signer.address


def check_keeper(asked: Preflight) -> Iterator[PartFinding]:
    """Its accounts: may they sign here, does the factory obey them, can they pay. Errors:
    InvalidParameterError for a key, its setting or its file.
    """
    settings, what = asked.settings, "keeper"
    signers = signers_of(settings)
    try:
        require_all_allowed(signers, settings, asked.client())
        did = Funds(
            asked.all_nodes,
            asked.database,
            signers,
            settings.keeper_stop_max_fee_gwei * GWEI,
            {
                Role.CUSTODY: settings.custody_gas_wei_per_day,
                Role.SPONSOR: settings.sponsor_gas_wei_per_day,
            },
        ).run(datetime.now(UTC))
    except JobSkippedError:
        yield wrong(
            what,
            "no key is set, so it would only log: set KEEPER_KEYSTORE or KEEPER_REMOTE_SIGNER_URL",
        )
    except (RpcError, SQLAlchemyError) as error:
        yield wrong(what, f"unknown ({type(error).__name__}): fix the lines above")
    else:
        if ATTENTION in did:
            yield wrong(what, did[ATTENTION])
        else:
            roles = ", ".join(f"{role} {one.address}" for role, one in signers.items())
            yield right(what, f"{roles}: the factory obeys it, and all can pay")


def check_settler(asked: Preflight) -> Iterator[PartFinding]:
    """Who is paid for calls, and whose gas it costs."""
    settings, what = asked.settings, "settler"
    if settings.x402_pay_to is None:
        yield right(what, "X402_PAY_TO is not set: no payments are taken")
        return
    if settings.x402_facilitator_url is not None:
        yield right(what, "a facilitator settles")
        return
    account = _key_of("X402_SETTLE", asked)
    if account is None:
        yield wrong(what, "X402_PAY_TO is set but nobody settles: set X402_SETTLE_KEYSTORE")
    elif (missing := settings.x402_gas_wei_per_day - asked.all_nodes.balance_wei(account)) > 0:
        yield wrong(what, f"send at least {eth_text(missing)} ETH to {account}")
    else:
        yield right(what, f"{account} can pay for a day")


def check_disk(asked: Preflight) -> Iterator[PartFinding]:
    wanted = {Path(tempfile.gettempdir()): LEAST_TEMPORARY_BYTES, Path.cwd(): LEAST_FREE_BYTES}
    for folder, least in wanted.items():
        free = shutil.disk_usage(folder).free
        what = f"disk at {folder}"
        if free < least:
            yield wrong(
                what,
                f"{free / GIGABYTE:.1f} GB are free, {least / GIGABYTE:g} are required: free some",
            )
        else:
            yield right(what, f"{free / GIGABYTE:.1f} GB free")


def check_ports(asked: Preflight) -> Iterator[PartFinding]:
    settings = asked.settings
    wanted = {
        name: getattr(settings, name.lower())
        for name in ("PORT", "API_METRICS_PORT", "INDEXER_METRICS_PORT", "KEEPER_METRICS_PORT")
    }
    for name, port in wanted.items():
        if port == 0:
            continue
        if (twice := [other for other, one in wanted.items() if one == port]) != [name]:
            yield wrong(f"port {port}", f"{' and '.join(twice)} are the same: set another")
            continue
        try:
            with socket.create_server((settings.host, port), reuse_port=False):
                yield right(f"port {port}", f"{name}, free")
        except OSError as error:
            yield wrong(
                f"port {port}",
                f"{name}: cannot listen at {settings.host} "
                f"({os.strerror(error.errno or 0)}): stop the program that uses it (`ss "
                f"-ltnp`), or set {name}",
            )


CHECKS: Mapping[str, Check] = {
    "nodes": check_nodes,
    "clock": check_clock,
    "database": check_database,
    "commits": check_commits,
    "proxies": check_proxies,
    "contracts": check_contracts,
    "factory": check_factory,
    "venues": check_venues,
    "guard": check_guard,
    "keeper": check_keeper,
    "settler": check_settler,
    "disk": check_disk,
    "ports": check_ports,
}
