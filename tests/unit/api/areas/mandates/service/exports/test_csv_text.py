"""CSV that no spreadsheet runs: read by a reader that knows nothing of us, and split where a
spreadsheet of another locale splits it.
"""

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mandates.service.exports.csv_text import cell, csv_text
from core.texts import shown
from tests.each import each

SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 - the wide ones too
TEXT = st.text(
    st.one_of(
        st.sampled_from("=+-@＝;\t\r\n\"\u2028, 'a1\ufeff"),  # noqa: RUF001
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=12,
)


def file_of(value: Any) -> str:
    return csv_text(("line", "value"), [{"line": "step", "value": value}]).decode()


def read(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def begins_a_formula(piece: str) -> bool:
    return piece.strip('"\ufeff\u200b\x00 \t').startswith(SIGNS)


def pieces(text: str, separator: str) -> list[str]:
    """What a spreadsheet may take for cells: with quotes that count and without."""
    by_reader = [piece for row in read(text, separator) for piece in row]
    return [*by_reader, *re.split(f"[{separator}\r\n\u2028]", text)]


@given(TEXT)
def test_a_text__reads_back_as_itself_but_for_apostrophes(text: str) -> None:
    header, line = read(file_of(text))
    assert (header, line[0], line[1].replace("'", "")) == (
        ["line", "value"],
        "step",
        shown(text).replace("'", ""),
    )


@pytest.mark.parametrize("separator", [";", "\t"])
@given(value=st.one_of(TEXT, st.lists(TEXT, max_size=2), st.dictionaries(TEXT, TEXT, max_size=2)))
def test_no_cell_of_another_separator__begins_a_formula(separator: str, value: Any) -> None:
    assert [piece for piece in pieces(file_of(value), separator) if begins_a_formula(piece)] == []


@given(st.one_of(st.lists(TEXT, max_size=3), st.dictionaries(TEXT, TEXT, max_size=3)))
def test_json__reads_back_as_itself(value: Any) -> None:
    assert json.loads(read(file_of(value))[1][1]) == value


@each(
    "text",
    ["=1+1", "+1-1", "-cmd|x", "@SUM(A1)", " =1", "＝1", "-1.5 left", "--1", "\tplain"],  # noqa: RUF001
)
def test_a_text_that_begins_like_a_formula__is_made_plain(text: str) -> None:
    assert cell(text) == f"'{text}"


@each(
    ("text", "plain"),
    [
        ("a;=1+1", "a;'=1+1"),
        ("a\t=1", "a\t'=1"),
        ("a; +1", "a;' +1"),
        ('a;"=1', "a;'\"=1"),
        ("a\n@x", "a\n'@x"),
        ("a\r\n@x", "a\n'@x"),
        ("\t=1", "'\t'=1"),
        ("=1;=2;-3", "'=1;'=2;'-3"),
    ],
)
def test_a_formula_behind_a_separator_of_another_locale__is_made_plain(
    text: str, plain: str
) -> None:
    assert cell(text) == plain


@each("text", ["-29.990000", "-5", "1e5 is a lot", "buy 5", "a=b", "", "'=1", "a;'=1", "a; b=1"])
def test_a_number_or_another_text__is_left_alone(text: str) -> None:
    assert cell(text) == text


def test_unknown_is_empty_and_objects_are_json() -> None:
    assert [cell(one) for one in (None, True, 7, [1, 2], {"b": None, "a": "원"})] == [
        "",
        "true",
        "7",
        "[1,2]",
        '{"a":"원","b":null}',
    ]


def test_what_would_be_hidden__is_shown() -> None:
    assert cell("pay \u202enow\x00") == "pay \\u{202e}now\\u{0}"
    assert cell(["a\u202eb", "\U000e0041"]) == '["a\\u202eb","\\udb40\\udc41"]'


def test_a_formula_in_json__is_an_escape() -> None:
    assert cell({"why": "a;=1", "at": -1}) == '{"at":-1,"why":"a;\\u003d1"}'
