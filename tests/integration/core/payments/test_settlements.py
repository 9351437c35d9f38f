"""The day's gas: twenty at once take exactly what there is, and the receipt's cost takes the place
of what was reserved.
"""

import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.db.engine import Database
from core.payments import queries as payments
from core.payments import settlements
from core.payments.queries import Identity
from core.payments.rules import Cost
from core.payments.settlements import DailyGasBudget, Used

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
BUDGET = DailyGasBudget(all_wei=70, contract_wei=30)
COSTS_4 = Cost(4, is_reverted=False, bars_payer=False)


def identity() -> Identity:
    return bytes(20), secrets.token_bytes(20), secrets.token_bytes(32)


def reserve(
    database: Database,
    wei: int = 10,
    *,
    is_contract: bool = False,
    budget: DailyGasBudget = BUDGET,
    now: datetime = NOW,
) -> int | None:
    one = identity()
    with database.write() as session:
        payments.claim(
            session,
            one,
            resource="r",
            price_key="p",
            amount_usdc_e6=1,
            pay_to=bytes(20),
            signature_hash=bytes(32),
            claimed_block=0,
            claimed_at=now,
            valid_before=2**40,
        )
        return settlements.reserve(session, one, wei, budget, is_contract=is_contract, now=now)


def used(database: Database, now: datetime = NOW) -> Used:
    with database.read() as session:
        return settlements.used_on(session, now.date())


@pytest.mark.parametrize(("is_contract", "fits"), [(False, 7), (True, 3)])
def test_twenty_at_once__take_what_there_is(
    database: Database, is_contract: bool, fits: int
) -> None:
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: reserve(database, is_contract=is_contract), range(20)))
    assert sum(one is not None for one in found) == fits
    assert used(database) == Used(10 * fits, 10 * fits if is_contract else 0)


def test_what_is_used_up_for_contracts__is_left_for_others(database: Database) -> None:
    assert [reserve(database, is_contract=True) is not None for _ in range(4)] == [
        True,
        True,
        True,
        False,
    ]
    assert [reserve(database) is not None for _ in range(5)] == [True, True, True, True, False]


@pytest.mark.parametrize("wei", [71, 10**60])
def test_more_than_a_day_has__is_never_reserved(database: Database, wei: int) -> None:
    assert reserve(database, wei) is None
    assert used(database) == Used(0, 0)


def test_a_receipt__takes_the_place_of_what_was_reserved_once(database: Database) -> None:
    reserved = reserve(database, is_contract=True)
    assert reserved is not None
    with database.write() as session:
        assert settlements.close(session, reserved, COSTS_4)
        assert not settlements.close(session, reserved, replace(COSTS_4, wei=0))
    assert used(database) == Used(4, 4)


def test_a_cost_after_midnight__is_of_the_day_that_reserved_it(database: Database) -> None:
    reserved = reserve(database)
    assert reserved is not None
    tomorrow = NOW + timedelta(days=1)
    assert reserve(database, now=tomorrow) is not None
    with database.write() as session:
        settlements.close(session, reserved, replace(COSTS_4, wei=1))
    assert (used(database), used(database, tomorrow)) == (Used(1, 0), Used(10, 0))
