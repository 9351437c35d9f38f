"""What a notice of a commit says."""

import pytest

from core.db.notices import EVERYTHING, MOST_BYTES, payload_of, topics_of


def test_a_payload__names_each_topic_once() -> None:
    assert payload_of({"o3", "m12", "m2"}) == "m12 m2 o3"
    assert topics_of("m12 m2 o3") == {"m12", "m2", "o3"}


@pytest.mark.parametrize(("more", "payload"), [(0, "as it is"), (1, EVERYTHING)])
def test_a_payload_that_is_too_long__says_that_anything_may_have_changed(
    more: int, payload: str
) -> None:
    topics = ["a" * 99] * 0 + [f"{number:099d}" for number in range(MOST_BYTES // 100)]
    topics[0] += "0" * (MOST_BYTES - len(" ".join(topics)) + more)
    made = payload_of(topics)
    assert made == (" ".join(sorted(topics)) if payload == "as it is" else EVERYTHING)
    assert len(made) <= MOST_BYTES


def test_everything__is_no_topic_but_all() -> None:
    assert topics_of(EVERYTHING) is None
