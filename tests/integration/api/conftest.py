"""The API in this process: real pipeline, real Postgres, a clock that tests move, and a chain of
few answers.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from starlette.testclient import TestClient

from api.catalogue import catalogue
from api.kernel.kept_answers import KeptAnswers
from api.kernel.limits import Limits
from api.kernel.metrics import ApiMetrics
from api.kernel.operation import Access, Deps, Parts
from api.kernel.streams import StreamTimes
from api.kernel.tokens import token_hash
from api.main import create_app
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcUnreachableError
from core.db.engine import Database
from core.identity.queries import set_operator_key
from core.identity.tables import Account as AccountRow
from core.mandate.chain.reader import VaultReader
from tests.integration.api import probe
from tests.integration.api.in_process import AppClient
from tests.integration.api.probe import Gate
from tests.integration.scenes import Scene, Scenes
from tests.market_rows import MarketIds, add_market

BASE_URL = "http://testserver"
KEY = "X-SVC-User-Key"
PEPPER = b"p" * 32


@dataclass
class Clock:
    now: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class FewAnswersChain:
    """A chain id, a height and contract wallets (address -> the one signature they take); `is_down`
    makes every read fail.

    `mined_at` is the time of the newest block; `mined` of older ones, by height.
    """

    wallets: dict[str, str] = field(default_factory=dict)
    is_down: bool = False
    height: int = 100
    mined_at: int = 0
    mined: dict[int, int] = field(default_factory=dict)
    id: int = 84532

    def chain_id(self) -> int:
        self._require_up()
        return self.id

    def code_at(self, address: str, at: Any = "latest") -> bytes:
        self._require_up()
        return b"\x60" if address in self.wallets else b""

    def is_erc1271_signature(
        self, wallet: str, digest: str, signature: str, at: Any = "latest"
    ) -> bool:
        self._require_up()
        return self.wallets[wallet] == signature

    def header(self, at: Any = "latest") -> BlockHeader:
        self._require_up()
        zero = "0x" + "00" * 32
        number = at if isinstance(at, int) else self.height
        mined_at = self.mined.get(number, self.mined_at)
        return BlockHeader(
            number=number,
            hash=zero,
            parent_hash=zero,
            timestamp=mined_at,
            logs_bloom=0,
            transaction_hashes=(),
            base_fee_wei=None,
        )

    def _require_up(self) -> None:
        if self.is_down:
            raise RpcUnreachableError("eth_call", ["connection refused"])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain(clock: Clock) -> FewAnswersChain:
    return FewAnswersChain(mined_at=int(clock.now.timestamp()))


@pytest.fixture
def market_scene(scenes: Scenes, template: str) -> Scene:
    """The market of tests/market_rows.py."""
    return scenes.play("market", template, _market)


def _market(database: Database) -> MarketIds:
    with database.write() as session:
        return add_market(session, Clock().now)


@pytest.fixture
def origin(request: pytest.FixtureRequest, template: str) -> str:
    """Where the test has a market, its rows stand already."""
    if "market_scene" not in request.fixturenames:
        return template
    return str(request.getfixturevalue("market_scene").database)


@pytest.fixture
def market(market_scene: Scene) -> MarketIds:
    held: MarketIds = market_scene.held
    return held


@pytest.fixture
def deps(database: Database, clock: Clock, chain: FewAnswersChain) -> Deps:
    return deps_of(database, clock, chain)


def deps_of(database: Database, clock: Clock, chain: FewAnswersChain) -> Deps:
    return Deps(
        catalogue=catalogue(),
        database=database,
        metrics=ApiMetrics(database),
        chain=cast("VaultReader", chain),
        chain_id=84532,
        base_url=BASE_URL,
        contracts={},
        pepper=PEPPER,
        clock=clock,
        parts=Parts(
            Access(trusted_proxies=("10.0.0.1",)),
            StreamTimes(lives_s=0),  # clients in this process read answers to their end
        ),
    )


Limit = Callable[..., TestClient]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def limited(deps: Deps, gate: Gate) -> Iterator[Limit]:
    """A client of an application with other limits: `limited(daily_ceiling=2)`; `peer` is where the
    client calls from.

    The application has the probe beside the product's operations.
    """
    with ExitStack() as running:

        def build(peer: str = "203.0.113.9", **limits: int) -> TestClient:
            app = create_app(
                replace(deps, limits=Limits(**limits), catalogue=probe.catalogue(gate))
            )
            client = AppClient(
                app, base_url=BASE_URL, client=(peer, 5000), beside=(probe.operation(gate),)
            )
            return running.enter_context(client)  # one event loop a client, not one a request

        yield build


@pytest.fixture
def client(limited: Limit) -> TestClient:
    return limited()


@pytest.fixture
def wallet() -> LocalAccount:
    account: LocalAccount = Account.from_key("0x" + "22" * 32)
    return account


def sign(wallet: LocalAccount, message: str) -> str:
    return str(wallet.sign_message(encode_defunct(text=message)).signature.to_0x_hex())


def nonce_for(client: TestClient, wallet: LocalAccount, purpose: str) -> str:
    answer = client.post(
        "/auth/wallet/nonce", json={"wallet_address": wallet.address, "purpose": purpose}
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["message"])


def signed(client: TestClient, wallet: LocalAccount, purpose: str) -> dict[str, str]:
    """The wallet, and its signature of a new text for the purpose."""
    signature = sign(wallet, nonce_for(client, wallet, purpose))
    return {"wallet_address": wallet.address, "signature": signature}


def link(client: TestClient, token: str, wallet: LocalAccount) -> Any:
    body = signed(client, wallet, "link")
    return client.post("/auth/wallet/link", json=body, headers=bearer(token))


def sign_in(client: TestClient, message: str, signature: str) -> Any:
    body = {"message": message, "signature": signature}
    return client.post("/auth/owner/login", json=body)


def login(client: TestClient, wallet: LocalAccount) -> dict[str, str]:
    """Headers of an owner's session."""
    message = nonce_for(client, wallet, "login")
    answer = sign_in(client, message, sign(wallet, message))
    assert answer.status_code == 200, answer.text
    return bearer(answer.json()["bearer_token"])


def connect(
    client: TestClient, headers: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    answer = client.post(
        "/auth/agent/connect", json={"agent_name": "quant", **fields}, headers=headers or {}
    )
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.fixture
def agent(client: TestClient) -> dict[str, Any]:
    """An agent, with its secrets."""
    return connect(client)


def set_apart(database: Database, *agents: dict[str, Any]) -> None:
    """Let each of the connected agents have registered at a network address of its own."""
    with database.write() as session:
        for number, made in enumerate(agents, 1):
            address = f"198.51.100.{number}"
            session.get_one(AccountRow, made["user_id"]).registered_from = address


@pytest.fixture
def operator(deps: Deps) -> dict[str, str]:
    """Headers of the operator's key."""
    with deps.database.write() as session:
        set_operator_key(session, token_hash(deps.pepper, "op_local_test"), deps.clock())
    return {KEY: "op_local_test"}


def reason(answer: Any) -> tuple[int, str]:
    """Status and reason of a refused call."""
    return answer.status_code, answer.json()["service"]["reason"]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def ask_anew(client: TestClient, path: str = "/health/ready") -> Any:
    """The answer of now, whatever the process keeps."""
    state = cast("Any", client.app).state
    state.shared = replace(state.shared, answers=KeptAnswers(state.shared.deps.clock))
    return client.get(path)


def at_once(n: int, call: Callable[[int], int]) -> Counter[int]:
    """How often each status came back of `n` calls that start together."""
    with ThreadPoolExecutor(n) as pool:
        return Counter(pool.map(call, range(n)))
