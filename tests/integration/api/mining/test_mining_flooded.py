"""Many values of one field, which somebody submits to keep its approval busy."""

from typing import Any

import pytest
from sqlalchemy import select

from api.areas.mining import jobs as job
from api.areas.mining.rules.registry import SentEntry
from api.areas.mining.schemas import ApprovedEntry
from api.areas.mining.tables import MiningFact
from api.areas.mining.writes import submissions
from api.areas.mining.writes.reviews import SUPERSEDED_AT_ONCE
from api.areas.mining.writes.submissions import Submitter
from core.listings.tables import ExchangeListing
from tests.integration.api.conftest import connect
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, EVIDENCE, Mine, entry, record

MANY = SUPERSEDED_AT_ONCE + 5


def flood(mine: Mine, agent: dict[str, Any], *sent: list[SentEntry]) -> None:
    by = Submitter(agent["user_id"], None, "198.51.100.7")
    with mine.database.write() as session:
        named = select(ExchangeListing.id).where(ExchangeListing.token_id == "binance_link_usdt")
        listing_id = session.scalars(named).one()
        for entries in sent:
            submissions.submit(session, by, listing_id, entries, None, mine.clock.now)


def sites(count: int) -> list[list[SentEntry]]:
    return [[SentEntry("website_url", f"https://example.com/{n}", EVIDENCE)] for n in range(count)]


@pytest.fixture
def flooder(mine: Mine) -> dict[str, Any]:
    return connect(mine.client, agent_name="flooder")


def statuses(mine: Mine, agent: dict[str, Any]) -> set[str]:
    return {one["status"] for one in mine.submissions(agent, limit=200)}


def clearing(mine: Mine) -> list[bool]:
    """Of each fact whether the job still looks for what conflicts with it."""
    with mine.database.read() as session:
        return [*session.scalars(select(MiningFact.is_clearing))]


def test_an_approval_beside_many_values__ends_no_more_than_twenty_of_them(
    mine: Mine, flooder: dict[str, Any], place: Any
) -> None:
    flood(mine, flooder, *sites(MANY))
    made = mine.submit(connect(mine.client), entry("website_url", "https://chain.link/"))
    approved = ApprovedEntry(**mine.approve(made))
    assert len(approved.superseded) == SUPERSEDED_AT_ONCE
    assert clearing(mine) == [True]

    assert job.supersede(place, mine.clock.now) == {"superseded": MANY - SUPERSEDED_AT_ONCE}
    assert statuses(mine, flooder) == {"rejected"}
    assert clearing(mine) == [False]
    assert job.supersede(place, mine.clock.now) == {"superseded": 0}


def test_an_approval_beside_twenty_values__leaves_the_job_nothing_to_look_at(
    mine: Mine, flooder: dict[str, Any]
) -> None:
    flood(mine, flooder, *sites(SUPERSEDED_AT_ONCE))
    mine.approve(mine.submit(connect(mine.client), entry("website_url", "https://chain.link/")))
    assert statuses(mine, flooder) == {"rejected"}
    assert clearing(mine) == [False]


@pytest.mark.slow
def test_what_is_still_to_be_superseded__is_not_approved(
    mine: Mine, flooder: dict[str, Any]
) -> None:
    flood(mine, flooder, *sites(MANY))
    mine.approve(mine.submit(connect(mine.client), entry("website_url", "https://chain.link/")))
    left = next(one for one in mine.submissions(flooder) if one["status"] == "pending")
    answer = mine.decide("approve", left["submission_id"], **record(left))
    assert (answer.status_code, "another value of its field" in answer.text) == (409, True)


def test_addresses_on_other_chains__are_ended_by_the_job_as_well(
    mine: Mine, flooder: dict[str, Any], place: Any
) -> None:
    other = [
        [
            SentEntry("blockchain", "base", EVIDENCE),
            SentEntry("contract_address", CONTRACT["field_value"], EVIDENCE),
        ]
    ]
    flood(mine, flooder, *other)
    tron = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"
    mine.approve(mine.submit(connect(mine.client), entry("blockchain", "tron")))
    assert statuses(mine, flooder) == {"rejected"}
    mine.submit(connect(mine.client), entry("contract_address", tron))
    assert job.supersede(place, mine.clock.now) == {"superseded": 0}
    assert mine.rows()["mining_fact"] == 1


def test_a_value_beside_no_fact__is_left_alone(
    mine: Mine, flooder: dict[str, Any], place: Any
) -> None:
    flood(mine, flooder, *sites(2))
    mine.approve(mine.submit(connect(mine.client), CHAIN))
    assert job.supersede(place, mine.clock.now) == {"superseded": 0}
    assert statuses(mine, flooder) == {"pending"}
