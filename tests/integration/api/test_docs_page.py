"""GET /docs: every call on one page, which asks nothing of anybody else."""

import re
from html.parser import HTMLParser

import pytest

from api.catalogue import catalogue
from tests.integration.api.conftest import TestClient

LOADING = {
    "script",
    "link",
    "img",
    "iframe",
    "object",
    "embed",
    "video",
    "audio",
    "source",
    "form",
    "base",
}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src", "srcset", "action", "data", "poster", "style", "background"):
                self.addresses.append(str(value))
            if name == "id":
                self.ids.add(str(value))


@pytest.fixture
def text(client: TestClient) -> str:
    answer = client.get("/docs")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    return answer.text


def test_docs__has_every_call_of_the_catalogue(text: str) -> None:
    ids = Page(text).ids
    assert [row.key for row in catalogue().operations if row.key.replace(".", "_") not in ids] == []


@pytest.mark.slow
def test_docs__loads_nothing_and_leads_nowhere_else(text: str) -> None:
    page = Page(text)
    assert page.tags & LOADING == set()
    assert [address for address in page.addresses if not re.match(r"#|/(?!/)", address)] == []
    assert re.search(r"url\(|@import", text) is None


@pytest.mark.slow
def test_docs__links_lead_to_what_is_on_the_page(text: str) -> None:
    page = Page(text)
    assert {
        address[1:] for address in page.addresses if address.startswith("#")
    } - page.ids == set()


@pytest.mark.parametrize("path", ["/docs", "/mcp"])
@pytest.mark.slow
def test_a_page_for_people__is_as_wide_as_the_phone_that_shows_it(
    client: TestClient, path: str
) -> None:
    """Without it a phone draws 980 pixels and shrinks them: text of 6 pixels."""
    page = client.get(path, headers={"Accept": "text/html"}).text
    assert '<meta name="viewport" content="width=device-width,initial-scale=1">' in page


@pytest.mark.slow
def test_docs__a_link_to_a_schema__leads_inside_what_is_folded(text: str) -> None:
    """A browser opens the details around the place that a link leads to, not details that are the
    place.
    """
    assert re.search(r'<details id="schema-', text) is None


def test_docs__of_another_method__is_405(client: TestClient) -> None:
    assert client.post("/docs").status_code == 405


def test_openapi_json__is_written_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked for it again and again kept the event loop busy with writing it: 280 KB for
    each, while all others waited.
    """
    first = client.get("/openapi.json")
    monkeypatch.setattr("api.kernel.viewer.json", None)
    assert (first.status_code, first.headers["Content-Type"]) == (200, "application/json")
    assert client.get("/openapi.json").json() == first.json()
