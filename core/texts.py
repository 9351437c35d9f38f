"""Free text that callers send and everybody reads: stored and shown as text, never as HTML.

Laws
- No control character but the line feed, where lines are allowed; no character that changes the
  direction of what stands beside it, no tag character, no selector of the supplement (any text can
  be hidden in a row of them) and nothing else that is only there to format (the joiners of scripts
  and emoji excepted); no half of a surrogate pair.
- At most two characters in a row that show nothing (joiners, selectors, fillers): an emoji has two,
  and a text could be hidden in more.
- One character at least can be seen: no space, joiner or mark alone, and no letter that is blank.
- Lengths are counted in characters (code points).
"""

import re
import unicodedata
from typing import Final

from core.errors import InvalidParameterError

LINE_FEED: Final = "\n"
JOINERS: Final = "\u200c\u200d"
# control, format, surrogate, line separator, paragraph separator
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNSEEN: Final = _REFUSED | {"Zs", "Mn", "Me"}
_BLANK_LETTERS: Final = "\u115f\u1160\u2800\u3164\uffa0"
_SELECTORS: Final = ("\U000e0100", "\U000e01ef")  # variation selectors 17 to 256
# What shows nothing though its category is of a letter or mark: Default_Ignorable_Code_Point of
# Unicode's DerivedCoreProperties.txt, and the blank of braille.
_SHOWS_NOTHING: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)
_HIDDEN_TEXT: Final = re.compile(f"{_SHOWS_NOTHING.pattern}{{3}}")


def require_text(field: str, text: str, most: int, *, lines: bool = False) -> None:
    """1 to `most` characters, one of them visible. Errors: InvalidParameterError."""
    if not 1 <= len(text) <= most:
        raise InvalidParameterError(field, f"write 1 to {most} characters")
    if any(_is_refused(one, lines=lines) for one in text) or _HIDDEN_TEXT.search(text):
        but = ", except line feeds" if lines else ""
        raise InvalidParameterError(
            field, f"leave out control, format and bidi characters{but}; write plain text"
        )
    if not any(_is_seen(one) for one in text):
        raise InvalidParameterError(field, "write more than spaces")


def is_hidden(one: str) -> bool:
    """Whether the character shows nothing, or only changes what stands beside it; spaces do show."""
    return unicodedata.category(one) in _REFUSED or _SHOWS_NOTHING.match(one) is not None


def _is_refused(one: str, *, lines: bool) -> bool:
    if one in JOINERS or (lines and one == LINE_FEED):
        return False
    is_selector = _SELECTORS[0] <= one <= _SELECTORS[1]
    return is_selector or unicodedata.category(one) in _REFUSED


def _is_seen(one: str) -> bool:
    return unicodedata.category(one) not in _UNSEEN and one not in _BLANK_LETTERS
