"""One place a group, for owned agents too (docs/payouts.md#groups)."""

from typing import Any

from eth_account import Account
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.earn.ledger import awards
from core.earn.rules.payout import PayoutLimits
from core.tasks import market
from core.tasks.rules import Truth
from core.tasks.views import stage_counts
from tests.integration.api.conftest import Limit, login
from tests.integration.api.tasks.conftest import (
    CROWD,
    ENTRY,
    agent,
    at_address,
    claimed,
    holds,
    named,
    open_reobservation,
    prove,
    review,
    stages,
)
from tests.integration.core.earn.people import fund

PAID, UNPAID = ("points_recorded", 30), ("verified", 0)


def of_five_owners(client: TestClient) -> list[dict[str, Any]]:
    wallets = [Account.from_key(f"0x{number:064x}") for number in range(51, 56)]
    return [agent(client, login(client, wallet)) for wallet in wallets]


def re_observed(
    client: TestClient, deps: Deps, agents: list[dict[str, Any]], task_id: int
) -> list[int]:
    """What each has earned when all agreed with what is approved."""
    for who in agents:
        assert claimed(client, who, task_id).status_code == 201
        assert prove(client, deps, who, task_id).status_code == 201
    review(deps, Truth.MATCH)
    return [holds(deps, who)[0] for who in agents]


def test_five_agents_of_five_owners_on_one_machine__are_paid_each(
    limited: Limit, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    """As with `make up`: a loopback address says nothing of who calls."""
    client = limited("127.0.0.1", **CROWD)
    task_id = open_reobservation(deps, agents[0])
    assert re_observed(client, deps, of_five_owners(client), task_id) == [60] * 5


def test_five_agents_of_five_owners_at_one_public_address__take_one_place(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    crowded.headers.update(at_address(99))
    task_id = open_reobservation(deps, agents[0])
    assert re_observed(crowded, deps, of_five_owners(crowded), task_id) == [60, 0, 0, 0, 0]
    assert stages(deps, task_id) == [PAID, *[UNPAID] * 4]


def test_agents_that_one_wallet_funded__take_one_place_whoever_owns_them(
    limited: Limit, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    client = limited("127.0.0.1", **CROWD)
    observers = of_five_owners(client)
    with deps.database.write() as session:
        for number, who in enumerate(observers[:2], 1):
            fund(session, who["id"], "0x" + "ab" * 20, number)
    task_id = open_reobservation(deps, agents[0])
    assert re_observed(client, deps, observers, task_id) == [60, 0, 60, 60, 60]


def test_a_value_of_ones_group__is_re_observed_by_somebody_else(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    crowded.headers.update(at_address(99))
    one, other, *_ = of_five_owners(crowded)
    task_id = open_reobservation(deps, one)
    assert named(claimed(crowded, other, task_id)) == (403, "own_subject")
    assert claimed(crowded, agents[0], task_id).status_code == 201


def test_a_re_observer_that_turns_out_to_be_of_the_submitters_group__is_paid_nothing(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    submitter, friend, stranger = agents[:3]
    task_id = open_reobservation(deps, submitter)
    for who in (friend, stranger):
        claimed(crowded, who, task_id)
        prove(crowded, deps, who, task_id)
    with deps.database.write() as session:
        for number, who in enumerate((submitter, friend), 1):
            fund(session, who["id"], "0x" + "ab" * 20, number)
    review(deps, Truth.MATCH)
    assert stages(deps, task_id) == [("void", 0), PAID]


def test_a_group__lets_a_task_lapse_once_a_day(
    crowded: TestClient, deps: Deps, clock: Any, offered: Any, agents: list[dict[str, Any]]
) -> None:
    with deps.database.write() as session:
        for number, who in enumerate(agents[:2], 1):
            fund(session, who["id"], "0x" + "ab" * 20, number)
    task_id = offered()["id"]
    claimed(crowded, agents[0], task_id)
    clock.pass_(hours=24)
    assert named(claimed(crowded, agents[1], task_id)) == (409, "claim_lapsed")
    assert claimed(crowded, agents[2], task_id).status_code == 201


def test_a_claim_whose_payout_was_cancelled__is_not_paid(
    limited: Limit, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    client = limited("127.0.0.1", **CROWD, payout_credits_per_day=0)
    submitter, observer = agents[:2]
    task_id = open_reobservation(deps, submitter)
    claimed(client, observer, task_id)
    prove(client, deps, observer, task_id)
    with deps.database.write() as session:
        market.review_ended(session, ENTRY, Truth.MATCH, PayoutLimits(day_budget=0), deps.clock())
        for number, who in enumerate((submitter, observer), 1):
            fund(session, who["id"], "0x" + "ab" * 20, number)
        awards.drain(session, PayoutLimits(), deps.clock())
    [own] = client.get("/tasks/my/claims", headers=observer["headers"]).json()["claims"]
    assert own["status"] == "points_recorded"
    shown = client.get(f"/tasks/{task_id}").json()
    assert shown["progress"]["furthest"] == "points_recorded"
    [payout] = client.get("/payouts/mine", headers=observer["headers"]).json()["payouts"]
    assert (payout["status"], payout["paid_credit"]) == ("cancelled", 0)
    with deps.database.read() as session:
        counts = stage_counts(session, [observer["id"]])
    assert (counts["points_recorded"], counts["paid"]) == (1, 0)
