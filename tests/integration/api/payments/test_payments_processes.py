"""Real processes: the stock x402 clients pay an API that uvicorn serves, and an API that is killed
while it settles.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from eth_account import Account
from eth_account.signers.local import LocalAccount
from x402 import x402Client, x402ClientSync
from x402.http.clients import wrapRequestsWithPayment, x402HttpxClient
from x402.http.utils import decode_payment_required_header
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas import PaymentPayload, PaymentRequirements

from api.payments.own_settler import OwnSettler
from core.chain.signer import LocalKeySigner
from scripts._ports import free_port
from tests.integration.api.payments.shop import (
    GAS,
    NETWORK,
    PAGE,
    PRICE,
    encoded,
    usdc_where_stock_clients_know_it,
)
from tests.integration.chain_fixtures import CHAIN_ID, ROOT, USDC, DeployedChain
from tests.personas import STRANGER

pytestmark = pytest.mark.slow

# The stock clients pay in assets that they know, and of this chain they know the real USDC alone.
START_S = 120.0


@dataclass
class Api:
    """`python -m api.main` on a port of its own."""

    environment: dict[str, str]
    base_url: str
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "api.main"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
        )
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                httpx.get(f"{self.base_url}/health/live", timeout=1)
                return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise TimeoutError("the API did not answer")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


@dataclass
class Till:
    chain: DeployedChain
    address: str

    @property
    def income(self) -> int:
        return self.chain.reader.usdc_balance(self.address)


@pytest.fixture
def till(deployed: DeployedChain) -> Till:
    """The chain's USDC stands where Base Sepolia has it."""
    usdc_where_stock_clients_know_it(deployed)
    return Till(deployed, Account.create().address)


@pytest.fixture
def payer(till: Till) -> LocalAccount:
    account: LocalAccount = Account.create()
    till.chain.mint(account.address, USDC)
    return account


@pytest.fixture
def api(till: Till, database_url: str, tmp_path: Path) -> Iterator[Api]:
    port, record = free_port(), tmp_path / "deployment.json"
    contracts = [
        {"name": name, "address": address} for name, address in till.chain.contracts.items()
    ]
    record.write_text(
        json.dumps({"chain_id": CHAIN_ID, "block": 1, "commit": "", "contracts": contracts})
    )
    base_url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": database_url,
        "RPC_URLS": till.chain.anvil.url,
        "DEPLOYMENT_FILE": str(record),
        "BASE_URL": base_url,
        "PORT": str(port),
        "KEY_PEPPER": "p" * 32,
        "X402_PAY_TO": till.address,
        "X402_SETTLE_PRIVATE_KEY": STRANGER.private_key,
        "X402_GAS_WEI_PER_USDC": str(GAS.wei_per_usdc),
        "X402_GAS_WEI_PER_DAY": str(GAS.wei_per_day),
    }
    served = Api(environment, base_url)
    yield served
    served.kill()


def test_the_stock_clients__pay_unchanged(api: Api, till: Till, payer: LocalAccount) -> None:
    api.start()
    client = register_exact_evm_client(x402ClientSync(), EthAccountSigner(payer))
    with wrapRequestsWithPayment(requests.Session(), client) as session:
        answer = session.get(f"{api.base_url}{PAGE}", timeout=30)
    assert (answer.status_code, answer.text.splitlines()[0], till.income) == (
        200,
        "# One turn of the loop",
        PRICE,
    )
    print(
        f"GET {PAGE} -> {answer.status_code}, PAYMENT-RESPONSE {answer.headers['PAYMENT-RESPONSE']}"
    )

    async def read() -> httpx.Response:
        paying = register_exact_evm_client(x402Client(), EthAccountSigner(payer))
        async with x402HttpxClient(paying) as session:
            return await session.get(f"{api.base_url}{PAGE}", timeout=30)

    again = asyncio.run(read())
    assert (again.status_code, till.income) == (200, 2 * PRICE)


@dataclass
class HangingFacilitator:
    """A facilitator behind HTTP that settles for real, and then keeps its first answer to
    itself.
    """

    chain: DeployedChain
    has_settled: threading.Event = field(default_factory=threading.Event)
    settles: int = 0
    server: ThreadingHTTPServer = field(init=False)

    def __post_init__(self) -> None:
        settler, owner = (
            OwnSettler(LocalKeySigner(STRANGER.private_key), self.chain.reader, NETWORK, GAS),
            self,
        )

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                payload = PaymentPayload.model_validate(sent["paymentPayload"])
                requirements = PaymentRequirements.model_validate(sent["paymentRequirements"])
                answer: Any = (settler.verify if self.path == "/verify" else settler.settle)(
                    payload, requirements
                )
                if self.path == "/settle":
                    owner.settles += 1
                    owner.has_settled.set()
                    time.sleep(0.5)  # Its caller is killed meanwhile.
                raw = answer.model_dump_json(by_alias=True, exclude_none=True).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]  # writing to a killed caller fails
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def facilitator(till: Till) -> Iterator[HangingFacilitator]:
    hanging = HangingFacilitator(till.chain)
    yield hanging
    hanging.server.shutdown()
    hanging.server.server_close()


def test_an_api__that_is_killed_while_it_settles__serves_the_same_payment_once_and_charges_it_once(
    api: Api, till: Till, payer: LocalAccount, facilitator: HangingFacilitator
) -> None:
    api.environment = {**api.environment, "X402_FACILITATOR_URL": facilitator.url}
    api.start()
    required = httpx.get(f"{api.base_url}{PAGE}")
    client = register_exact_evm_client(x402ClientSync(), EthAccountSigner(payer))
    payment = client.create_payment_payload(payment_required(required))
    headers = {"PAYMENT-SIGNATURE": encoded(payment.model_dump(by_alias=True, exclude_none=True))}
    lost = threading.Thread(target=lost_call, args=(f"{api.base_url}{PAGE}", headers))
    lost.start()
    assert facilitator.has_settled.wait(20)
    api.kill()
    lost.join(10)
    assert till.income == PRICE
    api.start()
    answers = [httpx.get(f"{api.base_url}{PAGE}", headers=headers, timeout=30) for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 402]
    assert answers[1].json()["service"]["reason"] == "payment_already_used"
    assert (till.income, facilitator.settles) == (PRICE, 1)


def payment_required(answer: httpx.Response) -> Any:
    return decode_payment_required_header(answer.headers["PAYMENT-REQUIRED"])


def lost_call(url: str, headers: dict[str, str]) -> None:
    try:
        httpx.get(url, headers=headers, timeout=30)
    except httpx.HTTPError:
        return
    raise AssertionError("it was to be killed before it answered")


@pytest.fixture
def beside(api: Api) -> Iterator[Api]:
    """Another process of the same service: the same database, chain and base URL."""
    port = free_port()
    other = Api({**api.environment, "PORT": str(port)}, f"http://127.0.0.1:{port}")
    yield other
    if hasattr(other, "process"):
        other.kill()


def paying_agent(api: Api) -> dict[str, str]:
    """Headers of an agent that has nothing but payments, with an idempotency key."""
    agent = httpx.post(f"{api.base_url}/auth/agent/connect", json={"agent_name": "reader"}).json()
    return {"X-SVC-User-Key": agent["api_key"], "Idempotency-Key": "one-page"}


def paid_with(api: Api, payer: LocalAccount, agent: dict[str, str]) -> dict[str, str]:
    required = httpx.get(f"{api.base_url}{PAGE}")
    payment = register_exact_evm_client(
        x402ClientSync(), EthAccountSigner(payer)
    ).create_payment_payload(payment_required(required))
    return {
        **agent,
        "PAYMENT-SIGNATURE": encoded(payment.model_dump(by_alias=True, exclude_none=True)),
    }


def test_two_processes__and_a_killed_one__take_one_payment_for_one_idempotency_key(
    api: Api, beside: Api, till: Till, payer: LocalAccount, facilitator: HangingFacilitator
) -> None:
    for process in (api, beside):
        process.environment |= {
            "X402_FACILITATOR_URL": facilitator.url,
            "FREE_READS_PER_DAY": "0",
            "WELCOME_CREDITS": "0",
        }
        process.start()
    agent = paying_agent(api)
    lost = threading.Thread(
        target=lost_call, args=(f"{api.base_url}{PAGE}", paid_with(api, payer, agent))
    )
    lost.start()
    assert facilitator.has_settled.wait(20)
    refused = httpx.get(
        f"{beside.base_url}{PAGE}", headers=paid_with(beside, payer, agent), timeout=30
    )
    assert (refused.status_code, refused.json()["service"]["reason"]) == (
        409,
        "idempotency_in_flight",
    )
    api.kill()
    lost.join(10)
    answers = [
        httpx.get(f"{beside.base_url}{PAGE}", headers=paid_with(beside, payer, agent), timeout=30)
        for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [200, 200]
    assert [one.headers.get("Idempotent-Replay") for one in answers] == [None, "true"]
    assert (till.income, facilitator.settles) == (PRICE, 1)
