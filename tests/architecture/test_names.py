"""A class name has one meaning in the whole product."""

import ast
from collections import defaultdict

from tests.architecture.test_laws import ROOT, shown, sources

GENERATED = ROOT / "api" / "client" / "operations.py"


def classes() -> dict[str, list[str]]:
    """Where each class name of the product is defined, as file:line."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sources("core", "indexer", "keeper", "api", "scripts"):
        if file != GENERATED:
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(shown(file, node))
    return found


def test_a_class_name__has_one_meaning() -> None:
    twice = {name: places for name, places in classes().items() if len(places) > 1}

    assert twice == {}, f"rename all but one, by what each is of: {twice}"
