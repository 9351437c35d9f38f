"""Text from outside as markdown that says that text, and nothing else.

Laws
- It is one line: no heading, list, table, quote, code or HTML begins in it.
- Every sign of ASCII that markdown, a note app or HTML could read as its own is escaped, so that no
  link, image, wikilink, tag, comment or formula comes of it.
- A word that readers make a link of, whatever is escaped in it (an address of a page or of mail),
  is code.
- Characters that cannot be seen, or that turn the direction of what is beside them, are shown by
  their code points (core/texts.py).
- A link leads to an https URL, or is text.
"""

import re
from functools import lru_cache
from typing import Final

from core.texts import shown
from core.urls import is_https

TEXT_CHARACTERS_MOST: Final = 500
_SIGNS: Final = re.compile(r"[!-,:-@\[-`{-~]|^[-+]|(?<=\d)\.|\.(?=\.)")
_LINKED: Final = re.compile(r"//|www\.|\S@\S", re.IGNORECASE)
_HARMLESS: Final = frozenset(",'\"?;")
_IN_URLS: Final = {"(": "%28", ")": "%29", "[": "%5B", "]": "%5D", "|": "%7C", "*": "%2A"}
_ENTITY: Final = re.compile(r"(&[A-Za-z0-9#]+);")
_IN_LABELS: Final = re.compile(r"[\[\]|#^\\`<>*_~=$%!&{}]")
_IN_LINKED_LABELS: Final = re.compile(r"[\[\]|#^\\`<>*_~=$%!&{}:/@.]")


class Markdown(str):
    """Markdown of ours, or text that is escaped: what templates write as it is."""

    __slots__ = ()


@lru_cache(maxsize=4_096)
def escaped(text: str) -> Markdown:
    line = one_line(text)
    if _LINKED.search(line) is None:
        return _signs_escaped(line)
    words = line.split(" ")
    return Markdown(
        " ".join(code(one) if _LINKED.search(one) else _signs_escaped(one) for one in words)
    )


def _signs_escaped(line: str) -> Markdown:
    return Markdown(_SIGNS.sub(_sign, line))


def _sign(found: re.Match[str]) -> str:
    sign = found[0]
    return sign if sign in _HARMLESS else f"\\{sign}"


def one_line(text: str, most: int = TEXT_CHARACTERS_MOST) -> str:
    """What cannot be seen as its code points, spaces as one, cut at `most` characters."""
    text = shown(" ".join(text.split()))
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@lru_cache(maxsize=4_096)
def code(text: str) -> Markdown:
    """As it is written, for addresses and ids: in backquotes, which it cannot end."""
    quoted = one_line(text).replace("`", "'").replace("|", "¦")
    return Markdown(f"`{quoted}`") if quoted else Markdown("")


@lru_cache(maxsize=1_024)
def link(label: str, url: str) -> Markdown:
    """A link to an https URL; any other is text."""
    if not is_https(url):
        return Markdown(f"{escaped(label)} {code(url)}")
    target = "".join(_IN_URLS.get(one, one) for one in _ENTITY.sub(r"\1%3B", url))
    return Markdown(f"[{_signs_escaped(one_line(label))}](<{target}>)")


@lru_cache(maxsize=4_096)
def wikilink(path: str, label: str) -> Markdown:
    """`path`: of api.areas.notes.rules.names. What a label cannot hold is left out of it."""
    label = one_line(label, 64)
    signs = _IN_LINKED_LABELS if _LINKED.search(label) else _IN_LABELS
    label = " ".join(signs.sub(" ", label).split())
    return Markdown(f"[[{path}]]" if label in ("", path) else f"[[{path}|{label}]]")
