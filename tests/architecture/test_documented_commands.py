"""What a page tells somebody to type exists: targets of make, modules and their commands, files,
settings.
"""

import importlib
import re
import shlex
from pathlib import Path

import pytest
from typer import Typer
from typer.main import get_command

from core.settings import Settings
from scripts.cli import app as mandate_wallet

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in DOCS.rglob("*.md") if "decisions" not in page.parts),
]
OPERATIONS = [
    DOCS / "operations.md",
    *sorted(page for page in (DOCS / "operations").rglob("*") if page.suffix in (".md", ".yml")),
]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
BLOCK = re.compile(r"^ *```(?:sh)?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
MADE = re.compile(r"(?:^|[\s;&(])make ([a-z][a-z-]+)\b", re.MULTILINE)
RUN = re.compile(r"python(?:3\.11)? -m ([a-z_]+(?:\.[a-z_]+)+)(?: ([a-z][a-z-]*)\b)?")
COMMAND = re.compile(
    r"(?:^|[\s;&(/])mandate-wallet ([a-z][a-z-]*(?:[ \t]+[^\s;&|#>)]+)*)", re.MULTILINE
)
# commands that read their own arguments, and the application that does
PASSED_ON = {
    "indexer": "indexer.main", "keeper": "keeper.main", "preflight": "scripts.preflight",
    "check-record": "indexer.check_record", "rebuild": "indexer.rebuild",
    "verify-record": "api.client.verify.main",
}  # fmt: skip
MIGRATIONS = {"upgrade", "adopt", "current", "check", "draft"}
OURS = ("api", "core", "indexer", "keeper", "scripts", "tests")
PREFIXES = (
    "KEEPER_", "CUSTODY_", "SPONSOR_", "X402_", "GUARD_", "DATABASE_", "RPC_", "INDEXER_",
    "SCANNER_", "API_METRICS", "HL_", "AUDIT_",
)  # fmt: skip
NO_SETTINGS = {
    "DATABASE_PASSWORD",  # of compose.yaml
    "RPC_URL", "RPC_PORT",  # of make
    "KEEPER_ADDRESS", "GUARD_ADDRESS", "KEEPER_ADMIN_ADDRESS",  # of make deploy
}  # fmt: skip


def typed(page: Path) -> str:
    """Blocks and spans of code, a line each."""
    text = page.read_text()
    blocks = BLOCK.findall(text)
    spans = [" ".join(one.split()) for one in SPAN.findall(BLOCK.sub("", text))]
    return "\n".join([*blocks, *spans])


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_target_that_a_page_names__is_one_of_the_makefile(page: Path) -> None:
    assert set(MADE.findall(typed(page))) - TARGETS == set()


@pytest.mark.parametrize("page", [*PAGES, DOCS / "operations" / "alerts.yml"], ids=named)
def test_a_module_that_a_page_runs__has_the_command(page: Path) -> None:
    for module, command in RUN.findall(typed(page)):
        if module.split(".")[0] not in OURS:
            continue
        app = getattr(importlib.import_module(module), "app", None)
        if not command or not isinstance(app, Typer):
            continue
        commands = [
            one.name or one.callback.__name__.replace("_", "-")
            for one in app.registered_commands
            if one.callback is not None
        ]
        if len(commands) > 1:
            assert command in commands, f"{module} {command}"


@pytest.mark.parametrize("page", [*PAGES, DOCS / "operations" / "alerts.yml"], ids=named)
def test_a_command_that_a_page_names__is_one_of_mandate_wallet_with_its_options(page: Path) -> None:
    text = typed(page) if page.suffix == ".md" else page.read_text()
    for found in COMMAND.findall(text):
        name, *arguments = shlex.split(found)
        assert faults_of(name, arguments) == [], found


def faults_of(name: str, arguments: list[str]) -> list[str]:
    """The words that `mandate-wallet NAME` would refuse: of commands and options, not their values."""
    known = get_command(mandate_wallet).commands  # type: ignore[attr-defined]  # it is a group
    if name not in known:
        return [name]
    if name == "migrate":
        return [one for one in arguments[:1] if one not in MIGRATIONS]
    command = known[name]
    if name in PASSED_ON:
        command = get_command(importlib.import_module(PASSED_ON[name]).app)
    if arguments and hasattr(command, "commands"):
        if arguments[0] not in command.commands:
            return arguments[:1]
        command = command.commands[arguments[0]]
    options = {"--help", *(option for one in command.params for option in one.opts)}
    return [one for one in arguments if one.startswith("-") and one not in options]


@pytest.mark.parametrize(
    "words",
    [
        "nothing", "indexer nothing", "keeper status --nothing", "migrate nothing",
        "preflight --net sepolia", "deploy --to sepolia", "verify-record record.ndjson --node URL",
    ],
)  # fmt: skip
def test_a_command_that_there_is_not__would_be_found(words: str) -> None:
    name, *arguments = words.split()
    assert len(faults_of(name, arguments)) == 1


@pytest.mark.parametrize("page", OPERATIONS, ids=named)
def test_a_setting_that_operators_are_told_to_turn__exists(page: Path) -> None:
    words = set(re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", page.read_text()))
    settings = {name.upper() for name in Settings.model_fields}
    ours = {word for word in words if word.startswith(PREFIXES)}
    assert ours - settings - NO_SETTINGS == set()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_file_that_a_page_links_to__is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)", BLOCK.sub("", page.read_text()))
    assert [one for one in links if not (page.parent / one).exists()] == []


@pytest.mark.parametrize("page", OPERATIONS, ids=named)
def test_a_part_of_a_page_that_is_linked_to__is_there(page: Path) -> None:
    for file, part in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text()):
        target = page if not file else page.parent / file
        titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in titles}
        assert part in anchors, f"{file}#{part}"
