"""`python -m keeper.main` as people run it: a process, its exit codes, and what it says."""

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from core.custody import queries as custody
from core.custody.keys import KeyMaker, KeyRing, version_of
from core.custody.tables import CustodialWallet
from core.db.leadership import leader_row
from core.identity.tables import Account
from core.startup import read_settings
from keeper.main import Keeper
from keeper.metrics import KeeperMetrics
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.processes import WITHIN_S, Start, environment_of, starting, wait_until
from tests.integration.keeper.sent import due
from tests.personas import GUARD, KEEPER

TAKE_OVER_S = 10.0  # 3 s on a quiet machine: `make bench` measures it


@pytest.fixture
def start(stage: Stage, tmp_path: Path) -> Iterator[Start]:
    """Start `keeper.main` with the keeper's key."""
    with starting(
        {
            **environment_of(stage, tmp_path),
            "KEEPER_PRIVATE_KEY": KEEPER.private_key,
            "COLUMNS": "200",
        }
    ) as found:
        yield found


def state_of_leader(stage: Stage) -> str | None:
    with stage.database.read() as session:
        row = leader_row(session, "keeper")
    return None if row is None else row.status.get("state")


def epoch_of_leader(stage: Stage) -> int:
    with stage.database.read() as session:
        row = leader_row(session, "keeper")
    return 0 if row is None else row.epoch


def test_run__stops_the_vault_and_ends_well_on_sigterm(stage: Stage, start: Start) -> None:
    process = start("run", is_real=True)
    wait_until(lambda: state_of_leader(stage) == "watching")
    stage.set_price(PRICE_AT_FLOOR)
    wait_until(lambda: stage.status() == "stopped")
    process.terminate()
    said = process.said(WITHIN_S)
    assert process.returncode == 0, said
    assert stage.keeper_nonce() == 1
    assert KEEPER.private_key.removeprefix("0x") not in said


def test_a_stop_that_was_sent_after_the_last_tick__has_its_row_when_the_process_ends(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = environment_of(stage, tmp_path) | {"KEEPER_PRIVATE_KEY": KEEPER.private_key}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    keeper = Keeper(read_settings(), KeeperMetrics(time.monotonic))
    try:
        keeper.once()
        stage.set_price(PRICE_AT_FLOOR)
        assert keeper._tick is not None
        assert keeper._tick.stops is not None
        keeper._tick.stops.send([due(stage.vault, keeper._reader.rpc.names[0])])
        assert stage.states() == []
    finally:
        keeper.close()
    assert [kind for kind, _ in stage.states()] == ["stop"]


@pytest.mark.slow
def test_run__killed_and_started_again__goes_on(stage: Stage, start: Start) -> None:
    first = start("run")
    wait_until(lambda: state_of_leader(stage) == "watching")
    first.kill()
    first.wait(timeout=WITHIN_S)
    stage.set_price(PRICE_AT_FLOOR)
    start("run")
    wait_until(lambda: stage.status() == "stopped")
    assert stage.keeper_nonce() == 1


@pytest.mark.slow
def test_run__frozen__its_spare_stops_the_vault_within_seconds_and_it_ends_when_it_wakes(
    stage: Stage, start: Start
) -> None:
    first = start("run", KEEPER_TICK_S="1")
    wait_until(lambda: state_of_leader(stage) == "watching")
    spare = start("run", KEEPER_TICK_S="1")
    assert spare.stdout is not None
    assert any("another keeper leads" in line for line in spare.stdout)
    first.send_signal(signal.SIGSTOP)
    frozen_at = time.monotonic()
    stage.set_price(PRICE_AT_FLOOR)
    wait_until(lambda: epoch_of_leader(stage) == 2)
    taken_s = time.monotonic() - frozen_at
    wait_until(lambda: stage.status() == "stopped")
    print(
        f"frozen keeper: lead taken after {taken_s:.2f} s, vault stopped after "
        f"{time.monotonic() - frozen_at:.2f} s"
    )
    first.send_signal(signal.SIGCONT)
    said = first.said(WITHIN_S)
    assert (first.returncode, stage.keeper_nonce()) == (1, 1), said
    assert "no longer leads" in said
    assert taken_s <= TAKE_OVER_S


@pytest.mark.slow
def test_once_then_status__shows_floor_worth_and_distance(stage: Stage, start: Start) -> None:
    once = start("once", is_real=True)
    said = once.said(WITHIN_S)
    assert once.returncode == 0, said
    shown = (process := start("status", is_real=True)).said(WITHIN_S)
    assert process.returncode == 0, shown
    for expected in (
        "m_keeperstop",
        "950.000000",
        "1000.000000",
        "50.000000",
        "watching",
        "sending",
    ):
        assert expected in shown


def test_status__without_a_keeper__says_so_and_fails(start: Start) -> None:
    shown = (process := start("status")).said(WITHIN_S)
    assert process.returncode == 1
    assert "never ran" in shown


def test_once__another_keeper_leads__fails(stage: Stage, start: Start) -> None:
    stage.keeper().run()
    said = (process := start("once")).said(WITHIN_S)
    assert process.returncode == 1
    assert "another keeper leads" in said


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"KEEPER_PRIVATE_KEY": "no key"}, "write 32 bytes as hex"),
        ({"KEEPER_KEYSTORE": "/nowhere.json"}, "not both"),
        ({"DEPLOYMENT_FILE": "/nowhere.json"}, "/nowhere.json does not exist"),
        ({"CUSTODY_KEY": "no key"}, "CUSTODY_KEY: write each key as 32 bytes in hex"),
    ],
)
def test_run__settings_that_cannot_work__end_with_a_sentence(
    start: Start, changes: dict[str, str], sentence: str
) -> None:
    said = (process := start("run", **changes)).said(WITHIN_S)
    assert process.returncode == 2
    assert sentence in said
    assert "Traceback" not in said
    assert "no key" not in said


@pytest.mark.slow
def test_reseal__seals_every_wallet_anew_or_none(stage: Stage, start: Start) -> None:
    new, old = b"\x4b" * 32, b"\x4f" * 32
    with stage.database.write() as session:
        for account in session.scalars(select(Account)).all():
            assert custody.add_wallet(
                session, KeyMaker(KeyRing([old])).new_key(account.id), stage.now()
            )
        addresses = [wallet.address for wallet in session.scalars(select(CustodialWallet)).all()]
    named = [f"0x{address.hex()}" for address in addresses] + [version_of(old)]
    gas_key = {"CUSTODY_GAS_PRIVATE_KEY": GUARD.private_key}
    for command in ("reseal", "once"):
        said = (without := start(command, CUSTODY_KEY=new.hex(), **gas_key)).said(WITHIN_S)
        assert (without.returncode == 1, "CUSTODY_OLD_KEYS" in said, "Traceback" in said) == (
            command == "reseal",
            True,
            False,
        )
        assert [one for one in named if one not in said.lower()] == []
    said = (
        process := start("reseal", is_real=True, CUSTODY_KEY=new.hex(), CUSTODY_OLD_KEYS=old.hex())
    ).said(WITHIN_S)
    assert (process.returncode, "wallets=2" in said) == (0, True), said
    assert new.hex() not in said
    assert old.hex() not in said
    with stage.database.read() as session:
        assert set(session.scalars(select(CustodialWallet.key_version))) == {version_of(new)}


@pytest.mark.parametrize("command", ["once", "run", "status"])
def test_another_chain_than_the_deployments__is_refused_with_both_ids(
    start: Start, command: str
) -> None:
    said = (process := start(command, CHAIN_ID="8453")).said(WITHIN_S)
    assert process.returncode == 2
    assert "CHAIN_ID: it is 8453, but the record in DEPLOYMENT_FILE is for chain 84532" in said


def test_status__without_a_database__says_so_in_one_line(start: Start) -> None:
    said = (process := start("status", DATABASE_URL="postgresql+psycopg://127.0.0.1:1/none")).said(
        WITHIN_S
    )
    assert process.returncode == 1
    assert said.splitlines() == [
        (
            "The database does not answer; check DATABASE_URL and that it is migrated "
            "(OperationalError)."
        )
    ]


def test_run__database_down__keeps_trying_and_ends_well_on_sigterm(start: Start) -> None:
    process = start("run", DATABASE_URL="postgresql+psycopg://nobody@127.0.0.1:9/none")
    assert process.stdout is not None
    bound = threading.Timer(WITHIN_S, process.kill)
    bound.start()
    failures = 0
    for line in process.stdout:
        failures += "tick failed" in line
        if failures == 2:
            break
    bound.cancel()
    process.terminate()
    process.wait(WITHIN_S)
    assert (failures, process.returncode) == (2, 0)


def test_status__while_a_stop_pends__shows_its_nonce_attempts_and_fee(
    stage: Stage, start: Start
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    with stage.no_blocks():
        keeper = stage.keeper()
        keeper.leadership.beat(keeper.run().as_status("sending"))
        shown = start("status").said(WITHIN_S)
    cells = [
        cell.strip()
        for cell in next(line for line in shown.splitlines() if "broadcast" in line).split("│")
    ]
    (tx,) = stage.txs()
    assert cells[1:8] == ["1", "stop", stage.vault, "keeper", "broadcast", "0", "1"]
    assert cells[8] == f"{int(tx.max_fee_wei) / 10**9:.3f} gwei"
