"""One way to write a value as bytes, and one way to chain bytes: what every append-only ledger is
hashed with.

Laws
- `canonical_json` is RFC 8785 (JCS) over strings, ints within plus or minus 2**53 - 1, booleans,
  None, lists and objects. A float is refused: its text depends on who prints it. Money is text in
  every ledger.
- `chain_hash(prev, body)` = SHA-256(prev || body). Changing, dropping or reordering a row changes
  every later hash.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import rfc8785

from core.errors import InvalidParameterError

_encode = msgspec.json.Encoder(order="sorted").encode

# RFC 8785 writes numbers as IEEE 754 doubles; a larger int is not exact there
MAX_SAFE_INT = 2**53 - 1
READ_AT_ONCE = 6  # objects and lists within one another; deeper ones take the other way


def _reader() -> msgspec.json.Decoder[Any]:
    """Of objects of plain values that are no deeper: any other JSON is refused, a float too."""
    leaf: Any = Annotated[int, msgspec.Meta(ge=-MAX_SAFE_INT, le=MAX_SAFE_INT)] | None | bool | str
    kind = leaf
    for _ in range(READ_AT_ONCE - 1):
        kind = leaf | dict[str, kind] | list[kind]  # type: ignore[valid-type]
    return msgspec.json.Decoder(dict[str, kind])  # type: ignore[valid-type]


_read = _reader().decode


def canonical_json(value: Any, path: str = "$") -> bytes:
    """The RFC 8785 bytes of a value.

    The same value gives the same bytes, whatever the order of its keys.

    Errors: InvalidParameterError names the path (below `path`) of what cannot be written (a float,
    an int beyond 2**53 - 1, a key that is not text, text that is no Unicode, any other type), or
    `path` itself of what is nested deeper than Python's stack.
    """
    try:
        return canonical_plain(value if _is_plain(value) else _plain(value, path))
    except RecursionError:
        raise _too_deep(path) from None


def canonical_plain(plain: Any) -> bytes:
    """`canonical_json` of a value that `canonical_json` took, or `read_canonical` gave, before: it
    is not looked at again.
    """
    written = _encode(plain)
    # In ASCII, sorted and compact JSON is what RFC 8785 says, and this encoder writes it twenty
    # times faster.
    return written if written.isascii() else rfc8785.dumps(plain)


def read_canonical(content: bytes) -> dict[str, Any] | None:
    """The object of which `content` is the `canonical_json`, where a look at the bytes shows that.

    None says nothing: what the bytes are is then for a JSON reader and `canonical_json` to say.
    """
    # without an escape there is no NUL and no surrogate: JSON has no bare control characters
    if not content.isascii() or b"\\" in content:
        return None
    try:
        found: dict[str, Any] = _read(content)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if _encode(found) == content else None


def plain_json(value: Any) -> Any:
    """The same value in plain dicts and lists, as a reader of its JSON gets it.

    Errors: as `canonical_json`.
    """
    try:
        return value if _is_plain(value) else _plain(value, "$")
    except RecursionError:
        raise _too_deep("$") from None


def chain_hash(prev: bytes, body: bytes) -> bytes:
    """SHA-256 over the previous hash (32 bytes) followed by the canonical bytes of the new
    entry.
    """
    return hashlib.sha256(prev + body).digest()


def _too_deep(path: str) -> InvalidParameterError:
    return InvalidParameterError(path, "nest lists and objects less deeply")


def _is_plain(value: Any) -> bool:
    """True when the value is made of plain dicts, lists and valid leaves throughout: then nothing
    need be converted.
    """
    kind = type(value)
    if kind is str:
        return _is_text(value)
    if kind is int:
        return bool(-MAX_SAFE_INT <= value <= MAX_SAFE_INT)
    if kind is dict:
        # A loop is faster than `all`, and this runs for every row.
        for key, item in value.items():  # noqa: SIM110
            if type(key) is not str or not _is_text(key) or not _is_plain(item):
                return False
        return True
    if kind is list:
        return all(map(_is_plain, value))
    return bool(value is None or kind is bool)


def _is_text(value: str) -> bool:
    return "\x00" not in value and (
        value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    )


def _plain(value: Any, path: str) -> Any:
    """The same value in plain dicts and lists, every leaf checked."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if abs(value) > MAX_SAFE_INT:
            raise InvalidParameterError(path, f"write integers beyond {MAX_SAFE_INT} as text")
        return int(value)
    if isinstance(value, Mapping):
        return {_text(key, path): _plain(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    raise InvalidParameterError(
        path,
        "write it as text, an integer, true, false, null, a list or an object, not "
        f"{type(value).__name__}",
    )


def _text(value: Any, path: str) -> str:
    """Text that every reader can store: valid Unicode without NUL (Postgres refuses both in
    jsonb).
    """
    if not isinstance(value, str):
        raise InvalidParameterError(path, "keys are text")
    if not _is_text(value):
        raise InvalidParameterError(path, "write text without NUL and without lone surrogates")
    return str(value)
