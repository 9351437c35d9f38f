"""Answers that the process keeps: how long, of whom, and how many."""

from datetime import UTC, datetime, timedelta

import pytest
from starlette.requests import Request
from starlette.responses import Response

from api.catalogue import catalogue
from api.kernel.kept_answers import MOST_PLACE, OVERHEAD, KeptAnswers, place_of
from tests.each import each

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
BOARD = catalogue().by_key["board.rows"]
HALL = catalogue().by_key["hall.list"]


def request(query: str = "", **headers: str) -> Request:
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": "/board",
            "query_string": query.encode(),
            "headers": sent,
        }
    )


def kept(answers: KeptAnswers, name: str, size: int = 2, now: datetime = NOW) -> None:
    answers.keep(("board.rows", "/board", name.encode()), Response("x" * size), 5, now)


def is_there(answers: KeptAnswers, name: str, now: datetime = NOW) -> bool:
    return answers.find(("board.rows", "/board", name.encode()), now) is not None


def of_bytes(most: int, answers: int) -> KeptAnswers:
    return KeptAnswers(lambda: NOW, most + answers * OVERHEAD)


@each(("later_s", "found"), [(0, True), (4.999, True), (5, False), (-1, False)])
def test_an_answer__is_kept_for_its_max_age(later_s: float, found: bool) -> None:
    now = [NOW]
    answers = KeptAnswers(lambda: now[0])
    kept(answers, "a")
    now[0] += timedelta(seconds=later_s)
    assert is_there(answers, "a", now[0]) is found


def test_the_one_that_was_not_asked_for_longest__goes_first() -> None:
    answers = of_bytes(4, 2)
    kept(answers, "a")
    kept(answers, "b")
    assert is_there(answers, "a")
    kept(answers, "c")
    assert [is_there(answers, name) for name in "abc"] == [True, False, True]


def test_all_together__have_a_bound_in_bytes() -> None:
    answers = of_bytes(10, 2)
    kept(answers, "a", 6)
    kept(answers, "b", 4)
    assert [is_there(answers, name) for name in "ab"] == [True, True]
    kept(answers, "c", 1)
    assert [is_there(answers, name) for name in "abc"] == [False, True, True]
    kept(answers, "d", 11 + OVERHEAD)
    assert [is_there(answers, name) for name in "bcd"] == [True, True, False]


def test_an_answer_that_is_kept_again__counts_once() -> None:
    answers = of_bytes(10, 2)
    for _ in range(3):
        kept(answers, "a", 6)
    kept(answers, "b", 4)
    assert [is_there(answers, name) for name in "ab"] == [True, True]


def test_another_query__is_another_answer() -> None:
    assert place_of(request("q=A"), BOARD) != place_of(request("q=B"), BOARD)


@pytest.mark.parametrize("header", ["x_svc_user_key", "authorization"])
def test_a_call_with_a_credential__is_not_kept(header: str) -> None:
    assert place_of(request(**{header: "anything"}), BOARD) is None


def test_an_operation_that_does_not_keep__has_no_place() -> None:
    assert place_of(request(), HALL) is None


def test_a_query_that_is_too_long__has_no_place() -> None:
    assert place_of(request("q" * (MOST_PLACE - len("/board"))), BOARD) is not None
    assert place_of(request("q" * (MOST_PLACE - len("/board") + 1)), BOARD) is None


def test_only_what_anybody_may_read__is_kept() -> None:
    keeping = [one for one in catalogue().operations if one.cache and one.cache.keeps]
    assert keeping
    assert all(one.auth.is_free and one.cache.max_age_s and one.method == "GET" for one in keeping)
