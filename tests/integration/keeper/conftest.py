"""A working vault on a real chain, its rows in a real database, and keepers that can be killed and
started again.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx
import pytest
from eth_utils.crypto import keccak
from sqlalchemy import select

from core.blocks.tables import Vault
from core.chain.blocks import TransactionReceipt
from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.db.engine import Database, WriteSession
from core.db.leadership import Leadership
from core.hexes import bytes_of
from core.identity.tables import Account
from core.keeper.gas import GasBudgets
from core.keeper.tables import KeeperIntent, KeeperTx, VaultMark
from core.keeper.views import RESTS
from core.mandate.chain import typed_data
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.terms import Rule
from core.mandate.tables import Mandate, MandateHead
from core.mandate.venues import test_venue
from keeper.gas import Caps
from keeper.intents import Desk
from keeper.outbox_kinds import Builder
from keeper.read import Lenses
from keeper.requests.round import RequestRound
from keeper.state import Role
from keeper.stops import Stops
from keeper.tick import MARKS_A_DAY, Tick, TickReport
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.node_transport import in_threads
from tests.personas import AGENT, GUARD, KEEPER, OPERATOR, OWNER

USDC = 1_000_000
BOUGHT = 100 * USDC
PRICE_AT_FLOOR = 500_000  # 900 cash + 100 units at half a dollar = 950, the floor itself
GWEI = 10**9
MINED_WITHIN_S = 0.3  # less than a node may take
LEAD_WITHIN_S = 10.0
TOTALS = ("cash", "deposited", "spent", "received", "withdrawn", "paid_out")
EMPTY_HEAD: dict[str, Any] = {
    "seq": 1,
    "row_hash": b"\0" * 32,
    "paused": False,
    "state": {},
    **{f"{name}_usdc_e6": 0 for name in TOTALS},
}
BUDGETS = GasBudgets(total_wei=10**18, owner_wei=10**18, account_wei=10**18)
CAPS = Caps(others_wei=50 * GWEI, stops_wei=500 * GWEI)


def intent(vault: bytes, *, kind: str, state: str, trigger: int, at: datetime) -> KeeperIntent:
    """A row of a transaction that was decided at the height `trigger`, long before the test."""
    return KeeperIntent(
        chain_id=CHAIN_ID,
        vault=vault,
        subject="0x" + vault.hex(),
        role="keeper",
        kind=kind,
        state=state,
        to=vault,
        data=b"",
        trigger_block_number=trigger,
        decided_block=trigger,
        trigger_block_hash=b"\2" * 32,
        reason={},
        epoch=1,
        created_at=at,
        updated_at=at,
    )


SWALLOWS = "/swallows"


class KilledError(Exception):
    """The process died here."""


class Wire(httpx.BaseTransport):
    """The way to the node: keeps every raw transaction that was sent, and can break before or after
    the node has it.

    A node at SWALLOWS takes transactions and keeps them to itself.
    """

    def __init__(self) -> None:
        self._real = httpx.HTTPTransport()
        self.sent: list[str] = []
        self.views: set[str] = set()  # call data of what was read
        self.kill_after_send = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        calls = asked if isinstance(asked, list) else [asked]
        raw = [call["params"][0] for call in calls if call["method"] == "eth_sendRawTransaction"]
        self.sent += raw
        self.views |= {call["params"][0]["data"] for call in calls if call["method"] == "eth_call"}
        if raw and request.url.path == SWALLOWS:
            return httpx.Response(
                200,
                json=[
                    {"id": call["id"], "result": "0x" + keccak(hexstr=call["params"][0]).hex()}
                    for call in calls
                ],
            )
        request.url = request.url.copy_with(path="/")
        response = self._real.handle_request(request)
        if raw:
            response.read()
            _await_mined(str(request.url), response.json())
            if self.kill_after_send:
                raise KilledError
        return response

    def close(self) -> None:
        self._real.close()


def _await_mined(url: str, answer: Any) -> None:
    """Anvil answers before it mines: on a busy machine the keeper then looked for a block that was
    not there yet. What cannot be mined now is not waited for long.
    """
    answers = answer if isinstance(answer, list) else [answer]
    hashes = [one["result"] for one in answers if "result" in one]
    with closing(Nodes([url])) as node:
        until = time.monotonic() + MINED_WITHIN_S
        while hashes and node.call("anvil_getAutomine") and time.monotonic() < until:
            hashes = [
                one for one in hashes if node.call("eth_getTransactionReceipt", [one]) is None
            ]
            time.sleep(0.01 if hashes else 0)


class WatchedDatabase:
    """The database, and what happens to the process right after a commit of its own."""

    def __init__(
        self, real: Database, die_after: str | None, before_signing: Callable[[], object] | None
    ) -> None:
        self.real = real
        self.read = real.read
        self.die_after = die_after
        self.before_signing = before_signing

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        with self.real.write() as session:
            yield session
        with self.real.read() as session:
            states = set(session.scalars(select(KeeperIntent.state)))
        if self.before_signing is not None and "planned" in states:
            happen, self.before_signing = self.before_signing, None
            happen()
        if self.die_after in states:
            raise KilledError


@dataclass
class KeeperProcess:
    """A keeper as main builds it, with its own leadership and its own way to the node."""

    tick: Tick
    leadership: Leadership
    wire: Wire
    now: Callable[[], datetime]
    rpc: Nodes
    requests: RequestRound | None
    requests_rpc: Nodes

    @property
    def stops(self) -> Stops:
        assert self.tick.stops is not None
        return self.tick.stops

    def run(self) -> TickReport:
        """A tick, and then a round of the requests, which `keeper.main` runs beside it."""
        report = self.judge()
        if self.requests is not None:
            self.requests.run(self.now())
        return report

    def judge(self) -> TickReport:
        """A tick alone."""
        until = time.monotonic() + LEAD_WITHIN_S
        # the server notices a closed connection in its own time
        while not self.leadership.try_take(self.now()):
            assert time.monotonic() < until, "another process leads"
            time.sleep(0.02)
        return self.tick.run(self.now())

    def follow(self) -> None:
        """What became of the stops, and their rows."""
        self.stops.follow()
        self.stops.write()

    def die(self) -> None:
        """Its connections go away, as a killed process's do."""
        self.leadership.release()
        self.rpc.close()
        self.requests_rpc.close()


@dataclass
class Stage:
    """One working vault: budget 1000, floor 950, 100 USDC of it in the test venue at a price of
    1.
    """

    chain: DeployedChain
    database: Database
    url: str
    vault: str
    ends_at: int
    processes: list[KeeperProcess] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.chain.now, UTC) + timedelta(seconds=1)

    def keeper(
        self,
        *,
        die_after: str | None = None,
        before_signing: Callable[[], object] | None = None,
        signer: Signer | None = KEEPER.signer,
        stop_signer: Signer | None = None,
        pauser: Signer | None = None,
        caps: Caps = CAPS,
        outbox: Mapping[str, Builder] | None = None,
        marks_a_day: int = MARKS_A_DAY,
        paths: Sequence[str] = ("",),
        wire: Wire | None = None,
        clock: Callable[[], float] | None = None,
        age: Callable[[], float] = time.monotonic,
        gas_signer: Signer = GUARD.signer,
        budgets: GasBudgets = BUDGETS,
    ) -> KeeperProcess:
        """Start one.

        `die_after`: it is killed as soon as an intent's new state was committed. Signer None: a dry
        run. `before_signing` happens once, between the decision and the signature. `age`: the clock
        of everything but the tick's own `clock`.
        `gas_signer`: for requests of the outbox.
        """
        wire = wire or Wire()
        rpc = Nodes(
            [self.chain.anvil.url + path for path in paths], transport=in_threads(wire), clock=age
        )
        reader = VaultReader(rpc, self.chain.contracts)
        leadership = Leadership(self.url, "keeper", f"test {len(self.processes)}")
        database = cast("Database", WatchedDatabase(self.database, die_after, before_signing))
        keys = ((Role.KEEPER, signer), (Role.STOP, stop_signer), (Role.PAUSER, pauser))
        desk = Desk(
            rpc=rpc,
            database=database,
            chain_id=self.chain.chain_id,
            signers={} if signer is None else {role: s for role, s in keys if s is not None},
            caps=caps,
            epoch=lambda: leadership.epoch,
            fence=leadership.fence,
        )
        requests_rpc = Nodes(
            [self.chain.anvil.url + path for path in paths], transport=in_threads(wire), clock=age
        )
        requests = None
        if signer is not None:
            of_requests = replace(
                desk,
                rpc=requests_rpc,
                signers={Role.CUSTODY: gas_signer},
                fence=leadership.fence_beside,
            )
            requests = RequestRound(
                desk=of_requests,
                max_head_age_s=10,
                reader=VaultReader(requests_rpc, self.chain.contracts),
                builders=outbox or {},
                budgets=budgets,
            )
        tick = Tick(
            desk=desk,
            lenses=Lenses(reader),
            max_head_age_s=10,
            marks_a_day=marks_a_day,
            is_held_up=leadership.is_held_up,
            now=self.now,
            clock=clock or age,
            stops_clock=age,
        )
        process = KeeperProcess(tick, leadership, wire, self.now, rpc, requests, requests_rpc)
        self.processes.append(process)
        return process

    # The world

    def chain_clock(self) -> float:
        """Seconds that pass as the chain's do, for a process that is as old as the test says."""
        return float(self.chain.now)

    def set_price(self, price_e6: int) -> None:
        self.chain.succeed(
            OPERATOR, self.chain.contracts["test_venue"], test_venue.set_price(price_e6)
        )

    def status(self) -> str:
        return self.chain.reader.status(self.vault).word

    def pass_time(self, until: int) -> None:
        """The next block's time; one block is mined."""
        self.chain.anvil.rpc.call("evm_setNextBlockTimestamp", [until])
        self.chain.anvil.mine()

    def make_safe(self) -> None:
        """Mine until the chain calls everything so far safe. anvil: 32 blocks below the head."""
        self.chain.anvil.mine(33)

    @contextmanager
    def no_blocks(self) -> Iterator[None]:
        """Within it the chain takes transactions and mines none, but on request."""
        self.chain.anvil.rpc.call("evm_setAutomine", [False])
        yield
        self.chain.anvil.rpc.call("evm_setAutomine", [True])

    def finish(self, keeper: "KeeperProcess") -> TickReport:
        """All that is on chain is safe and recorded, and the keeper looks once more."""
        self.make_safe()
        self.record("stopped")
        return keeper.run()

    def record(self, status: str, *, rested: bool = False, **columns: Any) -> None:
        """The mandate's ledger says so, as the indexer would have written it now, or an hour ago."""
        with self.database.write() as session:
            mandate = session.scalars(select(Mandate)).one()
            mandate.status = status
            session.merge(
                MandateHead(
                    mandate_id=mandate.id,
                    status=status,
                    updated_at=self.now() - (RESTS if rested else timedelta()),
                    **EMPTY_HEAD | columns,
                )
            )

    def keeper_nonce(self) -> int:
        return self.chain.reader.transaction_count(KEEPER.address)

    # The rows

    def intents(self) -> list[KeeperIntent]:
        with self.database.read() as session:
            return list(session.scalars(select(KeeperIntent).order_by(KeeperIntent.id)))

    def states(self) -> list[tuple[str, str]]:
        return [(intent.kind, intent.state) for intent in self.intents()]

    def txs(self) -> list[KeeperTx]:
        with self.database.read() as session:
            return list(session.scalars(select(KeeperTx).order_by(KeeperTx.id)))

    def marks(self) -> list[VaultMark]:
        with self.database.read() as session:
            return list(session.scalars(select(VaultMark).order_by(VaultMark.id)))

    def receipt_of(self, tx: KeeperTx) -> TransactionReceipt:
        receipt = self.chain.reader.receipt("0x" + tx.hash.hex())
        assert receipt is not None
        return receipt


@pytest.fixture
def rules(deployed: DeployedChain) -> tuple[Rule, ...]:
    """What the stage's vault allows; a test file with other rules has a fixture of its own."""
    return deployed.rules()


@pytest.fixture
def stage(
    deployed: DeployedChain, database: Database, database_url: str, rules: tuple[Rule, ...]
) -> Iterator[Stage]:
    terms = deployed.terms("m_keeperstop", allowed_targets_hash=typed_data.rules_hash(rules))
    vault = deployed.create_vault(terms, rules=rules)
    bought = deployed.buy(vault, BOUGHT)
    assert bought.status == 1
    _write_rows(deployed, database, vault, asdict(terms), bought.block_hash)
    made = Stage(deployed, database, database_url, vault, terms.ends_at)
    yield made
    for process in made.processes:
        process.die()


def _write_rows(
    chain: DeployedChain, database: Database, vault: str, terms: dict[str, Any], block_hash: str
) -> None:
    """What API and indexer would have written of this vault."""
    at = datetime.fromtimestamp(chain.now, UTC)
    with database.write() as session:
        owner = Account(
            kind="owner", name="owner", wallet_address=bytes_of(OWNER.address), created_at=at
        )
        agent = Account(
            kind="agent", name="agent", wallet_address=bytes_of(AGENT.address), created_at=at
        )
        session.add_all([owner, agent])
        session.flush()
        digest = bytes_of(chain.digest(chain.terms("m_keeperstop")))
        mandate = Mandate(
            public_id=terms["public_id"],
            owner_id=owner.id,
            agent_id=agent.id,
            open_board=False,
            status="working",
            market_mode="testnet",
            purpose="keeper test",
            budget_usdc_e6=terms["budget_usdc"],
            horizon_days=30,
            stop_floor_bps=500,
            payout_rule={},
            allowed_targets=[],
            on_floor="keep",
            chain_id=chain.chain_id,
            terms={},
            rules=[],
            guard_targets=[],
            terms_digest=digest,
            terms_version=2,
            vault_address=bytes_of(vault),
            ends_at=datetime.fromtimestamp(terms["ends_at"], UTC),
            created_at=at,
            updated_at=at,
        )
        session.add(mandate)
        session.flush()
        session.add(
            Vault(
                chain_id=chain.chain_id,
                address=bytes_of(vault),
                created_block_hash=bytes_of(block_hash),
                created_number=1,
                created_at=chain.now,
                factory=bytes_of(chain.contracts["factory"]),
                terms_digest=digest,
                public_id=terms["public_id"],
                owner=bytes_of(OWNER.address),
                mandate_id=mandate.id,
            )
        )
