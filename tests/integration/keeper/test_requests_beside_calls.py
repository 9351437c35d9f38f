"""A round of the requests beside the calls that ask for more of them: the day's gas is kept by
both.
"""

import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from sqlalchemy import text

from core.chain.blocks import BlockHeader
from core.db.engine import Database
from core.keeper import gas, queue
from core.keeper.gas import TOTAL, GasBudgets
from core.keeper.intents import Intent
from core.keeper.queue import QueuePlace, RequestPayer
from core.keeper.requests import NewRequest, ask
from keeper.gas import Caps
from keeper.intents import Desk
from keeper.requests.round import RequestPrice, RequestRound
from keeper.send import Sender
from keeper.state import Role
from tests.personas import KEEPER

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
TODAY = NOW.date()
CHAIN = 84532
USDC = "0x" + "11" * 20
WEI = 100
BUDGETS = GasBudgets(total_wei=10**6, owner_wei=10**6, account_wei=10**6)
FIRST, SECOND = RequestPayer(account_id=7, owner_id=None), RequestPayer(account_id=8, owner_id=None)
HEAD = BlockHeader(1, "0x" + "22" * 32, "0x" + "21" * 32, int(NOW.timestamp()), 0, (), 1)
WAITS = text(
    "select count(*) from pg_stat_activity where datname = current_database() and "
    "wait_event_type = 'Lock'"
)


class _NothingSent:
    def advance(self, live: Sequence[Intent], now: datetime) -> list[Intent]:
        return list(live)


def round_at(database: Database, price_wei: int = WEI) -> RequestRound:
    """A round whose chain asks for this price, and that sends nothing."""
    nobody: Any = None
    desk = Desk(
        rpc=nobody,
        database=database,
        chain_id=CHAIN,
        signers={Role.CUSTODY: KEEPER.signer},
        caps=Caps(1, 1),
        epoch=lambda: 1,
        fence=lambda session: None,
    )
    made = _PricedRound(
        desk=desk,
        reader=nobody,
        max_head_age_s=10,
        builders={"custodial_transfer": lambda *_: b""},
        budgets=BUDGETS,
    )
    made.price_wei, made.sender = price_wei, cast("Sender", _NothingSent())
    return made


class _PricedRound(RequestRound):
    price_wei = WEI

    def price(self, under_way: Sequence[QueuePlace], now: datetime) -> RequestPrice:
        return RequestPrice(HEAD, self.price_wei, 0, 0, 20)


def asked_of(database: Database, *payers: RequestPayer) -> None:
    with database.write() as session:
        for n, payer in enumerate(payers):
            assert queue.count_in(session, {TOTAL: 100, payer.scope: 100}) is None
            request = NewRequest(
                key=f"k{n}",
                chain_id=CHAIN,
                kind="custodial_transfer",
                role="custody",
                to=USDC,
                reason={},
            )
            ask(session, request, NOW, payer)


def await_a_lock(database: Database) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with database.read() as session:
            if session.scalar(WAITS):
                return
        time.sleep(0.02)
    pytest.fail("nobody waits for the call")


def beside_a_call_of_the_second(database: Database, one_round: RequestRound) -> None:
    """The round begins while a call holds its account's figure and has yet to come to the figure of
    all.
    """
    failed = list[Exception]()

    def run() -> None:
        try:
            one_round.run(NOW)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    with database.write() as session:
        budgets = BUDGETS.of(SECOND.account_id, SECOND.owner_id)
        assert (
            gas.reserve(
                session, TODAY, {scope: wei for scope, wei in budgets.items() if scope != TOTAL}, 5
            )
            is None
        )
        thread.start()
        await_a_lock(database)
        assert gas.reserve(session, TODAY, {TOTAL: budgets[TOTAL]}, 5) is None
    thread.join(timeout=20)
    assert failed == []


@pytest.mark.parametrize("has_figures", [False, True])
def test_a_round_and_a_call__never_wait_for_each_other(
    database: Database, has_figures: bool
) -> None:
    asked_of(database, FIRST, SECOND)
    if has_figures:
        with database.write() as session:
            gas.hold(session, [("account:7", TODAY), ("account:8", TODAY), (TOTAL, TODAY)])
    beside_a_call_of_the_second(database, round_at(database))
    with database.read() as session:
        assert gas.used_wei(session, TODAY) == (0, 2 * WEI + 5)


def test_a_round_that_keeps_more_for_what_waits__waits_for_a_call_first(database: Database) -> None:
    asked_of(database, FIRST, SECOND)
    round_at(database).run(NOW)
    beside_a_call_of_the_second(database, round_at(database, 2 * WEI))
    with database.read() as session:
        assert gas.used_wei(session, TODAY) == (0, 2 * 2 * WEI + 5)
