"""Printing: what is fetched, what is drawn, and what is said when it cannot be done."""

import sys
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any
from urllib.request import OpenerDirector, Request

import pytest
from weasyprint.urls import URLFetcher

from api.areas.mandates.service.exports import printing as pdfs_of_calls
from api.areas.mandates.service.exports.printing import pdf_of
from api.kernel.operation import Refusal
from api.kernel.pdf import engine
from api.kernel.pdf.engine import OwnFonts, Press
from api.kernel.pdf.letters import FACES, FONTS, drawable
from tests.each import each


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "paper.css").write_text("html { font-family: 'Paper latin' }")
    (tmp_path / "page.html").write_text(
        "<html lang=en><title>t</title><p>{{ words }}</p><img "
        "src='http://127.0.0.1:9/a.png'></html>"
    )
    return tmp_path


@each(
    "url",
    [
        "http://127.0.0.1:9/x",
        "https://example.org",
        "file:///etc/hostname",
        "data:text/plain,x",
        "font:../OFL.txt",
    ],
)
def test_fetching__anything_but_our_fonts__is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not a font of ours"):
        OwnFonts().fetch(url)


def test_fetching__each_font_of_ours__gives_its_bytes() -> None:
    assert [OwnFonts().fetch(f"font:{file}").read() for _, _, file in FACES] == [
        (FONTS / file).read_bytes() for _, _, file in FACES
    ]


@pytest.mark.parametrize(
    ("fetcher", "opened"), [(OwnFonts, []), (URLFetcher, ["http://127.0.0.1:9/a.png"])]
)
def test_printing__a_page_that_names_an_address__opens_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fetcher: type[URLFetcher], opened: list[str]
) -> None:
    """WeasyPrint's own fetcher would: the second case shows that the first one looks."""
    seen: list[str] = []

    def opening(_: OpenerDirector, request: Request, *__: Any, **___: Any) -> None:
        seen.append(request.full_url)
        raise OSError("not in a test")

    press = Press(folder)
    monkeypatch.setattr(OpenerDirector, "open", opening)
    monkeypatch.setattr(engine, "OwnFonts", fetcher)
    assert press.pdf("page", {"words": "x"}).startswith(b"%PDF-")
    assert seen == opened


@each(
    ("text", "drawn"),
    [
        ("Añb é", "Añb é"),
        ("안녕", "안녕"),  # decomposed, as some systems write it
        ("a\n b\tc", "a b c"),
        ("🎉漢", "[U+1F389][U+6F22]"),
        ("\u202eevil", "[U+202E]evil"),
        ("", ""),
    ],
)
def test_drawable__what_no_font_has__is_its_code_point(text: str, drawn: str) -> None:
    assert drawable(text) == drawn


def test_templates__our_own_words__are_drawn_as_they_stand() -> None:
    from api.areas.mandates.service.exports.pdf_file import TEMPLATES

    pages = [page.read_text() for page in TEMPLATES.glob("*.html")]
    assert len(pages) == 4
    assert [page for page in pages if drawable(page) != " ".join(page.split())] == []


def test_printing__without_the_library__is_refused_and_names_the_packages(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("api.kernel.pdf.engine")
    monkeypatch.setitem(sys.modules, "api.kernel.pdf.engine", None)
    with pytest.raises(
        Refusal, match=r"must install libpango-1\.0-0 libpangoft2-1\.0-0"
    ) as refused:
        pdf_of(folder, "page", {"words": "x"})
    assert refused.value.reason == "temporarily_unavailable"


def test_printing__when_too_many_wait__is_refused_and_the_room_comes_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def press(_: Path) -> Press:
        with pytest.raises(Refusal, match="Too many PDFs") as refused:
            pdf_of(folder, "page", {"words": "inside"})
        seen.append(refused.value.reason)
        return Press(folder)

    monkeypatch.setattr(engine, "press", press)
    monkeypatch.setattr(pdfs_of_calls, "_room", BoundedSemaphore(1))
    for _ in range(2):
        assert pdf_of(folder, "page", {"words": "x"}).startswith(b"%PDF-")
    assert seen == ["temporarily_unavailable"] * 2
