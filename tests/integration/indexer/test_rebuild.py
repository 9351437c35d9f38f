"""Law 7: what is rebuildable is dropped and rescanned, and the canonical view is the same; the
ledgers are not touched.

`python -m scripts.rebuild` does it beside the record: it says where the two differ and changes
nothing unless told so.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import delete, text

from core.audit import queries as findings
from core.audit.rules import Fault, FindingKind
from core.blocks.tables import (
    Adapter,
    ChainBlock,
    ChainCursor,
    RawLogRow,
    RevertedTx,
    Vault,
    VaultAgentRow,
)
from core.db.engine import Database
from core.mandate.chain import calldata
from core.mandate.ledger import writer as mandate_ledger
from core.reserve.tables import ReserveConversion, ReserveEvent
from core.shadow import queries as shadow
from indexer.chain.rebuild import Rebuild, RebuildRefusedError
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain, Ground
from tests.integration.indexer.canonical import canonical_view
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.integration.indexer.test_auditor import believe_a_liar
from tests.integration.indexer.test_backfill import make_final, settle
from tests.integration.indexer.test_process import until
from tests.integration.nursery import piped, ran
from tests.integration.reserve_token import TokenOnChain, deploy_reserve_token
from tests.personas import AGENT, DEPLOYER, STRANGER

REBUILDABLE = (
    RawLogRow,
    RevertedTx,
    Vault,
    VaultAgentRow,
    Adapter,
    ReserveEvent,
    ChainBlock,
    ChainCursor,
)
ONE_TOKEN = 10**18
NOBODYS_REF = "0x" + "ab" * 32
RUN_S = 60
Working = tuple[Issued, str]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


@pytest.fixture
def token(deployed: DeployedChain) -> TokenOnChain:
    found = deploy_reserve_token(deployed)
    found.fund(AGENT, 1_000 * USDC)
    return found


@pytest.fixture
def follower(follower: Follower, token: TokenOnChain) -> Follower:
    """An indexer that follows the reserve token too."""
    follower.restart(reserve_token=token.address)
    return follower


def live(follower: Follower, vault: str) -> None:
    """Moves, orphans that a rescan will not find, a refused call, a factory event, a vault of
    unknown terms; reserve tokens bought, converted and redeemed.
    """
    chain = follower.deployed
    token = TokenOnChain(chain, chain.contracts["reserve_token"])
    token.buy(AGENT, 102 * USDC)
    chain.buy(vault, 10 * USDC)
    token.convert(AGENT, 2 * ONE_TOKEN, NOBODYS_REF)
    follower.catch_up()
    chain.anvil.reorg(2)
    token.convert(AGENT, 3 * ONE_TOKEN, NOBODYS_REF)
    token.redeem(AGENT, ONE_TOKEN)
    chain.buy(vault, 40 * USDC)
    chain.buy(vault, 101 * USDC)
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.propose_keeper(STRANGER.address))
    chain.create_vault(chain.terms("m_unknown234", nonce=2))
    follower.catch_up()


@pytest.mark.slow
def test_dropped_and_rescanned__the_canonical_view_is_the_same(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    live(follower, vault)
    waiting = conversions(follower.database)

    with follower.database.read() as session:
        view, rows = (
            canonical_view(session, CHAIN_ID),
            mandate_ledger.load_rows(session, mandate.id),
        )
    with follower.database.write() as session:
        for table in REBUILDABLE:
            session.execute(delete(table))
    follower.restart()
    follower.catch_up()

    with follower.database.read() as session:
        assert canonical_view(session, CHAIN_ID) == view
        assert mandate_ledger.load_rows(session, mandate.id) == rows
    follower.assert_sound(mandate, vault)
    assert all(view.values()), "a part that is empty would compare nothing"
    assert conversions(follower.database) == waiting
    assert [status for _, _, status in waiting] == ["reversed", "waiting"]


def conversions(database: Database) -> list[tuple[int, int, str]]:
    """(height, tokens, status), in the order of the chain; orphans' too."""
    with database.read() as session:
        query = session.query(ReserveConversion).order_by(ReserveConversion.number)
        return [(one.number, one.tokens, one.status) for one in query]


# The command


@pytest.fixture
def environment(follower: Follower, database_url: str, tmp_path: Path) -> dict[str, str]:
    contracts = [
        {"name": name, "address": address} for name, address in follower.deployed.contracts.items()
    ]
    record = {
        "chain_id": CHAIN_ID,
        "block": follower.deployed.start_block,
        "commit": "0" * 40,
        "contracts": contracts,
    }
    (tmp_path / "deployment.json").write_text(json.dumps(record))
    named = {
        "DATABASE_URL": database_url,
        "RPC_URLS": follower.deployed.anvil.url,
        "DEPLOYMENT_FILE": str(tmp_path / "deployment.json"),
    }
    return os.environ | named | {"COLUMNS": "200"}


@pytest.fixture
def run(follower: Follower, environment: dict[str, str]) -> Run:
    """`python -m scripts.rebuild` with arguments, while no indexer leads."""

    def once(*arguments: str, is_real: bool = False) -> subprocess.CompletedProcess[str]:
        follower.leadership.release()
        try:
            return ran("scripts.rebuild", *arguments, env=environment, is_real=is_real)
        finally:
            lead_again(follower)

    return once


def lead_again(follower: Follower) -> None:
    """The database notices within moments that a killed holder's connection is gone."""
    until(lambda: follower.leadership.try_take(now_utc()))
    follower.restart(epoch=follower.leadership.epoch)


def everything(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the rebuildable tables, orphans and times of writing included."""
    with database.read() as session:
        tables = [table.__tablename__ for table in REBUILDABLE]
        return {
            name: [
                tuple(row)
                for row in session.execute(text(f"select * from {name} order by 1, 2, 3"))
            ]
            for name in tables
        }


def has_shadow(database: Database) -> bool:
    with database.read() as session:
        return shadow.is_there(session)


@pytest.mark.slow
def test_an_equal_record__is_left_as_it_is(follower: Follower, working: Working, run: Run) -> None:
    live(follower, working[1])
    before = everything(follower.database)
    done = run(is_real=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Equal up to block {follower.tip.cursor.number}; nothing was changed." in done.stdout
    assert everything(follower.database) == before
    assert not has_shadow(follower.database)


@pytest.mark.slow
def test_a_raw_log_that_was_removed__is_named_and_comes_back_only_when_accepted(
    follower: Follower, working: Working, run: Run
) -> None:
    mandate, vault = working
    live(follower, vault)
    with follower.database.read() as session:
        view, rows = (
            canonical_view(session, CHAIN_ID),
            mandate_ledger.load_rows(session, mandate.id),
        )
    with follower.database.write() as session:
        session.execute(
            text(
                "delete from raw_log where (number, log_index) = (select number, log_index "
                "from raw_log order by 1, 2 limit 1)"
            )
        )
        missing = Fault(FindingKind.LOG, "log:test", "the record lacks a log")
        assert findings.add_finding(session, CHAIN_ID, missing, now_utc()) is not None
    damaged = everything(follower.database)

    done = run()
    assert done.returncode == 1
    first = view["logs"][0]
    assert (
        f"logs: the record lacks number={first[0]}, log_index={first[1]}, "
        f"tx_hash=0x{first[2].hex()}"
    ) in done.stdout
    assert done.stdout.count("the record lacks") == 1
    assert "only the record has" not in done.stdout
    assert everything(follower.database) == damaged, "nothing is changed until somebody says so"
    assert has_shadow(follower.database)

    done = run("--accept")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the ledgers got 0 rows" in done.stdout
    with follower.database.read() as session:
        assert canonical_view(session, CHAIN_ID) == view
        assert mandate_ledger.load_rows(session, mandate.id) == rows
        assert findings.open_findings(session, CHAIN_ID) == []
    assert not has_shadow(follower.database)
    assert run().returncode == 0


@pytest.mark.slow
def test_rows_that_were_altered_or_invented__are_put_right(
    follower: Follower, working: Working, run: Run
) -> None:
    live(follower, working[1])
    with follower.database.read() as session:
        view = canonical_view(session, CHAIN_ID)
    with follower.database.write() as session:
        session.execute(text("update vault set owner = substring(sha256(owner) for 20)"))
        session.execute(text("update reverted_tx set reason = 'OverDailyCap'"))
        session.execute(
            text(
                "insert into raw_log select chain_id, block_hash, 99, number, tx_hash, tx_index, "
                "address, topics, data from raw_log order by number limit 1"
            )
        )
        session.execute(
            text(
                "update chain_block set ts = ts + 1 where number = (select max(number) from "
                "chain_block where canonical)"
            )
        )
        session.execute(text("delete from vault_agent"))
    done = run("--accept")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "reverts: only the record has" in done.stdout
    assert "reason=OverDailyCap" in done.stdout
    assert "log_index=99" in done.stdout
    with follower.database.read() as session:
        assert canonical_view(session, CHAIN_ID) == view


@pytest.mark.slow
def test_events_of_the_reserve_token__are_put_right_and_a_lost_conversion_waits_again(
    follower: Follower, working: Working, run: Run
) -> None:
    live(follower, working[1])
    waiting = conversions(follower.database)
    with follower.database.read() as session:
        view = canonical_view(session, CHAIN_ID)
    with follower.database.write() as session:
        session.execute(text("delete from reserve_conversion where status = 'waiting'"))
        session.execute(text("delete from reserve_event where kind = 'converted'"))
        session.execute(text("update reserve_event set supply_after = supply_after + 1"))
    done = run("--accept")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "reserve: the record lacks" in done.stdout
    assert "reserve: only the record has" in done.stdout
    with follower.database.read() as session:
        assert canonical_view(session, CHAIN_ID) == view
    assert conversions(follower.database) == waiting


@pytest.mark.slow
def test_what_a_lying_node_hid__comes_back_with_the_ledgers_rows(
    follower: Follower, run: Run
) -> None:
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    bought = follower.deployed.buy(vault, 25 * USDC)
    follower.deployed.sell(vault, 5 * USDC)
    make_final(follower)
    believe_a_liar(follower, bought.tx_hash)
    assert follower.story(mandate) == ["signed", "vault_created", "deposit", "move"]

    done = run("--accept")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"ledgers: the ledger of mandate {mandate.id} lacks log:{bought.tx_hash}:" in done.stdout
    assert "the ledgers got 1 rows" in done.stdout
    assert follower.story(mandate) == ["signed", "vault_created", "deposit", "move", "move"], (
        "late, and last in the book"
    )
    follower.assert_sound(mandate, vault)


def test_while_an_indexer_leads__it_refuses(
    follower: Follower, working: Working, environment: dict[str, str]
) -> None:
    before = everything(follower.database)
    done = ran("scripts.rebuild", "--accept", env=environment)
    assert done.returncode == 2
    assert "Refused: an indexer leads; stop it first" in done.stdout
    assert everything(follower.database) == before
    assert not has_shadow(follower.database)


# Halfway


@contextmanager
def beside(follower: Follower, database_url: str) -> Iterator[Rebuild]:
    """A rebuild in this process, under the follower's lead."""
    database = Database(database_url, search_path=shadow.SEARCH_PATH)
    yield Rebuild(follower.chain, database, now_utc)
    database.close()


@pytest.mark.slow
def test_killed_halfway__the_next_start_goes_on(
    follower: Follower, working: Working, run: Run, environment: dict[str, str], database_url: str
) -> None:
    follower.deployed.anvil.mine(300)
    follower.catch_up()
    settle(follower)
    before = everything(follower.database)
    follower.leadership.release()
    slow = environment | {"RPC_REQUESTS_PER_S": "120"}
    process = piped("scripts.rebuild", env=slow)
    first = follower.deployed.start_block
    until = time.monotonic() + RUN_S
    while (halfway := shadow_height(follower.database)) <= first:
        assert process.poll() is None, process.said(RUN_S)
        assert time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.close(RUN_S)
    assert halfway < follower.tip.cursor.number
    assert everything(follower.database) == before

    lead_again(follower)
    with beside(follower, database_url) as work:
        assert work.begin(is_fresh=False) >= halfway
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert everything(follower.database) == before


def shadow_height(database: Database) -> int:
    with database.read() as session:
        if not shadow.is_there(session):
            return 0
        return int(
            session.execute(
                text("select coalesce(max(number), 0) from rebuild.chain_cursor where name = 'tip'")
            ).scalar_one()
        )


def test_a_rescan_of_a_branch_that_is_gone__has_to_begin_anew(
    follower: Follower, working: Working, database_url: str
) -> None:
    follower.deployed.anvil.mine(3)
    follower.catch_up()
    with beside(follower, database_url) as work:
        work.begin(is_fresh=False)
        list(work.scan())
    follower.deployed.anvil.reorg(2)
    with (
        pytest.raises(RebuildRefusedError, match="start the indexer, which unwinds it"),
        beside(follower, database_url),
    ):
        pass
    follower.catch_up()
    with beside(follower, database_url) as work:
        with pytest.raises(RebuildRefusedError, match="begin again with --fresh"):
            work.begin(is_fresh=False)
        assert work.begin(is_fresh=True) == follower.deployed.start_block - 1
        list(work.scan())
        assert work.compare().is_equal
