"""Our fonts, and what text looks like in them. Needs no library of the system."""

from functools import cache
from pathlib import Path
from unicodedata import normalize

from core.texts import is_hidden

FONTS = Path(__file__).parent / "fonts"
# (script, weight, file); a style names the families `Paper latin`, `Paper korean` ...
FACES: tuple[tuple[str, int, str], ...] = (
    ("latin", 400, "noto-sans-kr-latin-400-normal.woff2"),
    ("latin", 700, "noto-sans-kr-latin-700-normal.woff2"),
    ("latin-ext", 400, "noto-sans-kr-latin-ext-400-normal.woff2"),
    ("latin-ext", 700, "noto-sans-kr-latin-ext-700-normal.woff2"),
    # woff2 of 11,000 letters takes 10 s to unpack; bold is for our own words
    ("korean", 400, "noto-sans-kr-korean-400-normal.woff"),
)


def drawable(text: str) -> str:
    """The text with composed letters, and what our fonts lack or nobody would see as [U+...].

    Line breaks become spaces.
    """
    known = _letters()
    composed = normalize("NFC", " ".join(text.split()))
    return "".join(
        letter if ord(letter) in known and not is_hidden(letter) else f"[U+{ord(letter):04X}]"
        for letter in composed
    )


@cache
def _letters() -> frozenset[int]:
    """The code points that the regular weight can draw."""
    from fontTools.ttLib import TTFont  # not on top: a process that prints nothing need not load it

    return frozenset(
        point
        for _, weight, file in FACES
        if weight == 400
        for point in TTFont(FONTS / file).getBestCmap()
    )
