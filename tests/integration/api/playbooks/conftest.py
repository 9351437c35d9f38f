"""A world in which every call of the guides can be made: a working mandate on a real chain, payments,
a listing to mine, and a second agent of another owner.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from eth_account import Account
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from api.shared.signers import OwnSigners
from core.db.engine import Database
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from core.times import instant_text
from tests.integration.api.conftest import BASE_URL, KEY, Clock, connect, set_apart
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.conftest import (  # noqa: F401 (fixtures)
    chain,
    deps,
    mandate_id,
    origin,
    people,
    stage,
)
from tests.integration.api.mandates.stage import Stage, StageChain
from tests.integration.api.payments.shop import Shop, shop_on
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT, GUARD, OWNER

PAGE = "/playbooks/size/limits.md"


@dataclass
class GuidedWorld:
    """`names`: what the guides call $NAME."""

    live: Live
    shop: Shop
    names: dict[str, str]

    @property
    def client(self) -> TestClient:
        return self.shop.client

    def payment(self) -> str:
        """One that was signed for a page and settles once."""
        signed = self.shop.payment(accepted=self.shop.offer(path=PAGE))
        return base64.b64encode(json.dumps(signed).encode()).decode()


@pytest.fixture
def world(
    deps: Deps,
    deployed: DeployedChain,
    database: Database,
    clock: Clock,
    chain: StageChain,
    follower: Follower,
) -> Iterator[GuidedWorld]:
    clock.now = datetime.now(UTC)
    with database.write() as session:
        add_listings(
            session, "binance", [Symbol("LINK", "USDT")], is_simulated=False, now=clock.now
        )
    shop = shop_on(
        deployed,
        replace(deps, clock=clock).with_part(
            OwnSigners, replace(deps.parts.of(OwnSigners), guard=GUARD.signer)
        ),
    )
    with shop.client:
        owner, agent = Account.from_key(OWNER.private_key), Account.from_key(AGENT.private_key)
        people = Stage(
            shop.client, database, clock, chain, owner_wallet=owner, agent_wallet=agent
        ).enter()
        live = Live(people, deployed, follower)
        mandate, vault = live.working()
        other = connect(shop.client, agent_name="other")
        set_apart(database, other)
        names = {
            "BASE": BASE_URL,
            "KEY": people.agent[KEY],
            "ME": people.agent_id,
            "OWNER": people.owner["Authorization"].removeprefix("Bearer "),
            "OTHER": str(other["api_key"]),
            "MANDATE": mandate,
            "VAULT": vault,
            "ADAPTER": live.adapter,
            "LOOKED_AT": instant_text(clock.now - timedelta(minutes=1)),
        }
        yield GuidedWorld(live, shop, names)
