"""GET / and the files of the console: what is served, under which policy, and for how long it may be kept."""

import json
import re

import pytest

from api.kernel.console import FOLDER, POLICY, version_of
from scripts import vendor_web
from tests.each import each
from tests.integration.api.conftest import TestClient


@pytest.fixture
def page(client: TestClient) -> str:
    answer = client.get("/")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    return answer.text


def test_page__may_run_what_this_service_gave_it_and_nothing_else(client: TestClient) -> None:
    headers = client.get("/").headers
    assert headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "require-trusted-types-for 'script'" in POLICY
    assert headers["Cache-Control"] == "no-cache"


def test_page__names_its_files_below_one_version_and_no_other_host(page: str) -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(addresses) > 20
    assert {re.sub(r"^/web/[0-9a-f]{16}/.*", "web", one) for one in addresses} == {
        "web",
        "/docs",
        "/exit.html",
    }


def test_files__that_the_page_names__may_be_kept_for_ever(client: TestClient, page: str) -> None:
    for address in re.findall(r'"(/web/[^"]*)"', page):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_file__of_another_version__is_not_found(client: TestClient, page: str) -> None:
    address = re.findall(r'"(/web/[^"]*main.js)"', page)[0]
    other = re.sub(r"/web/[0-9a-f]{16}/", "/web/0123456789abcdef/", address)
    assert client.get(other).status_code == 404


@each(
    "path",
    [
        "../main.py",
        "%2e%2e/main.py",
        "..%2fmain.py",
        "",
        "app",
    ],
)
def test_path__that_names_no_file__is_not_found(client: TestClient, page: str, path: str) -> None:
    version = re.findall(r"/web/([0-9a-f]{16})/", page)[0]
    assert client.get(f"/web/{version}/{path}").status_code == 404


@pytest.mark.parametrize("name", ["index.html", "exit.html", "exit/exit.template.html"])
def test_page__has_no_second_address__at_which_another_site_could_frame_it(
    client: TestClient, page: str, name: str
) -> None:
    version = re.findall(r"/web/([0-9a-f]{16})/", page)[0]
    assert client.get(f"/web/{version}/{name}").status_code == 404


def test_exit_page__is_framed_by_no_other_site(client: TestClient) -> None:
    headers = client.get("/exit.html").headers
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"another", {}'])
def test_file__known_already__is_not_sent_again(client: TestClient, form: str) -> None:
    etag = client.get("/").headers["ETag"]
    again = client.get("/", headers={"If-None-Match": form.format(etag)})
    assert (again.status_code, again.content) == (304, b"")


def test_file__of_which_another_version_is_known__is_sent(client: TestClient) -> None:
    again = client.get("/", headers={"If-None-Match": '"another"'})
    assert again.status_code == 200


def test_file__is_compressed_for_who_takes_it(client: TestClient, page: str) -> None:
    address = re.findall(r'"(/web/[^"]*app.css)"', page)[0]
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 2
    assert packed.content == plain.content
    assert packed.headers["ETag"] != plain.headers["ETag"]  # a strong one is of the bytes sent


@each(
    ("accepted", "encoding"),
    [
        ("br, gzip;q=0.5", "gzip"),
        ("GZIP", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.000, br", None),
        ("x-gzip-of-mine", None),
        ("", None),
    ],
)
def test_file__is_compressed_for_nobody_who_refuses_it(
    client: TestClient, page: str, accepted: str, encoding: str | None
) -> None:
    address = re.findall(r'"(/web/[^"]*app.css)"', page)[0]
    answer = client.get(address, headers={"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == encoding


def test_version__changes_with_any_byte_or_name() -> None:
    files = {"a.js": b"one", "b.js": b"two"}
    others = [
        {"a.js": b"one", "b.js": b"tw0"},
        {"a.js": b"onetwo", "b.js": b""},
        {"c.js": b"one", "b.js": b"two"},
    ]
    assert len({version_of(one) for one in [files, *others]}) == 4


def test_writes_to_the_page__are_refused(client: TestClient) -> None:
    assert client.post("/").status_code == 405


def test_vendored_files__are_those_of_their_packages() -> None:
    vendor = FOLDER / "vendor"
    named = {row["file"] for row in json.loads((vendor / "vendor.json").read_text())}
    for name, content in vendor_web.files().items():
        assert (vendor / name).read_bytes() == content, name
    assert {path.name for end in ("js", "css") for path in vendor.glob(f"*.{end}")} == named


def test_files_of_the_console__carry_no_inline_code_and_no_html_from_text() -> None:
    dangerous = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function"
    )
    own = [path for path in FOLDER.rglob("*.js") if path.parent.name != "vendor"]
    assert len(own) > 30
    assert [path.name for path in own if dangerous.search(path.read_text())] == []


def test_files_of_the_console__lose_no_space_between_a_word_and_a_link() -> None:
    """htm trims text at a line's end: "use" above a line that begins with a link would be "usethe"."""
    joined = re.compile(r"[A-Za-z,.;:]\n *<(?:a|code|strong|span)[ >]")
    own = [path for folder in ("app", "pages", "local") for path in (FOLDER / folder).glob("*.js")]
    assert [path.name for path in own if joined.search(path.read_text())] == []
