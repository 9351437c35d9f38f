"""Whatever waits in the outbox, a vault at its floor is stopped in the next block."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.mandate.venues import test_venue
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.flood import SEALING_KEY, flood
from tests.integration.keeper.processes import Start, environment_of, starting, wait_until
from tests.integration.keeper.test_keeper_process import state_of_leader
from tests.personas import GUARD, KEEPER, OPERATOR

QUEUED = 10_000
BLOCK_S = 2.0


@pytest.fixture
def start(stage: Stage, tmp_path: Path) -> Iterator[Start]:
    keys = {
        "KEEPER_PRIVATE_KEY": KEEPER.private_key,
        "CUSTODY_KEY": SEALING_KEY.hex(),
        "CUSTODY_GAS_PRIVATE_KEY": GUARD.private_key,
    }
    with starting({**environment_of(stage, tmp_path), **keys, "KEEPER_WATCHDOG_S": "10"}) as found:
        yield found


@pytest.mark.slow
def test_with_ten_thousand_requests_queued__a_stop_is_mined_within_one_block(
    stage: Stage, start: Start
) -> None:
    flood(stage.chain, stage.database, QUEUED, wallets=50, at=datetime.now(UTC))
    process = start("run")
    wait_until(lambda: state_of_leader(stage) is not None)
    time.sleep(2 * BLOCK_S)  # it is at work on them
    rpc = stage.chain.anvil.rpc
    rpc.call("evm_setAutomine", [False])
    rpc.call(
        "eth_sendRawTransaction",
        [
            stage.chain.sign(
                OPERATOR, stage.chain.contracts["test_venue"], test_venue.set_price(PRICE_AT_FLOOR)
            )
        ],
    )
    rpc.call("evm_mine")
    time.sleep(BLOCK_S)
    rpc.call("evm_mine")
    rpc.call("evm_setAutomine", [True])
    assert stage.status() == "stopped"
    sent = [
        kind
        for kind, state in stage.states()
        if kind == "custodial_transfer" and state not in ("planned", "refused")
    ]
    assert sent, "no request was sent beside it"
    process.terminate()
    said = process.said(20)
    assert process.returncode == 0, said
