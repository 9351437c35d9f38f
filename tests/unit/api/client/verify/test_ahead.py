"""Answers come in the order of questions though two are under way, and nothing outlives the block."""

import threading
from time import monotonic

import pytest

from api.client.verify.ahead import Ahead

WITHIN_S = 10


def test_two_questions__are_under_way_at_once_and_answered_in_order() -> None:
    both = threading.Barrier(2, timeout=WITHIN_S)

    def ask(question: int) -> int:
        both.wait()
        return question * 10

    with Ahead(ask) as ahead:
        ahead.put(1)
        ahead.put(2)
        assert len(ahead) == 2
        told = [ahead.take() for _ in range(2)]
    assert [(question, answer.result()) for question, answer in told] == [(1, 10), (2, 20)]
    assert len(ahead) == 0


def test_an_error__comes_with_its_question_and_not_before() -> None:
    def ask(question: int) -> int:
        return 10 // question

    with Ahead(ask) as ahead:
        ahead.put(5)
        ahead.put(0)
        assert ahead.take()[1].result() == 2
        with pytest.raises(ZeroDivisionError):
            ahead.take()[1].result()


def test_a_block_that_ends__waits_for_what_was_asked_and_asks_no_more() -> None:
    asked, go, begun = list[int](), threading.Event(), threading.Barrier(3, timeout=WITHIN_S)

    def ask(question: int) -> None:
        begun.wait()
        go.wait(WITHIN_S)
        asked.append(question)

    began = monotonic()
    with Ahead(ask) as ahead:
        for question in range(3):
            ahead.put(question)
        begun.wait()
        ahead.forget()
        go.set()
    assert sorted(asked) == [0, 1]
    assert monotonic() - began < WITHIN_S
