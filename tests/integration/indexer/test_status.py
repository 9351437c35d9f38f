"""`python -m indexer.main status`: what a person and a script learn, and the exit code; the metrics
of a running process.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from core.audit import queries as findings
from core.audit.queries import AuditPosition
from core.blocks.queries import FINALIZED, Cursor, cursor
from core.db.leadership import Leadership
from core.mandate.rules.rows import NOT_SEEN
from scripts._ports import free_port
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    USDC,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.indexer.conftest import FINAL_BEHIND, Follower, Issued
from tests.integration.indexer.test_process import START_S, status_of, until
from tests.integration.nursery import Process, ran, start

Ask = Callable[..., subprocess.CompletedProcess[str]]
FINAL_HASH = "0x" + "ab" * 32


@pytest.fixture
def settings(deployed: DeployedChain, database_url: str, tmp_path: Path) -> dict[str, str]:
    deployed.write_record(tmp_path)
    return {
        "DATABASE_URL": database_url,
        "RPC_URLS": deployed.anvil.url,
        "DEPLOYMENT_FILE": str(tmp_path / "deployment.json"),
        "COLUMNS": "160",
        "LOG_FORMAT": "json",
    }


@pytest.fixture
def ask(settings: dict[str, str]) -> Ask:
    """`python -m indexer.main status`, or another command, with arguments and changed variables."""

    def run(
        *flags: str,
        command: str = "status",
        arguments: tuple[str, ...] = (),
        is_real: bool = False,
        **changes: str,
    ) -> subprocess.CompletedProcess[str]:
        environment = os.environ | settings | changes
        return ran("indexer.main", command, *arguments, *flags, env=environment, is_real=is_real)

    return run


def say(leadership: Leadership, **status: Any) -> None:
    leadership.beat({"state": "following"} | status)


def as_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_status__names_position_leader_reorgs_and_what_is_not_seen(
    follower: Follower, working: tuple[Issued, str], leadership: Leadership, ask: Ask
) -> None:
    _, vault = working
    stranger = follower.deployed.create_vault(follower.deployed.terms("m_unknown234", nonce=2))
    follower.deployed.buy(vault, 10 * USDC)
    follower.catch_up()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    follower.tip.note_finality()
    say(leadership, safe=3, finalized=2)
    done = ask(is_real=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = " ".join(done.stdout.split())
    cursor = follower.tip.cursor.number
    for expected in (
        "indexer: ok, following",
        "test, epoch 1, beat",
        f"head │ {cursor}, mined",
        f"cursor │ {cursor}",
        "safe │ 3",
        "finalized │ 2; no reorg is accepted below",
        "0 blocks,",
        "s by wall clock",
        "0 without a reason yet",
        f"1, newest {stranger}",
        "Not seen: calls that a smart account",
    ):
        assert expected in shown
    report = as_json(ask("--json"))
    assert (report["status"], report["cursor"], report["head"], report["lag_blocks"]) == (
        "ok",
        cursor,
        cursor,
        0,
    )
    assert [(reorg["depth"], reorg["ancestor"], reorg["rows"]) for reorg in report["reorgs"]] == [
        (1, cursor - 1, 1)
    ]
    assert report["unknown_vaults"] == {"count": 1, "newest": [stranger]}
    assert report["not_seen"] == NOT_SEEN
    assert report["leader"]["epoch"] == 1


def test_status__of_an_indexer_that_never_ran__says_so_and_fails(
    deployed: DeployedChain, ask: Ask
) -> None:
    done = ask()
    assert done.returncode == 1
    assert "It has never run on this database; start `python -m indexer.main`." in " ".join(
        done.stdout.split()
    )


def test_status__of_a_stall__names_both_heights_and_fails(
    follower: Follower, leadership: Leadership, ask: Ask
) -> None:
    follower.catch_up()
    cursor = follower.tip.cursor.number
    with follower.database.write() as session:
        session.execute(text("update chain_cursor set updated_at = now() - interval '1 hour'"))
    say(leadership)
    # The chain's clock runs ahead, so that the wait counted is the cursor's own.
    follower.deployed.rpc.call("evm_increaseTime", [7200])
    follower.deployed.anvil.mine(2)
    done = ask("--json")
    report = as_json(done)
    assert (done.returncode, report["status"], report["lag_blocks"]) == (1, "down", 2)
    assert (
        f"the chain is at block {cursor + 2}, and it has committed nothing after block {cursor} "
        "for 36"
    ) in report["note"]
    assert report["cursor"] == cursor


def test_status__of_a_halt__names_the_block_and_fails(
    follower: Follower, leadership: Leadership, ask: Ask
) -> None:
    follower.catch_up()
    say(leadership, state="halted", halted_below={"number": 2, "hash": FINAL_HASH})
    done = ask()
    assert done.returncode == 1
    assert f"no longer holds block 2 {FINAL_HASH}" in " ".join(
        done.stdout.replace("│", " ").split()
    )


def test_status__counts_reverts_whose_reason_is_open(
    follower: Follower, working: tuple[Issued, str], leadership: Leadership, ask: Ask
) -> None:
    _, vault = working
    follower.deployed.buy(vault, 101 * USDC)
    follower.catch_up()
    with follower.database.write() as session:
        session.execute(text("update reverted_tx set reason = null"))
    say(leadership)
    assert as_json(ask("--json"))["open_reverts"] == 1


def test_status__without_a_node__shows_the_rest(
    follower: Follower, leadership: Leadership, ask: Ask
) -> None:
    follower.catch_up()
    say(leadership)
    report = as_json(ask("--json", RPC_URLS="http://127.0.0.1:9"))
    assert (report["head"], report["lag_blocks"], report["cursor"]) == (
        None,
        None,
        follower.tip.cursor.number,
    )


def test_status__without_a_database__is_one_sentence(deployed: DeployedChain, ask: Ask) -> None:
    done = ask(DATABASE_URL="postgresql+psycopg://nobody@127.0.0.1:9/none")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "The database does not answer; check DATABASE_URL" in done.stderr


@contextmanager
def running(
    settings: dict[str, str], *command: str, is_real: bool = False, **changes: str
) -> Iterator[Process]:
    """The indexer's process; killed at the end when it still runs."""
    environment = os.environ | settings | changes
    with open(os.devnull, "w") as nothing:
        process = start(
            "indexer.main", *command, env=environment, out=nothing, err=nothing, is_real=is_real
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(START_S)


def says(follower: Follower, key: str) -> bool:
    row = status_of(follower.database)
    return row is not None and row.status.get(key) is not None


@pytest.mark.slow
@pytest.mark.parametrize("command", [(), ("run",)])
def test_a_running_process__serves_its_metrics_and_ends_well(
    follower: Follower, leadership: Leadership, settings: dict[str, str], command: tuple[str, ...]
) -> None:
    leadership.release()
    port = free_port()
    with running(settings, *command, is_real=True, INDEXER_METRICS_PORT=str(port)) as process:
        until(lambda: says(follower, "finalized"))
        shown = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        process.terminate()
        assert process.wait(timeout=START_S) == 0
    head = follower.deployed.reader.header()
    assert head is not None
    for line in (
        f'cursor_number{{name="tip"}} {head.number}.0',
        "leads 1.0",
        "halted 0.0",
        "lag_blocks 0.0",
        'head_number{tag="finalized"}',
    ):
        assert f"mandate_indexer_{line}" in shown
    assert (
        f"mandate_indexer_blocks_written_total {head.number - follower.deployed.start_block + 1}.0"
    ) in shown


@pytest.mark.slow
def test_a_running_process__audits_its_record_until_somebody_closes_the_finding(
    follower: Follower,
    working: tuple[Issued, str],
    leadership: Leadership,
    settings: dict[str, str],
    ask: Ask,
) -> None:
    """A block altered by hand is found by the process itself; status fails and names it, and
    `acknowledge` closes it once.
    """
    follower.deployed.anvil.mine(FINAL_BEHIND)
    follower.catch_up()
    with follower.database.write() as session:
        session.execute(
            text(
                "update chain_block set ts = ts + 1 where number = (select created_number - 1 from vault)"
            )
        )
    leadership.release()
    port, urls = (
        str(free_port()),
        ",".join(
            [
                follower.deployed.anvil.url,
                follower.deployed.anvil.url.replace("127.0.0.1", "localhost"),
            ]
        ),
    )

    often = {
        "AUDIT_EVERY_S": "0.1",
        "AUDIT_BLOCKS": "200",
        "RPC_URLS": urls,
        "INDEXER_METRICS_PORT": port,
    }
    with running(settings, **often) as process:
        until(lambda: audited(follower) is not None)
        shown = ask()
        metrics = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        with follower.database.read() as session:
            [finding] = findings.open_findings(session, CHAIN_ID)
        closed = ask(
            command="acknowledge",
            arguments=(str(finding.id), "--note", "taken out by hand"),
            is_real=True,
        )
        process.terminate()
        assert process.wait(timeout=START_S) == 0
    said = " ".join(shown.stdout.replace("│", " ").split())
    assert shown.returncode == 1
    assert "blocks (another node)" in said
    assert "1 open findings" in said
    assert "python -m indexer.rebuild" in said
    assert finding.what.endswith("parent or time differs from the chain's")
    assert 'mandate_indexer_audit_mismatch{kind="block"} 1.0' in metrics
    assert 'mandate_indexer_audit_mismatch{kind="book"} 0.0' in metrics
    assert (closed.returncode, closed.stdout) == (0, f"Finding {finding.id} is closed.\n")
    with follower.database.read() as session:
        assert findings.open_counts(session, CHAIN_ID) == {}
    assert ask(command="acknowledge", arguments=(str(finding.id),)).returncode == 1


def final_below(follower: Follower) -> Cursor | None:
    with follower.database.read() as session:
        return cursor(session, FINALIZED)


def audited(follower: Follower) -> AuditPosition | None:
    with follower.database.read() as session:
        return findings.audit_position(session, CHAIN_ID)


@pytest.mark.slow
def test_status__with_one_node__says_that_the_auditor_asks_the_same_provider(
    follower: Follower, leadership: Leadership, settings: dict[str, str], ask: Ask
) -> None:
    leadership.release()
    with running(settings, AUDIT_EVERY_S="0.1"):
        until(lambda: audited(follower) is not None)
        report = as_json(ask("--json"))["audit"]
    assert (report["is_same_provider"], report["open_findings"], report["findings"]) == (
        True,
        0,
        [],
    )


@pytest.mark.slow
def test_a_reorg_below_finalized__halts_the_process_which_names_the_block(
    follower: Follower, leadership: Leadership, settings: dict[str, str], ask: Ask
) -> None:
    leadership.release()
    anvil = start_anvil("--slots-in-an-epoch", "1")
    try:
        chain = deploy_contracts(anvil)
        anvil.mine(20)
        # the deployment record of `settings` holds for this chain too
        assert chain.contracts == follower.deployed.contracts
        port, urls = (
            str(free_port()),
            ",".join([anvil.url, anvil.url.replace("127.0.0.1", "localhost")]),
        )
        with running(settings, RPC_URLS=urls, INDEXER_METRICS_PORT=port):
            until(lambda: final_below(follower) is not None)
            anvil.reorg(10)
            until(lambda: says(follower, "halted_below"))
            shown = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
            done = ask("--json", RPC_URLS=anvil.url)
    finally:
        anvil.stop()
    report = as_json(done)
    assert (done.returncode, report["status"], report["state"]) == (1, "down", "halted")
    assert (
        f"It halted: the chain no longer holds block {report['final_below']} 0x" in report["note"]
    )
    assert "mandate_indexer_halted 1.0" in shown
