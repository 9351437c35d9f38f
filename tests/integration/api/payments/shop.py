"""A shop of one page and people who pay for it: a real chain, a real facilitator, and a facilitator
that can be made to lie.
"""

import base64
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from httpx import Response
from starlette.testclient import TestClient
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse

from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.main import create_app
from api.payments.own_settler import OwnSettler
from api.payments.payment_config import GasBudget, PaymentConfig, Settler
from core.chain.signer import LocalKeySigner
from core.db.engine import Database
from core.payments.tables import X402Payment
from core.times import DAY_S
from tests.integration.api.in_process import AppClient
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.personas import STRANGER

SHORTLY_S = 60
PAGE = "/playbooks/first-hour/loop.md"
OTHER_PAGE = "/playbooks/size/limits.md"
PRICE = 10_000
# The gas of a test's chain costs 1 gwei and more, so that a payment of a cent is worth 0.01 ether
# here.
GAS = GasBudget(wei_per_usdc=10**18, wei_per_day=10**20, contract_wei_per_day=10**20)
NETWORK = f"eip155:{CHAIN_ID}"
BASE_SEPOLIA_USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
BASE_URL = "http://testserver"
KEY = "X-SVC-User-Key"
TYPES = {
    "TransferWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ]
}

Answer = Callable[[Callable[[], Any]], Any]


@dataclass
class WilfulSettler:
    """The world outside: the real facilitator, unless the test says how it answers instead.

    Each is given the real call.
    """

    real: Settler
    on_verify: Answer = lambda real: real()
    on_settle: Answer = lambda real: real()
    settled: int = 0

    def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        answer: VerifyResponse = self.on_verify(lambda: self.real.verify(payload, requirements))
        return answer

    def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        def real() -> SettleResponse:
            self.settled += 1
            return self.real.settle(payload, requirements)

        answer: SettleResponse = self.on_settle(real)
        return answer


@dataclass
class Shop:
    """`pay_to` is the shop's own account: what it holds is what was charged."""

    chain: DeployedChain
    deps: Deps
    settler: WilfulSettler
    pay_to: str
    payer: LocalAccount
    client: TestClient = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self, **limits: int) -> TestClient:
        self.deps = replace(self.deps, limits=Limits(**limits))
        self.client = AppClient(
            create_app(self.deps), base_url=BASE_URL, client=("203.0.113.9", 5000)
        )
        return self.client

    # What the payer sends

    def offer(
        self, scheme: str = "exact", path: str = PAGE, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        accepts = self.client.get(path, headers=headers).json()["accepts"]
        return next(dict(one) for one in accepts if one["scheme"] == scheme)

    def payment(
        self, *, accepted: Mapping[str, Any] | None = None, signed: bool = True, **changes: Any
    ) -> dict[str, Any]:
        """A payment as a client makes it.

        `changes` of the authorization are signed with it, unless `signed` is false.
        """
        now = int(time.time())
        plain = {
            "from": self.payer.address,
            "to": self.pay_to,
            "value": str(PRICE),
            "validAfter": "0",
            "validBefore": str(now + 60),
            "nonce": "0x" + secrets.token_hex(32),
        }
        authorization = {**plain, **changes}
        return {
            "x402Version": 2,
            "accepted": {**self.offer(), **(accepted or {})},
            "payload": {
                "authorization": authorization,
                "signature": self._signature(authorization if signed else plain),
            },
        }

    def _signature(self, authorization: Mapping[str, str]) -> str:
        message = {
            name: int(value) if value.isdigit() else value for name, value in authorization.items()
        }
        domain = {
            "name": "USDC",
            "version": "2",
            "chainId": CHAIN_ID,
            "verifyingContract": self.chain.contracts["usdc"],
        }
        return str(self.payer.sign_typed_data(domain, TYPES, message).signature.to_0x_hex())

    def get(
        self,
        payment: Mapping[str, Any] | None = None,
        path: str = PAGE,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        sent = {} if payment is None else {"PAYMENT-SIGNATURE": encoded(payment)}
        return self.client.get(path, headers={**(headers or {}), **sent})

    def agent(self) -> dict[str, str]:
        """Headers of a new agent."""
        return {
            KEY: self.client.post("/auth/agent/connect", json={"agent_name": "reader"}).json()[
                "api_key"
            ]
        }

    # What came of it

    @property
    def income(self) -> int:
        return self.chain.reader.usdc_balance(self.pay_to)

    @property
    def database(self) -> Database:
        return self.deps.database

    def states(self) -> list[str]:
        with self.database.read() as session:
            return sorted(row.state for row in session.query(X402Payment))

    def last_second_of_the_day(self) -> int:
        """Unix seconds; shortly before midnight, of the next day, once it has begun."""
        if (left := DAY_S - datetime.now(UTC).timestamp() % DAY_S) < SHORTLY_S:
            time.sleep(left)
        now = int(datetime.now(UTC).timestamp())
        return now - now % DAY_S + DAY_S - 1


def encoded(payment: Mapping[str, Any]) -> str:
    return base64.b64encode(json.dumps(payment).encode()).decode()


def decoded(header: str) -> dict[str, Any]:
    return dict(json.loads(base64.b64decode(header)))


def usdc_where_stock_clients_know_it(chain: DeployedChain) -> None:
    """The token stands where Base Sepolia has it: a stock client pays in no other without being
    told.
    """
    code = chain.reader.code_at(chain.contracts["usdc"])
    chain.rpc.call("anvil_setCode", [BASE_SEPOLIA_USDC, "0x" + code.hex()])
    chain.contracts["usdc"] = BASE_SEPOLIA_USDC


def shop_on(chain: DeployedChain, deps: Deps, gas: GasBudget = GAS) -> Shop:
    """A shop with a till of its own, and a payer with 1 USDC."""
    payer, till = Account.create(), Account.create().address
    chain.mint(payer.address, USDC)
    settler = WilfulSettler(
        OwnSettler(LocalKeySigner(STRANGER.private_key), chain.reader, NETWORK, gas)
    )
    payment_config = PaymentConfig(
        settler=settler, network=NETWORK, asset=chain.contracts["usdc"], pay_to=till, gas=gas
    )
    return Shop(
        chain,
        replace(deps, chain=chain.reader, contracts=chain.contracts).with_part(
            PaymentConfig, payment_config
        ),
        settler,
        till,
        payer,
    )


def reason(answer: Response) -> tuple[int, str]:
    body = answer.json()
    return answer.status_code, body["service"]["reason"]


def said(**fields: Any) -> SettleResponse:
    """A facilitator's answer to settle: failed, unless the fields say otherwise."""
    return SettleResponse(**{"success": False, "transaction": "", "network": NETWORK, **fields})
