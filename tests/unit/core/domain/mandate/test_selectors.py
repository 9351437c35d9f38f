"""Signatures to selectors and words."""

import pytest

from core.domain.errors import InvalidParameterError
from core.domain.mandate.selectors import head_words, selector_from_text, selector_of


@pytest.mark.parametrize(
    ("signature", "selector"),
    [
        ("transfer(address,uint256)", "0xa9059cbb"),
        ("approve(address,uint256)", "0x095ea7b3"),
        ("deposit()", "0xd0e30db0"),
        ("exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))", "0x04e45aaf"),
    ],
)
def test_selector__of_a_known_function__is_the_known_one(signature: str, selector: str) -> None:
    assert selector_of(signature) == selector


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        ("f()", ()),
        ("f(uint256,address)", ("uint256", "address")),
        ("f(bytes,address)", ("offset", "address")),
        ("f((address,uint8)[2],bool)", ("address", "uint8", "address", "uint8", "bool")),
        ("f((address,bytes),address)", ("offset", "address")),
        ("f(address[],address[2])", ("offset", "address", "address")),
        ("f(bytes[2],int8)", ("offset", "int8")),
    ],
)
def test_head__of_arguments__holds_fixed_words_and_offsets(signature: str, words: tuple[str, ...]) -> None:
    assert head_words(signature) == words


@pytest.mark.parametrize(
    "signature",
    [
        "transfer",
        "transfer(address",
        "transfer(address,uint)",
        "transfer(address, uint256)",
        "transfer(address to,uint256 amount)",
        "transfer(address,)",
        "f((address)",
        "f(address))",
        "f)(",
        "f(uint7)",
        "f(bytes33)",
        "f(uint8[0])",
        "f(uint8[300])",
        "f(" + ",".join(["uint8"] * 256) + ")",
        "f(" + "(" * 20 + "uint8" + ")" * 20 + ")",
        "f(" + "uint8," * 200 + "uint8)",
        "1f()",
        "",
    ],
)
def test_signature__not_canonical__is_refused(signature: str) -> None:
    with pytest.raises(InvalidParameterError):
        selector_of(signature)


def test_selector__in_any_case__is_lower_case() -> None:
    assert selector_from_text("0xA9059CBB") == "0xa9059cbb"


@pytest.mark.parametrize("text", ["a9059cbb", "0xa9059cb", "0xa9059cbbb", "0xg9059cbb", None, 7])
def test_selector__in_another_form__is_refused(text: object) -> None:
    with pytest.raises(InvalidParameterError):
        selector_from_text(text)
