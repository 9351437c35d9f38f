"""What one caller can take of the queue and of the service's gas, and what is said when there is no
more.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import httpx
import pytest
from eth_account import Account as Keys
from sqlalchemy import update

from api.kernel.limits import Limits
from core.custody.rules import TRANSFER_GAS
from core.identity.tables import Account
from core.keeper import gas
from core.money import eth_text
from tests.integration.api.conftest import reason
from tests.integration.api.custody.conftest import NEW, PROVISION, USDC, Stage

MUCH = 10**18


def limits(**changes: int) -> Limits:
    """As given, with gas for everybody otherwise."""
    names = (
        "custody_gas_wei_per_day",
        "custody_gas_wei_per_owner_per_day",
        "custody_gas_wei_per_account_per_day",
    )
    return Limits(**dict.fromkeys(names, MUCH) | changes)


def owned_by_one(stage: Stage, *ids: int) -> None:
    """Both agents have the same owner."""
    with stage.database.write() as session:
        owner = Account(
            kind="owner",
            name="owner",
            wallet_address=bytes.fromhex(Keys.create().address[2:]),
            created_at=stage.clock.now,
        )
        session.add(owner)
        session.flush()
        session.execute(update(Account).where(Account.id.in_(ids)).values(owner_id=owner.id))


def account_of(stage: Stage, starter: str) -> int:
    return stage.sealed(starter).account_id


def one_transfers_gas(stage: Stage) -> int:
    """What is kept when a transfer is asked for."""
    header = stage.chain.reader.header()
    assert header is not None and header.base_fee_wei is not None
    return TRANSFER_GAS * 3 * header.base_fee_wei


# How little


@pytest.mark.parametrize("amount", ["0.000001", "0.999999"])
def test_less_than_one_usdc__is_refused_by_its_field(stage: Stage, amount: str) -> None:
    answer = stage.ask(amount)
    assert reason(answer) == (400, "invalid_parameter")
    assert answer.json()["detail"].startswith(
        "amount_usdc: write at least 1.000000, or null for all"
    )
    assert (stage.requests(), stage.ask("1.000000").status_code) == ((0, 0), 202)


# The queue


def test_the_owners_last_place__and_one_more(stage: Stage) -> None:
    other = stage.new_agent(Keys.create())
    starters = [stage.starter, stage.provisioned(100 * USDC, other)]
    owned_by_one(stage, *(account_of(stage, one) for one in starters))
    stage.serve(NEW, limits=limits(custody_queue_per_owner=2))
    assert [stage.ask(of=who).status_code for who in (stage.agent, other)] == [202, 202]
    answer = stage.ask(of=other)
    assert reason(answer) == (429, "rate_limited")
    assert "2 transfers of your owner's agents are under way" in answer.json()["detail"]
    assert [call["path"] for call in answer.json()["service"]["next"]][:2] == [
        "/agent/wallet/transfers",
        "/auth/wallet/status",
    ]
    assert "retry_at" in answer.json()["service"]
    assert stage.requests() == (2, 2)


def test_a_full_queue__is_the_services_to_empty(stage: Stage) -> None:
    stage.serve(NEW, limits=limits(custody_queue=1))
    assert stage.ask().status_code == 202
    answer = stage.ask()
    assert reason(answer) == (503, "temporarily_unavailable")
    assert int(answer.headers["Retry-After"]) == 60


# The day's gas


BUDGETS = pytest.mark.parametrize(("budget", "status", "whose"), [
    ("custody_gas_wei_per_account_per_day", 429, "of this account"),
    ("custody_gas_wei_per_owner_per_day", 429, "of this account"),
    ("custody_gas_wei_per_day", 503, "the service pays for transfers in a day"),
])  # fmt: skip


def spent(stage: Stage, starter: str, wei: int) -> None:
    """What is kept today for the account's transfers has cost so much."""
    with stage.database.write() as session:
        day, scopes = stage.clock.now.date(), gas.scopes_of(account_of(stage, starter), None)
        gas.settle(session, [gas.SettledGas(day, scopes, gas.used_wei(session, day)[1], wei)])


def helped(answer: httpx.Response) -> bool:
    """It says what can be done meanwhile, in words and calls."""
    paths = [call["path"] for call in answer.json()["service"]["next"]]
    words = ("Nothing was moved", "you move them with your own")
    return all(one in answer.json()["detail"] for one in words) and paths[:2] == [
        "/agent/wallet/transfers",
        "/auth/wallet/status",
    ]


@BUDGETS
def test_a_transfer_above_the_whole_budget__waits_for_cheaper_gas(
    stage: Stage, budget: str, status: int, whose: str
) -> None:
    """The day was called used up, though nobody had ever asked."""
    needed = one_transfers_gas(stage)
    stage.serve(NEW, limits=limits(**{budget: needed - 1}))
    answer = stage.ask()
    assert (reason(answer), answer.headers["Retry-After"], helped(answer)) == (
        (503, "temporarily_unavailable"),
        "60",
        True,
    )
    assert answer.json()["detail"].startswith(
        f"One transfer may cost {eth_text(needed)} ETH at the current gas price, more than the "
    )
    assert whose in answer.json()["detail"]
    assert "ask again when gas is cheaper" in answer.json()["detail"]


def test_the_days_transfers_of_an_account__are_refused_with_when_and_what_else(
    stage: Stage,
) -> None:
    stage.serve(NEW, limits=limits(custodial_transfers_per_day=1))
    assert stage.ask().status_code == 202
    answer = stage.ask()
    midnight = datetime.combine(stage.clock.now.date() + timedelta(days=1), time(0), UTC)
    assert (reason(answer), helped(answer)) == ((429, "rate_limited"), True)
    assert "has already asked for 1 transfers today" in answer.json()["detail"]
    assert datetime.fromisoformat(answer.json()["service"]["retry_at"]) == midnight
    stage.clock.now = midnight
    assert stage.ask().status_code == 202


@BUDGETS
def test_the_days_gas_is_used_up__says_when_and_what_else(
    stage: Stage, budget: str, status: int, whose: str
) -> None:
    stage.serve(NEW, limits=limits(**{budget: one_transfers_gas(stage)}))
    assert stage.ask().status_code == 202
    spent(stage, stage.starter, 1)
    answer = stage.ask()
    block: dict[str, Any] = answer.json()["service"]
    midnight = datetime.combine(stage.clock.now.date() + timedelta(days=1), time(0), UTC)
    assert (answer.status_code, block["retry_at"]) == (
        status,
        midnight.isoformat().replace("+00:00", "Z"),
    )
    for words in (whose, "is used up: 0.", "ask again from 00:00 UTC on"):
        assert words in answer.json()["detail"]
    assert helped(answer)
    assert stage.requests() == (1, 1)
    stage.clock.now = midnight
    assert stage.ask().status_code == 202


def test_provisioning__needs_no_room(bare: Stage) -> None:
    bare.serve(NEW, limits=limits(custody_gas_wei_per_day=0))
    assert bare.post(PROVISION).status_code == 200
