"""Law 10 of docs/architecture.md: a comment, a docstring or a page cites only what a reader of this
repository can open.

What may be cited: `docs/<page>.md`, `docs/<page>.md#heading`, a decision (`ADR 0003`,
`docs/decisions/0003`), a law of docs/architecture.md (`law 3`), a file of the code, a contract's
function, a standard. Strings
that the program uses are data and not looked at.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROSE = (".md",)
COMMENTED = (".js", ".mjs", ".sh", ".sol", ".toml", ".ts", ".yml", "Makefile")

NOBODY_CAN_OPEN = re.compile(
    r"""\b(?: decisions?\ \d | decisions?,\ " | (?:wallet|core|mandate)\ spec\b | spec(?:ification)?\ (?:section\ )?\d
          | design\ (?:law|page|section)\ ?\d | (?<!/)research/ | design/\w | issues?\ \#?\d )[^\s,;)]*
          | \.\./shared/\S*""",
    re.IGNORECASE | re.VERBOSE,
)
PAGE = re.compile(r"\bdocs/(?P<page>[\w./-]+\.md)(?:#(?P<anchor>[\w-]+))?")
DECISION = re.compile(r"(?:\bADRs?[ -]|\bdecisions/)(?P<number>\d+)\b")
LAW = re.compile(r"\blaws? (?:\d+(?:, \d+)* and )?(?P<number>\d+)\b", re.IGNORECASE)
CODE = re.compile(
    r"(?<![\w/.<-])(?:api|contracts|core|indexer|keeper|scripts|tests)/[\w./-]*\w(?![\w<])"
)
IN_CONTRACT = re.compile(
    r"(?<![\w/.])(?P<contract>[A-Z]\w+)\.(?!sol\b|t\b|json\b|md\b|invariants\b)(?P<name>[A-Za-z_]\w*)"
)
MADE = ("scripts/deployments",)  # written by make deploy
LINK = re.compile(
    r"""(?: \]\( | ^\[[^\]]+\]:\s+ | <a\ href=" )
        (?P<page>[^)#\s"]*) (?:\#(?P<anchor>[^)\s"]*))? (?: \) | \s+" | $ | " )""",
    re.VERBOSE | re.MULTILINE,
)


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def prose_of_python(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment and docstring."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node):
            statement = node.body[0]
            yield statement.lineno, ast.get_docstring(node, clean=False) or ""


def prose_of(file: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of what people read in a file; a docstring comes as one text, everything else by
    line.
    """
    if file.suffix == ".py":
        yield from prose_of_python(file.read_text())
    elif file.suffix in PROSE or file.name.endswith(COMMENTED):
        yield from enumerate(file.read_text().splitlines(), 1)


def slug(heading: str) -> str:
    """A heading's anchor as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    """Those of headings outside code blocks, a repeated one with -1, -2 ..."""
    found: set[str] = set()
    for heading in re.findall(
        r"^#+ (.+)$",
        re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE),
        re.MULTILINE,
    ):
        anchor, n = slug(heading), 0
        while (f"{anchor}-{n}" if n else anchor) in found:
            n += 1
        found.add(f"{anchor}-{n}" if n else anchor)
    return found


@cache
def decisions() -> set[str]:
    return {file.name[:4] for file in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}


@cache
def laws() -> set[str]:
    section = (
        (ROOT / "docs" / "architecture.md")
        .read_text()
        .partition("## Laws")[2]
        .partition("\n## ")[0]
    )
    return set(re.findall(r"^(\d+)\. ", section, re.MULTILINE))


def trouble_with_page(page: Path, anchor: str | None, said: str) -> str | None:
    if not page.exists():
        return f"cites {said}, a page that does not exist: docs/ has the pages"
    if anchor and page.suffix == ".md" and anchor not in anchors(page):
        return (
            f"cites {said}, but {page.relative_to(ROOT)} has no heading with that anchor: cite "
            "one of its headings"
        )
    return None


def troubles(text: str) -> Iterator[str]:
    for found in NOBODY_CAN_OPEN.finditer(text):
        yield (
            f"cites `{found[0]}`, which no reader can open: state the rule in docs/rules.md and "
            "cite docs/rules.md#its-heading"
        )
    for found in PAGE.finditer(text):
        if trouble := trouble_with_page(ROOT / "docs" / found["page"], found["anchor"], found[0]):
            yield trouble
    for found in DECISION.finditer(text):
        if found["number"] not in decisions():
            yield (
                f"cites decision {found['number']}, which does not exist: docs/decisions/ has "
                "the records"
            )
    for found in LAW.finditer(text):
        if found["number"] not in laws():
            yield (
                f"cites law {found['number']}, which does not exist: docs/architecture.md has "
                "the laws"
            )


def dead_links(page: Path, text: str) -> Iterator[str]:
    for found in LINK.finditer(text):
        if "://" in found["page"] or found["page"].startswith("mailto:"):
            continue
        target = (page.parent / found["page"]).resolve() if found["page"] else page
        if trouble := trouble_with_page(target, found["anchor"], found[0][1:]):
            yield trouble


def dead_paths(text: str) -> Iterator[str]:
    for found in CODE.finditer(text):
        if not (ROOT / found[0]).exists() and not found[0].startswith(MADE):
            yield (
                f"names {found[0]}, which does not exist: docs/architecture.md says where things "
                "are"
            )


@cache
def contracts() -> dict[str, str]:
    """The sources of contracts, interfaces and libraries by name."""
    return {file.stem: file.read_text() for file in (ROOT / "contracts").rglob("*.sol")}


def dead_names(text: str) -> Iterator[str]:
    for found in IN_CONTRACT.finditer(text):
        source = contracts().get(found["contract"])
        if source is not None and not re.search(rf"\b{found['name']}\b", source):
            yield (
                f"cites {found[0]}, which does not exist: contracts/ has {found['contract']}.sol, "
                "docs/contracts-reference.md what can be called"
            )


def findings(file: Path) -> list[str]:
    found = []
    for line, text in prose_of(file):
        wrong = [*troubles(text), *(dead_links(file, text) if file.suffix == ".md" else ())]
        if file.name != "CHANGELOG.md":  # it tells of the past
            wrong += [*dead_paths(text), *dead_names(text)]
        found += [f"{file.relative_to(ROOT)}:{line} {trouble}" for trouble in wrong]
    return found


def test_decisions__are_numbered_without_gaps() -> None:
    assert sorted(file.name[:4] for file in (ROOT / "docs" / "decisions").iterdir()) == [
        f"{n:04}" for n in range(1, len(decisions()) + 1)
    ]


def test_every_citation__leads_somewhere() -> None:
    exempt = {f"tests/architecture/{Path(__file__).name}"}
    files = [file for file in tracked() if str(file.relative_to(ROOT)) not in exempt]

    found = [trouble for file in files for trouble in findings(file)]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("Source: decisions 16, 67.", "docs/rules.md#its-heading"),
        ('Source: decisions, "Chain events".', "docs/rules.md#its-heading"),
        ("Source: wallet spec 2.13.", "docs/rules.md#its-heading"),
        ("See core spec 4.2", "docs/rules.md#its-heading"),
        ("as specification 3.1 says", "docs/rules.md#its-heading"),
        ("design law 7; research/indexer.md", "docs/rules.md#its-heading"),
        ("see docs/nothing.md", "a page that does not exist"),
        ("see docs/rules.md#no-such-rule", "no heading with that anchor"),
        ("why: ADR 9999", "docs/decisions/ has the records"),
        ("why: docs/decisions/9999", "docs/decisions/ has the records"),
        ("why: ADR 99", "docs/decisions/ has the records"),
        ("why: ADR-0999", "docs/decisions/ has the records"),
        ("law 99 says so", "docs/architecture.md has the laws"),
        ("laws 1 and 14 say so", "docs/architecture.md has the laws"),
        ("issue #19", "docs/rules.md#its-heading"),
        ("see ../shared/spec/core-api.md", "docs/rules.md#its-heading"),
        ("design/architecture.md has it", "docs/rules.md#its-heading"),
    ],
)
def test_the_check__sees_a_citation_that_leads_nowhere(planted: str, said: str) -> None:
    assert said in " ".join(troubles(planted))


@pytest.mark.parametrize(
    "planted",
    [
        "[x](nothing.md)",
        "[x](rules.md#no-such-rule)",
        "[x](#no-such-heading)",
        "[x](../nothing/)",
        '[x](nothing.md "title")',
        "[x]: nothing.md",
        '<a href="nothing.md">x</a>',
    ],
)
def test_the_check__sees_a_dead_link(planted: str) -> None:
    assert len(list(dead_links(ROOT / "docs" / "rules.md", planted))) == 1


def test_the_check__sees_a_function_that_the_contract_does_not_have() -> None:
    assert list(dead_names("Source: MandateVault.noSuchFunction.")) == [
        (
            "cites MandateVault.noSuchFunction, which does not exist: contracts/ has "
            "MandateVault.sol, docs/contracts-reference.md what can be called"
        )
    ]
    assert list(dead_names("MandateVault.remaining, MandateVault.sol, Database.read")) == []


def test_the_check__sees_text_that_names_code_that_is_gone() -> None:
    assert list(dead_paths("`core/nothing/rules.py`")) == [
        (
            "names core/nothing/rules.py, which does not exist: docs/architecture.md says where "
            "things are"
        )
    ]
    assert (
        list(dead_paths("`core/money.py`, `core/<context>/rules.py`, https://host/core/nothing.py"))
        == []
    )


@pytest.mark.parametrize(
    "sound",
    [
        "docs/rules.md#calls-per-day",
        "law 3 of docs/architecture.md",
        "EIP-712, RFC 8785",
        "tests/spec/tools.tsv",
    ],
)
def test_the_check__lets_a_citation_that_opens_pass(sound: str) -> None:
    assert list(troubles(sound)) == []


def test_the_check__reads_comments_and_docstrings_and_no_data() -> None:
    source = (
        '"""Module, decisions 1."""\n'
        'x = "decisions 2"  # decisions 3\n'
        "\n"
        "def f():\n"
        '    """Decisions 4."""\n'
    )

    assert sorted(prose_of_python(source)) == [
        (1, "Module, decisions 1."),
        (2, "# decisions 3"),
        (5, "Decisions 4."),
    ]
