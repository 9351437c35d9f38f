"""The list of mutants, tests/mutants/python.tsv: a row names a function and a defect of it, by text
and not by line, so that a row survives whatever moves the line.

A row whose place is gone is an error until somebody moves it (file, rule, old, new) or strikes it
out: its last column then says why, and nothing runs it any more. `fill` tops the list up to SIZE
rows that are not struck out. It spreads new ones over the files by how many lines decide something,
then over functions and operators, and picks the same ones on every machine.
"""

import ast
import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from scripts.python_mutants.operators import Mutation, branching_lines, enums_of, mutations

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = ROOT / "tests" / "mutants" / "python.tsv"
SIZE: Final = 300
SCOPE: Final = ("core/mandate/rules", "core/credits", "core/earn")
USUAL: Final = ("boundary", "equality", "negated", "and/or", "constant", "arithmetic")
"""Operators of which the list has twice as many as of the others."""
HAS_ENUM: Final = re.compile(r"^class .*(?:Enum|Flag)\b", re.MULTILINE)
REFUSALS: Final = (
    "refusals",
    "reasons",
    "outcome",
    "quota",
    "fields",
    "validation",
    "scopes",
    "auth",
    "idempotency",
)


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """A row of the list. `struck`: why nothing runs it any more, or empty."""

    id: str
    file: str
    rule: str
    operator: str
    occurrence: int
    old: str
    new: str
    struck: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        """What no two rows share."""
        return (self.file, self.rule, self.operator, self.old, self.new, str(self.occurrence))


class PlaceIsGoneError(Exception):
    """The function does not have what a row would replace."""


def files() -> list[str]:
    """The files whose functions are mutated, from the root."""
    found = [file for folder in SCOPE for file in (ROOT / folder).rglob("*.py")]
    found += [ROOT / "api" / "kernel" / f"{name}.py" for name in REFUSALS]
    return sorted(file.relative_to(ROOT).as_posix() for file in found if file.name != "tables.py")


def read(table: Path = TABLE) -> list[RuleMutant]:
    """All rows, those struck out included."""
    with table.open(newline="") as lines:
        rows = csv.DictReader(lines, dialect="excel-tab")
        return [
            RuleMutant(**row | {"occurrence": int(row["occurrence"])})  # type: ignore[arg-type]  # columns are fields
            for row in rows
        ]


def write(rows: Sequence[RuleMutant], table: Path = TABLE) -> None:
    names = [field.name for field in fields(RuleMutant)]
    with table.open("w", newline="") as lines:
        writer = csv.writer(lines, dialect="excel-tab", lineterminator="\n")
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows)


def applied(row: RuleMutant) -> tuple[ast.Module, Mutation]:
    """The syntax tree of the row's file with its defect, and the defect.

    Errors: PlaceIsGoneError, with what to do.
    """
    file = ROOT / row.file
    if file.is_file():
        tree = ast.parse(file.read_text())
        for one in mutations(tree, _enums(), {row.rule}):
            if _place(row.file, one) == row.place:
                one.apply()
                return tree, one
    raise PlaceIsGoneError(_gone(row))


def _gone(row: RuleMutant) -> str:
    return (
        f"{row.id}: {row.rule} of {row.file} has no `{row.old}` (number {row.occurrence}) that can "
        f"become `{row.new}`. Move the row of {TABLE.relative_to(ROOT)} to where this rule is now, "
        "or write into its last column why the rule is gone."
    )


def fill(rows: Sequence[RuleMutant]) -> list[RuleMutant]:
    """The rows, and as many new ones as make SIZE that are not struck out."""
    trees = {file: ast.parse((ROOT / file).read_text()) for file in files()}
    kept = [row for row in rows if not row.struck]
    quotas = _shares({file: branching_lines(tree) for file, tree in trees.items()}, SIZE)
    per_file = Counter(row.file for row in kept)
    per_rule = Counter((row.file, row.rule) for row in kept)
    per_operator = Counter(row.operator for row in kept)
    taken = {row.place for row in rows}
    added = list[RuleMutant]()
    lines = {(row.file, line) for row in kept for line in applied(row)[1].lines}
    following = 1 + max((int(row.id[1:]) for row in rows), default=0)
    # Files that hold more than their share already leave less for the rest.
    for file, tree in sorted(trees.items(), key=lambda one: per_file[one[0]] - quotas[one[0]]):
        found = [one for one in mutations(tree, _enums()) if _place(file, one) not in taken]
        while per_file[file] < quotas[file] and len(kept) + len(added) < SIZE:
            free = [one for one in found if (file, one.lines.start) not in lines]
            if not free:
                break
            best = min(
                free,
                key=lambda one: (
                    per_rule[file, one.rule],
                    per_operator[one.operator] // (2 if one.operator in USUAL else 1),
                    _digest(_place(file, one)),
                ),
            )
            added.append(
                RuleMutant(
                    f"m{following + len(added):03}",
                    file,
                    best.rule,
                    best.operator,
                    best.occurrence,
                    best.old,
                    best.new,
                )
            )
            per_file[file] += 1
            per_rule[file, best.rule] += 1
            per_operator[best.operator] += 1
            lines |= {(file, line) for line in best.lines}
    return [*rows, *added]


def gone(rows: Iterable[RuleMutant]) -> Iterator[str]:
    """For each row that is not struck out and has no place any more, what to do."""
    for file, of_file in groupby(sorted(rows, key=_file), key=_file):
        listed = [row for row in of_file if not row.struck]
        tree = ast.parse((ROOT / file).read_text() if (ROOT / file).is_file() else "")
        found = {
            _place(file, one) for one in mutations(tree, _enums(), {row.rule for row in listed})
        }
        yield from (_gone(row) for row in listed if row.place not in found)


def _file(row: RuleMutant) -> str:
    return row.file


def _place(file: str, one: Mutation) -> tuple[str, ...]:
    return (file, one.rule, one.operator, one.old, one.new, str(one.occurrence))


def _digest(place: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(place).encode()).hexdigest()


def _shares(weights: Mapping[str, int], total: int) -> dict[str, int]:
    """`total` divided in proportion, by the largest remainder."""
    whole = sum(weights.values())
    shares = {name: weight * total // whole for name, weight in weights.items()}
    rest = sorted(weights, key=lambda name: (-(weights[name] * total % whole), name))
    for name in rest[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


@cache
def _enums() -> dict[str, tuple[str, ...]]:
    found = dict[str, tuple[str, ...]]()
    for folder in ("core", "api"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text()
            if HAS_ENUM.search(text):
                found |= enums_of(ast.parse(text))
    return found
