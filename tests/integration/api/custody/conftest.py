"""An agent with a starter wallet: the API on a real chain and database, and keepers that open its
key.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.main import create_app
from core.custody import queries as custody
from core.custody.keys import CustodySigner, KeyMaker, KeyRing
from core.custody.rules import SealedKey
from core.custody.tables import CustodialTransfer, CustodialWallet
from core.db.engine import Database
from core.keeper.tables import Outbox
from keeper.outbox_kinds import CUSTODIAL_TRANSFER, Builder, custodial_transfers
from tests.integration.api.conftest import (
    BASE_URL,
    KEY,
    Clock,
    TestClient,
    connect,
    link,
)
from tests.integration.api.in_process import AppClient
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.keeper.conftest import KeeperProcess
from tests.integration.keeper.conftest import Stage as Keepers

NEW, OLD = b"\x4b" * 32, b"\x4f" * 32  # key-encryption keys
USDC = 1_000_000
PROVISION = "/agent/wallet/provision"
TRANSFER = "/agent/wallet/transfer-to-self-custody"
TRANSFERS = "/agent/wallet/transfers"


@dataclass
class Stage:
    """`wallet` is the agent's own, linked; what names no agent is the agent's.

    Keys are sealed with `keys`, the first one for new seals.
    """

    chain: DeployedChain
    database: Database
    deps: Deps
    clock: Clock
    keepers: Keepers
    wallet: LocalAccount = field(default_factory=Account.create)
    clients: list[TestClient] = field(default_factory=list)

    def serve(self, *keys: bytes, limits: Limits | None = None) -> TestClient:
        """Another API process, with these keys; it is asked from now on."""
        maker = KeyMaker(KeyRing(keys)) if keys else None
        client = AppClient(
            create_app(replace(self.deps, limits=limits or Limits()).with_part(KeyMaker, maker)),
            base_url=BASE_URL,
        )
        self.clients.append(client)
        return client

    @property
    def client(self) -> TestClient:
        return self.clients[-1]

    def keeper(self, *keys: bytes, die_after: str | None = None) -> KeeperProcess:
        """A keeper with these keys; NEW when none is named."""
        return self.keepers.keeper(die_after=die_after, outbox=self.outbox(*keys))

    def outbox(self, *keys: bytes) -> dict[str, Builder]:
        build = custodial_transfers(
            CustodySigner(KeyRing(keys or (NEW,))), self.chain.contracts["usdc"]
        )
        return {CUSTODIAL_TRANSFER: build}

    # The agent

    @cached_property
    def agent(self) -> dict[str, str]:
        return self.new_agent(self.wallet)

    @cached_property
    def starter(self) -> str:
        """Its starter wallet, with 100 USDC."""
        return self.provisioned(100 * USDC)

    def new_agent(self, wallet: LocalAccount | None) -> dict[str, str]:
        """Headers of a new agent, with this wallet linked."""
        made = connect(self.client)
        if wallet is not None:
            assert link(self.client, made["bearer_token"], wallet).status_code == 200
        return {KEY: made["api_key"]}

    def provisioned(self, amount: int, of: dict[str, str] | None = None) -> str:
        """The address of the agent's starter wallet, which holds the amount."""
        address = str(self.post(PROVISION, of).json()["address"])
        if amount:
            self.chain.mint(address, amount)
        return address

    def post(
        self, path: str, of: dict[str, str] | None = None, *, key: str | None = None, **body: Any
    ) -> httpx.Response:
        headers = (of or self.agent) | ({} if key is None else {"Idempotency-Key": key})
        answer: httpx.Response = self.client.post(path, json=body, headers=headers)
        return answer

    def ask(self, amount: str | None = "1", of: dict[str, str] | None = None) -> httpx.Response:
        return self.post(TRANSFER, of, amount_usdc=amount)

    def asked(self, amount: str | None = None, of: dict[str, str] | None = None) -> dict[str, Any]:
        """The transfer that was asked for."""
        answer = self.ask(amount, of)
        assert answer.status_code == 202, answer.text
        return dict(answer.json()["transfer"])

    def seen(self, of: dict[str, str] | None = None, **query: Any) -> dict[str, Any]:
        answer = self.client.get(TRANSFERS, params=query, headers=of or self.agent)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def states(self, of: dict[str, str] | None = None) -> list[str]:
        """Of its transfers, oldest first."""
        return [one["state"] for one in reversed(self.seen(of)["transfers"])]

    # The world

    def balance(self, address: str) -> int:
        return self.chain.reader.usdc_balance(address)

    def paid(self) -> tuple[int, int]:
        """What the agent's starter wallet and its own hold."""
        return self.balance(self.starter), self.balance(self.wallet.address)

    def sealed(self, address: str) -> SealedKey:
        own = CustodialWallet.address == bytes.fromhex(address[2:])
        with self.database.read() as session:
            found = custody.find_wallet(
                session, session.scalars(select(CustodialWallet.account_id).where(own)).one()
            )
        assert found is not None
        return found

    def requests(self) -> tuple[int, int]:
        """How many rows the outbox and the transfers have."""
        with self.database.read() as session:
            return len(session.scalars(select(Outbox)).all()), len(
                session.scalars(select(CustodialTransfer)).all()
            )


@pytest.fixture
def bare(
    deps: Deps, deployed: DeployedChain, database: Database, database_url: str, clock: Clock
) -> Iterator[Stage]:
    clock.now = datetime.fromtimestamp(deployed.now, UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts)
    made = Stage(
        deployed,
        database,
        real,
        clock,
        Keepers(deployed, database, database_url, vault="", ends_at=0),
    )
    made.serve(NEW)
    yield made
    for client in made.clients:
        client.close()
    for process in made.keepers.processes:
        process.die()


@pytest.fixture
def stage(bare: Stage) -> Stage:
    """Its agent has a starter wallet."""
    assert bare.starter
    return bare
