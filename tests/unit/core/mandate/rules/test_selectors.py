"""Signatures to selectors and words."""

import pytest

from core import selectors
from core.errors import InvalidParameterError
from core.selectors import head_words, selector_from_text, selector_of
from tests.each import each


@each(
    ("signature", "selector"),
    [
        ("transfer(address,uint256)", "0xa9059cbb"),
        ("approve(address,uint256)", "0x095ea7b3"),
        ("deposit()", "0xd0e30db0"),
        (
            "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))",
            "0x04e45aaf",
        ),
    ],
)
def test_selector__of_a_known_function__is_the_known_one(signature: str, selector: str) -> None:
    assert selector_of(signature) == selector


@each(
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
def test_head__of_arguments__holds_fixed_words_and_offsets(
    signature: str, words: tuple[str, ...]
) -> None:
    assert head_words(signature) == words


@each(
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
        "f((),address)",
        "f(())",
        "f(()[2],address)",
        "f(address[1]\n[1]\n,uint256)",
        "f(address[1]\n)",
        "f(address)\n",
        "f\n(address)",
        "f(((uint8[255],uint8)[]))",
        "1f()",
        "",
    ],
)
def test_signature__not_canonical__is_refused(signature: str) -> None:
    with pytest.raises(InvalidParameterError):
        selector_of(signature)


def _nested(inner: str, depth: int) -> str:
    return "(" * depth + inner + ")" * depth + "[]"


WORST = {
    "a wide tuple, deep": f"f(address,{_nested(','.join(['uint8[255]'] * 43), 6)})",
    "full tuples side by side": f"f({','.join([_nested('uint8[255]', 6)] * 20)})",
    "full arrays side by side": f"f({','.join(['uint8[255][]'] * 39)})",
    "arrays of one": f"f({','.join(['bool[1][1][1][1][1][1][1][1]'] * 17)})",
    "single words": f"f({','.join(['bool'] * 102)})",
}


@pytest.mark.parametrize("name", WORST)
def test_worst_signature_of_512_characters__is_read_in_work_that_is_linear_in_its_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature, types, words = WORST[name], 0, 0
    assert len(signature) <= 512
    whole = selectors._words

    def counted(kind: str, depth: int) -> tuple[str, ...] | None:
        nonlocal types, words
        found = whole(kind, depth)
        types, words = types + 1, words + len(found or ())
        return found

    monkeypatch.setattr(selectors, "_words", counted)
    selectors._read.cache_clear()
    try:
        head_words(signature)
    except InvalidParameterError as error:
        assert error.rule == "more than 255 words of arguments"  # noqa: PT017
    assert types <= len(signature)
    assert words <= 255 * types


def test_tuple_of_too_many_words_in_a_dynamic_argument__is_refused_at_its_first_word_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    whole = selectors._words

    def watched(kind: str, depth: int) -> tuple[str, ...] | None:
        seen.append(kind)
        return whole(kind, depth)

    monkeypatch.setattr(selectors, "_words", watched)
    with pytest.raises(InvalidParameterError, match="more than 255 words"):
        head_words(WORST["a wide tuple, deep"])
    assert seen.count("uint8[255]") == 2  # of 43


def test_signature_read_again__costs_nothing() -> None:
    selectors._read.cache_clear()
    for field in ("a", "b", "c"):
        head_words("f(address,uint256)", field)
    assert (selectors._read.cache_info().misses, selectors._read.cache_info().hits) == (1, 2)
    assert selectors._read.cache_info().maxsize is not None


def test_selector__in_any_case__is_lower_case() -> None:
    assert selector_from_text("0xA9059CBB") == "0xa9059cbb"


@each("text", ["a9059cbb", "0xa9059cb", "0xa9059cbbb", "0xg9059cbb", None, 7])
def test_selector__in_another_form__is_refused(text: object) -> None:
    with pytest.raises(InvalidParameterError):
        selector_from_text(text)


def test_signature_with_names__is_told_to_leave_them_out() -> None:
    with pytest.raises(InvalidParameterError) as refused:
        head_words("deposit(uint256 amount,address receiver)")
    assert "types only" in str(refused.value)
