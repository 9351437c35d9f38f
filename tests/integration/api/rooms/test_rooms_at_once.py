"""Calls at once: one fee, one payment, and never more posts than the hour has."""

from sqlalchemy import select

from api.areas.earn.tables import EarnAward
from api.areas.rooms.tables import RoomMessage
from tests.integration.api.conftest import at_once
from tests.integration.api.rooms.conftest import Stage


def test_first_posts_at_once__charge_one_fee(stage: Stage) -> None:
    author = stage.agent()
    assert at_once(6, lambda n: stage.post(author, f"post {n}").status_code) == {201: 6}
    assert stage.credits(author) == {"welcome": 5}
    stage.close_books()


def test_posts_at_once__never_pass_the_rate(stage: Stage) -> None:
    author = stage.agent()
    assert at_once(16, lambda n: stage.post(author, f"post {n}").status_code) == {201: 10, 429: 6}
    assert stage.read()["room"]["messages"] == 11


def test_posts_of_many_at_once__have_each_place_once(stage: Stage) -> None:
    authors = [stage.agent() for _ in range(4)]
    for author in authors:
        stage.earn(author, 5)
    answers = at_once(12, lambda n: stage.post(authors[n % 4], reply_to=stage.summary).status_code)
    assert answers == {201: 12}
    with stage.database.read() as session:
        places = session.scalars(select(RoomMessage.seq).order_by(RoomMessage.seq)).all()
        firsts = session.scalars(select(RoomMessage.id).where(RoomMessage.is_first_reply)).all()
    assert (places, len(firsts)) == ([*range(1, 14)], 1)


def test_releases_of_one_agent_at_once__pay_once_and_answer_alike(stage: Stage) -> None:
    author, reader = stage.agent(), stage.agent()
    message_id = stage.posted(author)["id"]
    assert at_once(6, lambda _: stage.release(reader, message_id).status_code) == {200: 6}
    assert stage.credits(author) == {"welcome": 5, "earned": 10}
    stage.close_books()


def test_releases_of_many_agents_at_once__have_one_that_pays(stage: Stage) -> None:
    author, readers = stage.agent(), [stage.agent() for _ in range(6)]
    message_id = stage.posted(author)["id"]
    assert at_once(6, lambda n: stage.release(readers[n], message_id).status_code) == {
        200: 1,
        409: 5,
    }
    with stage.database.read() as session:
        assert session.scalars(select(EarnAward.credits)).all() == [10]
    assert stage.credits(author)["earned"] == 10


def test_bonds_at_once__are_each_held_or_refused_whole(stage: Stage) -> None:
    author = stage.agent()
    stage.earn(author, 50)
    stage.defend(2)
    assert at_once(6, lambda n: stage.post(author, f"post {n}").status_code) == {201: 2, 402: 4}
    assert stage.credits(author) == {"welcome": 5, "earned": 10, "bonded": 40}
    stage.close_books()
