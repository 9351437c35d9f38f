"""From protection level 2 on a post without standing locks a bond, which comes back."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from api.areas.earn.ledger import awards
from api.areas.rooms import jobs as job
from api.areas.rooms.writes.bonds import return_bonds
from api.kernel.jobs import JobPlace
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from tests.integration.api.conftest import login, reason
from tests.integration.api.rooms.conftest import Agent, Stage


def place(stage: Stage) -> JobPlace:
    return JobPlace(
        database=stage.database,
        reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
        mark_retention_days=90,
        intent_retention_days=90,
        limits=CallerLimits(),
    )


def returned(stage: Stage) -> int:
    """How many bonds the slow job returns now."""
    return int(job.run(place(stage), stage.clock.now)["returned"])


@pytest.fixture
def author(stage: Stage) -> Agent:
    """With 100 earned credits, and its entry fee paid of its welcome credit."""
    agent = stage.agent()
    stage.posted(agent)
    stage.earn(agent, 100)
    return agent


@pytest.mark.parametrize(("level", "bond"), [(0, 0), (1, 0), (2, 20), (3, 20)])
def test_a_post__locks_20_credits_from_level_2_on(
    stage: Stage, author: Agent, level: int, bond: int
) -> None:
    stage.defend(level)
    made = stage.posted(author)
    assert (made["bond_credits"], made["bond_due_at"]) == (
        bond,
        "2026-11-28T12:00:00Z" if bond else None,
    )
    bonded = {"bonded": bond} if bond else {}
    assert stage.credits(author) == {"welcome": 5, "earned": 100 - bond} | bonded
    stage.close_books()


def test_standing__needs_no_bond(stage: Stage, author: Agent) -> None:
    stage.defend(2)
    stage.trust(author)
    assert stage.posted(author)["bond_credits"] == 0


def test_an_owned_agent__is_not_exempt(stage: Stage, wallet: LocalAccount) -> None:
    owned = stage.agent(login(stage.client, wallet))
    stage.earn(owned, 20)
    stage.defend(2)
    assert stage.posted(owned)["bond_credits"] == 20


def test_welcome_credit__pays_no_bond_and_a_refused_post_pays_no_fee(stage: Stage) -> None:
    author = stage.agent()
    stage.earn(author, 19)
    stage.defend(2)
    before, held = stage.rows(), stage.credits(author)
    refused = stage.post(author)
    assert reason(refused) == (402, "credit_insufficient")
    assert "accepts" not in refused.json()
    assert refused.json()["service"]["remaining"] == {"credits": 19}
    assert refused.json()["detail"].startswith(
        "At this protection level a post without standing locks 20 credits for 7 days"
    )
    assert (stage.rows(), stage.credits(author)) == (before, held)
    stage.earn(author, 1)
    made = stage.posted(author)
    assert (made["fee_credits"], made["bond_credits"]) == (5, 20)
    assert stage.credits(author) == {"welcome": 5, "bonded": 20}


def test_the_bond__is_a_setting_that_prices_show(limited: Any, stage_of: Any) -> None:
    stage = stage_of(limited(bond_credits=3))
    author = stage.agent()
    stage.earn(author, 3)
    stage.defend(2)
    limits = {one["key"]: one["value"] for one in stage.client.get("/prices").json()["limits"]}
    assert (limits["bond"], stage.posted(author)["bond_credits"]) == (3, 3)


def test_a_bond__comes_back_after_seven_days_and_once(stage: Stage, author: Agent) -> None:
    stage.defend(2)
    stage.posted(author)
    stage.clock.pass_(days=7, microseconds=-1)
    assert returned(stage) == 0
    assert stage.credits(author)["bonded"] == 20
    stage.clock.pass_(microseconds=1)
    assert returned(stage) == 1
    assert stage.credits(author) == {"welcome": 5, "earned": 100}
    assert returned(stage) == 0
    ledger = stage.client.get("/credits/ledger", headers=author.key).json()["entries"]
    assert [one["kind"] for one in ledger[:2]] == ["release", "bond"]
    stage.close_books()


def test_a_bond__is_returned_whatever_the_level_is_by_then(stage: Stage, author: Agent) -> None:
    stage.defend(2)
    stage.posted(author)
    stage.defend(0)
    stage.clock.pass_(days=7)
    assert returned(stage) == 1


def test_one_run__returns_bonds_in_several_turns(
    stage: Stage, author: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "BONDS_A_TURN", 2)
    stage.defend(2)
    for _ in range(3):
        stage.posted(author)
    stage.clock.pass_(days=7)
    assert [returned(stage) for _ in range(2)] == [3, 0]


def test_the_job__holds_no_account_before_the_turn_of_payouts(stage: Stage, author: Agent) -> None:
    """Whoever pays holds accounts in an order of its own; it and the job waited for each other."""
    stage.defend(2)
    stage.posted(author)
    stage.clock.pass_(days=7)

    def return_now() -> None:
        with stage.database.write() as waits:
            waits.execute(text("set local lock_timeout = '200ms'"))
            return_bonds(waits, stage.clock.now, 10)

    with stage.database.write() as pays:
        awards.take_turn(pays)
        with pytest.raises(OperationalError, match="lock timeout"):
            return_now()
    assert returned(stage) == 1


# A case that names the post


def open_case(stage: Stage, operator: dict[str, str], agent: Agent, **named: Any) -> Any:
    body = {"agent_id": agent.user_id, "rule": "spam", "deadline": "2027-01-30T12:00:00Z"} | named
    return stage.client.post("/admin/violations", json=body, headers=operator)


def test_a_case_that_names_the_post__keeps_its_bond_until_it_is_closed(
    stage: Stage, author: Agent, operator: dict[str, str]
) -> None:
    stage.defend(2)
    message_id = stage.posted(author)["id"]
    case = open_case(stage, operator, author, message_id=message_id).json()["case"]
    stage.clock.pass_(days=30)
    assert (returned(stage), stage.credits(author)["bonded"]) == (0, 20)
    closed = stage.client.post(f"/admin/violations/{case}/close", headers=operator)
    assert closed.json()["status"] == "closed"
    assert (returned(stage), stage.credits(author)) == (1, {"welcome": 5, "earned": 100})


def test_a_case_that_names_no_post__keeps_no_bond(
    stage: Stage, author: Agent, operator: dict[str, str]
) -> None:
    stage.defend(2)
    stage.posted(author)
    assert open_case(stage, operator, author).status_code == 201
    stage.clock.pass_(days=7)
    assert returned(stage) == 1


def test_a_case__names_a_post_of_its_agent_that_has_a_bond(
    stage: Stage, author: Agent, operator: dict[str, str]
) -> None:
    plain = stage.posted(author)["id"]
    stage.defend(2)
    bonded = stage.posted(author)["id"]
    other = stage.agent()
    for agent, message_id in ((author, plain), (author, 999), (other, bonded)):
        refused = open_case(stage, operator, agent, message_id=message_id)
        assert refused.status_code == 400
        assert refused.json()["detail"].startswith("message_id: ")
    assert stage.client.get("/public/violations/notices").json()["notices"] == []
    assert open_case(stage, operator, author, message_id=bonded).status_code == 201
    again = open_case(stage, operator, author, message_id=bonded, rule="other")
    assert again.status_code == 400
