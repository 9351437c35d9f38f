"""The whole way from nobody to a vault on the chain, on the first day of a stack: the world of `make up`,
the API, and a real chain. The newcomer makes only calls that `next` of the journey or of a refusal
names (docs/fund.md#the-journey).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from starlette.testclient import TestClient

from api.kernel.tokens import token_hash
from api.main import create_app
from api.payments.payment_config import PaymentConfig
from core.chain.abi import call_by_signature
from core.db.engine import Database
from core.fund.simulated import add_simulated
from core.identity.queries import set_operator_key
from indexer.venues import chosen
from indexer.venues.store import ScannerStore
from scripts._listings import keep_simulated
from tests.integration.api.conftest import (
    BASE_URL,
    KEY,
    PEPPER,
    Clock,
    FewAnswersChain,
    bearer,
    deps_of,
)
from tests.integration.api.in_process import AppClient
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.personas import AGENT, GUARD, Persona

WALLET, TREASURY = AGENT, GUARD
BOND = 100 * USDC
SAFE_BLOCKS = 64
PLAN: dict[str, Any] = {
    "fund_type": "passive",
    "plan_text": "The large coins as they are, each month.",
    "tvl_cap_usd": "400.00",
}
OFFICE = {KEY: "op_local_test"}


@dataclass
class World:
    """The first day: the market is imported, the chain has the contracts, an operator is there."""

    client: TestClient
    deployed: DeployedChain
    clock: Clock

    def office(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.client.post(path, json=body, headers=OFFICE)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def queue(self, kind: str) -> list[dict[str, Any]]:
        answer = self.client.get("/admin/queue", params={"kind": kind}, headers=OFFICE)
        return [dict(one[kind]) for one in answer.json()["items"]]

    def pay(self, sender: Persona, to: str, amount: int) -> str:
        data = call_by_signature("transfer(address,uint256)", [to, amount])
        return self.deployed.succeed(sender, self.deployed.contracts["usdc"], data).tx_hash


@dataclass
class Newcomer:
    """Knows where the journey is, its wallet, and what it wants to say."""

    world: World
    headers: dict[str, dict[str, str]] = field(default_factory=dict)

    def call(self, item: Mapping[str, Any], **said: Any) -> Any:
        """A call as `next` names it; `said` in place of what its example says."""
        body = {**item.get("body", {}), **said}
        with_token = self.headers.get("bearer" if item["auth"] == "bearer" else "key", {})
        sent: dict[str, Any] = {} if item["method"] == "GET" else {"json": body}
        return self.world.client.request(item["method"], item["path"], headers=with_token, **sent)

    def node(self, name: str) -> dict[str, Any]:
        start = {"method": "GET", "path": "/fund/me/journey", "auth": "optional"}
        return next(dict(one) for one in self.call(start).json()["nodes"] if one["node"] == name)

    def states(self) -> list[str]:
        names = ("apply", "pilot", "track_record", "request_creation", "vault")
        return [self.node(name)["state"] for name in names]

    def register(self) -> None:
        (connect,) = self.node("register")["next"]
        made = self.call(connect, agent_name="newcomer").json()
        self.headers = {"key": {KEY: made["api_key"]}, "bearer": bearer(made["bearer_token"])}

    def link(self, link: Mapping[str, Any]) -> None:
        """The refusal of a signature of nothing says which message is to be signed."""
        wallet = {"wallet_address": WALLET.address}
        (nonce, *_) = self.call(link, **wallet).json()["service"]["next"]
        message = encode_defunct(text=self.call(nonce, **wallet).json()["message"])
        signed = Account.from_key(WALLET.private_key).sign_message(message)
        linked = self.call(
            link, **wallet, signature="0x" + signed.signature.hex().removeprefix("0x")
        )
        assert linked.json()["registered"] is True


@pytest.fixture
def world(database: Database, deployed: DeployedChain) -> Iterator[World]:
    clock = Clock(datetime.now(UTC))
    with database.write() as session:
        add_simulated(session, clock.now)
        keep_simulated(session, clock.now)
        set_operator_key(session, token_hash(PEPPER, OFFICE[KEY]), clock.now)
    store = ScannerStore(database, lambda session: None)
    chosen.made([chosen.SIM], chosen.SIZE, store, clock)
    paid = PaymentConfig(
        settler=cast("Any", None),
        network=f"eip155:{CHAIN_ID}",
        asset=deployed.contracts["usdc"],
        pay_to=TREASURY.address,
    )
    deps = replace(
        deps_of(database, clock, FewAnswersChain()),
        chain=deployed.reader,
        contracts=deployed.contracts,
    ).with_part(PaymentConfig, paid)
    with AppClient(create_app(deps), base_url=BASE_URL) as client:
        yield World(client, deployed, clock)


@pytest.mark.slow
def test_a_newcomer__goes_from_nothing_to_a_vault_by_what_next_says(world: World) -> None:
    newcomer = Newcomer(world)
    newcomer.register()
    assert newcomer.states() == ["next"] * 5

    # The application: an index that has constituents on the first day, and its bond.
    indices, index, apply = newcomer.node("apply")["next"]
    listed = newcomer.call(indices).json()["indices"]
    assert [one["constituents_count"] for one in listed] == [20, 5]
    assert len(newcomer.call(index).json()["constituents"]) == 20
    unlinked = newcomer.call(apply, **PLAN).json()["service"]
    assert unlinked["reason"] == "wallet_not_linked"
    newcomer.link(unlinked["next"][0])
    unpaid = newcomer.call(apply, **PLAN).json()["service"]
    assert (unpaid["missing"], unpaid["bond"]["usd"]) == ("bond_tx", "100.000000")
    world.deployed.mint(WALLET.address, BOND)
    bond_tx = world.pay(WALLET, unpaid["bond"]["to"], BOND)
    pending = newcomer.call(unpaid["next"][0], bond_tx=bond_tx).json()["service"]
    assert pending["reason"] == "settlement_pending"
    world.deployed.anvil.mine(SAFE_BLOCKS)
    applied = newcomer.call(pending["next"][0])
    assert (applied.status_code, applied.json()["state"]) == (201, "submitted")
    assert (applied.json()["plan_text"], applied.json()["tvl_cap_usd"]) == (
        PLAN["plan_text"],
        "400.000000",
    )

    # An operator approves: the pilot.
    assert newcomer.states() == ["in_progress", "next", "next", "next", "next"]
    (own,) = newcomer.node("apply")["next"]
    assert newcomer.call(own).json()["applications"] == [applied.json()]
    (waiting,) = world.queue("application")
    world.office(f"/admin/fund/applications/{waiting['application_id']}/approve")
    assert newcomer.states() == ["done", "in_progress", "in_progress", "next", "next"]
    (read,) = newcomer.node("pilot")["next"]
    pilot = newcomer.call(read).json()
    assert len(pilot["frozen_rules"]["universe"]) == 20

    # Thirty days: the bond comes back, the vault is asked for.
    (ask,) = newcomer.node("request_creation")["next"]
    young = newcomer.call(ask).json()["service"]
    assert young["reason"] == "pilot_too_young"
    world.clock.now = datetime.fromisoformat(young["retry_at"])
    (due,) = world.queue("bond")
    back = world.pay(TREASURY, WALLET.address, BOND)
    world.deployed.anvil.mine(SAFE_BLOCKS)
    returned = world.office(
        f"/admin/fund/applications/{due['application_id']}/return-bond", tx_hash=back
    )
    assert returned["bond"]["state"] == "returned"
    asked = newcomer.call(young["next"][0])
    assert (asked.status_code, asked.json()["state"]) == (201, "requested")
    assert newcomer.states() == ["done", "done", "done", "done", "in_progress"]

    # An operator approves, deploys by hand, and says where.
    (watch,) = newcomer.node("vault")["next"]
    (request,) = world.queue("vault_request")
    path = f"/admin/fund/vault-requests/{request['request_id']}"
    world.office(f"{path}/approve")
    address = world.deployed.create_vault(world.deployed.terms("m_fundway234"))
    world.office(f"{path}/mark-created", address=address)
    created = newcomer.call(watch).json()
    assert (created["state"], created["address"]) == ("created", address)
    assert world.deployed.reader.code_at(address) != b""
    assert newcomer.states() == ["done"] * 5
    assert newcomer.node("vault")["next"] == []
