"""Which calls may share a read, and which answer is new enough for a call."""

from dataclasses import replace

import pytest

from api.catalogue import catalogue
from api.kernel.credentials import Credentials
from api.kernel.operation import Operation
from api.kernel.outcome import Outcome
from api.kernel.shared_reads import MOST_PLACE, SharedReads, place_of_read
from tests.each import each

BY_KEY = catalogue().by_key
OWN = BY_KEY["mandates.list"]
ONE = Credentials("key", None, "192.0.2.1")
PLACE = place_of_read(OWN, "/mandate-wallet/mandates", b"", ONE)


def answer(number: int) -> Outcome:
    return Outcome(200, {"number": number}, {})


def test_an_answer_of_a_read_that_began_after_a_call_arrived__is_its_own() -> None:
    reads = SharedReads()
    with reads.arrives(PLACE) as first, reads.arrives(PLACE) as second:
        assert first is not None and second is not None
        assert second.find() is None
        first.keep(second.at, answer(1))
        found = second.find()
        assert found is not None and found.outcome == answer(1)


def test_an_answer_of_a_read_that_began_before__is_not() -> None:
    reads = SharedReads()
    with reads.arrives(PLACE) as first, reads.arrives(PLACE) as second:
        assert first is not None and second is not None
        first.keep(second.at - 0.000_001, answer(1))
        assert second.find() is None


def test_an_answer_that_is_older__replaces_none() -> None:
    reads = SharedReads()
    with reads.arrives(PLACE) as first, reads.arrives(PLACE) as second:
        assert first is not None and second is not None
        second.keep(second.at + 2, answer(2))
        first.keep(second.at + 1, answer(1))
        found = first.find()
        assert found is not None and found.outcome == answer(2)


def test_an_answer__goes_with_the_last_call_that_waits() -> None:
    reads = SharedReads()
    with reads.arrives(PLACE) as first:
        assert first is not None
        first.keep(first.at + 3600, answer(1))
    with reads.arrives(PLACE) as later:
        assert later is not None and later.find() is None


def test_a_call_that_fails__leaves_nothing_behind() -> None:
    reads = SharedReads()
    with pytest.raises(ZeroDivisionError), reads.arrives(PLACE):
        raise ZeroDivisionError
    assert not reads._reads


def test_lines_of_text__are_one_callers() -> None:
    reads = SharedReads()
    with reads.arrives(PLACE) as arrival:
        assert arrival is not None
        arrival.keep(arrival.at, replace(answer(1), lines=iter("ab")))
        assert arrival.find() is None


@each(
    ("path", "query", "credentials"),
    [
        ("/mandate-wallet/mandates/m_a", b"", ONE),
        ("/mandate-wallet/mandates", b"limit=1", ONE),
        ("/mandate-wallet/mandates", b"", replace(ONE, key="another")),
        ("/mandate-wallet/mandates", b"", replace(ONE, bearer="token")),
        ("/mandate-wallet/mandates", b"", replace(ONE, client="192.0.2.2")),
    ],
)
def test_what_another_sent_or_asked_for__is_not_alike(
    path: str, query: bytes, credentials: Credentials
) -> None:
    assert place_of_read(OWN, path, query, credentials) != PLACE


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(one, id=one.key)
        for one in BY_KEY.values()
        if one.method != "GET" or one.sold is not None or one.streams
    ],
)
def test_writes_and_what_is_sold_and_streams__are_not_shared(operation: Operation) -> None:
    assert place_of_read(operation, operation.path, b"", ONE) is None


def test_a_long_query__is_nobody_elses() -> None:
    assert place_of_read(OWN, "/", b"q" * MOST_PLACE, ONE) is None
