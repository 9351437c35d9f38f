"""The keeper's process with everything round its tick: a remote signer, slow jobs, metrics, and
settings that it refuses.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.db.leadership import leader_row
from core.jobs import queries as jobs
from core.jobs.rules import ATTENTION, LastRun
from scripts._ports import free_port
from tests.integration.chaos.server import Answer, Server, ok
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.processes import WITHIN_S, Start, environment_of, starting, wait_until
from tests.personas import KEEPER, STRANGER
from tests.remote_signer import FakeRemoteSigner, serving


@pytest.fixture
def start(stage: Stage, tmp_path: Path) -> Iterator[Start]:
    """Start `keeper.main` without a key."""
    with starting(environment_of(stage, tmp_path)) as found:
        yield found


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[FakeRemoteSigner, dict[str, str]]]:
    """A remote signer with the keeper's key, and the settings that name it."""
    token = tmp_path / "token"
    token.write_text("a-secret-token\n")
    with serving(FakeRemoteSigner(KEEPER.signer, token="a-secret-token")) as signer:
        yield (
            signer,
            {
                "KEEPER_REMOTE_SIGNER_URL": signer.url,
                "KEEPER_REMOTE_SIGNER_ADDRESS": KEEPER.address,
                "KEEPER_REMOTE_SIGNER_TOKEN_FILE": str(token),
            },
        )


def ended(stage: Stage) -> dict[str, LastRun]:
    """The last run of each job that has ended."""
    with stage.database.read() as session:
        return {run.name: run for run in jobs.last_runs(session) if run.outcome is not None}


@pytest.mark.slow
def test_run__with_a_remote_signer__stops_the_vault_and_never_tells_the_token(
    stage: Stage, start: Start, remote: tuple[FakeRemoteSigner, dict[str, str]]
) -> None:
    signer, settings = remote
    process = start("run", **settings)
    wait_until(lambda: "balances" in ended(stage))
    stage.set_price(PRICE_AT_FLOOR)
    wait_until(lambda: stage.status() == "stopped")
    process.terminate()
    said = process.said(WITHIN_S)
    assert process.returncode == 0, said
    assert (stage.keeper_nonce(), signer.asked.count("eth_signTransaction")) == (1, 1)
    assert "a-secret-token" not in said


@pytest.mark.slow
def test_run__a_remote_signer_that_lies__sends_nothing(
    stage: Stage, start: Start, remote: tuple[FakeRemoteSigner, dict[str, str]]
) -> None:
    signer, settings = remote
    signer.altered = {"value": 1}
    process = start("run", **settings)
    stage.set_price(PRICE_AT_FLOOR)
    wait_until(lambda: signer.asked.count("eth_signTransaction") >= 2)
    process.terminate()
    said = process.said(WITHIN_S)
    assert "signed another value than was asked for" in said
    assert (stage.keeper_nonce(), stage.txs(), stage.states()) == (0, [], [("stop", "planned")])
    signer.altered = {}
    start("run", **settings)
    wait_until(lambda: stage.status() == "stopped")
    assert stage.keeper_nonce() == 1


def test_run__jobs_and_metrics__are_there_at_once(
    stage: Stage, start: Start, remote: tuple[FakeRemoteSigner, dict[str, str]]
) -> None:
    port = free_port()
    start("run", **remote[1], KEEPER_METRICS_PORT=str(port))
    wait_until(lambda: len(ended(stage)) == 2)
    runs = ended(stage)
    assert {name: run.outcome for name, run in runs.items()} == {
        "balances": "ok",
        "perps_closing": "skipped",  # no venue is set here
    }
    assert ATTENTION not in runs["balances"].did
    shown = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=5, trust_env=False).text
    for line in (
        "mandate_keeper_leads 1.0",
        "mandate_keeper_leader_epoch 1.0",
        "mandate_keeper_vaults 1.0",
        'mandate_keeper_nonce_gap{role="keeper"} 0.0',
        "mandate_keeper_is_named_by_factory 1.0",
        'mandate_keeper_job_failures{job="balances"} 0.0',
        "mandate_keeper_stop_waits_blocks 0.0",
    ):
        assert line in shown


def test_run__without_a_key__skips_the_balances(stage: Stage, start: Start) -> None:
    start("run")
    wait_until(lambda: "balances" in ended(stage))
    assert (ended(stage)["balances"].outcome, ended(stage)["balances"].error) == (
        "skipped",
        "a dry run has no accounts",
    )


class Garbled:
    """Anvil, but for what `lie` answers to a call."""

    def __init__(self, stage: Stage, lie: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.upstream_port = int(stage.chain.anvil.url.rsplit(":", 1)[1])
        self.lie = lie

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        asked = json.loads(raw)
        calls = asked if isinstance(asked, list) else [asked]
        answers = [{"jsonrpc": "2.0", "id": call["id"], **self.lie(call)} for call in calls]
        return ok(answers if isinstance(asked, list) else answers[0])


@pytest.fixture
def garbled(stage: Stage) -> Iterator[Callable[[Callable[[dict[str, Any]], dict[str, Any]]], str]]:
    """The URL of a node that answers so."""
    servers: list[Server] = []

    def serve(lie: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
        servers.append(Server(Garbled(stage, lie)))
        return servers[-1].url

    yield serve
    for server in servers:
        server.stop()


def test_run__a_node_whose_refusals_quote_a_nul__ends_no_process(
    stage: Stage, start: Start, garbled: Callable[[Callable[[dict[str, Any]], dict[str, Any]]], str]
) -> None:
    url = garbled(lambda call: {"error": {"code": -32601, "message": "a \0 b"}})
    process = start("run", RPC_URLS=url)

    def said() -> str:
        with stage.database.read() as session:
            row = leader_row(session, "keeper")
        return "" if row is None else str(row.status.get("error"))

    wait_until(lambda: "a ? b" in said())
    assert process.poll() is None


def test_run__the_preferred_node_serves_another_chain__it_is_left_out(
    stage: Stage, start: Start, garbled: Callable[[Callable[[dict[str, Any]], dict[str, Any]]], str]
) -> None:
    url = garbled(lambda call: {"result": "0x1"})
    process = start(
        "run", RPC_URLS=f"{url},{stage.chain.anvil.url}", KEEPER_PRIVATE_KEY=KEEPER.private_key
    )
    stage.set_price(PRICE_AT_FLOOR)
    wait_until(lambda: stage.status() == "stopped")
    process.terminate()
    assert "a node of another chain is left out" in process.said(WITHIN_S)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"KEEPER_STOP_PRIVATE_KEY": STRANGER.private_key},
            "KEEPER_STOP_*: this key alone can neither mark nor settle",
        ),
        (
            {
                "KEEPER_PRIVATE_KEY": KEEPER.private_key,
                "KEEPER_STOP_PRIVATE_KEY": KEEPER.private_key,
            },
            "share its nonces",
        ),
        (
            {"KEEPER_REMOTE_SIGNER_URL": "https://signer.example"},
            "KEEPER_REMOTE_SIGNER_ADDRESS: name the account",
        ),
    ],
)
def test_run__keys_that_cannot_work__end_with_a_sentence(
    start: Start, changes: dict[str, str], sentence: str
) -> None:
    said = (process := start("run", **changes)).said(WITHIN_S)
    assert process.returncode == 2
    assert sentence in said
    assert KEEPER.private_key[2:] not in said
    assert STRANGER.private_key[2:] not in said
