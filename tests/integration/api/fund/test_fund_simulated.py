"""The vaults of a local stack."""

from datetime import timedelta

from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.fund.ledger import writer as signal_ledger
from core.fund.simulated import add_simulated
from tests.integration.api.conftest import Clock


def test_the_simulated_vaults__are_added_once_and_their_ledger_is_sound(
    client: TestClient, deps: Deps, clock: Clock
) -> None:
    with deps.database.write() as session:
        assert [add_simulated(session, clock.now) for _ in range(2)] == [5, 0]
        assert signal_ledger.verify(session) == []
    vaults = client.get("/fund/vaults").json()["vaults"]
    assert [(one["kind"], one["mirroring_paused"], one["simulated"]) for one in vaults] == [
        ("spot", False, True),
        ("spot", False, True),
        ("perp", False, True),
        ("spot", True, True),
        ("spot", False, True),
    ]
    past = client.get(f"/fund/vaults/{vaults[-1]['id']}/signals").json()["signals"]
    assert [one["market"] for one in past] == ["binance_btc_usdt", "binance_eth_usdt"]
    clock.now += timedelta(hours=24)
    later = client.get(f"/fund/vaults/{vaults[-1]['id']}/signals").json()["signals"]
    assert len(later) == 4
