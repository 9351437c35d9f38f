"""Free text that people and agents write and others read: which characters it may have, and how what
was stored before these rules is shown.

    "pay\\u202e"    a new text     refused: leave out U+202E (RIGHT-TO-LEFT OVERRIDE)
    "pay\\u202e"    a stored one   shown as pay\\u{202e}
    "e\\u0301"      a new text     kept as its NFC, one character

Laws
- Refused: control characters (in texts of several lines but line feed and tab), what turns the
  direction of what is beside it, zero-width characters, tags, fillers that are blank, private
  use, what Unicode assigns to nothing, halves of surrogate pairs.
- A joiner is taken between two emoji alone, a variation selector (15 and 16, as text and as picture)
  after an emoji or in a keycap alone, one of Mongolian after a Mongolian letter: any text could be
  hidden in others, four bits a letter.
- At most MARKS_MOST combining marks in a row; one character at least can be seen, which a space or a
  mark is not.
- Lengths are counted in characters (code points), before NFC and after it; a character has four bytes
  at most.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from core.errors import InvalidParameterError

MARKS_MOST: Final = 8  # Tibetan and Hebrew stack fewer
NO_SUCH_CHARACTERS: Final = (
    "control, bidi, zero-width, tag, private-use and unassigned characters are not allowed"
)
_JOINER: Final = "\u200d"
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_UNSEEN: Final = _REFUSED | {"Cn", "Zs", "Mn", "Mc", "Me"}
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
# Assigned letters and marks that show nothing: Default_Ignorable_Code_Point of Unicode's
# DerivedCoreProperties.txt, and the blank of braille.
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)
# What a text of printable characters alone may still be refused for.
_LOOKED_AT: Final = re.compile(
    f"{_FILLERS.pattern}|[\u0300-\u10ff\u135d-\u135f\u1700-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2dff"
    f"\u302a-\u302f\u3099\u309a\ua66f-\uabf0\ufb1e\ufe20-\ufe2f\U000101fd-\U0001ffff]"
    f"{{{MARKS_MOST + 1}}}"
)
# What Unicode has not assigned here yet is an emoji of tomorrow (Extended_Pictographic).
_TOMORROW: Final = ("\U0001f000", "\U0001faff")
_EMOJI: Final = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff"
    f"{_TOMORROW[0]}-{_TOMORROW[1]}]"
)
_KEYCAP: Final = re.compile("[#*0-9]\ufe0f\u20e3")


def kept_text(field: str, text: str, most: int, *, lines: bool = False, exact: bool = False) -> str:
    """The text as it is kept: its NFC, or itself where `exact`. 1 to `most` characters.

    Errors: InvalidParameterError.
    """
    kept = text if exact else unicodedata.normalize("NFC", text)
    if not 1 <= len(text) <= most or len(kept) > most:  # a few letters become several
        raise InvalidParameterError(field, f"write 1 to {most} characters")
    if (rule := refused_in(kept, lines=lines)) is not None:
        raise InvalidParameterError(field, rule)
    if not any(unicodedata.category(one) not in _UNSEEN or _EMOJI.match(one) for one in kept):
        raise InvalidParameterError(
            field, "write at least one visible character; spaces and combining marks are not"
        )
    return kept


def refused_in(text: str, *, lines: bool) -> str | None:
    """What to leave out, in words. `lines`: line feeds and tabs are taken."""
    place = next(_refused_places(text, lines=lines), None)
    if place is None:
        return None
    one = text[place]
    if unicodedata.category(one) in _MARKS and _FILLERS.match(one) is None:
        return f"leave out {code_point(one)}; at most {MARKS_MOST} combining marks in a row are allowed"
    return f"leave out {code_point(one)}; {NO_SUCH_CHARACTERS}"


def code_point(one: str) -> str:
    """As Unicode writes it, with its name where it has one: U+202E (RIGHT-TO-LEFT OVERRIDE)."""
    name = unicodedata.name(one, "")
    return f"U+{ord(one):04X}" + (f" ({name})" if name else "")


def shown(text: str) -> str:
    """What was stored before these rules, so that all of it can be seen: `\\u{202e}` for a character
    that is refused. A line that ended as Windows ends it ends with a line feed.
    """
    text = text.replace("\r\n", "\n")
    hidden = set(_refused_places(text, lines=True))
    if not hidden:
        return text
    return "".join(
        f"\\u{{{ord(one):x}}}" if place in hidden else one for place, one in enumerate(text)
    )


def shown_json(value: Any, exact: frozenset[str] = frozenset()) -> Any:
    """The same JSON with each text, names of fields too, as `shown` writes it; what is under a
    name of `exact` as it is.
    """
    match value:
        case str():
            return shown(value)
        case Mapping():
            return {
                shown(name): item if name in exact else shown_json(item, exact)
                for name, item in value.items()
            }
        case list() | tuple():
            return [shown_json(item, exact) for item in value]
    return value


def escaped_json(text: str) -> str:
    """The same JSON text, each character of it that is refused as JSON's own escape: who reads it
    gets the same values.
    """
    hidden = set(_refused_places(text, lines=True))
    if not hidden:
        return text
    return "".join(
        json.dumps(one)[1:-1] if place in hidden else one for place, one in enumerate(text)
    )


def is_hidden(one: str) -> bool:
    """Whether the character shows nothing, or only changes what is beside it; spaces do show."""
    return unicodedata.category(one) in _REFUSED or _FILLERS.match(one) is not None


def _refused_places(text: str, *, lines: bool) -> Iterator[int]:
    if text.isprintable() and (text.isascii() or _LOOKED_AT.search(text) is None):
        return
    marks = 0
    for place, one in enumerate(text):
        kind = unicodedata.category(one)
        marks = marks + 1 if kind in _MARKS else 0
        if (
            marks > MARKS_MOST
            or (kind in _REFUSED and not _is_taken_within(text, place, lines=lines))
            or (kind == "Cn" and not _TOMORROW[0] <= one <= _TOMORROW[1])
            or (_FILLERS.match(one) is not None and not _selects(text, place))
        ):
            yield place


def _is_taken_within(text: str, place: int, *, lines: bool) -> bool:
    one = text[place]
    if one in "\n\t":
        return lines
    if one != _JOINER or place == 0:
        return False
    before = text[place - 1]
    if before == "\ufe0f" and place > 1:
        before = text[place - 2]
    return bool(_EMOJI.match(before) and _EMOJI.match(text, place + 1))


def _selects(text: str, place: int) -> bool:
    """Whether it is a selector, of the form of what is before it."""
    one, before = text[place], text[max(0, place - 1) : place]
    if one in "\ufe0e\ufe0f":
        return bool(_EMOJI.match(before)) or _KEYCAP.match(text, place - 1) is not None
    return "\u180b" <= one <= "\u180d" and "\u1820" <= before <= "\u18aa"
