"""Numbers of an answer that no market has, taken out before ccxt counts with them.

ccxt counts in whole numbers of any length: "1e999999999" as a price would keep the process busy for
good, whatever time a call has. What is put in its place is what a row has that says nothing: null.
"""

import math
import re
from typing import Any, Final

MOST_DIGITS: Final = 300
_MOST: Final = 10**MOST_DIGITS
PART: Final = 1 << 18  # characters that are looked through at once; others have their turn between

# Of a text of an answer: whether it may hold one. \u: a digit may be written as its code point. Each
# place is looked at a bounded number of times, whatever the text is. None of them has a comma.
_SUSPECT: Final = re.compile(
    rf"\\u|[\d_.]\s*[eE]\s*[-+]?[\d_]{{3}}|(?<!\d)\d{{{MOST_DIGITS}}}|NaN|Infinity"
)
_FAR: Final = re.compile(r"\s*[-+]?[\d_.]+\s*[eE]\s*[-+]?[\d_]{4,}\s*")


def within_reach(text: str, answer: Any) -> Any:
    """The answer that was read of this text, changed in place."""
    if not _is_suspect(text):
        return answer
    if _is_far(answer):
        return None
    open_ones: list[Any] = [answer] if isinstance(answer, dict | list) else []
    while open_ones:
        one = open_ones.pop()
        pairs = one.items() if isinstance(one, dict) else enumerate(one)
        for place, value in pairs:
            if isinstance(value, dict | list):
                open_ones.append(value)
            elif _is_far(value):
                one[place] = None
    return answer


def _is_suspect(text: str) -> bool:
    """Part by part, each up to a comma."""
    begins = 0
    while begins < len(text):
        comma = text.find(",", begins + PART)
        ends = len(text) if comma < 0 else comma + 1
        if _SUSPECT.search(text, begins, ends) is not None:
            return True
        begins = ends
    return False


def _is_far(value: object) -> bool:
    match value:
        case bool():
            return False
        case str():
            return _FAR.fullmatch(value) is not None
        case int():
            return abs(value) >= _MOST
        case float():
            return not math.isfinite(value)
    return False
