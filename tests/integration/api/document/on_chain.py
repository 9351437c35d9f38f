"""The stage on a real chain: people with anvil's accounts, an API that reads it, and an indexer that does one round when told."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from api.main import create_app
from core.db.engine import Database
from core.db.leadership import Leadership
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.mandates.stage import Stage, StageChain
from tests.integration.chain_fixtures import BUDGET, USDC, DeployedChain
from tests.integration.indexer.conftest import Follower, leadership
from tests.personas import AGENT, OWNER, Persona

__all__ = ["World", "leadership", "world"]


@dataclass
class World:
    """A stage, its chain and its indexer. `mandate_id` works, in `vault`: 200 USDC an action, 450 a day, stop line at 950."""

    stage: Stage
    chain: DeployedChain
    follower: Follower
    mandate_id: str = ""
    vault: str = ""

    @property
    def path(self) -> str:
        return f"/mandates/{self.mandate_id}"

    @property
    def ends_at(self) -> int:
        return int(self.stage.get(f"{self.path}/terms", self.stage.owner)["terms"]["endsAt"])

    def fund(self) -> "World":
        """Deploy and fund by the two calls of fund=approve."""
        self.chain.mint(OWNER.address, BUDGET)
        self.mandate_id = self.stage.signed()
        call = self.stage.get(f"{self.path}/deploy-call", self.stage.owner, fund="approve")
        for one in call["calls"]:
            self.send(OWNER, one)
        self.vault = call["vault_address"]
        return self

    def send(self, sender: Persona, call: dict[str, Any]) -> str:
        """Send a built call, and let the indexer take it in; its transaction."""
        tx_hash = self.chain.succeed(sender, call["to"], call["data"]).tx_hash
        self.follower.catch_up()
        return tx_hash

    def fail(self, sender: Persona, call: dict[str, Any]) -> str:
        """Send a call that reverts."""
        receipt = self.chain.send(sender, call["to"], call["data"])
        assert receipt.status == 0
        self.follower.catch_up()
        return receipt.tx_hash

    def at(self, second: int) -> None:
        """The chain's next block is of this second, and is mined and taken in."""
        self.chain.rpc.call("evm_setNextBlockTimestamp", [second])
        self.chain.anvil.mine()
        self.follower.catch_up()

    def read(self) -> dict[str, Any]:
        return self.stage.get(self.path, self.stage.owner)

    def buy(self, whole: int, amount: str | None = None, **changes: Any) -> dict[str, Any]:
        """The built call that buys `whole` USDC of units, spending at most `amount`."""
        adapter = self.chain.contracts["test_venue_adapter"]
        body = {"target": adapter, "function": "buy(uint256)", "args": [str(whole * USDC)], "amount_usdc": amount or f"{whole}.000000"}
        return self.stage.post(f"{self.path}/execute-call", self.stage.agent, body | changes)


@pytest.fixture
def world(
    deps: Deps, deployed: DeployedChain, database: Database, clock: Clock, chain: StageChain, leadership: Leadership
) -> Iterator[World]:
    clock.now = datetime.now(UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts)
    with TestClient(create_app(real), base_url=BASE_URL) as client:
        owner, agent = Account.from_key(OWNER.private_key), Account.from_key(AGENT.private_key)
        stage = Stage(client, database, clock, chain, owner_wallet=owner, agent_wallet=agent).enter()
        yield World(stage, deployed, Follower(deployed, database, leadership)).fund()
