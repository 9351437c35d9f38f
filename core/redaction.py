"""What of a submitted value and its evidence is shown to everybody: in rooms, in the earn feed and in
the worked example of the first loop (docs/rooms.md#redaction).

    value       0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045     -> 0xd8…6045
    value       ethereum                                       -> null, since it has only eight characters
    evidence    https://etherscan.io/token/0xd8dA...#readProxy -> etherscan.io

Laws
- A value is its first four and last four characters; one of eight characters or fewer, which those
  would show whole, is not shown at all.
- Nothing that is shown has 20 hexadecimal digits in a row. In a host, parts that are hexadecimal
  digits alone count as one row with what is before them: an address may not be cut by dots.
- What is shown is printable: a character that is not, a surrogate included, is shown as U+FFFD.
- Both functions are total: they take any text and raise nothing.
"""

import re
from typing import Final
from urllib.parse import urlsplit

SHOWN_EACH_END: Final = 4
LONGEST_RUN: Final = 19  # hexadecimal digits in a row that may be shown
ELLIPSIS: Final = "\u2026"
UNKNOWN_HOST: Final = "unknown.invalid"  # RFC 2606: no host has this name


_HEX_ROW: Final = re.compile(r"[\da-f]+(?:[._-][\da-f]+(?![a-z\d]))*", re.ASCII)
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*"
)


def redact_value(text: str) -> str | None:
    """The first four and last four characters; None: there are eight or fewer."""
    if len(text) <= 2 * SHOWN_EACH_END:
        return None
    ends = f"{text[:SHOWN_EACH_END]}{ELLIPSIS}{text[-SHOWN_EACH_END:]}"
    return "".join(one if one.isprintable() else "\ufffd" for one in ends)


def evidence_host(url: str) -> str:
    """The host of a link, in lower case; `unknown.invalid` of what has none that DNS could have."""
    try:
        host = (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:  # brackets that hold no address
        return UNKNOWN_HOST
    if not _HOST.fullmatch(host):
        return UNKNOWN_HOST
    return _HEX_ROW.sub(_short_row, host)


def _short_row(found: re.Match[str]) -> str:
    digits = sum(one.isalnum() for one in found[0])
    return found[0] if digits <= LONGEST_RUN else ELLIPSIS
