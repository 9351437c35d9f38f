"""The guides: found by their manifest, never by a path."""

import json
import re
import shlex

from api.areas.playbooks.service.shelf import FOLDER, shelf
from api.catalogue import catalogue
from tests.each import each
from tests.integration.api.conftest import KEY, TestClient, connect

MARKDOWN = "text/markdown; charset=utf-8"


def test_the_index__is_free_and_every_link_of_it_leads_to_a_guide(client: TestClient) -> None:
    index = client.get("/playbook")
    assert (index.status_code, index.headers["content-type"]) == (200, MARKDOWN)
    links = re.findall(r"\]\(([^)]+)\)", index.text)
    assert (
        len(links)
        == len(shelf().atoms) + sum(len(book.pages) for book in shelf().playbooks.values())
        == 32
    )
    headers = {KEY: connect(client)["api_key"]}
    assert {client.get(link, headers=headers).status_code for link in links} == {200}


def test_the_commands_of_the_index__are_calls(client: TestClient) -> None:
    """As curl would make them: `--json` is a body with its media type, and makes it a POST."""
    key = str(connect(client)["api_key"])
    (block,) = re.findall(
        r"^```sh\n(.*?)^```$", client.get("/playbook").text, re.MULTILINE | re.DOTALL
    )
    for line in block.splitlines():
        words = shlex.split(line.replace("$BASE", "").replace("$KEY", key))
        options = dict(zip(words[2::2], words[3::2], strict=True))
        headers = dict([options["-H"].split(": ")]) if "-H" in options else {}
        method, body = (
            ("POST", json.loads(options["--json"])) if "--json" in options else ("GET", None)
        )
        assert words[0] == "curl"
        assert client.request(method, words[1], headers=headers, json=body).status_code == 200


def test_an_atom__is_free_without_a_key(client: TestClient) -> None:
    answer = client.get("/playbook/first-call")
    assert (answer.status_code, answer.headers["content-type"], answer.text.splitlines()[0]) == (
        200,
        MARKDOWN,
        "# Your first call",
    )


@each(
    "path",
    [
        "/playbook/nothing",
        "/playbook/..%2Fmanifest.json",
        "/playbook/manifest.json",
        "/playbooks/size/..%2Fmanifest.json",
        "/playbooks/size/%2Fetc%2Fpasswd",
        "/playbooks/..%2F..%2Fdecisions/0001-spending-is-gross.md",
        "/playbooks/size//limits.md",
        "/playbooks/size/limits",
        "/playbooks/size/LIMITS.md",
    ],
)
def test_what_the_manifest_does_not_name__is_404(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={KEY: connect(client)["api_key"]})
    assert answer.status_code == 404
    assert answer.json()["service"]["reason"] in ("not_found", "unknown_route")


def test_the_manifest__names_every_file_of_the_folder_once() -> None:
    files = sorted(str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.md"))
    named = [f"atoms/{atom}.md" for book in shelf().playbooks.values() for atom in book.atoms]
    named += [f"{name}/{page}" for name, book in shelf().playbooks.items() for page in book.pages]
    assert sorted(named) == files
    assert len(shelf().atoms) == 20  # an id that two playbooks had would be there once


def test_ten_playbooks__have_two_free_guides_and_something_deeper_each() -> None:
    assert len(shelf().playbooks) == 10
    assert {len(book.atoms) for book in shelf().playbooks.values()} == {2}
    assert all(book.pages for book in shelf().playbooks.values())


def test_every_call_that_a_guide_names__is_of_the_catalogue() -> None:
    served = {f"{row.method} {row.path}" for row in catalogue().operations}
    texts = [page.text for page in shelf().atoms.values()] + [
        page.text for book in shelf().playbooks.values() for page in book.pages.values()
    ]
    named = {
        call.split("?")[0]
        for text in texts
        for call in re.findall(r"`((?:GET|POST|PUT) /[^` ]*)`", text)
    }
    assert named - served == set()


def test_every_refusal_that_a_guide_names__is_one_with_that_status() -> None:
    texts = [page.text for page in shelf().atoms.values()] + [
        page.text for book in shelf().playbooks.values() for page in book.pages.values()
    ]
    named = {
        (int(status), reason)
        for text in texts
        for status, reasons in re.findall(r"\b([45]\d\d) ((?:`[a-z_]+`(?:, | or )?)+)", text)
        for reason in re.findall(r"[a-z_]+(?=`)", reasons)
    }
    assert len(named) > 20
    assert named <= {(one.status, name) for name, one in catalogue().reasons.items()}
