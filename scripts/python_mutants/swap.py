"""Put a mutant into a running process: the functions that are loaded get the code of the mutated
source, and no file changes.
"""

import functools
import gc
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final

from scripts.python_mutants.listed import ROOT, RuleMutant, applied
from scripts.python_mutants.operators import Function

CACHED: Final = type(functools.cache(len))
CACHED_OF: Final = ("core.", "api.")


class NotLoadedError(Exception):
    """No function of the process has the code that would be replaced."""


@dataclass(frozen=True, slots=True)
class LoadedFunctions:
    """The functions of some files, by file and line, and all caches of functions of ours."""

    by_place: dict[tuple[str, str, int], list[FunctionType]]
    caches: list[Any]

    @staticmethod
    def of(files: Collection[str]) -> "LoadedFunctions":
        """Those of the process, before anything is frozen for the collector of garbage."""
        by_place = defaultdict[tuple[str, str, int], list[FunctionType]](list)
        names = {str(ROOT / file): file for file in files}
        caches = list[Any]()
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__.co_filename in names:
                by_place[_place(names[one.__code__.co_filename], one.__code__)].append(one)
            elif type(one) is CACHED and one.__module__.startswith(CACHED_OF):
                caches.append(one)
        return LoadedFunctions(dict(by_place), caches)

    def put(self, mutant: RuleMutant) -> None:
        """What caches hold from before is dropped. Errors: PlaceIsGoneError, NotLoadedError."""
        tree, mutation = applied(mutant)
        codes = list(_codes(compile(tree, str(ROOT / mutant.file), "exec", dont_inherit=True)))
        replaced = 0
        for function in mutation.functions:
            for code in codes:
                if (code.co_name, code.co_firstlineno) == (function.name, _first_line(function)):
                    for loaded in self.by_place.get(_place(mutant.file, code), ()):
                        replaced += _replace(loaded, code)
        if not replaced:
            raise NotLoadedError(mutant.rule)
        for cached in self.caches:
            cached.cache_clear()


def _replace(loaded: FunctionType, code: CodeType) -> bool:
    """False: it closes over other names, and is made anew by the function around it."""
    if len(loaded.__code__.co_freevars) != len(code.co_freevars):
        return False
    loaded.__code__ = code
    return True


def _place(file: str, code: CodeType) -> tuple[str, str, int]:
    return file, code.co_qualname, code.co_firstlineno


def _first_line(function: Function) -> int:
    return min(one.lineno for one in (function, *function.decorator_list))


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
