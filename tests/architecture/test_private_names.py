"""Nothing of a library is used that it keeps to itself: such names change without a word."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.test_laws import shown, sources

OURS = ("core", "indexer", "keeper", "api", "scripts")
# Names with an underscore that the manuals of Python name: of os, and of named tuples.
DOCUMENTED = frozenset({"_exit", "_asdict", "_fields", "_make", "_replace"})


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in {"_", *DOCUMENTED}


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def defined(tree: ast.Module) -> Iterator[str]:
    """Names that a file gives: functions, classes, variables, fields and attributes of `self`."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def private_uses(tree: ast.Module, inherited: frozenset[str]) -> Iterator[ast.AST]:
    """Imports, attributes and `getattr` of a private name that this file does not give; one of `self`
    may be `inherited`, from another file of ours.
    """
    own = frozenset(defined(tree))
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if not module.startswith(OURS):
                words = [*module.split("."), *(one.name for one in names)]
            case ast.Import(names=names):
                words = [word for one in names for word in one.name.split(".")]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                words = [] if name in own | inherited else [name]
            case (
                ast.Attribute(attr=name)
                | ast.Call(
                    func=ast.Name(id="getattr" | "setattr"),
                    args=[_, ast.Constant(value=str(name)), *_],
                )
            ):
                words = [] if name in own else [name]
            case _:
                continue
        if any(map(is_private, words)):
            yield node


def test_no_private_name_of_a_library__is_used() -> None:
    files = list(sources(*OURS))
    ours = frozenset(name for file in files for name in defined(tree_of(file)))
    found = [shown(file, node) for file in files for node in private_uses(tree_of(file), ours)]

    assert found == [], f"use what the library documents: {found}"


def test_the_rule__finds_each_way_to_a_private_name() -> None:
    used = """
from httpcore import _sync
from _pytest.mark import ParameterSet
import anyio._core
class Ours(Theirs):
    def of(self):
        self._own = self._theirs
        return self.pool._connections, getattr(self.pool, "_requests"), self._own, self._ours
"""
    found = private_uses(ast.parse(used), frozenset({"_ours"}))
    assert [ast.unparse(node) for node in found] == [
        "from httpcore import _sync",
        "from _pytest.mark import ParameterSet",
        "import anyio._core",
        "self._theirs",
        "self.pool._connections",
        "getattr(self.pool, '_requests')",
    ]
