"""An owner that is a contract wallet (ERC-1271) signs in, signs terms and funding, and alone gets
the money back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from api.kernel.operation import Deps
from api.main import create_app
from core.chain.abi import call_by_signature
from core.db.engine import Database
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import Stage, StageChain, reason
from tests.integration.chain_fixtures import BUDGET, DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT, OWNER, STRANGER


@dataclass(frozen=True)
class ContractWallet:
    """The contract's address, the key's signatures."""

    address: str
    key: LocalAccount

    def sign_message(self, message: Any) -> Any:
        return self.key.sign_message(message)


@pytest.fixture
def wallet(deployed: DeployedChain) -> ContractWallet:
    return ContractWallet(
        deployed.deploy("ERC1271Wallet", OWNER.address), Account.from_key(OWNER.private_key)
    )


@pytest.fixture
def stage(
    deps: Deps,
    deployed: DeployedChain,
    database: Database,
    clock: Clock,
    chain: StageChain,
    wallet: ContractWallet,
) -> Iterator[Stage]:
    clock.now = datetime.now(UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts)
    with AppClient(create_app(real), base_url=BASE_URL) as client:
        agent = Account.from_key(AGENT.private_key)
        yield Stage(client, database, clock, chain, owner_wallet=wallet, agent_wallet=agent).enter()  # type: ignore[arg-type]  # signs alike


def test_a_contract_wallet__owns_a_mandate_from_signature_to_withdrawal(
    stage: Stage,
    deployed: DeployedChain,
    wallet: ContractWallet,
    follower: Follower,
) -> None:
    deployed.mint(wallet.address, BUDGET)
    mandate_id = stage.signed()
    path = f"/mandates/{mandate_id}"
    asked = stage.get(f"{path}/deploy-call", stage.owner, fund="authorization")
    signature = wallet.sign_message(
        encode_typed_data(full_message=asked["typed_data"])
    ).signature.to_0x_hex()
    call = stage.get(
        f"{path}/deploy-call", stage.owner, fund="authorization", authorization_signature=signature
    )
    deployed.succeed(STRANGER, call["to"], call["data"])
    follower.catch_up()
    read = stage.get(path, stage.owner)
    assert (read["mandate"]["status"], read["progress"]["cash"]) == ("working", "1000.000000")
    assert deployed.reader.owner(call["vault_address"]) == wallet.address

    def by_wallet(built: dict[str, Any]) -> None:
        deployed.succeed(
            OWNER,
            wallet.address,
            call_by_signature("execute(address,bytes)", [built["to"], built["data"]]),
        )

    stop = stage.get(f"{path}/stop-call", stage.owner)
    assert deployed.send(OWNER, stop["to"], stop["data"]).status == 0, (
        "the wallet's key alone is not the owner"
    )
    by_wallet(stop)
    follower.catch_up()
    by_wallet(stage.get(f"{path}/withdraw-call", stage.owner))
    assert deployed.reader.usdc_balance(wallet.address) == BUDGET


def test_terms_of_a_contract_wallet__signed_by_another_key__are_refused(stage: Stage) -> None:
    mandate_id = stage.draft()
    forged = stage.sign_terms(mandate_id, Account.from_key(STRANGER.private_key))
    answer = stage.call("POST", f"/mandates/{mandate_id}/sign", stage.owner, {"signature": forged})
    assert reason(answer) == (400, "signature_invalid")
