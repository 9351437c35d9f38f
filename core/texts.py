"""Free text that callers send and everybody reads: stored and shown as text, never as HTML.

Laws
- No control character but the line feed, where lines are allowed; no character that changes the
  direction of what stands beside it, no tag character and nothing else that is only there to format
  (the joiners of scripts and emoji excepted); no half of a surrogate pair.
- Lengths are counted in characters (code points).
"""

import unicodedata
from typing import Final

from core.errors import InvalidParameterError

LINE_FEED: Final = "\n"
JOINERS: Final = "\u200c\u200d"
# control, format, surrogate, line separator, paragraph separator
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def require_text(field: str, text: str, most: int, *, lines: bool = False) -> None:
    """1 to `most` characters, one of them visible. Errors: InvalidParameterError."""
    if not 1 <= len(text) <= most:
        raise InvalidParameterError(field, f"write 1 to {most} characters")
    if any(_is_refused(one, lines=lines) for one in text):
        but = ", except line feeds" if lines else ""
        raise InvalidParameterError(
            field, f"leave out control, format and bidi characters{but}; write plain text"
        )
    if not text.strip():
        raise InvalidParameterError(field, "write more than spaces")


def _is_refused(one: str, *, lines: bool) -> bool:
    if one in JOINERS or (lines and one == LINE_FEED):
        return False
    return unicodedata.category(one) in _REFUSED
