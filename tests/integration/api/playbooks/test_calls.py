"""Every call that a guide shows, made as it is written, against the real API and a real chain.

A block `http` is a request, its headers and body, and lines that begin with `<` of what comes back; a block
`send` is a transaction of the agent's or the owner's wallet:

    < 200                     the status
    < path.0.name: "value"    what is there, as JSON
    < path = $NAME            what is there is called $NAME from here on
    < path ~ words            the text there has these words
    < header Name: value      of the answer
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from api.areas.playbooks.service.shelf import Playbook, shelf
from api.catalogue import catalogue
from tests.integration.api.playbooks.conftest import GuidedWorld
from tests.personas import AGENT, OWNER

BLOCK = re.compile(r"^```(http|send)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"\$([A-Z_]+)")
HEADER = re.compile(r"([A-Za-z-]+): (.+)")


def pages_of(book: Playbook) -> Iterator[tuple[str, str]]:
    yield from ((name, page.text) for name, page in book.atoms.items())
    yield from ((name, page.text) for name, page in book.pages.items())


def filled(text: str, names: dict[str, str]) -> str:
    return NAME.sub(lambda found: names[found[1]], text)


def at(body: Any, path: str) -> Any:
    """What is there: keys and places with dots between."""
    for part in path.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


def body_of(text: str, media_type: str) -> Any:
    if media_type.startswith("application/json"):
        return json.loads(text)
    if "ndjson" in media_type:
        return {"lines": [json.loads(line) for line in text.splitlines()]}
    return {"text": text}


def check(said: list[str], status: int, headers: Any, body: Any, names: dict[str, str]) -> None:
    for line in said:
        if line.isdigit():
            assert status == int(line), body
        elif line.startswith("header "):
            name, _, value = line.removeprefix("header ").partition(": ")
            assert headers[name] == value
        elif found := re.fullmatch(r"([^ ]+) = \$([A-Z_]+)", line):
            names[found[2]] = str(at(body, found[1]))
        elif found := re.fullmatch(r"([^ ]+) ~ (.+)", line):
            assert found[2] in at(body, found[1])
        else:
            path, _, value = line.partition(": ")
            assert at(body, path) == json.loads(filled(value, names)), line


def parts_of(block: str) -> tuple[list[str], list[str]]:
    """What is sent, and what comes back."""
    lines = block.splitlines()
    return [one for one in lines if not one.startswith("< ")], [
        one[2:] for one in lines if one.startswith("< ")
    ]


def make(world: GuidedWorld, block: str, names: dict[str, str]) -> None:
    sent, said = parts_of(block)
    method, path = filled(sent[0], names).split(" ", 1)
    headers, rest = dict[str, str](), sent[1:]
    while rest and (found := HEADER.fullmatch(rest[0])):
        headers[found[1]] = filled(found[2], names)
        rest = rest[1:]
    body = json.loads(filled("\n".join(rest), names)) if rest else None
    answer = world.client.request(method, path, headers=headers, json=body)
    media_type = answer.headers["content-type"]
    check(said, answer.status_code, answer.headers, body_of(answer.text, media_type), names)


def send(world: GuidedWorld, block: str, names: dict[str, str]) -> None:
    sent, said = parts_of(block)
    fields = {name: filled(value, names) for name, value in (line.split(": ", 1) for line in sent)}
    sender = {"agent": AGENT, "owner": OWNER}[fields["from"]]
    receipt = world.live.deployed.send(sender, fields["to"], fields["data"])
    world.live.follower.catch_up()
    check(said, 0, {}, {"status": receipt.status, "tx_hash": receipt.tx_hash}, names)


@pytest.mark.parametrize("name", list(shelf().playbooks))
def test_every_call_of_a_playbook__answers_what_the_playbook_says(
    world: GuidedWorld, name: str
) -> None:
    names = world.names | {"PAYMENT": world.payment()}
    for page, text in pages_of(shelf().playbooks[name]):
        for number, (kind, block) in enumerate(BLOCK.findall(text), 1):
            try:
                (make if kind == "http" else send)(world, block, names)
            except (AssertionError, KeyError, IndexError, TypeError) as error:
                error.add_note(f"{name}, {page}, block {number}:\n{block}")
                raise


@pytest.mark.parametrize("name", list(shelf().playbooks))
def test_a_call_of_a_block__is_of_the_catalogue_and_says_its_status(name: str) -> None:
    served = [
        (row.method, re.compile(re.sub(r"\\\{[a-z_]+\\\}", "[^/]+", re.escape(row.path))))
        for row in catalogue().operations
    ]
    for page, text in pages_of(shelf().playbooks[name]):
        for kind, block in BLOCK.findall(text):
            if kind == "send":
                continue
            sent, said = parts_of(block)
            method, path = sent[0].split(" ", 1)
            path = path.partition("?")[0]
            assert any(method == one and form.fullmatch(path) for one, form in served), (page, path)
            assert said[0].isdigit(), (page, block)


def test_each_playbook__shows_a_call_in_each_of_its_guides() -> None:
    without = [
        page
        for book in shelf().playbooks.values()
        for page, text in pages_of(book)
        if not BLOCK.search(text)
    ]
    assert without == []


def test_no_fence_hides_a_call_from_the_tests() -> None:
    """A fence that is written in another way than these would be read by nobody."""
    fences = [
        line
        for book in shelf().playbooks.values()
        for _, text in pages_of(book)
        for line in text.splitlines()
        if re.match(r"[\s>*+-]*(?:`{3}|~{3})", line)
    ]
    opened = [one for one in fences if one in ("```http", "```send", "```sh", "```python")]
    assert fences == [one for begin in opened for one in (begin, "```")]
