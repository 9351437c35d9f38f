"""Free text: what may be in it, how it is kept, and how what was stored before is shown."""

import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidParameterError
from core.texts import (
    MARKS_MOST,
    code_point,
    is_hidden,
    kept_text,
    refused_in,
    shown,
    shown_json,
)
from tests.each import each

HOSTILE = st.text(st.characters(codec=None, categories=None), min_size=1)
EVERY = [chr(one) for one in (*range(0x20000), *range(0xE0000, 0xE0200), 0xF0000, 0x10FFFF)]
REFUSED = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def is_taken(text: str, *, lines: bool = False) -> bool:
    try:
        kept_text("text", text, 4_000, lines=lines)
    except InvalidParameterError:
        return False
    return True


@each(("length", "taken"), [(0, False), (1, True), (4_000, True), (4_001, False)])
def test_a_text__has_one_to_the_most_characters(length: int, taken: bool) -> None:
    assert is_taken("\U0001f600" * length) is taken


def test_a_text_that_grows_when_it_is_composed__has_the_most_characters_then_too() -> None:
    assert kept_text("text", "\u0958", 2) == "\u0915\u093c"
    with pytest.raises(InvalidParameterError, match="write 1 to 1 characters"):
        kept_text("text", "\u0958", 1)


@each(
    ("sent", "kept"),
    [
        ("e\u0301", "\u00e9"),
        ("\u1112\u1161\u11ab", "\ud55c"),
        ("\u212b", "\u00c5"),
        ("ﬁ", "ﬁ"),
    ],
)
def test_a_text__is_kept_as_its_nfc(sent: str, kept: str) -> None:
    assert kept_text("text", sent, 10) == kept
    assert kept_text("text", sent, 10, exact=True) == sent


@each(
    "text",
    [
        *("<script>alert(1)</script>", "a & b", "%s", "\u0645\u0631", "\u5317\u3000\u4eac"),
        *("\u2764\ufe0f", "1\ufe0f\u20e3", "\u2764\ufe0f\u200d\U0001f525", "\U0001fa77"),
        *("\U0001f468\u200d\U0001f469", "\U0001f468\U0001f3fd\u200d\U0001f4bb"),
        *("\U0001f441\ufe0f\u200d\U0001f5e8\ufe0f", "\U0001f642\u200d\u2194\ufe0f"),
        *("\u2764\ufe0e", "\u00a9\ufe0f", "\u2122\ufe0e", "#\ufe0f\u20e3", "\u3297\ufe0f"),
        *("e\u0301", "\u0e33", "\u1112\u1161", "\u1820\u180b", "\ud55c\uad6d\uc5b4"),
    ],
)
def test_what_people_write__is_taken_markup_and_emoji_included(text: str) -> None:
    assert is_taken(text)
    assert shown(text) == text


@each(
    "text",
    [
        *("\u200d", "\u200c \u200d", "\u0301", "\u0301\u0302", "\u0903", "\ufe0f", "\u3164"),
        *("\u2800\u115f", "\uffa0\n", " ", "\n\n", "\u3000", "\u00a0", "\t"),
    ],
)
def test_what_nobody_sees__is_refused(text: str) -> None:
    assert not is_taken(text, lines=True)


@each(
    ("text", "named"),
    [
        *(("a\x00b", "U+0000"), ("a\x07", "U+0007"), ("a\rb", "U+000D"), ("a\x9bb", "U+009B")),
        *(("a\u202eb", "U+202E (RIGHT-TO-LEFT OVERRIDE)"), ("a\u2066b", "U+2066")),
        *(("a\u200fb", "U+200F"), ("a\u061cb", "U+061C"), ("a\u200bb", "U+200B")),
        *(("a\u200cb", "U+200C"), ("a\u2060b", "U+2060"), ("a\ufeffb", "U+FEFF")),
        *(("a\u00adb", "U+00AD"), ("a\u2028b", "U+2028"), ("a\U000e0041b", "U+E0041")),
        *(("a\ue000b", "U+E000"), ("a\U0010fffdb", "U+10FFFD"), ("a\u0378b", "U+0378")),
        *(("a\uffff", "U+FFFF"), ("a\ufdd0", "U+FDD0"), ("a\ud800b", "U+D800")),
        *(("a\u034fb", "U+034F"), ("a\u3164b", "U+3164"), ("a\u2800b", "U+2800")),
        *(
            ("a\ufe00b", "U+FE00"),
            ("a\ufe0fb", "U+FE0F"),
            ("1\ufe0f", "U+FE0F"),
            ("1\ufe0eb", "U+FE0E"),
        ),
        *(("\u845b\ufe00", "U+FE00"), ("\u2764\ufe01", "U+FE01"), ("\ufe0f\u20e3", "U+FE0F")),
        *(("a\U000e0100b", "U+E0100"), ("a\ufe0f\ufe0f", "U+FE0F"), ("a \ufe0f", "U+FE0F")),
        *(("a\u200db", "U+200D"), ("\U0001f468\u200d", "U+200D"), ("a\u180b", "U+180B")),
        *(("\U0001f3f4\U000e0067\U000e007f", "U+E0067"), ("\U0001f468\u200d\u200d", "U+200D")),
    ],
)
def test_what_hides_or_turns_text__is_refused_by_field_and_code_point(
    text: str, named: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        kept_text("field", text, 4_000, lines=True)
    assert str(refused.value).startswith(f"field: leave out {named}")


@each("one", ["\n", "\t"])
def test_line_feeds_and_tabs__are_taken_where_lines_are(one: str) -> None:
    assert is_taken(f"a{one}b", lines=True)
    assert not is_taken(f"a{one}b")


def test_of_all_characters__none_of_the_refused_kinds_is_taken_by_itself() -> None:
    taken = {one for one in EVERY if refused_in(f"a{one}b", lines=False) is None}
    assert {unicodedata.category(one) for one in taken} & REFUSED == set()
    assigned = {one for one in EVERY if unicodedata.category(one) not in {*REFUSED, "Cn"}}
    assert len(assigned - taken) < 270  # the fillers, the selectors
    assert all("\U0001f000" <= one <= "\U0001faff" for one in taken - assigned)


def test_marks__are_at_most_so_many_in_a_row() -> None:
    assert is_taken("x" + "\u0323" * MARKS_MOST + "y" + "\u0323" * MARKS_MOST)
    marks = [chr(one) for one in range(sys.maxunicode) if unicodedata.category(chr(one))[0] == "M"]
    assert "\u0323" in marks and len(marks) > 2_000
    for mark in marks:
        with pytest.raises(InvalidParameterError, match=rf"leave out U\+{ord(mark):04X}"):
            kept_text("field", "x" + mark * (MARKS_MOST + 1), 100, exact=True)


@given(HOSTILE)
def test_what_is_taken_between_letters__is_seen(hidden: str) -> None:
    """Nothing can be hidden in a text of letters: each character between them shows."""
    if refused_in("".join(f"a{one}" for one in hidden), lines=True) is None:
        assert not any(is_hidden(one) for one in hidden if one not in "\n\t")


@given(HOSTILE)
def test_what_is_taken__has_no_character_that_formats_or_controls(text: str) -> None:
    if is_taken(text, lines=True):
        found = {unicodedata.category(one) for one in text if one not in "\u200d\n\t"}
        assert found & REFUSED == set()
        assert text.encode("utf-8")


@given(HOSTILE)
def test_what_is_shown__would_be_taken(text: str) -> None:
    assert refused_in(shown(text), lines=True) is None
    assert shown(shown(text)) == shown(text)


def test_what_was_stored_before__is_shown_with_its_code_points() -> None:
    assert shown("pay \u202eeht\x00\U000e0041 now\n") == "pay \\u{202e}eht\\u{0}\\u{e0041} now\n"
    assert shown("two\r\nlines\r") == "two\nlines\\u{d}"
    row = {"a\u200b": ["x\u2066", 1, None, {"b": "\u2764\ufe0f"}]}
    assert shown_json(row) == {"a\\u{200b}": ["x\\u{2066}", 1, None, {"b": "\u2764\ufe0f"}]}


def test_a_code_point__is_named_where_unicode_names_it() -> None:
    assert (code_point("\u200b"), code_point("\x07")) == ("U+200B (ZERO WIDTH SPACE)", "U+0007")


@each("one", ["\u0301", "\u202e", "\u200d", "\ufe0f", "\ud55c", "\u0645", "\U0001f600"])
def test_a_long_text__is_looked_at_in_time_that_grows_with_it(one: str) -> None:
    began = time.perf_counter()
    shown(one * 100_000)
    assert time.perf_counter() - began < 2
