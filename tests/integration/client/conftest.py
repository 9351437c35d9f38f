"""A real record to check: a mandate on anvil, followed by the real indexer into a real database,
exported as the API does.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from api.areas.mandates.views import record as mandate_record
from api.client.verify.findings import Report
from api.client.verify.verification import Options, verify
from core.chain.abi import call_by_signature
from core.chain.nodes import Nodes
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.db.leadership import Leadership
from core.mandate.chain import calldata
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.new_rows import event_row
from core.money import UsdcE6
from indexer.chain.context import ChainContext
from indexer.chain.reverts import RevertedCalls
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    USDC,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.databases import execute, url_of
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import AGENT, DEPLOYER, OWNER

REASON = "0x" + b"enough".ljust(32, b"\0").hex()


@dataclass(frozen=True)
class Exported:
    """A record with all that it can tell, and what else is on the same chain."""

    deployed: DeployedChain
    follower: Follower
    mandate: Issued
    vault: str
    lines: tuple[bytes, ...]
    other: tuple[bytes, ...]  # of another mandate of the same owner and agent, without a lost block
    other_vault: str


def export(follower: Follower, mandate: Issued) -> tuple[bytes, ...]:
    with follower.database.read() as session:
        found = mandate_record.opening(
            session, follower.mandate(mandate), follower.deployed.contracts["factory"]
        )
    text = "".join(mandate_record.chunks(follower.database, found))
    return tuple(text.encode().splitlines(keepends=True))


def trusting(chain: DeployedChain, **named: Any) -> Options:
    """The factory of this chain, as a reader names the published one."""
    return Options(**{"factory": chain.contracts["factory"]} | named)


def judged(
    chain: DeployedChain, lines: Iterable[bytes], rpc: Nodes | None = None, **named: Any
) -> Report:
    """What verify-record says to who trusts this chain's factory; `rpc`: another node than the chain's."""
    return verify(lines, [rpc or chain.rpc], trusting(chain, **named))


def names(report: Report) -> set[str]:
    return {finding.name for finding in report.findings}


def settle_reverts(chain: ChainContext) -> None:
    RevertedCalls(chain, now_utc).round()


@contextmanager
def following(postgres: EmbeddedPostgres, template: str, *flags: str) -> Iterator[Follower]:
    """A chain, a database and an indexer of their own. `flags`: of anvil."""
    name = f"client_{uuid4().hex[:12]}"
    execute(postgres, "create database {} template {} strategy file_copy", name, template)
    url, anvil = url_of(postgres, name), start_anvil(*flags)
    database, leadership = Database(url), Leadership(url, "indexer", "test")
    assert leadership.try_take(now_utc())
    try:
        yield Follower(deploy_contracts(anvil), database, leadership)
    finally:
        leadership.release()
        database.close()
        anvil.stop()
        execute(postgres, "drop database {} with (force)", name)


def _report(
    follower: Follower,
    mandate: Issued,
    amount: int,
    tx_hash: str | None,
    position: str | None = None,
) -> None:
    """`position`: what it says was bought; without `tx_hash` the chain saw nothing of it."""
    row = event_row(
        kind="buy",
        amount_usdc_e6=UsdcE6(amount),
        tx_hash=tx_hash,
        why="cheap",
        payload={"target": follower.deployed.contracts["test_venue_adapter"]}
        | ({} if position is None else {"position": {"id": position, "name": position}}),
        violation=None,
        is_unseen=position is not None and tx_hash is None,
        fact=uuid4().hex,
        now=now_utc(),
        chain_id=CHAIN_ID,
    )
    with follower.database.write() as session:
        mandate_ledger.append(session, mandate.id, row, now_utc())


@pytest.fixture(scope="module")
def exported(postgres: EmbeddedPostgres, template: str) -> Iterator[Exported]:
    """Created and funded, bought, sold, lost and found again in a reorg, refused, reported, stopped
    and partly withdrawn.
    """
    with following(postgres, template) as follower:
        chain = follower.deployed
        other = follower.issue("m_othermand2", nonce=2)
        other_vault = chain.create_vault(other.terms)
        mandate = follower.issue()
        vault = chain.create_vault(mandate.terms)
        other_bought = chain.buy(other_vault, 11 * USDC)
        assert chain.buy(other_vault, 150 * USDC).status == 0
        bought = chain.buy(vault, 30 * USDC)
        follower.catch_up()
        _report(follower, mandate, 30 * USDC, bought.tx_hash)
        _report(follower, other, 11 * USDC, other_bought.tx_hash)
        _report(follower, mandate, 5 * USDC, None, position="never bought")
        _lose_and_find(follower, mandate, vault)
        assert chain.buy(vault, 150 * USDC).status == 0
        chain.sell(vault, 20 * USDC)
        chain.succeed(
            DEPLOYER,
            chain.contracts["factory"],
            call_by_signature("proposeKeeper(address)", [OWNER.address]),
        )
        chain.buy(vault, 12 * USDC)
        chain.succeed(AGENT, vault, call_by_signature("stop(bytes32)", [REASON]))
        chain.succeed(
            OWNER, vault, calldata.withdraw(chain.contracts["usdc"], OWNER.address, 100 * USDC)
        )
        # the lost blocks' times lie before the last one's, however fast they were made
        chain.rpc.call("evm_increaseTime", [60])
        chain.anvil.mine()
        follower.catch_up()
        settle_reverts(follower.chain)
        yield Exported(
            chain,
            follower,
            mandate,
            vault,
            export(follower, mandate),
            export(follower, other),
            other_vault,
        )


def _lose_and_find(follower: Follower, mandate: Issued, vault: str) -> None:
    """A buy whose block is lost and that comes again in a later one."""
    chain = follower.deployed
    raw = chain.sign(AGENT, vault, chain.buy_data(40 * USDC))
    chain.rpc.call("eth_sendRawTransaction", [raw])
    chain.anvil.mine(2)
    follower.catch_up()
    depth = follower.tip.cursor.number - (follower.rows(mandate)[-1].block_number or 0) + 1
    chain.anvil.reorg(depth, [(raw, depth - 1)])
    follower.catch_up()
