"""Nodes that are asked at once."""

import threading
import time

import pytest

from core.chain.at_once import AtOnce


def test_a_node_that_hangs__is_waited_for_a_moment_and_not_asked_anew_until_it_is_through() -> None:
    freed, asked = threading.Event(), []
    at_once = AtOnce()

    def hangs() -> str:
        asked.append(1)
        freed.wait(10)
        return "late"

    jobs = {"a": hangs, "b": lambda: "b", "c": lambda: None}
    started = time.monotonic()
    assert [at_once.ask(jobs, 0.1) for _ in range(3)] == [{"b": "b"}] * 3
    assert 0.1 <= time.monotonic() - started < 1
    assert len(asked) == 1
    freed.set()
    while not at_once._late["a"].done():
        time.sleep(0.001)
    assert at_once.ask(jobs, 5) == {"a": "late", "b": "b"}


def test_nobody_has_answered__each_is_waited_for_to_its_end() -> None:
    def slow() -> str:
        time.sleep(0.05)
        return "slow"

    assert AtOnce().ask({"a": lambda: None, "b": slow}, 0.0) == {"b": "slow"}


def test_what_a_job_raises__is_raised_where_it_was_asked() -> None:
    def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        AtOnce().ask({"a": fails, "b": fails}, 1)
