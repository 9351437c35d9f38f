"""The mandate wallet's document, row by row: on a stage whose chain speaks through the ledger, and
on a real chain.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from eth_account import Account

from api.kernel.operation import Deps
from api.main import create_app
from core.db.engine import Database
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.document.live import Live
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.conftest import (  # noqa: F401 (fixtures)
    chain,
    deps,
    mandate_id,
    origin,
    people,
    stage,
)
from tests.integration.api.mandates.stage import Stage, StageChain
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT, OWNER


@pytest.fixture
def live(
    deps: Deps,
    deployed: DeployedChain,
    database: Database,
    clock: Clock,
    chain: StageChain,
    follower: Follower,
) -> Iterator[Live]:
    """People with anvil's accounts, an API that reads the real chain, and an indexer that follows
    it.
    """
    clock.now = datetime.now(UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts)
    with AppClient(create_app(real), base_url=BASE_URL) as client:
        owner, agent = Account.from_key(OWNER.private_key), Account.from_key(AGENT.private_key)
        people = Stage(
            client, database, clock, chain, owner_wallet=owner, agent_wallet=agent
        ).enter()
        yield Live(people, deployed, follower)
