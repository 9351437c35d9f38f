"""The slow job that reads the keeper's balances: what each key can pay for, and what blocks its
nonces.
"""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.chain.reader import GAS_PRICE_ORACLE
from core.chain.remote_signer import RemoteSigner
from core.db.engine import Database
from core.hexes import bytes_of
from core.jobs.rules import ATTENTION
from core.jobs.schedule import JobSkippedError
from core.keeper.tables import KeeperIntent, KeeperTx
from core.mandate.chain.reader import VaultReader
from keeper.funds import STOP_GAS, Funds
from keeper.state import Role
from scripts._ports import free_port
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.test_keeper_slow_jobs import NOW, OLD, A, add_intent
from tests.personas import DEPLOYER, KEEPER, STRANGER

GWEI = 10**9
STOP_WEI = STOP_GAS * 50 * GWEI


# balances


@pytest.fixture
def funds(deployed: DeployedChain, database: Database) -> Callable[..., dict[str, Any]]:
    def run(**signers: Any) -> dict[str, Any]:
        given = {Role(role): signer for role, signer in signers.items()} or {
            Role.KEEPER: KEEPER.signer
        }
        return dict(Funds(deployed.reader, database, given, 50 * GWEI).run(NOW))

    return run


def set_balance(chain: DeployedChain, address: str, wei: int) -> None:
    chain.rpc.call("anvil_setBalance", [address, hex(wei)])


def oracle_that_answers(chain: DeployedChain, code: str) -> None:
    chain.rpc.call("anvil_setCode", [GAS_PRICE_ORACLE, code])


def test_balances__without_the_oracle__a_stop_costs_its_gas_at_the_cap(
    deployed: DeployedChain, funds: Callable[..., Any]
) -> None:
    set_balance(deployed, KEEPER.address, 20 * STOP_WEI)
    did = funds()
    assert did == {
        "signers": [
            {
                "role": "keeper",
                "address": KEEPER.address,
                "balance_wei": 20 * STOP_WEI,
                "stop_cost_wei": STOP_WEI,
                "stops_left": 20,
                "nonce_gap": 0,
            }
        ],
        "is_named_by_factory": True,
    }


def test_balances__one_wei_short__says_what_to_send_where(
    deployed: DeployedChain, funds: Callable[..., Any]
) -> None:
    set_balance(deployed, KEEPER.address, 20 * STOP_WEI - 1)
    did = funds()
    assert did["signers"][0]["stops_left"] == 19
    assert did[ATTENTION].startswith(f"Send at least 0.000001 ETH to {KEEPER.address} (keeper)")


def test_balances__layer_1_fee__is_counted_for_each_stop(
    deployed: DeployedChain, funds: Callable[..., Any]
) -> None:
    """The code answers 1 gwei for each byte that it is asked for: calldataload(4) * 10^9."""
    oracle_that_answers(deployed, "0x600435633b9aca000260005260206000f3")
    set_balance(deployed, KEEPER.address, 20 * STOP_WEI)
    (balance,) = funds()["signers"]
    assert (balance["stop_cost_wei"], balance["stops_left"]) == (STOP_WEI + 170 * GWEI, 19)


@pytest.mark.parametrize("code", ["0x60006000fd", "0x00"])
def test_balances__an_oracle_that_refuses_or_says_nothing__leaves_the_cost_unknown(
    deployed: DeployedChain, funds: Callable[..., Any], code: str
) -> None:
    oracle_that_answers(deployed, code)
    did = funds()
    assert (did["signers"][0]["stop_cost_wei"], did["signers"][0]["stops_left"]) == (None, None)
    assert "The cost of a stop is unknown" in did[ATTENTION]


def test_balances__each_role_has_its_own_balance(
    deployed: DeployedChain, funds: Callable[..., Any]
) -> None:
    set_balance(deployed, KEEPER.address, 20 * STOP_WEI)
    set_balance(deployed, STRANGER.address, STOP_WEI)
    did = funds(keeper=KEEPER.signer, stop=STRANGER.signer)
    assert [(balance["role"], balance["stops_left"]) for balance in did["signers"]] == [
        ("keeper", 20),
        ("stop", 1),
    ]
    assert f"{STRANGER.address} (stop)" in did[ATTENTION]
    assert KEEPER.address not in did[ATTENTION]


def test_balances__the_factory_names_another_keeper__says_so(funds: Callable[..., Any]) -> None:
    did = funds(keeper=STRANGER.signer)
    assert did["is_named_by_factory"] is False
    assert f"The factory names the keeper {KEEPER.address}" in did[ATTENTION]


def test_balances__a_pausers_key_without_the_role__says_who_has_to_do_what(
    funds: Callable[..., Any],
) -> None:
    did = funds(keeper=KEEPER.signer, pauser=STRANGER.signer)
    assert did["is_pauser"] is False
    assert f"The factory does not know {STRANGER.address} as a pauser" in did[ATTENTION]
    assert "grant PAUSER_ROLE" in did[ATTENTION]


def test_balances__a_pausers_key_with_the_role__says_nothing_of_it(
    funds: Callable[..., Any],
) -> None:
    did = funds(keeper=KEEPER.signer, pauser=DEPLOYER.signer)
    assert did["is_pauser"] is True
    assert "PAUSER_ROLE" not in did.get(ATTENTION, "")


def test_balances__a_remote_signer_that_is_down__asks_for_somebody(
    funds: Callable[..., Any],
) -> None:
    gone = RemoteSigner(f"http://127.0.0.1:{free_port()}", KEEPER.address, answer_s=0.5)
    did = funds(keeper=gone)
    gone.close()
    assert did["signers"][0]["address"] == KEEPER.address
    assert did[ATTENTION].startswith("Nothing can be signed: the remote signer of")


def test_balances__without_a_key__is_skipped(deployed: DeployedChain, database: Database) -> None:
    with pytest.raises(JobSkippedError):
        Funds(deployed.reader, database, {}, 50 * GWEI).run(NOW)


def test_balances__the_node_is_gone__fails(database: Database) -> None:
    nowhere = VaultReader(Nodes([f"http://127.0.0.1:{free_port()}"]), {})
    with pytest.raises(RpcUnreachableError):
        Funds(nowhere, database, {Role.KEEPER: KEEPER.signer}, 50 * GWEI).run(NOW)
    nowhere.rpc.close()


def test_a_real_stop__uses_less_gas_than_is_counted_for_it(stage: Stage) -> None:
    process = stage.keeper()
    stage.set_price(PRICE_AT_FLOOR)
    process.run()
    (tx,) = stage.txs()
    used = stage.receipt_of(tx).gas_used
    print(f"a stop used {used} gas of {STOP_GAS}")
    assert stage.status() == "stopped"
    assert used < STOP_GAS


def test_nonce_gap__a_transaction_behind_a_hole__is_seen(stage: Stage) -> None:
    """Its bytes are stored for a nonce that is two above what the account has used."""
    count = stage.keeper_nonce()
    add_intent(stage.database, A, 1)
    with stage.database.write() as session:
        session.execute(update(KeeperIntent).values(state="broadcast"))
        intent_id = session.scalars(select(KeeperIntent.id)).one()
        signer = bytes_of(KEEPER.address)
        session.add(
            KeeperTx(
                intent_id=intent_id,
                signer=signer,
                nonce=count + 2,
                attempt=1,
                raw=b"",
                hash=b"\x03" * 32,
                max_fee_wei=1,
                max_priority_fee_wei=1,
                offered_block=1,
                is_filler=False,
                state="broadcast",
                created_at=OLD,
            )
        )
    did = Funds(stage.chain.reader, stage.database, {Role.KEEPER: KEEPER.signer}, 50 * GWEI).run(
        NOW
    )
    assert did["signers"][0]["nonce_gap"] == 2
