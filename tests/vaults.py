"""What is wrong with a vault of notes, as note apps would find it: its names, its frontmatter by a
YAML 1.1 and a YAML 1.2 reader, its markdown, and where its links lead.
"""

import io
import json
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

ROOT: Final = Path(__file__).resolve().parents[1]
YAML_1_2: Final = """
import { load } from "js-yaml";
import { text } from "node:stream/consumers";
const read = (one) => { try { return { value: load(one) }; } catch (error) { return { error: String(error) }; } };
process.stdout.write(JSON.stringify(JSON.parse(await text(process.stdin)).map(read)));
"""
DEVICES: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
PORTABLE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,119}\.md")


class _OneOfEach(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """PyYAML takes a key twice and says nothing."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
    keys = [key.value for key, _ in node.value]
    if len(set(keys)) != len(keys):
        raise yaml.YAMLError(f"a key twice: {keys}")
    loader.flatten_mapping(node)
    return dict(loader.construct_pairs(node, deep=True))


_OneOfEach.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def notes_of(content: bytes) -> dict[str, str]:
    """By their paths."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert file.testzip() is None
        return {one.filename: file.read(one).decode() for one in file.infolist()}


def faults_of(content: bytes) -> list[str]:
    """One line each; none: every system holds it, YAML 1.1 and markdown read it, links resolve."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        paths = [one.filename for one in file.infolist()]
    notes = notes_of(content)
    return [*_names(paths), *_older_yaml(notes), *_bodies(notes)]


def newer_yaml_faults_of(content: bytes) -> list[str]:
    """Where YAML 1.2, by Node, reads another thing than YAML 1.1."""
    notes = notes_of(content)
    fronts = [front_and_body(note)[0] for note in notes.values()]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", YAML_1_2],
        input=json.dumps(fronts),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return [
        f"{path}: YAML 1.2: {newer}"
        for path, front, newer in zip(notes, fronts, json.loads(done.stdout), strict=True)
        if newer != {"value": yaml.load(front, _OneOfEach)}
    ]


def _names(paths: list[str]) -> Iterator[str]:
    """Note apps find a note by its name, without its folder and in any case."""
    for name, times in Counter(one.rpartition("/")[2].casefold() for one in paths).items():
        if times > 1:
            yield f"{name}: {times} files of that name"
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder not in ("", "chain", "class", "flag", "event", "backer"):
            yield f"{path}: a folder of its own"
        if not PORTABLE.fullmatch(name) or DEVICES.fullmatch(name):
            yield f"{path}: no name for every system"


def front_and_body(note: str) -> tuple[str, str]:
    begin, front, body = note.split("---\n", 2)
    assert begin == ""
    return front, body


def _older_yaml(notes: Mapping[str, str]) -> Iterator[str]:
    for path, note in notes.items():
        try:
            yaml.load(front_and_body(note)[0], _OneOfEach)
        except yaml.YAMLError as error:
            yield f"{path}: YAML 1.1: {error}"


def parser() -> MarkdownIt:
    """CommonMark with tables and wikilinks."""
    found = MarkdownIt("commonmark").enable("table")
    found.inline.ruler.before("link", "wikilink", _wikilink)
    return found


def _wikilink(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("[[", state.pos):
        return False
    end = state.src.find("]]", state.pos + 2)
    if end < 0:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = state.src[state.pos + 2 : end]
    state.pos = end + 2
    return True


def wikilinks_of(body: str) -> list[str]:
    """What the links of a note lead to, their labels left out."""
    return [
        inline.content.partition("|")[0]
        for token in parser().parse(body)
        for inline in token.children or ()
        if inline.type == "wikilink"
    ]


def _bodies(notes: Mapping[str, str]) -> Iterator[str]:
    read = parser()
    for path, note in notes.items():
        for token in read.parse(front_and_body(note)[1]):
            if token.type == "html_block":
                yield f"{path}: HTML {token.content[:60]!r}"
            for inline in token.children or ():
                yield from _inline(path, inline, notes)


def _inline(path: str, inline: Any, notes: Mapping[str, str]) -> Iterator[str]:
    if inline.type in ("html_inline", "image"):
        yield f"{path}: {inline.type} {inline.content[:60]!r}"
    if inline.type == "link_open" and not str(inline.attrs["href"]).startswith("https://"):
        yield f"{path}: a link to {inline.attrs['href']}"
    if inline.type == "wikilink":
        target = inline.content.partition("|")[0]
        if f"{target}.md" not in notes:
            yield f"{path}: [[{inline.content}]] leads nowhere"
