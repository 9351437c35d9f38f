"""One place a group, for owned agents too (docs/payouts.md#groups)."""

from dataclasses import replace
from typing import Any

from eth_account import Account
from starlette.testclient import TestClient

from api.areas.earn.ledger import awards
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.tasks.rules import Truth
from api.areas.tasks.views import stage_counts
from tests.integration.api.conftest import Limit, login
from tests.integration.api.earn.people import fund
from tests.integration.api.tasks.conftest import CROWD, Market, agent, at_address, named

PAID, UNPAID = ("points_recorded", 30), ("verified", 0)


def of_five_owners(client: TestClient) -> list[dict[str, Any]]:
    wallets = [Account.from_key(f"0x{number:064x}") for number in range(51, 56)]
    return [agent(client, login(client, wallet)) for wallet in wallets]


def re_observed(market: Market, agents: list[dict[str, Any]], task_id: int) -> list[int]:
    """What each has earned when all agreed with what is approved."""
    for who in agents:
        assert market.claim(who, task_id).status_code == 201
        assert market.prove(who, task_id).status_code == 201
    market.review(Truth.MATCH)
    return [market.holds(who)[0] for who in agents]


def test_five_agents_of_five_owners_on_one_machine__are_paid_each(
    market: Market, limited: Limit
) -> None:
    """As with `make up`: a loopback address says nothing of who calls."""
    market = replace(market, client=limited("127.0.0.1", **CROWD))
    task_id = market.open_reobservation(market.agents[0])
    assert re_observed(market, of_five_owners(market.client), task_id) == [60] * 5


def test_five_agents_of_five_owners_at_one_public_address__take_one_place(market: Market) -> None:
    market.client.headers.update(at_address(99))
    task_id = market.open_reobservation(market.agents[0])
    assert re_observed(market, of_five_owners(market.client), task_id) == [60, 0, 0, 0, 0]
    assert market.stages(task_id) == [PAID, *[UNPAID] * 4]


def test_agents_that_one_wallet_funded__take_one_place_whoever_owns_them(
    market: Market, limited: Limit
) -> None:
    market = replace(market, client=limited("127.0.0.1", **CROWD))
    observers = of_five_owners(market.client)
    market.fund(observers[:2])
    task_id = market.open_reobservation(market.agents[0])
    assert re_observed(market, observers, task_id) == [60, 0, 60, 60, 60]


def test_a_value_of_ones_group__is_re_observed_by_somebody_else(market: Market) -> None:
    market.client.headers.update(at_address(99))
    one, other, *_ = of_five_owners(market.client)
    task_id = market.open_reobservation(one)
    assert named(market.claim(other, task_id)) == (403, "own_subject")
    assert market.claim(market.agents[0], task_id).status_code == 201


def test_a_re_observer_that_turns_out_to_be_of_the_submitters_group__is_paid_nothing(
    market: Market,
) -> None:
    submitter, friend, stranger = market.agents[:3]
    task_id = market.open_reobservation(submitter)
    for who in (friend, stranger):
        market.claim(who, task_id)
        market.prove(who, task_id)
    market.fund((submitter, friend))
    market.review(Truth.MATCH)
    assert market.stages(task_id) == [("void", 0), PAID]


def test_a_group__lets_a_task_lapse_once_a_day(market: Market) -> None:
    market.fund(market.agents[:2])
    task_id = market.offer()["id"]
    market.claim(market.agents[0], task_id)
    market.clock.pass_(hours=24)
    assert named(market.claim(market.agents[1], task_id)) == (409, "claim_lapsed")
    assert market.claim(market.agents[2], task_id).status_code == 201


def test_a_claim_whose_payout_was_cancelled__is_not_paid(market: Market, limited: Limit) -> None:
    market = replace(market, client=limited("127.0.0.1", **CROWD, payout_credits_per_day=0))
    submitter, observer = market.agents[:2]
    task_id = market.open_reobservation(submitter)
    market.claim(observer, task_id)
    market.prove(observer, task_id)
    market.review(Truth.MATCH, limits=PayoutLimits(day_budget=0))
    with market.deps.database.write() as session:
        for number, who in enumerate((submitter, observer), 1):
            fund(session, who["id"], "0x" + "ab" * 20, number)
        awards.drain(session, PayoutLimits(), market.deps.clock())
    [own] = market.client.get("/tasks/my/claims", headers=observer["headers"]).json()["claims"]
    assert own["status"] == "points_recorded"
    shown = market.read(task_id)
    assert shown["progress"]["furthest"] == "points_recorded"
    [payout] = market.client.get("/payouts/mine", headers=observer["headers"]).json()["payouts"]
    assert (payout["status"], payout["paid_credit"]) == ("cancelled", 0)
    with market.deps.database.read() as session:
        counts = stage_counts(session, [observer["id"]])
    assert (counts["points_recorded"], counts["paid"]) == (1, 0)
