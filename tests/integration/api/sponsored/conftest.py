"""A buyer, the API on a real chain and database, an indexer, and keepers with a sponsor's key that
can be killed and started again.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from api.areas.sponsored import jobs as job
from api.kernel.jobs import JobPlace
from api.kernel.operation import Deps
from api.main import create_app
from core.chain.abi import call_by_signature, function
from core.chain.nodes import Nodes
from core.db.engine import Database, WriteSession
from core.db.leadership import Leadership
from core.keeper import gas
from core.keeper.gas import GasBudgets
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.sponsored import queries
from core.sponsored.kept_gas import KeptReadings
from core.sponsored.prices import EthPrices
from keeper.gas import Caps
from keeper.intents import Desk
from keeper.outbox_kinds import builders_of
from keeper.requests.round import SPONSOR, RequestRound
from keeper.state import Role
from scripts._deployments import create_address
from tests.integration.api.conftest import BASE_URL, KEY, Clock, TestClient, connect
from tests.integration.api.in_process import AppClient
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.integration.indexer.conftest import SAFE_DEPTH, Follower
from tests.node_transport import in_threads
from tests.personas import DEPLOYER, GUARD, OWNER, STRANGER, Persona

USDC = 1_000_000
GWEI = 10**9
PREPARE, BUY = "/reserve/buy/sponsored/prepare", "/reserve/buy/sponsored"
TREASURY = "0x0000000000000000000000000000000000007EA5"
SPONSOR_KEY = GUARD  # pays for gas in these tests; guards nothing here
PLENTY = 10**19  # wei
BUDGETS = GasBudgets(
    total_wei=PLENTY,
    owner_wei=PLENTY,
    account_wei=PLENTY,
    address_wei=PLENTY,
    new_buyers_wei=PLENTY,
)
LEAD_WITHIN_S = 10.0


class KilledError(BaseException):
    """The process is gone, whatever it was doing."""


class MortalDatabase:
    """The database of a process that is killed right after its n-th commit."""

    def __init__(self, real: Database, dies_after: int | None) -> None:
        self.real, self.read = real, real.read
        self.dies_after, self.commits = dies_after, 0

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        with self.real.write() as session:
            yield session
        self.commits += 1
        if self.commits == self.dies_after:
            raise KilledError


Lie = Callable[[dict[str, Any], Any], Any]


class LyingWire(httpx.BaseTransport):
    """The way to a node that may lie: `lie(call, answer's result)` gives what is told instead.

    `kill_after_send`: the process dies once the node has its transaction.
    """

    def __init__(self, lie: Lie | None = None, *, kill_after_send: bool = False) -> None:
        self._real = httpx.HTTPTransport()
        self.lie, self.kill_after_send = lie, kill_after_send
        self.sent: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        calls = asked if isinstance(asked, list) else [asked]
        raw = [call["params"][0] for call in calls if call["method"] == "eth_sendRawTransaction"]
        self.sent += raw
        response = self._real.handle_request(request)
        response.read()
        if raw:
            time.sleep(0.05)  # anvil answers before it mines
            if self.kill_after_send:
                raise KilledError
        if self.lie is None:
            return response
        answers = response.json()
        by_id = {call["id"]: call for call in calls}
        told = [answers] if isinstance(answers, dict) else answers
        for answer in told:
            if "result" in answer:
                answer["result"] = self.lie(by_id[answer["id"]], answer["result"])
        return httpx.Response(200, json=answers if isinstance(answers, dict) else told)

    def close(self) -> None:
        self._real.close()


@dataclass
class SponsorProcess:
    """The sponsor's loop of a keeper, with its own lead and its own way to the node."""

    round: RequestRound
    leadership: Leadership
    rpc: Nodes
    wire: LyingWire
    now: Callable[[], datetime]

    def run(self) -> None:
        until = time.monotonic() + LEAD_WITHIN_S
        while not self.leadership.try_take(self.now()):
            assert time.monotonic() < until, "another process leads"
            time.sleep(0.02)
        self.round.run(self.now())

    def die(self) -> None:
        self.leadership.release()
        self.rpc.close()


@dataclass
class SponsoredStage:
    chain: DeployedChain
    database: Database
    url: str
    clock: Clock
    follower: Follower
    deps: Deps
    client: TestClient
    buyer: LocalAccount = field(default_factory=Account.create)
    processes: list[SponsorProcess] = field(default_factory=list)
    rpcs: list[Nodes] = field(default_factory=list)  # of tests, closed at the end

    # Processes

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.chain.now, UTC) + timedelta(seconds=1)

    def keeper(
        self, wire: LyingWire | None = None, dies_after: int | None = None
    ) -> SponsorProcess:
        wire = wire or LyingWire()
        rpc = Nodes([self.chain.anvil.url], transport=in_threads(wire))
        reader = VaultReader(rpc, self.chain.contracts)
        leadership = Leadership(self.url, "keeper", f"test {len(self.processes)}")
        database = cast("Database", MortalDatabase(self.database, dies_after))
        desk = Desk(
            rpc=rpc,
            database=database,
            chain_id=CHAIN_ID,
            signers={Role.SPONSOR: SPONSOR_KEY.signer},
            caps=Caps(500 * GWEI, 500 * GWEI),
            epoch=lambda: leadership.epoch,
            fence=leadership.fence_beside,
        )
        made = RequestRound(
            desk=desk,
            max_head_age_s=10_000,
            reader=reader,
            builders=builders_of(None, self.chain.contracts, reader),
            budgets=BUDGETS,
            terms=SPONSOR,
        )
        process = SponsorProcess(made, leadership, rpc, wire, self.now)
        self.processes.append(process)
        return process

    def work(self, database: MortalDatabase | None = None) -> Mapping[str, Any]:
        """The worker's job, once; what it did."""
        place = JobPlace(
            database=cast("Database", database or self.database),
            reader=self.chain.reader,
            mark_retention_days=1,
            intent_retention_days=1,
            limits=CallerLimits(),
        )
        return job.run(place, self.now())

    def index(self) -> None:
        self.follower.catch_up()

    def be_safe(self) -> None:
        self.chain.anvil.mine(SAFE_DEPTH)
        self.index()
        self.follower.tip.note_finality()
        self.confirm()
        self.tell_time()

    def confirm(self) -> None:
        self.follower.sponsored_uses.round()

    def pass_time(self, seconds: int) -> None:
        """The next block's time; one block is mined."""
        self.chain.rpc.call("evm_setNextBlockTimestamp", [self.chain.now + seconds])
        self.chain.anvil.mine()
        self.tell_time()

    def tell_time(self) -> None:
        self.clock.now = datetime.fromtimestamp(self.chain.now, UTC)

    # The buyer

    def agent(self) -> dict[str, str]:
        return {KEY: connect(self.client)["api_key"]}

    def prepare(self, agent: dict[str, str], usd: str = "10.000000", **more: Any) -> httpx.Response:
        body = {"usd": usd, "buyer": self.buyer.address, **more}
        answer: httpx.Response = self.client.post(PREPARE, json=body, headers=agent)
        return answer

    def prepared(
        self, agent: dict[str, str], usd: str = "10.000000", **more: Any
    ) -> dict[str, Any]:
        answer = self.prepare(agent, usd, **more)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def signed(self, quote: dict[str, Any], by: LocalAccount | None = None) -> dict[str, str]:
        signer = by or self.buyer
        return {
            "id": quote["id"],
            **{
                f"{part}_signature": "0x"
                + signer.sign_typed_data(full_message=quote[part])
                .signature.hex()
                .removeprefix("0x")
                for part in ("purchase", "fee")
            },
        }

    def hand_in(self, agent: dict[str, str], body: dict[str, str]) -> httpx.Response:
        answer: httpx.Response = self.client.post(BUY, json=body, headers=agent)
        return answer

    def bought(self, agent: dict[str, str], usd: str = "10.000000", **more: Any) -> dict[str, Any]:
        """A quote that was handed in."""
        quote = self.prepared(agent, usd, **more)
        answer = self.hand_in(agent, self.signed(quote))
        assert answer.status_code == 202, answer.text
        return quote

    def state(self, agent: dict[str, str], quote: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.get(f"{BUY}/{quote['id']}", headers=agent)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def account_id(self, quote: dict[str, Any]) -> int:
        with self.database.read() as session:
            seen = queries.find_any(session, quote["id"])
        assert seen is not None
        return seen.buy.account_id

    def used_gas(self, scope: str, *, spent: int = 0, reserved: int = 0) -> None:
        """What a scope has used of the day's gas, whatever it was."""
        day = gas.day_of(self.clock.now)
        with self.database.write() as session:
            gas.hold(session, [(scope, day)])
            session.execute(
                text(
                    "update gas_day set spent_wei = :spent, reserved_wei = :reserved"
                    " where scope = :scope and day = :day"
                ),
                {"spent": spent, "reserved": reserved, "scope": scope, "day": day},
            )

    # The world

    def usdc(self, account: str) -> int:
        return self.chain.reader.usdc_balance(account)

    def tokens(self, account: str) -> int:
        data = call_by_signature("balanceOf(address)", [account])
        answer = self.chain.reader.call(self.chain.contracts["reserve_token"], data)
        return int.from_bytes(answer, "big")

    def buy_beside(self, amount: int, sender: Persona = OWNER) -> None:
        """Somebody else buys, so that the price moves."""
        usdc, token = self.chain.contracts["usdc"], self.chain.contracts["reserve_token"]
        self.chain.mint(sender.address, amount)
        self.chain.succeed(
            sender, usdc, call_by_signature("approve(address,uint256)", [token, amount])
        )
        data = function("ReserveToken", "buy").encode(amount, 0, sender.address)
        self.chain.succeed(sender, token, data)

    def submit_fee_alone(self, quote: dict[str, Any], body: dict[str, str]) -> None:
        message = quote["fee"]["message"]
        arguments = [message[name] for name in ("from", "to")]
        arguments += [int(message[name]) for name in ("value", "validAfter", "validBefore")]
        data = call_by_signature(
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            [*arguments, message["nonce"], body["fee_signature"]],
        )
        self.chain.succeed(STRANGER, self.chain.contracts["usdc"], data)

    def submit_purchase_alone(self, quote: dict[str, Any], body: dict[str, str], salt: str) -> None:
        message = quote["purchase"]["message"]
        data = function("ReserveToken", "buyWithAuthorization").encode(
            message["from"],
            message["from"],
            int(message["value"]),
            int(quote["min_tokens_base"]),
            0,
            int(message["validBefore"]),
            salt,
            body["purchase_signature"],
        )
        self.chain.succeed(STRANGER, self.chain.contracts["reserve_token"], data)

    def cancel(self, quote: dict[str, Any], part: str) -> None:
        """The buyer cancels an authorization; anybody may carry that to the chain."""
        nonce = quote[part]["message"]["nonce"]
        document = {
            "domain": quote[part]["domain"],
            "primaryType": "CancelAuthorization",
            "types": {
                "EIP712Domain": quote[part]["types"]["EIP712Domain"],
                "CancelAuthorization": [
                    {"name": "authorizer", "type": "address"},
                    {"name": "nonce", "type": "bytes32"},
                ],
            },
            "message": {"authorizer": self.buyer.address, "nonce": nonce},
        }
        signature = self.buyer.sign_typed_data(full_message=document).signature
        data = call_by_signature(
            "cancelAuthorization(address,bytes32,bytes)", [self.buyer.address, nonce, signature]
        )
        self.chain.succeed(STRANGER, self.chain.contracts["usdc"], data)


def deploy(chain: DeployedChain) -> None:
    """The reserve token, whose treasury is TREASURY, and the batch contract."""
    usdc = chain.contracts["usdc"]
    chain.mint(DEPLOYER.address, USDC)
    nonce = chain.reader.transaction_count(DEPLOYER.address)
    future = create_address(DEPLOYER.address, nonce + 1)
    chain.succeed(DEPLOYER, usdc, call_by_signature("approve(address,uint256)", [future, USDC]))
    offices = (3 * 24 * 3600, DEPLOYER.address, DEPLOYER.address, TREASURY)
    chain.contracts["reserve_token"] = token = chain.deploy("ReserveToken", usdc, *offices)
    chain.contracts["sponsored_buy"] = chain.deploy("SponsoredBuy", token)


def staged(
    deps: Deps, deployed: DeployedChain, database: Database, url: str, clock: Clock
) -> SponsoredStage:
    deploy(deployed)
    clock.now = datetime.fromtimestamp(deployed.now, UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts).with_part(
        KeptReadings, KeptReadings(eth_price=EthPrices(Decimal(1_000)))
    )
    leadership = Leadership(url, "indexer", "test")
    assert leadership.try_take(clock.now)
    follower = Follower(deployed, database, leadership)
    follower.restart(reserve_token=deployed.contracts["reserve_token"])
    client = AppClient(create_app(real), base_url=BASE_URL)
    made = SponsoredStage(deployed, database, url, clock, follower, real, client)
    made.index()
    made.keeper().run()
    made.chain.mint(made.buyer.address, 1_000 * USDC)
    made.buy_beside(100 * USDC)
    made.index()
    made.tell_time()
    return made


@pytest.fixture
def stage(
    deps: Deps, deployed: DeployedChain, database: Database, database_url: str, clock: Clock
) -> Iterator[SponsoredStage]:
    made = staged(deps, deployed, database, database_url, clock)
    yield made
    made.client.close()
    for process in made.processes:
        process.die()
    for rpc in made.rpcs:
        rpc.close()
    made.follower.tip.close()
    made.follower.leadership.release()


@pytest.fixture
def agent(stage: SponsoredStage) -> dict[str, str]:
    return stage.agent()
