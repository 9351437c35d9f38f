"""One working mandate on a real chain (live.py), whose calls are built by the API and sent as they
are.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from core.mandate.venues import test_venue
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import Stage
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.indexer.conftest import Follower
from tests.personas import OPERATOR, Persona


@dataclass
class World:
    """A stage, its chain and its indexer.

    `mandate_id` works, in `vault`: 200 USDC an action, 450 a day, stop line at 950.
    """

    stage: Stage
    chain: DeployedChain
    follower: Follower
    mandate_id: str
    vault: str

    @property
    def path(self) -> str:
        return f"/mandates/{self.mandate_id}"

    @property
    def ends_at(self) -> int:
        return int(self.stage.get(f"{self.path}/terms", self.stage.owner)["terms"]["endsAt"])

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

    def price(self, price_e6: int) -> None:
        """What a unit of the test venue costs, in USDC base units."""
        venue = self.chain.contracts["test_venue"]
        self.send(OPERATOR, {"to": venue, "data": test_venue.set_price(price_e6)})

    def hold(self, whole: int, price_e6: int) -> None:
        """`whole` units are bought at 1 USDC each, and cost so much then."""
        self.chain.buy(self.vault, whole * USDC)
        self.price(price_e6)

    def be_safe(self) -> None:
        """What is mined so far becomes safe, and the indexer learns it."""
        self.follower.be_safe()

    def read(self) -> dict[str, Any]:
        return self.stage.get(self.path, self.stage.owner)

    def buy(self, whole: int, amount: str | None = None, **changes: Any) -> dict[str, Any]:
        """The built call that buys `whole` USDC of units, spending at most `amount`."""
        adapter = self.chain.contracts["test_venue_adapter"]
        body = {
            "target": adapter,
            "function": "buy(uint256)",
            "args": [str(whole * USDC)],
            "amount_usdc": amount or f"{whole}.000000",
        }
        return self.stage.post(f"{self.path}/execute-call", self.stage.agent, body | changes)


@pytest.fixture
def world(live: Live) -> World:
    mandate_id, vault = live.working()
    return World(live.stage, live.deployed, live.follower, mandate_id, vault)
