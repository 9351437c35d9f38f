"""People and a mandate on stage: an owner, the owner's agent, a stranger, and a chain that speaks
through the ledger.

The chain is a fake at the reader's port: it knows the adapters and predicts addresses; what it
would say in logs is appended to the ledger by `chain_says`, through the same mapping that the
indexer uses.
"""

from dataclasses import dataclass, field
from typing import Any

import httpx
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from starlette.testclient import TestClient

from core.chain.errors import RpcUnreachableError
from core.db.engine import Database
from core.mandate import queries as mandates
from core.mandate.chain.calldata import vault_address
from core.mandate.ledger import deferred
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import NewRow
from core.mandate.rules.terms import Rule, RuleKind
from tests.integration.api.conftest import (
    KEY,
    Clock,
    FewAnswersChain,
    bearer,
    connect,
    login,
    nonce_for,
    sign,
)


def address(n: int) -> str:
    return str(to_checksum_address("0x" + f"{n:040x}"))


CONTRACTS = {
    "usdc": address(0x1001),
    "factory": address(0x1002),
    "vault_implementation": address(0x1003),
    "test_venue": address(0x1004),
    "test_venue_adapter": address(0x1005),
    "x402_adapter": address(0x1006),
    "factory_validator": address(0x100A),
}
ADAPTER = CONTRACTS["test_venue_adapter"]
BUY, SELL, PAY = "0xd96a094a", "0xe4849b32", "0x12345678"
KEEPER = address(0x2001)
CHAIN_ID = 84532
USDC = 1_000_000
BUDGET = 1_000 * USDC

DRAFT: dict[str, Any] = {
    "purpose": "Buy units at the test venue, carefully.",
    "budget_usdc": "1000.000000",
    "horizon_days": 30,
    "stop_floor_bps": 500,
    "per_tx_cap_usdc": "200.000000",
    "daily_cap_usdc": "450.000000",
    "market_mode": "testnet",
}


@dataclass
class StageChain(FewAnswersChain):
    """Lists two adapters and predicts vaults.

    Checks and balances are out of reach, so answers come from the ledger.
    """

    predicted: dict[str, str] = field(default_factory=dict)

    def is_adapter(self, adapter: str, at: Any = "latest") -> bool:
        self._require_up()
        return adapter in (ADAPTER, CONTRACTS["x402_adapter"])

    def adapter_rules(self, adapter: str, at: Any = "latest") -> tuple[Rule, ...]:
        self._require_up()
        if adapter == ADAPTER:
            return (
                Rule(ADAPTER, BUY, 255, RuleKind.VALUED),
                Rule(ADAPTER, SELL, 255, RuleKind.EXIT),
            )
        return (Rule(adapter, PAY, 255, RuleKind.COST),)

    def predict_vault(self, terms_digest: str, at: Any = "latest") -> str:
        self._require_up()
        return vault_address(CONTRACTS["factory"], terms_digest)

    def __getattr__(self, name: str) -> Any:
        def out_of_reach(*_: Any, **__: Any) -> Any:
            raise RpcUnreachableError(name, ["connection refused"])

        if name.startswith("__"):
            raise AttributeError(name)
        return out_of_reach


@dataclass
class Stage:
    client: TestClient
    database: Database
    clock: Clock
    chain: StageChain
    owner_wallet: LocalAccount = field(default_factory=lambda: Account.from_key("0x" + "22" * 32))
    agent_wallet: LocalAccount = field(default_factory=lambda: Account.from_key("0x" + "33" * 32))
    owner: dict[str, str] = field(default_factory=dict)  # headers
    agent: dict[str, str] = field(default_factory=dict)
    agent_id: str = ""
    mandate_id: str = ""  # of the fixture of this name
    log_index: int = 0

    # Calls

    def call(
        self, method: str, path: str, who: dict[str, str], body: Any = None, **query: Any
    ) -> httpx.Response:
        answer: httpx.Response = self.client.request(
            method, f"/mandate-wallet{path}", headers=who, json=body, params=query
        )
        return answer

    def get(self, path: str, who: dict[str, str], **query: Any) -> dict[str, Any]:
        answer = self.call("GET", path, who, **query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def post(
        self, path: str, who: dict[str, str], body: Any = None, *, status: int = 200
    ) -> dict[str, Any]:
        answer = self.call("POST", path, who, body if body is not None else {})
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    # People

    def enter(self) -> "Stage":
        self.owner = login(self.client, self.owner_wallet)
        self.agent_id, self.agent = self.new_agent(self.owner, self.agent_wallet)
        self.accept_mandates(self.agent_id)
        return self

    def new_agent(
        self, owner: dict[str, str] | None = None, wallet: LocalAccount | None = None
    ) -> tuple[str, dict[str, str]]:
        made = connect(self.client, owner)
        if wallet is not None:
            message = nonce_for(self.client, wallet, "link")
            body = {"wallet_address": wallet.address, "signature": sign(wallet, message)}
            linked = self.client.post(
                "/auth/wallet/link", json=body, headers=bearer(made["bearer_token"])
            )
            assert linked.status_code == 200, linked.text
        return str(made["user_id"]), {KEY: made["api_key"]}

    def new_owner(self) -> dict[str, str]:
        return login(self.client, Account.create())

    def accept_mandates(
        self, agent_id: str, who: dict[str, str] | None = None, accepts: bool = True
    ) -> None:
        answer = self.call(
            "PUT", f"/agents/{agent_id}/policy", who or self.owner, {"accepts_mandates": accepts}
        )
        assert answer.status_code == 200, answer.text

    def later(self, **time: float) -> None:
        """Time passes, and the owner signs in again."""
        self.clock.pass_(**time)
        self.owner = login(self.client, self.owner_wallet)

    # Mandates

    def draft(self, **changes: Any) -> str:
        body = {**DRAFT, "agent_id": self.agent_id} | changes
        return str(
            self.post(
                "/mandates",
                self.owner,
                {k: v for k, v in body.items() if v is not None},
                status=201,
            )["mandate"]["id"]
        )

    def sign_terms(self, mandate_id: str, wallet: LocalAccount | None = None) -> str:
        """The signature of the current terms, not handed in."""
        document = self.get(f"/mandates/{mandate_id}/terms", self.owner)["typed_data"]
        signed = (wallet or self.owner_wallet).sign_message(
            encode_typed_data(full_message=document)
        )
        return str(signed.signature.to_0x_hex())

    def signed(self, **changes: Any) -> str:
        mandate_id = self.draft(**changes)
        self.post(
            f"/mandates/{mandate_id}/sign", self.owner, {"signature": self.sign_terms(mandate_id)}
        )
        return mandate_id

    def working(self, **changes: Any) -> str:
        """A signed mandate whose vault holds the whole budget."""
        mandate_id = self.signed(**changes)
        digest = self.get(f"/mandates/{mandate_id}/terms", self.owner)["digest"]
        vault = self.chain.predict_vault(digest)
        created = ev.VaultCreated(
            vault,
            digest,
            self.owner_wallet.address,
            self.agent_wallet.address,
            mandate_id,
            None,
            (),
        )  # type: ignore[arg-type]
        self.chain_says(
            mandate_id, created, ev.Deposited(self.owner_wallet.address, BUDGET, BUDGET, BUDGET)
        )
        return mandate_id

    def paper(self, **changes: Any) -> str:
        return self.signed(market_mode="paper", **changes)

    def chain_says(self, mandate_id: str, *events: Any, tx_hash: str | None = None) -> None:
        """Append what the chain's logs say, one transaction for all."""
        self.log_index += 1
        tx = tx_hash or "0x" + f"{self.log_index:064x}"
        for index, event in enumerate(events):
            row = row_from_event(
                event,
                self._ref(tx, index),
                KEEPER,
                self.owner_wallet.address,
                self.agent_wallet.address,
                usdc=CONTRACTS["usdc"],
            )
            assert row is not None
            self.append(mandate_id, row)

    def chain_says_for_good(self, mandate_id: str, *events: Any) -> None:
        """The same, and its block is safe."""
        self.chain_says(mandate_id, *events)
        with self.database.write() as session:
            deferred.say_safe(session, CHAIN_ID, self.log_index, self.clock.now)

    def append(self, mandate_id: str, row: NewRow) -> None:
        with self.database.write() as session:
            mandate = mandates.find_mandate(session, mandate_id)
            assert mandate is not None
            mandate_ledger.append(session, mandate.id, row, self.clock.now)

    def _ref(self, tx_hash: str, log_index: int) -> ev.LogRef:
        block = "0x" + f"{self.log_index:064x}"
        return ev.LogRef(
            CHAIN_ID,
            self.log_index,
            block,
            int(self.clock.now.timestamp()),
            tx_hash,
            log_index,
            address(1),
        )

    def executed(
        self, mandate_id: str, spent: int, received: int = 0, tx_hash: str | None = None
    ) -> None:
        self.log_index += 1
        event = ev.Executed(self.log_index, ADAPTER, BUY if spent else SELL, spent, received, 0)
        self.chain_says(mandate_id, event, tx_hash=tx_hash)

    def faults(self, mandate_id: str) -> list[str]:
        with self.database.read() as session:
            mandate = mandates.find_mandate(session, mandate_id)
            assert mandate is not None
            return mandate_ledger.verify(session, mandate.id)


def reason(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["service"]["reason"]
