"""Random histories of transfer reports: after every step, killed ones included, each balance is the
sum of its rows.

The chain is a list of blocks behind the reader's port, so that a history may hold reorgs of any
depth; ledgers, reports and blocks are in a real database. Each history has a chain id of its own.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.blocks import queries as blocks
from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.bloom import bloom_of
from core.db.engine import Database, WriteSession
from core.hexes import bytes_of, hex_of
from core.identity.tables import Account
from core.mandate.chain.reader import VaultReader
from core.transfers import queries as repository
from core.transfers import reports as transfer_reports
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.logs import TRANSFER
from core.transfers.reports import Claim
from core.transfers.rules import Direction, FourStates, State, standing
from indexer.chain.context import ChainContext
from indexer.chain.deposits import watch_deposits

SAFE_BEHIND = 2
BLOCK_S = 2
BORN = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp())
TOKEN, OUTSIDE = "0x" + "70" * 20, "0x" + "0F" * 20

_numbers = itertools.count(1)


class Killed(Exception):
    """The process ends before it commits."""


@dataclass
class Mortal:
    """The database of a process that can be killed: the next `lives` writes commit, the one after
    does not.
    """

    database: Database
    lives: int | None = None

    def read(self) -> Any:
        return self.database.read()

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        with self.database.write() as session:
            yield session
            session.flush()
            if self.lives is not None:
                self.lives -= 1
                if self.lives < 0:
                    raise Killed


@dataclass(frozen=True)
class Payment:
    """A transaction that somebody may mine: who pays whom how much."""

    tx_hash: str
    from_: str
    to: str
    amount: int


@dataclass
class Block:
    header: BlockHeader
    mined: dict[str, bool] = field(default_factory=dict)  # transaction -> it succeeded


class World:
    """A chain with reorgs, two agents, four payments, and the indexer's part around the watcher."""

    def __init__(self, database: Database) -> None:
        self.database, self.mortal = database, Mortal(database)
        self.chain_id, self.now, self.seed = 900_000 + next(_numbers), BORN, itertools.count(1)
        self.wallets = ["0x" + f"{self.chain_id}{n}".zfill(40) for n in (1, 2)]
        self.agents = [self._agent(wallet) for wallet in self.wallets]
        first, second = self.wallets
        pairs = [
            (OUTSIDE, first, 5),
            (first, second, 5),
            (OUTSIDE, second, 7),
            (second, OUTSIDE, 7),
        ]
        self.payments = [Payment(self._hash(), *pair) for pair in pairs]
        self.blocks = [self._block(None)]
        with database.write() as session:
            blocks.drop_cursors(session, [blocks.SAFE])
            blocks.add_blocks(session, self.chain_id, [self.blocks[0].header], self.clock)
        reader = cast("VaultReader", self)
        self.chain = ChainContext(
            reader,
            cast("Database", self.mortal),
            self.chain_id,
            TOKEN,
            TOKEN,
            None,
            0,
            1,
            lambda session: None,
        )

    def _agent(self, wallet: str) -> int:
        with self.database.write() as session:
            account = Account(
                kind="agent",
                name="agent",
                wallet_address=bytes_of(wallet),
                created_at=datetime.now(UTC),
            )
            session.add(account)
            session.flush()
            return account.id

    def _hash(self) -> str:
        return "0x" + f"{self.chain_id:032x}{next(self.seed):032x}"

    @property
    def clock(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    # The chain, and the reader's port

    def _block(self, parent: Block | None) -> Block:
        number, parent_hash = (
            (0, "0x" + "00" * 32)
            if parent is None
            else (parent.header.number + 1, parent.header.hash)
        )
        return Block(
            BlockHeader(
                number=number,
                hash=self._hash(),
                parent_hash=parent_hash,
                timestamp=self.now,
                logs_bloom=0,
                transaction_hashes=(),
            )
        )

    def mine(self, payment: int | None = None, succeeds: bool = True) -> None:
        self.now += BLOCK_S
        block = self._block(self.blocks[-1])
        self.blocks.append(block)
        if payment is not None and self._found(self.payments[payment].tx_hash) is None:
            tx_hash = self.payments[payment].tx_hash
            block.mined[tx_hash] = succeeds
            bloom = bloom_of(self._receipt_in(block, tx_hash).logs)
            block.header = replace(block.header, transaction_hashes=(tx_hash,), logs_bloom=bloom)

    def reorg(self, depth: int) -> None:
        """The newest blocks go, and one more than they were comes."""
        depth = min(depth, len(self.blocks) - 1)
        del self.blocks[len(self.blocks) - depth :]
        for _ in range(depth + 1):
            self.mine()

    def _found(self, tx_hash: str) -> Block | None:
        return next((block for block in self.blocks if tx_hash in block.mined), None)

    def header(self, at: str) -> BlockHeader | None:
        return self.headers([at])[0]

    @property
    def rpc(self) -> "World":
        """One node, which is always asked."""
        return self

    @contextmanager
    def pinned(self) -> Iterator[None]:
        yield

    def batch_of_others(self, *_: Any) -> dict[str, list[Any]]:
        return {}

    def headers(self, hashes: list[str]) -> list[BlockHeader | None]:
        by_hash = {block.header.hash: block.header for block in self.blocks}
        return [by_hash.get(one) for one in hashes]

    def receipts_settled(self, tx_hashes: list[str]) -> list[TransactionReceipt | None]:
        found = [(self._found(tx_hash), tx_hash) for tx_hash in tx_hashes]
        return [
            None if block is None else self._receipt_in(block, tx_hash) for block, tx_hash in found
        ]

    def _receipt_in(self, block: Block, tx_hash: str) -> TransactionReceipt:
        payment = next(one for one in self.payments if one.tx_hash == tx_hash)
        succeeds, place = (
            block.mined[tx_hash],
            (block.header.number, block.header.hash, tx_hash, 0, 0),
        )
        topics = (
            TRANSFER.topic,
            *("0x" + wallet[2:].lower().zfill(64) for wallet in (payment.from_, payment.to)),
        )
        log = RawLog(TOKEN, topics, "0x" + f"{payment.amount:064x}", *place)
        logs = (log,) if succeeds else ()
        return TransactionReceipt(
            tx_hash,
            0,
            place[0],
            place[1],
            int(succeeds),
            payment.from_,
            TOKEN,
            1,
            bloom_of(logs),
            logs,
        )

    # The indexer

    def follow(self) -> None:
        """What tip loop and unwind do with blocks, each in one transaction."""
        theirs = {block.header.number: block.header for block in self.blocks}
        with self.mortal.write() as session:
            ours = blocks.canonical_blocks(session, self.chain_id, -1, 10**9)
            orphans = [
                one
                for one in ours
                if one.number not in theirs or theirs[one.number].hash != one.hash
            ]
            if orphans:
                transfer_reports.replace_blocks(
                    session, self.chain_id, [one.hash for one in orphans], self.clock
                )
                blocks.orphan_blocks(session, self.chain_id, orphans[-1].number - 1)
            for number in range(len(ours) - len(orphans), len(self.blocks)):
                blocks.add_blocks(session, self.chain_id, [theirs[number]], self.clock)
            safe = theirs[max(0, len(self.blocks) - 1 - SAFE_BEHIND)]
            at = blocks.Cursor(safe.number, safe.hash)
            blocks.save_mark(session, blocks.SAFE, self.chain_id, at, 0, self.clock)

    def look(self) -> None:
        watch_deposits(self.chain, self.clock)

    def report(self, agent: int, payment: int, direction: Direction, amount: int) -> None:
        claim = Claim(
            chain_id=self.chain_id,
            asset="USDC",
            direction=direction,
            amount_e6=amount,
            tx_hash=self.payments[payment].tx_hash,
        )
        with self.mortal.write() as session:
            transfer_reports.report(session, self.agents[agent], claim, None, self.clock)

    # What must hold

    def assert_sound(self) -> None:
        with self.database.read() as session:
            for agent in self.agents:
                assert transfer_reports.verify(session, agent) == []
                total = FourStates()
                for one in repository.reports_of(session, agent):
                    total = total.plus(
                        standing(Direction(one.direction), State(one.state), one.amount_e6)
                    )
                assert transfer_ledger.load_balance(session, agent, self.chain_id, "USDC") == total

    def assert_told_by_the_chain(self) -> None:
        """Once all is safe and looked at: confirmed is what the chain holds as reported, and
        nothing else.
        """
        with self.database.read() as session:
            for agent, wallet in zip(self.agents, self.wallets, strict=True):
                for one in repository.reports_of(session, agent):
                    payment = next(p for p in self.payments if p.tx_hash == hex_of(one.tx_hash))
                    block = self._found(payment.tx_hash)
                    party = payment.to if one.direction == Direction.IN else payment.from_
                    as_reported = (
                        party.lower() == wallet.lower() and payment.amount == one.amount_e6
                    )
                    holds = block is not None and block.mined[payment.tx_hash] and as_reported
                    came_late = (
                        block is None
                        or block.header.timestamp > one.deadline_at.timestamp()
                        or one.next_look_at is None
                    )
                    assert one.state not in (State.REPORTED, State.SEEN) or block is None
                    assert holds if one.state == State.CONFIRMED else (not holds or came_late)


reports = st.tuples(
    st.just("report"),
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from(Direction),
    st.sampled_from([5, 7]),
)
payments = st.tuples(st.just("mine"), st.integers(0, 3), st.sampled_from([True, True, True, False]))
moves = st.one_of(
    reports,
    reports,
    reports,
    payments,
    payments,
    st.tuples(st.just("mine")),
    st.tuples(st.just("reorg"), st.integers(1, 5)),
    st.tuples(st.just("wait"), st.sampled_from([60, 1_800, 3_700, 90_000])),
    st.tuples(st.just("follow")),
    st.tuples(st.just("look")),
    st.tuples(st.just("both")),
    st.tuples(st.just("kill"), st.integers(0, 2)),
)


def step(world: World, move: tuple[Any, ...]) -> None:
    match move:
        case ("wait", seconds):
            world.now += seconds
        case ("both",):
            world.follow()
            world.look()
        case ("kill", lives):
            world.mortal.lives = lives  # and the process dies in one of its next writes
        case (name, *arguments):
            getattr(world, name)(*arguments)


@pytest.mark.slow
@settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=st.lists(moves, min_size=5, max_size=40))
@pytest.mark.row("2.16 each state is the sum of a signed ledger")
def test_any_history__every_balance_is_the_sum_of_its_rows(
    database: Database, history: list[tuple[Any, ...]]
) -> None:
    world = World(database)
    for move in history:
        try:
            step(world, move)
        except Killed:
            world.mortal.lives = None  # a fresh process
        world.assert_sound()
    world.mortal.lives = None
    for _ in range(SAFE_BEHIND + 1):
        world.mine()
    for _ in range(3):
        world.now += 61  # past the longest pause between two looks
        world.follow()
        world.look()
    world.assert_sound()
    world.assert_told_by_the_chain()


@pytest.mark.slow
def test_a_process_that_is_killed_in_each_write_of_a_life__goes_on_where_it_was(
    database: Database,
) -> None:
    """Reported, seen, confirmed, undone, restored: each write is lost once before it is kept."""
    world = World(database)

    def twice(act: Any, *arguments: Any) -> None:
        world.mortal.lives = 0
        with pytest.raises(Killed):
            act(*arguments)
        world.mortal.lives = None
        world.assert_sound()
        act(*arguments)
        world.assert_sound()

    twice(world.report, 0, 0, Direction.IN, 5)
    world.mine(0)
    twice(world.follow)
    twice(world.look)
    for _ in range(SAFE_BEHIND):
        world.mine()
    world.now += 2
    twice(world.follow)
    twice(world.look)
    assert balance(world) == FourStates(idle_e6=5)
    world.reorg(SAFE_BEHIND + 1)
    twice(world.follow)
    assert balance(world) == FourStates()
    world.mine(0)
    for _ in range(SAFE_BEHIND):
        world.mine()
    twice(world.follow)
    twice(world.look)
    assert balance(world) == FourStates(idle_e6=5)


def test_until_the_indexer_stands_at_the_safe_block__an_unseen_report_is_not_failed(
    database: Database,
) -> None:
    world = World(database)
    world.report(0, 0, Direction.IN, 5)
    world.now += 3_700
    for _ in range(SAFE_BEHIND + 1):
        world.mine()
    world.look()
    assert balance(world) == FourStates(in_transit_e6=5)
    world.follow()
    world.now += 61
    world.look()
    assert balance(world) == FourStates()


def balance(world: World) -> FourStates:
    with world.database.read() as session:
        return transfer_ledger.load_balance(session, world.agents[0], world.chain_id, "USDC")
