"""Canonical JSON: the same value, the same bytes; what has no one text is refused."""

import hashlib
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from core.canonical import MAX_SAFE_INT, canonical_json, chain_hash
from core.errors import InvalidParameterError


def test_canonical_json__sorts_keys_and_writes_no_spaces() -> None:
    assert (
        canonical_json({"b": [1, None, True], "a": {"é": "1.500000"}})
        == '{"a":{"é":"1.500000"},"b":[1,null,true]}'.encode()
    )


def test_canonical_json__keys_sort_by_utf16_units_as_rfc_8785_says() -> None:
    assert canonical_json({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize("safe", [MAX_SAFE_INT, -MAX_SAFE_INT])
def test_canonical_json__the_largest_safe_int__is_exact(safe: int) -> None:
    assert canonical_json(safe) == str(safe).encode()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, 2.5]}, r"\$\.a\[1\]"),
        ({"a": MAX_SAFE_INT + 1}, r"\$\.a"),
        ({"a": -MAX_SAFE_INT - 1}, r"\$\.a"),
        ({1: "x"}, r"\$"),
        ({"a": b"x"}, r"\$\.a"),
        ({"a": "nul \x00"}, r"\$\.a"),
        ({"a": "lone \ud800"}, r"\$\.a"),
        (float("nan"), r"\$"),
    ],
)
def test_canonical_json__what_has_no_one_text__is_refused_with_its_path(
    value: Any, path: str
) -> None:
    with pytest.raises(InvalidParameterError, match=path):
        canonical_json(value)


def test_chain_hash__is_sha256_of_the_previous_hash_and_the_body() -> None:
    assert chain_hash(b"\x01" * 32, b"{}") == hashlib.sha256(b"\x01" * 32 + b"{}").digest()


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_SAFE_INT, MAX_SAFE_INT) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_canonical_json__is_what_rfc_8785_writes(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)
