"""Prove that the tests notice a wrong rule: `make mutants-python [PART=n/10]`.

Each mutant of tests/mutants/python.tsv is run against the tests that touch its line. What touches
which line is measured first, by a run of all tests, unless it was since sources and tests last
changed. An interrupted run goes on where it was; a change of sources or tests begins it again.

    --part 3/10               every tenth mutant, from the third
    --tests "tests/unit -x"   which tests there are, as pytest takes it (default: those of make test)
    --limit 120               seconds for the tests of one mutant
    --contexts FOLDER         what was measured elsewhere (scripts/python_mutants/contexts.py)
    --again                   forget what an earlier run found of these mutants
    --only survived           judge again what had this outcome
    --save FILE               write the table to commit
    --fill                    top the list up to 300 mutants, and do nothing else

Exit 1: a mutant was not noticed, or was not judged.

.local/python-mutants/contexts    what was measured
.local/python-mutants/found.tsv   what was found
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from scripts.python_mutants import contexts, listed, verdicts
from scripts.python_mutants.judging import Judge
from scripts.python_mutants.listed import ROOT, TABLE, RuleMutant
from scripts.python_mutants.verdicts import MutantVerdict

WORK: Final = ROOT / ".local" / "python-mutants"
FOUND: Final = WORK / "found.tsv"
MEASURED: Final = WORK / "contexts"
TESTS: Final = (
    "tests --ignore=tests/deep --ignore=tests/cluster --ignore=tests/architecture -m 'not slow'"
)
LANES: Final = 2
HASH_SEED: Final = "PYTHONHASHSEED"


def state(*more: str) -> str:
    """A hash of all Python files that a test may run, of the list, and of `more`."""
    found = hashlib.sha256("\0".join(more).encode())
    for folder in ("api", "core", "indexer", "keeper", "scripts", "tests"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            found.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return found.hexdigest()


def measure(tests: str) -> None:
    """Run the tests with contexts, unless that was done of this state of the tree.

    Failures of tests are shown and no matter here. Errors: SystemExit when the run did not reach
    its end.
    """
    stamp, wanted = MEASURED / "state", state(tests)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(MEASURED, ignore_errors=True)
    MEASURED.mkdir(parents=True)
    print("measuring which tests run which lines: one run of all tests", flush=True)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *shlex.split(tests)),
            *("-p", "tests.lanes", "-n", os.environ.get("LANES", "auto")),
            *("-p", "scripts.python_mutants.contexts", "-p", "no:randomly"),
        ],
        cwd=ROOT,
        env=os.environ | {contexts.FOLDER: str(MEASURED)},
        check=False,
    )
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"the run of all tests ended early with exit code {done.returncode}; run it again")
    stamp.write_text(wanted)


def chosen(part: str) -> list[RuleMutant]:
    rows = [row for row in listed.read() if not row.struck]
    number, of = map(int, part.split("/"))
    return rows[number - 1 :: of]


def judge(
    todo: Sequence[RuleMutant], found: dict[str, MutantVerdict], arguments: argparse.Namespace
) -> None:
    """Judge these, and keep each verdict in FOUND at once."""
    folder = arguments.contexts or MEASURED
    if folder == MEASURED:
        measure(arguments.tests)
    note, begun = state(arguments.tests), time.monotonic()
    done = Counter[str]()

    def keep(verdict: MutantVerdict) -> None:
        found[verdict.id] = verdict
        verdicts.write(found.values(), FOUND, note)
        done[verdict.outcome] += 1
        print(
            f"{done.total():3}/{len(todo)} {verdict.id} {verdict.outcome} "
            f"{verdict.test or f'by {verdict.run} of {verdict.touching} tests'}",
            flush=True,
        )

    plugin = Judge(
        todo,
        contexts.read(folder, {row.file for row in todo}),
        WORK,
        arguments.limit,
        LANES,
        keep,
    )
    options = ["-x", "-s", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly"]
    code = pytest.main([*shlex.split(arguments.tests), *options], plugins=[plugin])
    if plugin.is_child:
        sys.stdout.flush()
        os._exit(code)
    print(f"{time.monotonic() - begun:.0f} s")


def fix_hashes() -> None:
    """Sets have the same order in each run: whether a missing `sorted` shows depends on it."""
    if os.environ.get(HASH_SEED) != "0":
        os.environ[HASH_SEED] = "0"
        command = [sys.executable, "-m", "scripts.python_mutants", *sys.argv[1:]]
        os.execv(sys.executable, command)


def main() -> None:
    fix_hashes()
    parser = argparse.ArgumentParser(prog="python -m scripts.python_mutants")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--tests", default=TESTS)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--contexts", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--fill", action="store_true")
    arguments = parser.parse_args()
    if arguments.fill:
        listed.write(listed.fill(listed.read() if TABLE.exists() else []))
        return
    if complaints := list(listed.gone(listed.read())):
        sys.exit("\n".join(complaints))
    WORK.mkdir(parents=True, exist_ok=True)
    is_same = FOUND.exists() and verdicts.note_of(FOUND) == state(arguments.tests)
    found = verdicts.read(FOUND) if is_same else {}
    mutants = chosen(arguments.part)
    for row in mutants:
        if arguments.again or (row.id in found and found[row.id].outcome in arguments.only):
            found.pop(row.id, None)
    todo = [row for row in mutants if row.id not in found]
    print(f"{len(mutants)} mutants, {len(mutants) - len(todo)} judged before", flush=True)
    if todo:
        judge(todo, found, arguments)
    judged = [found[row.id] for row in mutants if row.id in found]
    print(dict(Counter(one.outcome.value for one in judged)))
    if arguments.save:
        verdicts.write(judged, arguments.save)
    if sentences := verdicts.unnoticed(found, mutants):
        sys.exit("\n".join(sentences))


if __name__ == "__main__":
    main()
