"""Places in the queue and the day's gas: counted exactly, however many ask at once, and given
back.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from core.chain.blocks import TransactionReceipt
from core.db.engine import Database, WriteSession
from core.keeper import gas
from core.keeper import intents as keeper
from core.keeper import queue as outbox_queue
from core.keeper import requests as outbox
from core.keeper.gas import TOTAL, GasBudgets
from core.keeper.intents import NewIntent, NewTx
from core.keeper.queue import RequestPayer
from core.keeper.requests import NewRequest
from core.keeper.tables import Outbox, OutboxQueue

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
TODAY = date(2026, 11, 2)
CHAIN = 84532
A = "0x" + "11" * 20
BUDGETS = GasBudgets(total_wei=1_000, owner_wei=500, account_wei=300)
OWNED, UNOWNED = RequestPayer(account_id=7, owner_id=3), RequestPayer(account_id=8, owner_id=None)


def ask(session: WriteSession, key: str, payer: RequestPayer | None = OWNED) -> int:
    request = NewRequest(
        key=key,
        chain_id=CHAIN,
        kind="custodial_transfer",
        role="custody",
        to=A,
        reason={},
    )
    if payer is not None:
        assert outbox_queue.count_in(session, {TOTAL: 100, payer.scope: 100}) is None
    return outbox.ask(session, request, NOW, payer)


def take(session: WriteSession, outbox_id: int, state: str, cost_wei: int | None = None) -> None:
    """An intent of the request in that state, mined at that cost."""
    planned = NewIntent(
        chain_id=CHAIN, subject=f"outbox:{outbox_id}", vault=None, outbox_id=outbox_id,
            kind="custodial_transfer", role="custody", to=A,
        data=b"", trigger_block_number=1, trigger_block_hash="0x" + "22" * 32, reason={},
    )  # fmt: skip
    made = keeper.add_intent(session, planned, 1, NOW, state)
    assert made is not None
    outbox_queue.take(session, [outbox_id])
    if cost_wei is None:
        return
    signed = NewTx(
        intent_id=made.id, signer=A, nonce=made.id, raw=b"", hash="0x" + f"{made.id:064x}",
            max_fee_wei=1, max_priority_fee_wei=1,
        offered_block=1,
    )  # fmt: skip
    keeper.add_tx(session, signed, NOW)
    (tx,) = keeper.attempts_of(session, [made.id])
    told = TransactionReceipt(
        tx.hash, 0, 1, "0x" + "22" * 32, 1, A, A, 1, 0, (), None if cost_wei < 0 else cost_wei
    )
    keeper.move_tx(session, tx, "mined", NOW, told)


def used(database: Database, scope: str = TOTAL, day: date = TODAY) -> tuple[int, int]:
    with database.read() as session:
        return gas.used_wei(session, day, scope)


def reserved(database: Database, wei: int, key: str = "k", now: datetime = NOW) -> int:
    """A request with so much kept for it."""
    with database.write() as session:
        outbox_id = ask(session, key)
        ((_, place),) = outbox_queue.due(session, CHAIN, now, 1)
        assert outbox_queue.reserve(session, place, BUDGETS, gas.day_of(now), wei) is None
    return outbox_id


# The queue


def test_twenty_at_once__take_the_places_there_are(database: Database) -> None:
    def one(n: int) -> str | None:
        with database.write() as session:
            full = outbox_queue.count_in(session, {TOTAL: 7, OWNED.scope: 100})
            if full is not None:
                session.rollback()
            return full

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert (answers.count(None), answers.count(TOTAL)) == (7, 13)
    with database.read() as session:
        assert (outbox_queue.waiting(session), outbox_queue.waiting(session, OWNED.scope)) == (7, 7)


def test_an_owners_agents__share_its_places_and_an_account_without_one_has_its_own(
    database: Database,
) -> None:
    caps = {TOTAL: 100, OWNED.scope: 1}
    with database.write() as session:
        assert outbox_queue.count_in(session, caps) is None
        assert (
            outbox_queue.count_in(
                session, {TOTAL: 100, RequestPayer(account_id=9, owner_id=3).scope: 1}
            )
            == "owner:3"
        )
        assert outbox_queue.count_in(session, {TOTAL: 100, UNOWNED.scope: 1}) is None


@pytest.mark.parametrize("state", ["done", "reverted", "refused"])
def test_what_ends_for_good__leaves_the_queue_and_its_counts(
    database: Database, state: str
) -> None:
    with database.write() as session:
        take(session, ask(session, "k"), state)
        assert outbox_queue.settle(session, CHAIN) == 1
    with database.read() as session:
        assert (outbox_queue.waiting(session), outbox_queue.waiting(session, OWNED.scope),
            outbox_queue.due(session, CHAIN, NOW, 9)) == (
            0, 0, [],
        )  # fmt: skip


@pytest.mark.parametrize("state", ["superseded", "nonce_lost"])
def test_what_has_to_be_sent_anew__waits_again(database: Database, state: str) -> None:
    with database.write() as session:
        outbox_id = ask(session, "k")
        take(session, outbox_id, state)
        assert outbox_queue.due(session, CHAIN, NOW, 9) == []
        outbox_queue.settle(session, CHAIN)
        assert [request.id for request, _ in outbox_queue.due(session, CHAIN, NOW, 9)] == [
            outbox_id
        ]
        assert outbox_queue.waiting(session) == 1


def test_what_is_under_way__is_not_settled(database: Database) -> None:
    with database.write() as session:
        take(session, ask(session, "k"), "mined", 5)
        assert outbox_queue.settle(session, CHAIN) == 0


def test_what_could_not_be_sent__waits_twice_as_long_each_time(database: Database) -> None:
    waits = []
    with database.write() as session:
        outbox_id = ask(session, "k")
        for _ in range(7):
            ((_, place),) = outbox_queue.due(session, CHAIN, NOW + timedelta(days=1), 1)
            outbox_queue.postpone(session, place, NOW, NOW)
            waits.append(
                next(
                    n
                    for n in range(99)
                    if outbox_queue.due(session, CHAIN, NOW + timedelta(minutes=n), 1)
                )
            )
    assert (outbox_id > 0, waits) == (True, [1, 2, 4, 8, 16, 32, 32])


def test_what_waits_for_the_next_days_gas__is_tried_for_an_hour_again(database: Database) -> None:
    with database.write() as session:
        outbox_id = ask(session, "k")
        ((_, place),) = outbox_queue.due(session, CHAIN, NOW, 1)
        outbox_queue.postpone(session, place, NOW, NOW)
        outbox_queue.wait_until(session, [outbox_id], NOW + timedelta(days=1))
        ((_, place),) = outbox_queue.due(session, CHAIN, NOW + timedelta(days=1), 1)
    assert (place.refused_at, place.tries) == (None, 0)


def test_due__is_the_oldest_first_and_no_more_than_asked(database: Database) -> None:
    with database.write() as session:
        ids = [ask(session, f"k{n}") for n in range(5)]
        assert [request.id for request, _ in outbox_queue.due(session, CHAIN, NOW, 3)] == ids[:3]


@pytest.mark.slow
def test_due__reads_what_it_answers_however_many_wait_and_were_ever_asked(
    database: Database,
) -> None:
    """A transfer's row of the outbox stays for good."""
    asked = {
        "chain_id": CHAIN,
        "kind": "custodial_transfer",
        "role": "custody",
        "to": b"\x11" * 20,
        "reason": {},
        "created_at": NOW,
    }
    queued = {"chain_id": CHAIN, "due_at": NOW, "tries": 0, "is_taken": False, "reserved_wei": 0}
    statements = list[tuple[str, Any]]()
    with database.write() as session:
        ids = list(
            session.scalars(
                insert(Outbox).returning(Outbox.id),
                [asked | {"key": f"k{n}"} for n in range(5_000)],
            )
        )
        session.execute(insert(OutboxQueue), [queued | {"outbox_id": one} for one in ids[2_000:]])
        session.execute(text("analyze outbox, outbox_queue"))
        event.listen(
            session.connection(),
            "before_cursor_execute",
            lambda *told: statements.append((told[2], told[3])),
        )
        assert len(outbox_queue.due(session, CHAIN, NOW, 20)) == 20
        statement, parameters = statements[-1]
        plan = "\n".join(
            row[0]
            for row in session.connection().exec_driver_sql(f"explain {statement}", parameters)
        )
    assert ("ix_outbox_queue_due" in plan, "Seq Scan" in plan) == (True, False), plan


# The day's gas


def test_twenty_at_once__keep_what_the_day_has(database: Database) -> None:
    def one(n: int) -> str | None:
        with database.write() as session:
            refused = gas.reserve(session, TODAY, BUDGETS.of(n, 3), 100)
            if refused is not None:
                session.rollback()
            return None if refused is None else refused.scope

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert (answers.count(None), answers.count("owner:3")) == (5, 15)
    assert (used(database), used(database, "owner:3")) == ((0, 500), (0, 500))


@pytest.mark.parametrize(("payer", "wei", "refused"), [
    (OWNED, 300, None), (OWNED, 301, "account:7"), (UNOWNED, 300, None), (UNOWNED, 301,
        "account:8"), (None, 1_000, None),
    (None, 1_001, TOTAL),
])  # fmt: skip
def test_a_budget__to_the_last_wei(
    database: Database, payer: RequestPayer | None, wei: int, refused: str | None
) -> None:
    ids = (None, None) if payer is None else (payer.account_id, payer.owner_id)
    with database.write() as session:
        no_gas = gas.reserve(session, TODAY, BUDGETS.of(*ids), wei)
        assert (None if no_gas is None else no_gas.scope) == refused
        session.rollback()


def test_no_room__says_what_is_spent_kept_and_needed(database: Database) -> None:
    with database.write() as session:
        assert gas.reserve(session, TODAY, BUDGETS.of(None, None), 900) is None
        gas.settle(session, [gas.SettledGas(TODAY, (TOTAL,), 300, 100)])
        found = gas.reserve(session, TODAY, BUDGETS.of(None, None), 301)
        assert found == gas.NoGas(
            scope=TOTAL, budget_wei=1_000, spent_wei=100, reserved_wei=600, needed_wei=301
        )
        session.rollback()


@pytest.mark.parametrize(("needed", "is_above", "is_used_up"), [
    (900, False, False), (901, False, True), (1_000, False, True), (1_001, True, True),
])  # fmt: skip
def test_no_room__is_for_the_day_or_for_a_while(
    needed: int, is_above: bool, is_used_up: bool
) -> None:
    found = gas.NoGas(
        scope=TOTAL, budget_wei=1_000, spent_wei=100, reserved_wei=600, needed_wei=needed
    )
    assert (found.is_above_budget, found.is_used_up) == (is_above, is_used_up)


def test_an_account_without_an_owner__has_an_owners_budget_at_most(database: Database) -> None:
    assert GasBudgets(total_wei=9, owner_wei=4, account_wei=6).of(8, None) == {
        "account:8": 4,
        TOTAL: 9,
    }


def test_refused_by_one_scope__nothing_is_kept_in_any(database: Database) -> None:
    with database.write() as session:
        ask(session, "k")
        ((_, place),) = outbox_queue.due(session, CHAIN, NOW, 1)
        assert (
            outbox_queue.reserve(
                session, place, GasBudgets(total_wei=1, owner_wei=500, account_wei=300), TODAY, 100
            )
            == TOTAL
        )
    assert [used(database, scope) for scope in ("account:7", "owner:3", TOTAL)] == [(0, 0)] * 3


def test_more_is_kept__where_more_is_needed_and_never_twice(database: Database) -> None:
    outbox_id = reserved(database, 100)
    with database.write() as session:
        ((_, place),) = outbox_queue.due(session, CHAIN, NOW, 1)
        for wei in (150, 50, 150):
            assert outbox_queue.reserve(session, place, BUDGETS, TODAY, wei) is None
            ((_, place),) = outbox_queue.due(session, CHAIN, NOW, 1)
    assert (place.outbox_id, place.reserved_wei, used(database)) == (outbox_id, 150, (0, 150))


def test_on_the_next_day__it_is_the_next_days_gas(database: Database) -> None:
    reserved(database, 100)
    with database.write() as session:
        ((_, place),) = outbox_queue.due(session, CHAIN, NOW, 1)
        assert outbox_queue.reserve(session, place, BUDGETS, TODAY + timedelta(days=1), 120) is None
    assert (used(database), used(database, day=TODAY + timedelta(days=1))) == ((0, 0), (0, 120))


@pytest.mark.parametrize(
    ("told_wei", "spent_wei"), [(40, 40), (0, 0), (100, 100), (101, 100), (-1, 100)]
)
def test_settled__by_the_receipt_and_by_what_was_kept_where_it_says_nothing_or_too_much(
    database: Database, told_wei: int, spent_wei: int
) -> None:
    """-1: the receipt names no price."""
    outbox_id = reserved(database, 100)
    with database.write() as session:
        take(session, outbox_id, "done", told_wei)
        outbox_queue.settle(session, CHAIN)
        outbox_queue.settle(session, CHAIN)
    assert [used(database, scope) for scope in ("account:7", "owner:3", TOTAL)] == [
        (spent_wei, 0)
    ] * 3


def test_settled__what_was_never_mined_costs_nothing(database: Database) -> None:
    outbox_id = reserved(database, 100)
    with database.write() as session:
        take(session, outbox_id, "refused")
        outbox_queue.settle(session, CHAIN)
    assert used(database) == (0, 0)
