"""What became of each mutant, as a table, by which an interrupted run goes on."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

from scripts.python_mutants.listed import RuleMutant


class MutantOutcome(StrEnum):
    NOTICED = "noticed"
    TIMED_OUT = "timed out"  # a test that passes without the mutant did not end with it
    SURVIVED = "survived"
    NO_TEST = "no test"


NOTICED = (MutantOutcome.NOTICED, MutantOutcome.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class MutantVerdict:
    """`test`: the one that noticed; `run`: how many tests of `touching` were run."""

    id: str
    outcome: MutantOutcome
    test: str
    seconds: float
    run: int
    touching: int


def read(table: Path) -> dict[str, MutantVerdict]:
    with table.open(newline="") as lines:
        rows = csv.DictReader(
            (line for line in lines if not line.startswith("#")), dialect="excel-tab"
        )
        return {
            row["id"]: MutantVerdict(
                row["id"],
                MutantOutcome(row["outcome"]),
                row["test"],
                float(row["seconds"]),
                int(row["run"]),
                int(row["touching"]),
            )
            for row in rows
        }


def write(verdicts: Iterable[MutantVerdict], table: Path, note: str = "") -> None:
    """Whole or not at all; `note` goes before the table."""
    names = [field.name for field in fields(MutantVerdict)]
    aside = table.with_suffix(".new")
    with aside.open("w", newline="") as lines:
        if note:
            lines.write(f"# {note}\n")
        writer = csv.writer(lines, dialect="excel-tab", lineterminator="\n")
        writer.writerow(names)
        for verdict in sorted(verdicts, key=lambda one: one.id):
            writer.writerow([getattr(verdict, name) for name in names])
    aside.replace(table)


def note_of(table: Path) -> str:
    with table.open() as lines:
        first = lines.readline()
    return first.removeprefix("# ").strip() if first.startswith("#") else ""


def unnoticed(found: Mapping[str, MutantVerdict], listed: Sequence[RuleMutant]) -> list[str]:
    """A sentence for each of these mutants that no test noticed, or that was not judged."""
    return [
        f"{mutant.id} {'was not judged' if verdict is None else verdict.outcome.value}: "
        f"{mutant.rule} of {mutant.file}, `{mutant.old}` became `{mutant.new}`"
        for mutant in listed
        if (verdict := found.get(mutant.id)) is None or verdict.outcome not in NOTICED
    ]
