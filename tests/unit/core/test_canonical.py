"""Canonical JSON: the same value, the same bytes; what has no one text is refused."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from core.canonical import (
    MAX_SAFE_INT,
    canonical_json,
    canonical_plain,
    chain_hash,
    plain_json,
    read_canonical,
)
from core.errors import InvalidParameterError
from tests.each import each


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


@each(
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


LEAVES = st.none() | st.booleans() | st.integers(-MAX_SAFE_INT, MAX_SAFE_INT) | st.text(max_size=8)
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def _canonical_or_none(value: Any) -> bytes | None:
    try:
        return canonical_json(value)
    except InvalidParameterError:
        return None


@given(st.dictionaries(st.text(max_size=4), PLAIN, max_size=4))
def test_read_canonical__gives_only_what_canonical_json_writes_so(value: dict[str, Any]) -> None:
    written = _canonical_or_none(value)
    if written is not None:
        assert read_canonical(written) in (value, None)
        assert canonical_plain(value) == written


@given(st.binary(max_size=24) | st.text(alphabet='{}[]",:\\ 0123456789.eE-+aubn', max_size=16))
def test_read_canonical__of_any_bytes__gives_nothing_that_canonical_json_writes_otherwise(
    content: bytes | str,
) -> None:
    content = content if isinstance(content, bytes) else content.encode()
    found = read_canonical(content)
    assert found is None or canonical_json(found) == content


def test_read_canonical__an_object_of_a_record__is_read_at_once() -> None:
    line = {
        "body": {"payload": {"executed": {"nonce": 7, "spent": "1.000000"}}, "seq": 1, "x": None}
    }
    assert read_canonical(canonical_json(line)) == line


@each(
    "content",
    [
        b'{"a":1.5}',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":-0}',
        b'{"a":9007199254740992}',
        b'{"a":-9007199254740992}',
        b'{"b":[1.5]}',
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a": 1}',
        b'{"a":1} ',
        b'{"a":1}\n',
        b'{"a":"\\u0000"}',
        b'{"a":"\\ud800"}',
        b'{"a":"\x00"}',
        b'{"a":"\\u0041"}',
        b"[1]",
        b"",
        b'{"a":[[[[[[1]]]]]]}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_read_canonical__what_is_not_shown_by_its_bytes__gives_none(content: bytes) -> None:
    assert read_canonical(content) is None


@each("leaf", ["a", "é", 0.5])
@each("write", [canonical_json, plain_json])
def test_a_value_deeper_than_the_stack__is_refused(
    write: Callable[[Any], Any], leaf: str | float
) -> None:
    deep: Any = leaf
    for _ in range(5_000):
        deep = {"a": [deep]}
    with pytest.raises(InvalidParameterError, match="nest lists and objects less deeply"):
        write(deep)


@pytest.mark.slow
def test_canonical_json__of_any_depth__is_written_or_refused() -> None:
    deep: Any = "é"
    for _ in range(1_000):
        deep = {"a": deep}
        try:
            canonical_json(deep)
        except InvalidParameterError:
            break
    else:
        pytest.fail("a value deeper than the stack was written")
