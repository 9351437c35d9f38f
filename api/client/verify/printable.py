"""Text of strangers on a terminal: nothing in it moves the cursor, colours, hides or reverses."""

import unicodedata
from typing import Final

# control, format (bidi among them), surrogates, private use, line and paragraph separators
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """Each character that is not seen as itself as \\uXXXX."""
    return "".join(
        f"\\u{ord(one):04x}" if unicodedata.category(one) in _UNSEEN else one for one in text
    )
