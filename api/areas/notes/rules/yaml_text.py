"""YAML that every reader takes alike: frontmatter of notes (docs/notes.md#frontmatter).

A text is plain where YAML 1.1 and 1.2 both read it as that text; else it is quoted. `NO`, `1E5`,
`0x1F`, `12:30`, `2026-11-26` and `null` are texts here, and would be something else unquoted.
"""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from typing import Final

# `E5` is no number by any YAML, but one by a pattern of YAML 1.1 that readers have
_PLAIN: Final = re.compile(r"(?![Ee][0-9_]+\Z)[A-Za-z][A-Za-z0-9_]*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# what JSON leaves as it is, and YAML 1.1 reads as a line's end or refuses
_UNPRINTABLE: Final = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")

Scalar = str | bool | int | float | None


def scalar(value: Scalar) -> str:
    """One value. Errors: ValueError for a number that is none."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if not isfinite(value):
                raise ValueError("no figure")
            return f"{value:.4f}".rstrip("0").rstrip(".")
        case _:
            return text(value)


@lru_cache(maxsize=4_096)
def text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return _UNPRINTABLE.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )


def block(name: str, value: Scalar | Iterable[str] | Iterable[dict[str, str]]) -> str:
    """The lines of a key: a value, a list of texts, or a list of mappings of texts."""
    if value is None or isinstance(value, str | bool | int | float):
        return f"{name}: {scalar(value)}\n"
    lines = [f"{name}:\n"]
    for one in value:
        if isinstance(one, str):
            lines.append(f"  - {text(one)}\n")
        else:
            pairs = [f"{key}: {text(each)}\n" for key, each in one.items()]
            lines.append("  - " + "    ".join(pairs))
    return "".join(lines)
