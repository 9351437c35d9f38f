"""Function signatures: from `sell(uint256)` to its selector and to the words its arguments begin
with.

Laws
- A signature is canonical or refused: no names, no spaces, no aliases (`uint`), or its hash would
  name nothing.
- Only the words of the head stand at fixed places. What a dynamic argument holds lies where the
  caller's offset points, so a pin on a word behind the head would pin nothing: a caller moves the
  offset and leaves the pinned word as a decoy.
- A signature may come from anybody, and stored ones are read at every reading: the work is linear
  in its text.

Pure: keccak256 is a function of bytes. Source: Solidity ABI specification, function selector and
argument encoding.
"""

import re
from functools import lru_cache
from itertools import chain
from typing import Final

from eth_utils.crypto import keccak

from core.errors import InvalidParameterError

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_SELECTOR = re.compile(r"0[xX][0-9a-fA-F]{8}", re.ASCII)
_SUFFIX = re.compile(r"\[([1-9][0-9]{0,3})?\]\Z", re.ASCII)
_WIDTHS = "|".join(str(bits) for bits in range(8, 257, 8))
_ELEMENTARY = re.compile(
    rf"address|bool|function|string|bytes|bytes([1-9]|[12][0-9]|3[0-2])|u?int({_WIDTHS})", re.ASCII
)
_DYNAMIC_ELEMENTARY = frozenset({"string", "bytes"})
_MAX_LENGTH: Final = 512
_MAX_WORDS: Final = 255
_MAX_DEPTH: Final = 8

OFFSET: Final = "offset"  # replaces a word that only says where a dynamic argument lies


def selector_of(signature: str, field: str = "signature") -> str:
    """The first four bytes of keccak256 of the signature: `transfer(address,uint256)` is
    `0xa9059cbb`.

    Errors: InvalidParameterError when the signature is not canonical.
    """
    head_words(signature, field)
    return "0x" + keccak(text=signature)[:4].hex()


def selector_from_text(text: object, field: str = "selector") -> str:
    """Read a selector in any case; returns lower case. Errors: InvalidParameterError."""
    if not isinstance(text, str) or not _SELECTOR.fullmatch(text):
        raise InvalidParameterError(field, "write a selector: 0x and 8 hex digits")
    return text.lower()


def head_words(signature: str, field: str = "signature") -> tuple[str, ...]:
    """The elementary type of each word of the head, in order; `offset` for a dynamic argument.

    `f((address,uint8)[2],bytes,bool)` is (address, uint8, address, uint8, offset, bool). At most
    255 words.
    Errors: InvalidParameterError when the signature is not canonical.
    """
    return tuple(word for words in argument_words(signature, field) for word in words)


def argument_words(signature: str, field: str = "signature") -> tuple[tuple[str, ...], ...]:
    """The words of the head, argument by argument.

    `f((address,uint8),bool)` is ((address, uint8), (bool,)).

    Errors: InvalidParameterError when the signature is not canonical.
    """
    if len(signature) > _MAX_LENGTH:
        raise InvalidParameterError(
            field, f"write a function such as sell(uint256), in at most {_MAX_LENGTH} characters"
        )
    try:
        return _read(signature)
    except ValueError as error:
        raise InvalidParameterError(field, str(error)) from error


def argument_types(signature: str, field: str = "signature") -> tuple[str, ...]:
    """The type of each argument. `f((address,uint8)[2],bool)` is ("(address,uint8)[2]", "bool").

    Errors: InvalidParameterError when the signature is not canonical.
    """
    argument_words(signature, field)
    return tuple(_split(signature.partition("(")[2][:-1]))


def element_type(kind: str) -> str | None:
    """Of an array, the type of its elements: `(bool,int8)[2][]` is `(bool,int8)[2]`. None for any
    other type.
    """
    return kind[: kind.rindex("[")] if kind.endswith("]") else None


def member_types(kind: str) -> tuple[str, ...]:
    """Of a tuple, the types of its members: `(bool,(int8,bytes))` is ("bool", "(int8,bytes)").
    Empty for any other type.
    """
    return tuple(_split(kind[1:-1])) if kind.startswith("(") and kind.endswith(")") else ()


@lru_cache(maxsize=1_024)
def _read(signature: str) -> tuple[tuple[str, ...], ...]:
    """The words of each argument. Errors: ValueError, whose text is the rule."""
    name, bracket, rest = signature.partition("(")
    if not _NAME.fullmatch(name) or not bracket or not rest.endswith(")"):
        raise ValueError(
            "write a function such as sell(uint256), types only, without spaces or names"
        )
    words, _ = _words_of_each(rest[:-1], 0)
    return tuple(words)


def _words_of_each(kinds: str, depth: int) -> tuple[list[tuple[str, ...]], bool]:
    """The words of each of the types, and whether one of them is dynamic."""
    found, count, is_dynamic = list[tuple[str, ...]](), 0, False
    for kind in _split(kinds):
        words = _words(kind, depth)
        is_dynamic |= words is None
        found.append((OFFSET,) if words is None else words)
        count = _bounded(count + len(found[-1]))
    return found, is_dynamic


def _words(kind: str, depth: int) -> tuple[str, ...] | None:
    """The words of a static type; None for a dynamic one.

    Never more than 255, also where the type around it is dynamic.

    That bound makes the work linear in the text: each type in it is read once, and copies 255 words
    at most per level.
    """
    if depth > _MAX_DEPTH:
        raise ValueError("types are nested too deep")
    suffix = _SUFFIX.search(kind)
    if suffix:
        inner = _words(kind[: suffix.start()], depth + 1)
        if suffix[1] is None or inner is None:
            return None
        _bounded(len(inner) * int(suffix[1]))
        return inner * int(suffix[1])
    if kind == "()":
        raise ValueError("() is no type of an argument; leave the empty tuple out")
    if kind.startswith("(") and kind.endswith(")"):
        members, is_dynamic = _words_of_each(kind[1:-1], depth + 1)
        return None if is_dynamic else tuple(chain.from_iterable(members))
    if " " in kind:
        raise ValueError(f"{kind} has a name or a space; write types only, such as sell(uint256)")
    if not _ELEMENTARY.fullmatch(kind):
        raise ValueError(f"{kind or 'an empty type'} is no canonical type; write uint256, not uint")
    return None if kind in _DYNAMIC_ELEMENTARY else (kind,)


def _bounded(count: int) -> int:
    if count > _MAX_WORDS:
        raise ValueError(f"more than {_MAX_WORDS} words of arguments")
    return count


def _split(parts: str) -> list[str]:
    """Split at the commas of the outermost level. `a,(b,c)` is [a, (b,c)]; nothing is []."""
    if not parts:
        return []
    found, depth, start = [], 0, 0
    for index, char in enumerate(parts):
        depth += (char == "(") - (char == ")")
        if depth < 0:
            raise ValueError("brackets do not match")
        if char == "," and depth == 0:
            found.append(parts[start:index])
            start = index + 1
    if depth:
        raise ValueError("brackets do not match")
    return [*found, parts[start:]]
