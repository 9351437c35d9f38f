"""Law 2 of docs/architecture.md for the folders of core: contexts form no circle, and nobody
touches another's tables.

core/<context>/{rules, tables, queries, views, ledger}      contexts, found by folder
core/{db, chain, ledger}                                    what they all use; it knows none of them
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core"
SHARED = {"db", "chain", "ledger"}
CONTEXTS = {folder.name for folder in CORE.iterdir() if (folder / "__init__.py").exists()} - SHARED


def imported(file: Path) -> list[str]:
    """Modules of core that a file imports, `from a import b` as a.b too, since b may be a
    module.
    """
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module is not None
            and node.module.startswith("core.")
        ):
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("core.")]
    return found


def context_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in CONTEXTS else None


def uses() -> dict[str, set[str]]:
    """context -> the contexts that it imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for context in CONTEXTS:
        for file in (CORE / context).rglob("*.py"):
            found[context] |= {
                used
                for module in imported(file)
                if (used := context_of(module)) not in (None, context)
            }
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The contexts that reach themselves."""
    reach = {context: set(used) for context, used in graph.items()}
    for _ in graph:
        for context, used in reach.items():
            reach[context] = used.union(*(reach.get(other, set()) for other in used))
    return sorted(context for context, used in reach.items() if context in used)


def takes_foreign_tables(file: Path) -> list[str]:
    """Tables of other contexts that a file names.

    Foreign keys (tables.py) and joins that are read (views) may.
    """
    parts = file.relative_to(ROOT).with_suffix("").parts
    if parts[2:3] == ("tables",) or "views" in parts:
        return []
    mine = parts[1] if len(parts) > 2 else None
    return sorted(
        {
            module
            for module in imported(file)
            if module.split(".")[2:3] == ["tables"] and context_of(module) != mine
        }
    )


def test_contexts__import_one_another_in_no_circle() -> None:
    assert circle(uses()) == []


def test_the_check__sees_a_circle() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


def test_what_all_contexts_use__knows_none_of_them() -> None:
    found = {
        f"{file.relative_to(ROOT)} imports {module}"
        for shared in SHARED
        for file in (CORE / shared).rglob("*.py")
        for module in imported(file)
        if context_of(module) is not None
    }
    assert found == set()


def test_tables__are_named_by_their_own_context_and_by_views() -> None:
    found = {
        str(file.relative_to(ROOT)): takes_foreign_tables(file)
        for context in CONTEXTS
        for file in (CORE / context).rglob("*.py")
    }
    assert {file: tables for file, tables in found.items() if tables} == {}


def test_core__loads_nothing_by_itself() -> None:
    assert [
        str(file.relative_to(ROOT))
        for file in CORE.rglob("__init__.py")
        if file.read_text().strip()
    ] == []


def test_every_context__is_on_the_page_of_the_architecture_or_has_one_of_its_own() -> None:
    """So that a new area edits no page (CONTRIBUTING.md#an-area)."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| ([a-z, ]+) \|", page.partition("| context |")[2], re.MULTILINE)
    named = {name for row in rows for name in row.split(", ")}

    assert named - CONTEXTS == set()
    assert {
        name for name in CONTEXTS - named if not (ROOT / "docs" / f"{name}.md").exists()
    } == set()
