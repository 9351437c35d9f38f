"""The work economy as those who work in it meet it: agents who come in from addresses, with owners
and wallets of somebody's choice, strangers who have worked before, and an operator who decides
honestly.

Laws
- Agents, owners and the operator call the application; what the keeper does, its own jobs do; a
  transfer is written as the indexer writes it.
- A refusal is answered with None or False, and whoever was refused goes on: the rules of the service
  are not this module's.
"""

import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import cycle, islice
from types import SimpleNamespace
from typing import Any, Final, cast

import psycopg
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import func, make_url, select
from starlette.testclient import TestClient

from api.areas.earn import jobs as earn
from api.areas.earn.tables import EarnQueue
from api.areas.mining import jobs as mining
from api.areas.rooms import jobs as rooms
from api.areas.tasks import jobs as tasks
from api.catalogue import catalogue
from api.kernel.jobs import JobPlace
from api.kernel.limits import Limits
from api.kernel.metrics import ApiMetrics
from api.kernel.operation import Access, Deps, Parts
from api.kernel.tokens import token_hash
from api.main import create_app
from core.chain.abi import address_word
from core.chain.blocks import RawLog
from core.credits.ledger.writer import load_balance
from core.db import migrate
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.identity.queries import set_operator_key
from core.listings.rules import EXCHANGES
from core.listings.simulated import add_simulated, pairs_of
from core.mandate.chain.decode import TRANSFER_TOPIC
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.terms import ZERO_ADDRESS
from core.times import instant_text
from core.transfers.ledger import writer as transfers
from indexer.chain.facts import deposit_of
from tests.bench.place import CHAIN_ID, served
from tests.integration.api.conftest import KEY, PEPPER, Clock, FewAnswersChain, sign
from tests.integration.databases import FOR_TESTS

DAY: Final = timedelta(days=1)
MORNING: Final = timedelta(hours=8)
BEGAN: Final = datetime.fromisoformat("2026-11-02T08:00:00+00:00")
PEER: Final = "203.0.113.9"
HOST: Final = "http://bench"
FUNDS_E6: Final = 5_000_000
OPERATOR_KEY: Final = "op_local_bench"
OPERATOR: Final = {KEY: OPERATOR_KEY, "X-Forwarded-For": "81.2.69.160"}
SOURCE: Final = "https://source.example/seen"
# Fields that pay the same, and apply to all listings.
FIELDS: Final = ("website_url", "whitepaper_url", "source_code_url", "listing_notice_url")
TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """How some agents come in: the nth has the address, owner and funder of n modulo how many there
    are; 0: none. They register over `days`.
    """

    members: int
    addresses: int
    owners: int
    funders: int
    days: int = 1

    @property
    def groups(self) -> int:
        """Those that share no address: no crew here shares an owner or a funder."""
        return self.addresses


STRANGE: Final = Crew(members=8, addresses=8, owners=8, funders=8, days=4)


def address_of(n: int) -> str:
    """Each in a network of its own."""
    return f"{60 + n % 30}.{20 + n % 200}.{1 + n // 200}.7"


@dataclass
class Place:
    """The application on a database of its own, and the clock that it goes by."""

    database: Database
    clock: Clock
    client: TestClient


@contextmanager
def place_on(url: str, clock: Clock) -> Iterator[Place]:
    """On a database that is migrated; its callers come through a proxy that is trusted."""
    database = Database(url)
    deps = Deps(
        database=database,
        metrics=ApiMetrics(database),
        chain=cast("VaultReader", FewAnswersChain()),
        chain_id=CHAIN_ID,
        base_url=HOST,
        catalogue=catalogue(),
        contracts={},
        pepper=PEPPER,
        clock=clock,
        parts=Parts(Access(trusted_proxies=(PEER,))),
    )
    with TestClient(create_app(deps), base_url=HOST, client=(PEER, 5000)) as client:
        yield Place(database, clock, client)


@dataclass(frozen=True, slots=True)
class Worker:
    """An agent, and the address that it calls from."""

    id: int
    key: str
    address: str

    @property
    def headers(self) -> dict[str, str]:
        return {KEY: self.key, "X-Forwarded-For": self.address}


@dataclass(frozen=True, slots=True)
class Submitted:
    """A value with the task and the room that came with it; whether it is true the world knows."""

    number: int
    submission_id: int
    task_id: int
    room_id: int
    by: Worker
    is_true: bool


@dataclass(frozen=True, slots=True)
class Holdings:
    """Of several agents together, in credits: what was paid, waits, and is owed."""

    paid: int
    queued: int
    owed: int

    @property
    def net(self) -> int:
        return self.paid - self.owed

    def since(self, before: "Holdings") -> "Holdings":
        return Holdings(
            self.paid - before.paid, self.queued - before.queued, self.owed - before.owed
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """`body` None: it was refused, with `retry_at` until then."""

    body: dict[str, Any] | None
    retry_at: datetime | None = None


@dataclass
class World:
    where: Place
    strangers: list[Worker] = field(default_factory=list)
    room_ids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        slots = (
            (one.id, pair.in_body, name)
            for name in FIELDS
            for one in EXCHANGES.values()
            for pair in pairs_of(one)
        )
        self.slots = enumerate(islice(slots, len(self.room_ids), None))  # a value has made each
        self._owners = dict[str, LocalAccount]()
        self._in_turn = cycle(self.strangers)

    # Calls

    def call(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None = None
    ) -> Answered:
        """A second passes."""
        self.where.clock.now += timedelta(seconds=1)
        answer = self.where.client.request(method, path, headers=headers, json=body)
        if answer.status_code < 400:
            return Answered(dict(answer.json()))
        again = (answer.json().get("service") or {}).get("retry_at")
        return Answered(None, None if again is None else datetime.fromisoformat(again))

    def taken(
        self, path: str, headers: dict[str, str], body: dict[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """The answer of a write; None: it was refused."""
        return self.call("POST", path, headers, body).body

    def waited(
        self, path: str, headers: dict[str, str], body: dict[str, Any]
    ) -> dict[str, Any] | None:
        """As `taken`, and a limit is waited for, a few times."""
        for _ in range(TRIES):
            answer = self.call("POST", path, headers, body)
            if answer.retry_at is None:
                return answer.body
            self.where.clock.now = max(self.where.clock.now, answer.retry_at)
        return None

    # Who comes in

    def come_in(self, crew: Crew, name: str, first: int = 0) -> list[Worker]:
        """Those whom the service lets in, on the day on which the last of them registers.

        `first`: of their addresses, owners and funders, so that two crews share none.
        """
        made, a_day = list[Worker](), -(-crew.members // crew.days)
        for n in range(crew.members):
            if n and n % a_day == 0:
                self.tomorrow()
            address = address_of(first + n % crew.addresses)
            owner = f"{name} {n % crew.owners}" if crew.owners else None
            worker, token = self._registered(f"{name} {n}", address, owner)
            if worker is None:
                continue
            made.append(worker)
            if crew.funders:
                funder = f"0x{0xF000 + first + n % crew.funders:040x}"
                self._fund(worker, token, funder, 2 + first + n)
        return made

    def _registered(self, name: str, address: str, owner: str | None) -> tuple[Worker | None, str]:
        """With the token that links a wallet."""
        headers = {"X-Forwarded-For": address}
        if owner is not None:
            session = self._session_of(self._owners.setdefault(owner, Account.create()), headers)
            if session is None:
                return None, ""
            headers |= {"Authorization": f"Bearer {session}"}
        made = self.waited("/auth/agent/connect", headers, {"agent_name": name})
        if made is None:
            return None, ""
        return Worker(made["user_id"], made["api_key"], address), str(made["bearer_token"])

    def _session_of(self, wallet: LocalAccount, headers: dict[str, str]) -> str | None:
        for _ in range(TRIES):
            signed = self._signed(wallet, "login", headers)
            if signed is None:
                return None
            answer = self.call("POST", "/auth/owner/login", headers, signed)
            if answer.body is not None:
                return str(answer.body["bearer_token"])
            if answer.retry_at is None:
                return None
            self.where.clock.now = max(self.where.clock.now, answer.retry_at)
        return None

    def _fund(self, worker: Worker, token: str, funder: str, number: int) -> None:
        """Link a wallet of its own, and let USDC reach it: several of one transaction by a log
        each.
        """
        wallet, headers = Account.create(), {"X-Forwarded-For": worker.address}
        signed = self._signed(wallet, "link", headers)
        if signed is None:
            return
        headers |= {"Authorization": f"Bearer {token}"}
        body = signed | {"wallet_address": wallet.address}
        if self.taken("/auth/wallet/link", headers, body) is None:
            return
        tx_hash, block_hash = f"0x{number:064x}", f"0x{CHAIN_ID + number:064x}"
        topics = TRANSFER_TOPIC, *map(address_word, (funder, wallet.address))
        at = (number, block_hash, tx_hash, 0, worker.id)
        paid = RawLog(ZERO_ADDRESS, topics, f"0x{FUNDS_E6:064x}", *at)
        with self.where.database.write() as session:
            entry = deposit_of(paid, CHAIN_ID)
            transfers.post(session, worker.id, entry, self.where.clock.now)

    def _signed(
        self, wallet: LocalAccount, purpose: str, headers: dict[str, str]
    ) -> dict[str, Any] | None:
        asked = {"wallet_address": wallet.address, "purpose": purpose}
        issued = self.taken("/auth/wallet/nonce", headers, asked)
        if issued is None:
            return None
        return {"message": issued["message"], "signature": sign(wallet, issued["message"])}

    def others(self, many: int, but: Worker) -> list[Worker]:
        """Strangers in turn, none of them `but`."""
        return list(islice((one for one in self._in_turn if one.id != but.id), many))

    def stranger(self) -> Worker:
        return next(self._in_turn)

    # Work

    def submit(self, by: Worker, *, is_true: bool = True) -> Submitted | None:
        """A value of a field that nobody has filled; invented, or looked up."""
        number, slot = next(self.slots, (0, None))
        if slot is None:
            return None
        exchange, symbol, name = slot
        value = f"https://{'project' if is_true else 'invented'}.example/{number}"
        entry = {"field_name": name, "field_value": value, "evidence_url": SOURCE}
        body = {"exchange": exchange, "symbol": symbol, "entries": [entry]}
        made = self.taken("/agent/mining/submit", by.headers, body)
        if made is None:
            return None
        task_id = made["entries"][0]["task_id"]
        return Submitted(number, made["submission_id"], task_id, made["room_id"], by, is_true)

    def look(self, by: Worker, value: Submitted, verdict: str) -> bool:
        """Claim the re-observation and file that verdict; whether it was taken."""
        if self.taken(f"/tasks/{value.task_id}/claim", by.headers) is None:
            return False
        return self._prove(by, value.task_id, verdict)

    def _prove(self, by: Worker, task_id: int, verdict: str | None) -> bool:
        proof = {
            "task_id": task_id,
            "verdict": verdict,
            "observed_at": instant_text(self.where.clock.now - timedelta(minutes=1)),
            "observed_result": "Seen at the source.",
            "source_url": SOURCE,
        }
        return self.taken("/tasks/submit-proof", by.headers, proof) is not None

    def decide(self, value: Submitted) -> bool:
        """By an operator who looks."""
        path = f"/admin/mining/submissions/{value.submission_id}"
        if not value.is_true:
            body = {"reason_code": "value_wrong", "note": "Not at the source."}
            return self.taken(f"{path}/reject", OPERATOR, body) is not None
        record = {
            "method": "reproduced",
            "source": SOURCE,
            "observed_at": instant_text(self.where.clock.now),
            "observed_result": "Seen at the source.",
            "match": True,
        }
        return self.taken(f"{path}/approve", OPERATOR, record) is not None

    def post(self, by: Worker, room_id: int, text: str, reply_to: int | None = None) -> Answered:
        path = f"/hive/rooms/{room_id}/messages"
        return self.call("POST", path, by.headers, {"text": text, "reply_to": reply_to})

    def release(self, by: Worker, message_id: int, kind: str | None = None) -> bool:
        path = f"/hive/messages/{message_id}/release"
        return self.taken(path, by.headers, {"kind": kind}) is not None

    # Time, and what was earned

    def jobs(self) -> None:
        """What the worker does of the work economy, once each."""
        place = JobPlace(
            database=self.where.database,
            reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
            mark_retention_days=90,
            intent_retention_days=90,
            limits=Limits(),
        )
        for area in (mining, tasks, rooms, earn):
            for job in area.JOBS:
                job.run(place, self.where.clock.now)

    def tomorrow(self) -> None:
        """The jobs run after midnight, and work begins at MORNING."""
        self.jobs()
        midnight = datetime.combine(self.where.clock.now.date() + DAY, datetime.min.time())
        for at in (timedelta(seconds=10), MORNING):
            self.where.clock.now = midnight.replace(tzinfo=BEGAN.tzinfo) + at
            self.jobs()

    def has_standing(self, worker: Worker) -> bool:
        answer = self.call("GET", "/earn/me", worker.headers).body or {}
        return any(one.get("standing") for one in answer.get("agents", ()))

    def holdings(self, workers: Collection[Worker]) -> Holdings:
        ids = [one.id for one in workers]
        with self.where.database.read() as session:
            held = [load_balance(session, id_) for id_ in ids]
            waits = select(func.coalesce(func.sum(EarnQueue.left_credits), 0))
            queued = int(session.scalar(waits.where(EarnQueue.account_id.in_(ids))) or 0)
        return Holdings(
            sum(one.earned + one.bonded for one in held), queued, sum(one.owed for one in held)
        )

    def waiting(self, workers: Sequence[Worker]) -> set[int]:
        """Ids of those of whom something waits."""
        query = select(EarnQueue.account_id).where(
            EarnQueue.account_id.in_([one.id for one in workers])
        )
        with self.where.database.read() as session:
            return set(session.scalars(query))


# Worlds that begin alike


FIRST_OF_STRANGERS: Final = 150


class Worlds:
    """On one server, each a copy of a world in which strangers have gained standing."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._execute("create database first")
        migrate.upgrade(self._url("first"))
        clock = Clock(BEGAN)
        with self._at("first", clock) as where:
            with where.database.write() as session:
                set_operator_key(session, token_hash(PEPPER, OPERATOR_KEY), clock.now)
                add_simulated(session, clock.now)
            world = World(where)
            strangers = world.come_in(STRANGE, "stranger", FIRST_OF_STRANGERS)
            room_ids = list[int]()
            world.tomorrow()
            for by in strangers[:4]:
                value = world.submit(by)
                assert value is not None, "a first value of somebody who came in is taken"
                room_ids.append(value.room_id)
                for other in strangers:
                    world.look(other, value, "match")
                world.decide(value)
            world.tomorrow()
            self._first = (strangers, room_ids, clock.now)

    @contextmanager
    def world(self) -> Iterator[World]:
        name = f"world_{secrets.token_hex(8)}"
        self._execute(f"create database {name} template first")
        strangers, room_ids, now = self._first
        with self._at(name, Clock(now)) as where:
            yield World(where, strangers, room_ids)
        self._execute(f"drop database {name}")

    @contextmanager
    def _at(self, name: str, clock: Clock) -> Iterator[Place]:
        with place_on(self._url(name), clock) as where:
            try:
                yield where
            finally:
                where.database.close()

    def _url(self, name: str) -> str:
        url = make_url(self._server.url).set(database=name)
        return url.render_as_string(hide_password=False)

    def _execute(self, statement: str) -> None:
        url = self._server.url.replace("+psycopg", "")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def worlds() -> Iterator[Worlds]:
    with served(*FOR_TESTS) as server:
        yield Worlds(server)
