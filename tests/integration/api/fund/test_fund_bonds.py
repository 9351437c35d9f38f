"""Bonds that are due: operators see those in USDC, the slow job gives those in credits back
(docs/fund.md#the-bond).
"""

from datetime import datetime
from typing import Any

import pytest

from api.areas.fund import jobs
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession
from core.errors import InvalidParameterError
from core.jobs.rules import ATTENTION
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import Follower, follower_of
from tests.integration.api.fund.pilots import TREASURY, WALLET, IndexWorld
from tests.integration.api.fund.test_fund_applications import (
    BOND,
    DAYS_14_S,
    balance,
    bonded,  # noqa: F401 (a fixture)
    chain,  # noqa: F401 (a fixture)
    credit_bonds,  # noqa: F401 (a fixture)
    deps,  # noqa: F401 (a fixture)
    payer,  # noqa: F401 (a fixture)
    world,  # noqa: F401 (a fixture)
)


def owed(world: IndexWorld, **query: Any) -> Any:
    """What operators find in their queue of bonds."""
    return world.office.client.get(
        "/admin/queue", params={"kind": "bond", **query}, headers=world.office.headers
    ).json()


def test_bonds_in_usdc_that_are_due__are_in_the_operators_queue_until_they_are_given_back(
    world: IndexWorld, payer: Follower, clock: Clock
) -> None:
    first = world.paid(payer).json()
    assert owed(world)["items"] == []  # nobody has decided
    world.move(first["application_id"], "approve")
    second = world.paid(payer).json()
    world.move(second["application_id"], "reject", reason="No.")
    due = {
        "application_id": second["application_id"],
        "state": "rejected",
        "usd": "2500.000000",
        "from": TREASURY,
        "to": WALLET,
        "paid_by": second["bond"]["paid_by"],
    }
    assert [one["bond"] for one in owed(world)["items"]] == [due]
    clock.pass_(seconds=DAYS_14_S - 1)
    assert len(owed(world)["items"]) == 1
    clock.pass_(seconds=1)  # the pilot is 14 days old
    page = owed(world, limit=1)
    assert page["items"][0]["bond"]["application_id"] == first["application_id"]
    assert page["items"][0]["at"] == "2026-12-05T12:00:00Z"
    rest = owed(world, limit=1, cursor=page["next_cursor"])
    assert ([one["bond"] for one in rest["items"]], rest["next_cursor"]) == ([due], None)
    for one in (first, second):
        back = world.chain.pay(TREASURY, WALLET, 2_500_000_000)
        world.move(one["application_id"], "return-bond", tx_hash=back)
    assert owed(world)["items"] == []


def test_a_bond_that_cannot_be_given_back__is_tried_again_and_stops_no_other(
    world: IndexWorld,
    bonded: Follower,
    credit_bonds: dict[int, int],
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = follower_of(bonded.client, world.deps, clock)
    credit_bonds[other.user_id] = BOND
    for one in (bonded, other):
        application_id = world.apply(one, bond_currency="credit").json()["application_id"]
        world.move(application_id, "approve")
    clock.pass_(seconds=DAYS_14_S)
    release = credit_ledger.release

    def release_but_one(session: WriteSession, account_id: int, key: str, now: datetime) -> Any:
        if account_id == bonded.user_id:
            raise InvalidParameterError("bond_key", "no bond of this account has this key")
        return release(session, account_id, key, now)

    with monkeypatch.context() as broken:
        broken.setattr(credit_ledger, "release", release_but_one)
        did = jobs.give_bonds_back(world.job_place(), clock.now)
    assert did == {"bonds": 1, ATTENTION: "1 of 2 failed and are tried again; the log has each"}
    assert [balance(world.deps, one.user_id)[1] for one in (bonded, other)] == [BOND, 0]
    assert jobs.give_bonds_back(world.job_place(), clock.now) == {"bonds": 1}
    assert balance(world.deps, bonded.user_id) == (100, 0)
