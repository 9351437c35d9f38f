"""Posts are released, once each, and what that earns their authors."""

from typing import Any

import pytest
from eth_account import Account as EthAccount
from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from api.areas.earn.tables import EarnAward, EarnFeedRow
from tests.integration.api.conftest import Limit, login, reason
from tests.integration.api.earn.people import fund
from tests.integration.api.rooms.conftest import Agent, Stage, StageOf, agent_of


def released(stage: Stage, who: Agent, message_id: int, **body: Any) -> dict[str, Any]:
    answer = stage.release(who, message_id, **body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_release__pays_the_author_and_is_shown_with_the_post(stage: Stage) -> None:
    author, reader = stage.agent(agent_name="author"), stage.agent(agent_name="reader")
    message = stage.posted(author)
    stage.clock.pass_(minutes=1)
    assert released(stage, reader, message["id"]) == {
        "message_id": message["id"],
        "room_id": stage.room,
        "released": True,
        "released_at": "2026-11-21T12:01:00Z",
        "released_by": {"user_id": reader.user_id, "name": "reader"},
        "kind": None,
        "points": "0.5",
        "credits": 10,
    }
    assert stage.credits(author) == {"welcome": 5, "earned": 10}
    shown = stage.read()["messages"][0]
    assert shown["released"] is True
    assert shown["released_at"] == "2026-11-21T12:01:00Z"
    assert shown["released_by"] == {"user_id": reader.user_id, "name": "reader"}
    stage.close_books()


def test_a_release__is_an_award_of_the_rooms_and_a_row_of_the_public_ledger(stage: Stage) -> None:
    author, reader = stage.agent(), stage.agent()
    message_id = stage.posted(author)["id"]
    released(stage, reader, message_id)
    ref = f"room:message:{message_id}:author"
    with stage.database.read() as session:
        made = session.scalars(select(EarnAward)).one()
        assert (made.ref, made.source, made.account_id) == (ref, "room", author.user_id)
        assert (made.tenths, made.credits, made.paid_credits) == (5, 10, 10)
        query = select(EarnFeedRow).where(EarnFeedRow.kind == "room_released")
        row = session.scalars(query).one()
        assert (row.ref, row.account_id, row.tenths, row.credits, row.room_id) == (
            ref,
            author.user_id,
            5,
            10,
            stage.room,
        )


def test_an_authors_standing__makes_no_release_insightful(stage: Stage) -> None:
    author, reader = stage.agent(), stage.agent()
    stage.trust(author)
    made = released(stage, reader, stage.posted(author)["id"], kind="insightful")
    assert made["points"] == "0.5"


def test_the_same_agent_again__gets_the_first_answer_and_pays_nothing(stage: Stage) -> None:
    author, reader = stage.agent(), stage.agent()
    message_id = stage.posted(author)["id"]
    first = released(stage, reader, message_id)
    before, held = stage.rows(), stage.credits(author)
    stage.clock.pass_(hours=1)
    assert released(stage, reader, message_id) == first
    stage.trust(reader)
    assert released(stage, reader, message_id, kind="insightful") == first
    assert (stage.rows(), stage.credits(author)) == (before, held)


def refused(stage: Stage, who: Agent, message_id: int, **body: Any) -> tuple[int, str]:
    """What it is refused with, once nothing has moved."""
    before = stage.rows()
    answer = stage.release(who, message_id, **body)
    assert stage.rows() == before
    return answer.status_code, answer.json()["detail"]


def test_another_agent_later__is_refused_by_name(stage: Stage) -> None:
    author, reader, other = stage.agent(), stage.agent(), stage.agent()
    message_id = stage.posted(author)["id"]
    released(stage, reader, message_id)
    assert refused(stage, other, message_id) == (
        409,
        f"Message {message_id} was already released by agent {reader.user_id}; a message can be released once.",
    )
    assert stage.read()["messages"][0]["released_by"]["user_id"] == reader.user_id


def test_nobody__releases_a_post_of_its_own_or_of_its_owners_agents(
    stage: Stage, wallet: LocalAccount
) -> None:
    owner = login(stage.client, wallet)
    author, twin = stage.agent(owner), stage.agent(owner)
    message_id = stage.posted(author)["id"]
    for who in (author, twin):
        status, detail = refused(stage, who, message_id)
        assert status == 403
        assert detail.startswith(f"Message {message_id} is by you, or by another agent")
    loner = stage.agent()
    own = stage.posted(loner)["id"]
    assert refused(stage, loner, own)[0] == 403
    assert stage.credits(author) == {"welcome": 5}


def test_of_agents_without_owner__none_releases_a_post_of_its_own_network_address(
    stage: Stage, wallet: LocalAccount
) -> None:
    """Else a person with two agents would be paid all that the Rooms have."""
    author, twin = stage.agent(), stage.agent()
    for who in (author, twin):
        stage.move(who, "198.51.100.1")
    message_id = stage.posted(author)["id"]
    before = stage.rows()
    assert refused(stage, twin, message_id)[0] == 403
    assert stage.rows() == before
    owned = stage.agent(login(stage.client, wallet))
    assert released(stage, owned, message_id)["released"] is True


def test_of_agents_without_owner__none_releases_a_post_of_its_own_funding_wallet(
    stage: Stage,
) -> None:
    author, twin = stage.agent(), stage.agent()
    with stage.database.write() as session:
        for number, who in enumerate((author, twin), 1):
            fund(session, who.user_id, "0x01", number)
    assert refused(stage, twin, stage.posted(author)["id"])[0] == 403


def test_agents_of_two_owners_at_one_network_address__release_nothing_of_each_other(
    stage: Stage, limited: Limit, wallet: LocalAccount
) -> None:
    here = limited("203.0.113.77")
    author = agent_of(here, login(here, wallet))
    twin = agent_of(here, login(here, EthAccount.from_key("0x" + "77" * 32)))
    assert refused(stage, twin, stage.posted(author)["id"])[0] == 403


# Bounds of a day


def tried(stage: Stage, who: Agent, author: Agent) -> int:
    """The status of a release of one more post."""
    return int(stage.release(who, stage.posted(author)["id"]).status_code)


def test_two_groups__release_two_of_each_others_posts_a_day(stage: Stage) -> None:
    one, other = stage.agent(), stage.agent()
    for who in (one, other):
        stage.trust(who)
    assert [tried(stage, one, other), tried(stage, other, one)] == [200, 200]
    message_id = stage.posted(one)["id"]
    answer = stage.release(other, message_id)
    assert reason(answer) == (429, "rate_limited")
    assert answer.json()["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    assert answer.json()["detail"] == (
        "At most 2 posts can be released between you and the author per UTC day; release this "
        "one from 2026-11-22T00:00:00Z on."
    )
    assert not stage.read()["messages"][0]["released"]
    assert released(stage, stage.agent(), message_id)["released"] is True
    stage.clock.pass_(hours=12)
    assert tried(stage, other, one) == 200
    stage.close_books()


def test_a_group_without_standing__releases_three_posts_a_day(stage: Stage) -> None:
    reader, twin, authors = stage.agent(), stage.agent(), [stage.agent() for _ in range(4)]
    for who in (reader, twin):
        stage.move(who, "198.51.100.1")
    assert [tried(stage, reader, one) for one in authors[:3]] == [200] * 3
    assert [tried(stage, who, authors[3]) for who in (reader, twin)] == [429] * 2
    stage.trust(reader)
    assert tried(stage, reader, authors[3]) == 200


def test_of_an_author_without_standing__ten_posts_are_released_a_day(stage: Stage) -> None:
    author = stage.agent()
    assert [tried(stage, stage.agent(), author) for _ in range(10)] == [200] * 10
    stage.clock.pass_(hours=1)
    assert tried(stage, stage.agent(), author) == 429
    stage.trust(author)
    assert tried(stage, stage.agent(), author) == 200


def test_a_first_reply_of_ones_own_group__is_none(stage: Stage) -> None:
    author, twin, stranger = stage.agent(), stage.agent(), stage.agent()
    for who in (author, twin):
        stage.move(who, "198.51.100.1")
    asked = stage.posted(author)["id"]
    assert stage.posted(twin, reply_to=asked)["first_reply"] is False
    assert stage.posted(stranger, reply_to=asked)["first_reply"] is True


def test_a_summary__is_released_by_nobody(stage: Stage) -> None:
    status, detail = refused(stage, stage.agent(), stage.summary)
    assert status == 409
    assert detail.startswith(f"Message {stage.summary} is the service's summary of a submission;")


@pytest.mark.parametrize(
    ("body", "field"), [({"kind": "helpful"}, "kind"), ({"kind": 1}, "kind"), ({"to": 1}, "to")]
)
def test_a_bad_body__is_refused_by_its_field(
    stage: Stage, body: dict[str, Any], field: str
) -> None:
    author, reader = stage.agent(), stage.agent()
    status, detail = refused(stage, reader, stage.posted(author)["id"], **body)
    assert (status, detail.split(":")[0]) == (400, field)


def test_both_caps_of_the_rooms__hold_and_the_rest_is_queued(
    limited: Limit, stage_of: StageOf
) -> None:
    """Four releases of 10 credits each: a person has 15 a day, all Rooms together 25."""
    caps = {
        "rooms_payout_credits_per_person_per_day": 15,
        "rooms_payout_credits_per_day": 25,
    }
    stage = stage_of(limited(**caps))
    # of two network addresses, which have caps of their own
    one, other = (agent_of(limited(f"198.51.100.{n}", **caps)) for n in (1, 2))
    for author in (one, one, other, other):
        assert released(stage, stage.agent(), stage.posted(author)["id"])["credits"] == 10
    with stage.database.read() as session:
        awards = session.scalars(select(EarnAward).order_by(EarnAward.id)).all()
    parts = [(made.paid_credits, made.queued_credits) for made in awards]
    assert parts == [(10, 0), (5, 5), (10, 0), (0, 10)]
    stage.close_books()
