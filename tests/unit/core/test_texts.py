"""Free text: what may be in it, and how long it may be."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidParameterError
from core.texts import require_text
from tests.each import each

NOT_REFUSED = "\u200c\u200d"
HOSTILE = st.text(st.characters(codec=None, categories=None), min_size=1)


def is_taken(text: str, *, lines: bool = False) -> bool:
    try:
        require_text("text", text, 4_000, lines=lines)
    except InvalidParameterError:
        return False
    return True


@each(("length", "taken"), [(0, False), (1, True), (4_000, True), (4_001, False)])
def test_a_text__has_one_to_the_most_characters(length: int, taken: bool) -> None:
    assert is_taken("\U0001f600" * length) is taken


@each(
    "text",
    ["<script>alert(1)</script>", "a & b", "\U0001f468\u200d\U0001f469", "\u0645\u0631", "%s"],
)
def test_plain_text__is_taken_markup_included(text: str) -> None:
    assert is_taken(text)


@each(
    "text",
    [
        *("\u200d", "\u200c \u200d", "\u0301", "\ufe0f", "\u3164", "\u2800\u115f", "\uffa0\n"),
        *("a\U000e0100b", "a\U000e01efb"),
    ],
)
def test_what_nobody_sees__is_refused(text: str) -> None:
    assert not is_taken(text, lines=True)


@each("text", ["\u2764\ufe0f", "e\u0301", "\u0e33", "\u1112\u1161"])
def test_a_mark_on_what_is_seen__is_taken(text: str) -> None:
    assert is_taken(text)


@each(
    "text",
    [
        *(
            "a\x00b",
            "a\x07",
            "a\tb",
            "a\rb",
            "a\x9bb",
            "a\u202eb",
            "a\u2066b",
            "a\u200fb",
            "a\u061cb",
        ),
        *("a\u200bb", "a\ufeffb", "a\u2028b", "a\U000e0041b", "a\ud800b", " ", "\n\n", "\u3000"),
    ],
)
def test_what_hides_or_turns_text__is_refused_by_the_field(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^field: "):
        require_text("field", text, 4_000, lines=True)


def test_a_line_feed__is_taken_where_lines_are() -> None:
    assert is_taken("a\nb", lines=True)
    assert not is_taken("a\nb")


@given(HOSTILE)
def test_what_is_taken__has_no_character_that_formats_or_controls(text: str) -> None:
    if is_taken(text, lines=True):
        found = {unicodedata.category(one) for one in text if one not in NOT_REFUSED + "\n"}
        assert found & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()
        assert text.encode("utf-8")


@each(
    "text",
    [
        "a\u200c\u200d\u200cb",
        "a" + "\ufe00\ufe0f" * 9,
        "x\u034f\u034f\u034f",
        "\u2764" + "\ufe0f" * 3,
    ],
)
def test_a_row_of_what_shows_nothing__hides_no_text(text: str) -> None:
    assert not is_taken(text)


@pytest.mark.parametrize(
    "text", ["\u2764\ufe0f\u200d\U0001f525", "\u0645\u06cc\u200c\u062e", "1\ufe0f\u20e3"]
)
def test_two_of_them_on_what_is_seen__are_taken(text: str) -> None:
    assert is_taken(text)
