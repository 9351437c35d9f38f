"""Frontmatter that YAML 1.1 and 1.2 read alike."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from api.areas.notes.rules.yaml_text import block, scalar, text
from tests.each import each


@each(
    "value",
    [
        "NO", "no", "ON", "off", "Y", "n", "NULL", "null", "TRUE", "1E5", "E5", "e1_0", "0x1F", "0o17", "00", "1_000",
        "12:30", "2026-11-26", "~", "", "-", "a: b", "a #b", "- a", "[a]", "{a}", "&a", "*a", "!a",
        "'a'", '"a"', "|", ">", "%a", "@a", "`a", ".inf", ".nan", "=", "<<", "1.5", "+1", " a", "비트",
    ],
)  # fmt: skip
def test_a_text_that_could_be_something_else__is_quoted(value: str) -> None:
    assert text(value).startswith('"')
    assert yaml.safe_load(text(value)) == value


@each("value", ["BTC", "verified_same", "E5X", "A", "F", "Null1", "ONE"])
def test_a_text_that_can_be_nothing_else__stands_plain(value: str) -> None:
    assert text(value) == value
    assert yaml.safe_load(value) == value


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@example("\u2028\u2029\x85\x7f\ufeff\ufffe\U0001f600")
def test_any_text__reads_back(value: str) -> None:
    assert yaml.safe_load(f"key: {text(value)}\n") == {"key": value}


@each(
    ("value", "written"),
    [(None, "null"), (True, "true"), (12, "12"), (12.5, "12.5"), (0.0, "0"), (33.33333, "33.3333")],
)
def test_a_scalar__in_one_form(value: object, written: str) -> None:
    assert scalar(value) == written  # type: ignore[arg-type]


def test_a_number_that_is_none__is_refused() -> None:
    with pytest.raises(ValueError, match="no figure"):
        scalar(float("nan"))


def test_lists_and_mappings__are_blocks() -> None:
    written = block(
        "contracts", [{"chain": "eip155:1", "address": "0x1F"}, {"chain": "NO", "address": "a"}]
    )
    assert written == (
        'contracts:\n  - chain: "eip155:1"\n    address: "0x1F"\n  - chain: "NO"\n    address: a\n'
    )
    assert block("exchanges", ["on", "binance"]) == 'exchanges:\n  - "on"\n  - binance\n'
