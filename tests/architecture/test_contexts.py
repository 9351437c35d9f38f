"""Laws 1 and 2 of docs/architecture.md for contexts and for what areas lend one another: no circle,
nobody touches another's tables, and core has what two processes share.

core/<context>/, api/areas/<area>/{rules, tables, queries, views, ledger, writes}      found by folder
core/{db, chain, ledger}                                    what they all use; it knows none of them
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core"
SHARED = {"db", "chain", "ledger"}
CONTEXTS = {folder.name for folder in CORE.iterdir() if (folder / "__init__.py").exists()} - SHARED
AREAS = {file.parent.name for file in (ROOT / "api" / "areas").glob("*/__init__.py")}
PLACES = {f"core.{name}": CORE / name for name in CONTEXTS} | {
    f"api.areas.{name}": ROOT / "api" / "areas" / name for name in AREAS
}
SERVES = {"operations", "schemas", "service", "reasons", "jobs"}  # of an area: nobody else's


def imported(file: Path) -> list[str]:
    """Modules that a file imports, `from a import b` as a.b too, since b may be a module."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def place_of(module: str) -> str | None:
    """The context or area that a module is part of."""
    parts = module.split(".")
    place = ".".join(parts[: 3 if module.startswith("api.") else 2])
    return place if place in PLACES else None


def part_of(module: str) -> str:
    """What a module of a place is: `tables`, or `` for the place itself."""
    return module.removeprefix(place_of(module) or module).lstrip(".").partition(".")[0]


def lent() -> Iterator[tuple[str, Path]]:
    """Each place and each of its files, but for what an area alone has: its service and the like."""
    for place, folder in PLACES.items():
        for file in folder.rglob("*.py"):
            if file.relative_to(folder).with_suffix("").parts[0] not in SERVES:
                yield place, file


def uses() -> dict[str, set[str]]:
    """place -> the places that it imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for place, file in lent():
        found[place] |= {
            used for module in imported(file) if (used := place_of(module)) not in (None, place)
        }
    return found


def reached(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """What each place imports, through whatever others."""
    reach = {place: set(used) for place, used in graph.items()}
    for _ in graph:
        for place, used in reach.items():
            reach[place] = used.union(*(reach.get(other, set()) for other in used))
    return reach


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The places that reach themselves."""
    return sorted(place for place, used in reached(graph).items() if place in used)


def foreign_tables(place: str, file: Path) -> list[str]:
    """Tables of other places that a file names.

    Foreign keys (tables.py) and joins that are read (views) may.
    """
    parts = file.relative_to(PLACES[place]).with_suffix("").parts
    if parts[0] == "tables" or "views" in parts:
        return []
    return sorted(
        {
            module
            for module in imported(file)
            if part_of(module) == "tables" and place_of(module) not in (None, place)
        }
    )


def test_contexts_and_areas__lend_one_another_in_no_circle() -> None:
    assert circle(uses()) == []


def test_the_check__sees_a_circle() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


def test_what_all_contexts_use__knows_none_of_them() -> None:
    found = {
        f"{file.relative_to(ROOT)} imports {module}"
        for shared in SHARED
        for file in (CORE / shared).rglob("*.py")
        for module in imported(file)
        if place_of(module) is not None
    }
    assert found == set()


def test_tables__are_named_by_their_own_place_and_by_views() -> None:
    found = {str(file.relative_to(ROOT)): foreign_tables(place, file) for place, file in lent()}
    assert {file: tables for file, tables in found.items() if tables} == {}


def test_core__has_the_contexts_that_the_indexer_or_the_keeper_uses_too() -> None:
    """What the API and its slow jobs alone use is part of an area (CONTRIBUTING.md#an-area)."""
    reach = reached(uses())
    files = [file for room in ("indexer", "keeper") for file in (ROOT / room).rglob("*.py")]
    files += CORE.glob("*.py")
    direct = {used for file in files for module in imported(file) if (used := place_of(module))}
    shared = direct.union(*(reach[place] for place in direct))

    assert {f"core.{name}" for name in CONTEXTS} - shared == set()


def test_core__loads_nothing_by_itself() -> None:
    assert [
        str(file.relative_to(ROOT))
        for file in CORE.rglob("__init__.py")
        if file.read_text().strip()
    ] == []


def test_every_context__is_on_the_page_of_the_architecture_or_has_one_of_its_own() -> None:
    """docs/api.md has the areas."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("| context |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE)
    listed = [name for row in rows for name in row.split(", ")]
    named = set(listed)

    assert sorted(listed) == sorted(named), "a name has two rows"
    assert named - CONTEXTS == set()
    assert {
        name for name in CONTEXTS - named if not (ROOT / "docs" / f"{name}.md").exists()
    } == set()
