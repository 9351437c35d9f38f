"""Figures as answers write them."""

import json
from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from api.kernel.built import BuiltBody, encoded
from api.shared.figures import short, shorts
from tests.each import each

FIGURES = st.lists(st.none() | st.floats(width=64), max_size=20)


@given(FIGURES)
def test_many_figures__are_as_each_by_itself(values: list[float | None]) -> None:
    for found, one in zip(shorts(values), map(short, values), strict=True):
        assert found == short(found)
        if one is None or one == 0:
            assert found == one
        else:
            assert found is not None
            assert abs(found - one) <= 1.01e-7 * abs(one)


def test_what_is_not_finite__is_not_known() -> None:
    assert shorts([nan, inf, -inf, None, 0.0, -1234.56789, 1e300, 5e-324]) == [
        None, None, None, None, 0.0, -1234.5679, 1e300, 5e-324,
    ]  # fmt: skip


def test_what_was_stored_before__is_shown_in_the_body_and_its_bytes() -> None:
    body = BuiltBody[BaseModel]({"why": "pay \u202enow\x00", "names": ["\u2764\ufe0f", "e\u0301"]})
    assert body == {"why": "pay \\u{202e}now\\u{0}", "names": ["\u2764\ufe0f", "e\u0301"]}
    assert json.loads(body.text) == body


def test_what_is_hashed_or_verbatim__is_the_same_value_written_in_ascii() -> None:
    fields = {"rules": {"why": "a\u202eb"}, "stop_conditions": ["\U000e0041"]}
    body = BuiltBody[BaseModel](fields)
    assert body == fields
    assert json.loads(body.text) == fields
    assert body.text.isascii()
    assert b"\\u202e" in body.text


@each("text", ["plain", "\ud55c\uad6d\uc5b4", "\\u202e", "a\nb\tc", "caf\u00e9"])
def test_other_texts__stay_as_they_are(text: str) -> None:
    assert BuiltBody[BaseModel]({"text": text}).text == encoded({"text": text})
