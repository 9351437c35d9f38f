"""Call data for a function written as text, structs and arrays among its arguments. eth_abi's
decoder is the judge.
"""

from contextlib import suppress
from typing import Any

import pytest
from eth_abi import grammar
from eth_abi.abi import decode
from hypothesis import given
from hypothesis import strategies as st

from core.chain.abi import MOST_TYPES, AbiEncodeError, call_by_signature
from core.hexes import WRONG_CHECKSUM, ZERO_ADDRESS, bytes_of, hex_of
from core.selectors import selector_of
from tests.each import each
from tests.unit.core.mandate.rules.test_pins import KINDS, SIGNATURES, values_of
from tests.unit.core.test_hexes import ACCOUNT, EXCHANGED, OF_ANOTHER_CHAIN

VAULT = "0x" + "11" * 20


def written(value: Any) -> Any:
    """A value as JSON has it: lists for structs, hex for bytes."""
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    return hex_of(value) if isinstance(value, bytes) else value


def arguments_of(signature: str, kinds: list[str], arguments: list[Any]) -> list[Any]:
    data = call_by_signature(signature, arguments)
    assert data[:10] == selector_of(signature)
    return [written(value) for value in decode(kinds, bytes_of(data)[4:])]


@each(
    ("kinds", "arguments"),
    [
        (["(uint256,address)"], [[1, VAULT]]),
        (["(uint256,uint256)", "address"], [[1, 2], VAULT]),
        (["(uint256,bytes)[]"], [[[1, "0x11"], [2, "0x"]]]),
        (["uint256[2]"], [[1, 2]]),
        (
            ["address", "((bytes4,bool)[2],string)"],
            [VAULT, [[["0x11223344", True], ["0x55667788", False]], "text"]],
        ),
        (["function"], ["0x" + "11" * 24]),
        ([], []),
    ],
)
def test_structs_and_arrays__are_encoded(kinds: list[str], arguments: list[Any]) -> None:
    """The types were split at every comma before, and a struct was a defect of the service."""
    assert arguments_of(f"f({','.join(kinds)})", kinds, arguments) == arguments


@each(
    ("signature", "arguments"),
    [
        ("f((uint256,address))", [1, VAULT]),
        ("f((uint256,address))", [[1]]),
        ("f((uint256,address))", [[1, VAULT, 2]]),
        ("f((uint256,address))", [{"0": 1, "1": VAULT}]),
        ("f((uint256,address))", [None]),
        ("f(uint256[2])", [1, 2]),
        ("f(uint256[2])", [[1]]),
        ("f(address[])", [5]),
        ("f(string[])", ["abc"]),
        ("f(bytes)", [5]),
        ("f(bytes)", ["0xzz"]),
        ("f(string)", ["\ud800"]),
        ("f(uint256)", [1e400]),
        ("f((uint256,address)", [[1, VAULT]]),
        ("f(uint256))", [1]),
        ("f(uint)", [1]),
        ("f((uint256 amount))", [[1]]),
        ("(", []),
        ("", []),
    ],
)
def test_what_does_not_fit__is_an_encoding_error(signature: str, arguments: list[Any]) -> None:
    with pytest.raises(AbiEncodeError):
        call_by_signature(signature, arguments)


@each(
    ("kind", "value", "rule"),
    [
        ("bytes32", "0x" + "11" * 31, "write 32 bytes: 0x and 64 hex characters"),
        ("bytes32", "0x" + "11" * 33, "write 32 bytes: 0x and 64 hex characters"),
        ("bytes32", "0x2a", "write 32 bytes: 0x and 64 hex characters"),
        ("bytes32", "11" * 32, "write 32 bytes: 0x and 64 hex characters"),
        ("bytes32", "0x " + "11" * 32, "write 32 bytes: 0x and 64 hex characters"),
        ("bytes32", "", "write 32 bytes: 0x and 64 hex characters"),
        ("bytes32[]", ["0x" + "11" * 32, "0x"], "write 32 bytes: 0x and 64 hex characters"),
        ("(bool,bytes4)", [True, "0x112233"], "write 4 bytes: 0x and 8 hex characters"),
        ("bytes1", "0x", "write 1 bytes: 0x and 2 hex characters"),
        ("function", "0x" + "11" * 20, "write 24 bytes: 0x and 48 hex characters"),
        ("bytes", "0x1", "write bytes: 0x and an even number of hex characters"),
        ("bytes", "11", "write bytes: 0x and an even number of hex characters"),
        ("bytes", "0x11 22", "write bytes: 0x and an even number of hex characters"),
        ("address", "11" * 20, "write an address: 0x and 40 hex characters"),
        ("address", "0x" + "11" * 19, "write an address: 0x and 40 hex characters"),
        ("address", EXCHANGED, WRONG_CHECKSUM),
        ("(bool,address[])", [True, [ACCOUNT, OF_ANOTHER_CHAIN]], WRONG_CHECKSUM),
    ],
)
def test_bytes_and_addresses__are_written_whole(kind: str, value: Any, rule: str) -> None:
    """They were padded on the right: a lost byte was another id, and a typing error somebody else."""
    with pytest.raises(AbiEncodeError) as refused:
        call_by_signature(f"f({kind})", [value])
    assert refused.value.rule == rule


def test_the_zero_address__is_an_argument_like_any_other() -> None:
    assert arguments_of("f(address)", ["address"], [ZERO_ADDRESS]) == [ZERO_ADDRESS]


@given(SIGNATURES, st.data())
def test_values_of_any_types__come_back_from_the_decoder(
    kinds: list[str], draw: st.DataObject
) -> None:
    arguments = written(draw.draw(st.tuples(*map(values_of, kinds))))
    assert arguments_of(f"f({','.join(kinds)})", kinds, arguments) == arguments


def test_types_that_strangers_write__are_not_kept_for_ever() -> None:
    """2,000 signatures left 360 MB behind."""
    call_by_signature("f(bool)", [True])
    for size in range(1, 1_500):
        with suppress(AbiEncodeError):
            call_by_signature(f"f(bool[{size}])", [[]])
    assert grammar.parse.cache_info().currsize < MOST_TYPES + 10


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([VAULT, "0x", "0x11", "\ud800", "-"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=8,
)
# Types with a character taken out or put in, beside sound ones.
TEXTS = st.one_of(
    st.lists(KINDS, max_size=3).map(lambda kinds: f"f({','.join(kinds)})"),
    st.tuples(
        KINDS, st.integers(0, 30), st.sampled_from(["", "(", ")", ",", "[", "]", " ", "0", "x"])
    ).map(lambda cut: f"f({cut[0][: cut[1]]}{cut[2]}{cut[0][cut[1] + 1 :]})"),
    st.text("f()[],12 address\n", max_size=20),
)


@given(TEXTS, st.lists(JSON, max_size=3))
def test_any_text_and_any_values__give_call_data_or_an_encoding_error(
    signature: str, arguments: list[Any]
) -> None:
    try:
        data = call_by_signature(signature, arguments)
    except AbiEncodeError:
        return
    assert len(bytes_of(data)) % 32 == 4
