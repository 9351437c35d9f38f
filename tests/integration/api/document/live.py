"""A mandate from its draft to its end on a real chain: each step is a call that the API built, sent
and followed.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.chain.blocks import TransactionReceipt
from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from tests.integration.api.mandates.stage import Stage
from tests.integration.chain_fixtures import BUDGET, USDC, DeployedChain
from tests.integration.indexer.conftest import Follower
from tests.personas import AGENT, KEEPER, OPERATOR, OWNER, Persona


@dataclass
class Live:
    stage: Stage
    deployed: DeployedChain
    follower: Follower

    @property
    def adapter(self) -> str:
        return self.deployed.contracts["test_venue_adapter"]

    def settle(self, vault: str) -> TransactionReceipt:
        """Anybody may settle a stopped vault; the keeper does."""
        return self.send(KEEPER, {"to": vault, "data": calldata.settle()})

    def working(self, **changes: Any) -> tuple[str, str]:
        """(mandate id, vault): deployed and funded by the two calls of fund=approve."""
        self.deployed.mint(OWNER.address, BUDGET)
        mandate_id = self.stage.signed(**changes)
        asked = self.owners(mandate_id, "deploy-call", fund="approve")
        for call in asked["calls"]:
            self.send(OWNER, call)
        return mandate_id, str(asked["vault_address"])

    def read(self, mandate_id: str) -> dict[str, Any]:
        return self.stage.get(f"/mandates/{mandate_id}", self.stage.owner)

    def owners(self, mandate_id: str, call: str, **query: Any) -> dict[str, Any]:
        """A call that the API builds for the owner."""
        return self.stage.get(f"/mandates/{mandate_id}/{call}", self.stage.owner, **query)

    def send_owners(self, mandate_id: str, call: str, **query: Any) -> TransactionReceipt:
        """Build a call of the owner and send it as it is."""
        return self.send(OWNER, self.owners(mandate_id, call, **query))

    def send(
        self, sender: Persona, call: dict[str, Any], *, succeeds: bool = True
    ) -> TransactionReceipt:
        receipt = self.deployed.send(sender, call["to"], call["data"])
        assert receipt.status == int(succeeds)
        self.follower.catch_up()
        return receipt

    def execute(
        self, mandate_id: str, function: str, whole_usdc: int, *, succeeds: bool = True
    ) -> TransactionReceipt:
        """The agent sends the built call of `buy(uint256)` or `sell(uint256)`; a unit costs 1 USDC
        until the price moves.
        """
        amount = f"{whole_usdc}.000000" if function.startswith("buy") else "0"
        body = {
            "target": self.adapter,
            "function": function,
            "args": [str(whole_usdc * USDC)],
            "amount_usdc": amount,
        }
        call = self.stage.post(f"/mandates/{mandate_id}/execute-call", self.stage.agent, body)
        return self.send(AGENT, call, succeeds=succeeds)

    def price(self, price_e6: int) -> None:
        """What a unit of the test venue costs, in USDC base units."""
        self.send(
            OPERATOR,
            {"to": self.deployed.contracts["test_venue"], "data": test_venue.set_price(price_e6)},
        )

    def sign_in_at(self, at: int) -> None:
        """The API's clock says `at` too, in unix seconds; the owner signs in again."""
        self.stage.clock.now = datetime.fromtimestamp(at, UTC)
        self.stage.later()

    def block_time(self, receipt: TransactionReceipt) -> int:
        header = self.deployed.reader.header(receipt.block_number)
        assert header is not None
        return header.timestamp
