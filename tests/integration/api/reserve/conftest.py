"""The reserve token's blocks, written as the indexer would, and an agent of the API."""

from dataclasses import replace
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_FOLLOWED, SAFE, TIP, Cursor
from core.chain.blocks import BlockHeader, RawLog
from core.db.engine import Database
from core.reserve import conversions
from core.reserve.events import NewReserveEvent, take_events
from core.reserve.rules import ReserveEventKind, ReserveFact
from tests.integration.api.conftest import KEY, Clock, FewAnswersChain, deps_of, link

CHAIN, ONE, USDC = 84532, 10**18, 10**6
TOKEN, STABLE = "0x" + "a1" * 20, "0x" + "a2" * 20
OTHER = "0x" + "b2" * 20
NOBODYS = "0x" + "cd" * 32
MINED_AT = 1_790_000_000


@pytest.fixture
def deps(database: Database, clock: Clock, chain: FewAnswersChain) -> Deps:
    contracts = {"reserve_token": TOKEN, "usdc": STABLE}
    return replace(deps_of(database, clock, chain), contracts=contracts)


def hash_of(number: int) -> str:
    return "0x" + f"{number:064x}"


class Chain:
    """Blocks written as the indexer would, one event each."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database, self.clock, self.height = database, clock, 1
        self.waited = 0
        with database.write() as session:
            blocks.add_blocks(session, CHAIN, [self._header(1)], clock.now)
            at = Cursor(1, hash_of(1))
            blocks.start_cursor(session, TIP, CHAIN, at, 1, clock.now)
            blocks.save_mark(session, RESERVE_FOLLOWED, CHAIN, at, 1, clock.now)

    def _header(self, number: int) -> BlockHeader:
        return BlockHeader(
            number=number,
            hash=hash_of(number),
            parent_hash=hash_of(number - 1),
            timestamp=MINED_AT + number + self.waited,
            logs_bloom=0,
            transaction_hashes=(),
            base_fee_wei=None,
        )

    def take(self, fact: ReserveFact) -> None:
        before = Cursor(self.height, hash_of(self.height))
        self.height += 1
        number, now = self.height, self.clock.now
        log = RawLog(
            address=TOKEN,
            topics=(),
            data="0x",
            block_number=number,
            block_hash=hash_of(number),
            tx_hash=hash_of(10_000 + number),
            tx_index=0,
            log_index=0,
        )
        with self.database.write() as session:
            blocks.add_blocks(session, CHAIN, [self._header(number)], now)
            event = NewReserveEvent(fact, log, MINED_AT + number + self.waited)
            take_events(session, CHAIN, [event], now)
            at = Cursor(number, hash_of(number))
            blocks.move_cursor(session, TIP, before, at, 1, now)

    def wait(self, seconds: int) -> None:
        """And a block without a log of the price's."""
        self.waited += seconds
        self.take(ReserveFact(ReserveEventKind.UNPAUSED))

    def bought(self, who: str, usdc_e6: int, tokens: int) -> None:
        self.take(
            ReserveFact(
                ReserveEventKind.BOUGHT, party=who, recipient=who, tokens=tokens, usdc_e6=usdc_e6
            )
        )

    def converted(self, who: str, ref: str, tokens: int, usdc_e6: int) -> None:
        self.take(
            ReserveFact(
                ReserveEventKind.CONVERTED,
                party=who,
                account_ref=ref,
                tokens=tokens,
                usdc_e6=usdc_e6,
            )
        )

    def credit(self) -> None:
        with self.database.write() as session:
            at = Cursor(self.height, hash_of(self.height))
            blocks.save_mark(session, SAFE, CHAIN, at, 1, self.clock.now)
            turn = conversions.due(session, CHAIN, self.height, None, self.clock.now)
            for place in turn.holders:
                conversions.credit(session, place, self.clock.now)


@pytest.fixture
def token(database: Database, clock: Clock) -> Chain:
    found = Chain(database, clock)
    found.bought(OTHER, 102 * USDC, 10_000 * ONE)
    return found


def by(agent: dict[str, Any]) -> dict[str, str]:
    return {KEY: agent["api_key"]}


def linked(client: TestClient, agent: dict[str, Any], wallet: LocalAccount) -> str:
    assert link(client, agent["bearer_token"], wallet).status_code == 200
    return str(wallet.address)
