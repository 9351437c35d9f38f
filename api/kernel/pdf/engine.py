"""Jinja fills the template, WeasyPrint lays it out and writes the PDF.

Importing this loads Pango; the package says when and why.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from fontTools.ttLib import TTFont
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from weasyprint import CSS, HTML
from weasyprint.pdf import fonts as embedding
from weasyprint.text.fonts import FontConfiguration
from weasyprint.urls import URLFetcher, URLFetcherResponse

from api.kernel.pdf.letters import FACES, FONTS, drawable

_SCHEME = "font:"

# Where the system lacks HarfBuzz-subset, WeasyPrint subsets with fontTools, which would write the
# time of printing into each font.
embedding.TTFont = partial(TTFont, recalcTimestamp=False)


class OwnFonts(URLFetcher):  # type: ignore[misc]  # WeasyPrint is untyped
    """Gives font:<file of our folder>. Everything else is refused, whoever put it into the page."""

    def fetch(self, url: str, headers: Any = None) -> URLFetcherResponse:
        name = url.removeprefix(_SCHEME)
        if not url.startswith(_SCHEME) or name not in [file for _, _, file in FACES]:
            raise ValueError(f"not a font of ours: {url[:80]}")
        return URLFetcherResponse(
            url, (FONTS / name).read_bytes(), {"Content-Type": f"font/{name.rpartition('.')[2]}"}
        )


class Press:
    """The templates of a folder and their style.

    Not for threads: callers take turns (`api.kernel.pdf.printing`).
    """

    def __init__(self, folder: Path) -> None:
        loader = FileSystemLoader(folder)
        self._pages = Environment(
            loader=loader,
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_finalized,
            trim_blocks=True,
        )
        self._fonts = FontConfiguration()
        style = _faces() + (folder / "paper.css").read_text()
        self._style = CSS(string=style, font_config=self._fonts, url_fetcher=OwnFonts())

    def pdf(self, name: str, values: Mapping[str, Any]) -> bytes:
        page = self._pages.get_template(f"{name}.html").render(values)
        printed = HTML(string=page, url_fetcher=OwnFonts()).write_pdf(
            stylesheets=[self._style], font_config=self._fonts
        )
        return bytes(printed)


@cache
def press(folder: Path) -> Press:
    return Press(folder)


def _finalized(value: Any) -> Any:
    """What a template puts out: text that is not yet markup is made drawable, then escaped."""
    return drawable(value) if type(value) is str else value


def _faces() -> str:
    return "".join(
        (
            f"@font-face {{ font-family: 'Paper {script}'; font-weight: {weight}; src: "
            f"url({_SCHEME}{file}) }}\n"
        )
        for script, weight, file in FACES
    )
