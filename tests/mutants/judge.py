"""Prove that the tests notice defects: `make mutants`, `make mutants-python`.

    python -m tests.mutants.judge contracts [NAME ...]   a unit test or an attack must notice each defect
    python -m tests.mutants.judge sequences [NAME ...]   the invariants alone must, with nine of ten seeds
    python -m tests.mutants.judge python [NAME ...]      the test that a row names must
        --part 3/10              every tenth defect, from the third
        --tests "tests/unit"     these tests must, in place of the one that the row names

tests/contracts/mutants.toml and tests/mutants/python.tsv name the defects: a place and what stands
there instead. Each is put alone into a copy of the tree, and the tests run there. One that no test
notices survives, and the run fails; so it does where a test fails without any defect.

.local/mutants/<suite><n>             the copies, one for each worker, with a build of their own
.local/mutants/<suite>.verdicts.json  what was found, by the hash of sources and defect: an interrupted
run goes on, `--again` begins again
"""

import argparse
import ast
import concurrent.futures
import csv
import hashlib
import json
import os
import queue
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
CONTRACT_TESTS = ROOT / "tests" / "contracts"
CONTRACT_TABLE = CONTRACT_TESTS / "mutants.toml"
PYTHON_TABLE = ROOT / "tests" / "mutants" / "python.tsv"
WORK = ROOT / ".local" / "mutants"
WORKERS = 2
WITHIN_S = 600
# Without the optimizer it compiles ten times faster, and the size of the code is of no matter here.
FORGE_SETTINGS = {
    "FOUNDRY_OPTIMIZER": "false",
    "FOUNDRY_CODE_SIZE_LIMIT": "200000",
    "FOUNDRY_DYNAMIC_TEST_LINKING": "true",
    "FOUNDRY_FUZZ_RUNS": "64",
    "FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT": "0",
    "FOUNDRY_DENY": "never",
}
SHARED = (
    "node_modules",
    ".venv",
    ".build",
)  # of the copies with the tree, where tests look for them


class PlaceIsGoneError(Exception):
    """The source does not have what a mutant would replace; the message says what to do."""


@dataclass(frozen=True)
class Mutant:
    """A named defect. `wrong`: the text of `file` with it; `tests`: those that must notice it, as
    pytest's arguments or as files of tests/contracts; none: all of the suite.
    """

    name: str
    file: str
    wrong: str
    breaks: str
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite(ABC):
    """The tests that a mutant is held against, with which seeds, and how many must notice."""

    name: str
    seeds: range = range(1, 2)
    enough: int = 1

    @abstractmethod
    def mutants(self) -> list[Mutant]:
        """Errors: PlaceIsGoneError."""

    @abstractmethod
    def sources(self) -> list[Path]:
        """What a copy of the tree has."""

    @abstractmethod
    def failures(self, tree: Path, tests: Sequence[str], seed: int) -> list[str]:
        """The tests that fail there. Errors: RuntimeError when they did not run."""


@dataclass(frozen=True)
class ForgeSuite(Suite):
    """Tests of folders of tests/contracts. `is_of_sequences`: the invariants alone, for the mutants
    that say so.
    """

    folders: frozenset[str] = frozenset()
    is_of_sequences: bool = False

    def mutants(self) -> list[Mutant]:
        found = list[Mutant]()
        for entry in tomllib.loads(CONTRACT_TABLE.read_text())["mutant"]:
            text = (ROOT / entry["file"]).read_text()
            if (times := text.count(entry["old"])) != 1:
                raise PlaceIsGoneError(
                    f"{entry['name']}: its text stands {times} times in {entry['file']}, not once"
                )
            wrong = text.replace(entry["old"], entry["new"])
            tests = () if self.is_of_sequences or "tests" not in entry else (entry["tests"],)
            if entry.get("sequences") or not self.is_of_sequences:
                found.append(Mutant(entry["name"], entry["file"], wrong, entry["breaks"], tests))
        return found

    def sources(self) -> list[Path]:
        taken = [
            file
            for file in CONTRACT_TESTS.rglob("*.sol")
            if file.relative_to(CONTRACT_TESTS).parts[0] in self.folders
        ]
        compiler = (ROOT / "scripts" / "solc").iterdir()
        numbers = (ROOT / "tests" / "vectors").glob("*.json")
        settings = ROOT / "foundry.toml"
        return sorted([*(ROOT / "contracts").rglob("*.sol"), *taken, *compiler, *numbers, settings])

    def failures(self, tree: Path, tests: Sequence[str], seed: int) -> list[str]:
        options = ["--match-test", "invariant_", "--fail-fast"] if self.is_of_sequences else []
        if tests:
            files = ",".join(f"tests/contracts/{file}" for file in tests)
            options += ["--match-path", f"{{{files}}}"]
        command = [str(FORGE), "test", "--json", "--fuzz-seed", hex(seed), *options]
        done = run_in(tree, command, FORGE_SETTINGS)
        start = done.stdout.find("{")
        if start < 0 or "Compiler run failed" in done.stdout + done.stderr:
            raise RuntimeError(f"does not compile:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
        contracts: dict[str, Any] = json.loads(done.stdout[start:])
        failed = [
            f"{contract.partition(':')[0].removeprefix('tests/contracts/')}: {test.partition('(')[0]}"
            for contract, report in contracts.items()
            for test, result in report["test_results"].items()
            if result["status"] == "Failure"
        ]
        return sorted(failed, key=lambda test: (test.endswith(": setUp"), test))


@dataclass(frozen=True)
class PytestSuite(Suite):
    """The test that each row of the list names."""

    def mutants(self) -> list[Mutant]:
        return [
            Mutant(
                row["id"],
                row["file"],
                wrong_source(row),
                f"{row['rule']} of {row['file']}, `{row['old']}` became `{row['new']}`",
                (row["test"],),
            )
            for row in python_rows()
            if not row["struck"]
        ]

    def sources(self) -> list[Path]:
        listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [file for name in names.splitlines() if (file := ROOT / name).is_file()]

    def failures(self, tree: Path, tests: Sequence[str], seed: int) -> list[str]:
        """Sets have the same order in each run, and property tests the same examples."""
        options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly"]
        settings = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "HYPOTHESIS_PROFILE": "ci"}
        done = run_in(tree, [sys.executable, "-m", "pytest", *tests, *options], settings)
        if done.returncode == pytest.ExitCode.OK:
            return []
        if done.returncode not in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
            raise RuntimeError(f"pytest did not run:\n{(done.stdout + done.stderr)[-2000:]}")
        marks = ("FAILED ", "ERROR ")
        said = [line.partition(" - ")[0] for line in done.stdout.splitlines()]
        return [line.partition(" ")[2] for line in said if line.startswith(marks)] or ["a test"]


# Proofs, gas and vectors are slow, or read files of their own.
UNIT_FOLDERS = frozenset(folder.name for folder in CONTRACT_TESTS.iterdir() if folder.is_dir()) - {
    "gas",
    "invariants",
    "proofs",
    "vectors",
}
SUITES: dict[str, Suite] = {
    "contracts": ForgeSuite("contracts", folders=UNIT_FOLDERS),
    "sequences": ForgeSuite(
        "sequences", range(1, 11), 9, frozenset({"base", "invariants"}), is_of_sequences=True
    ),
    "python": PytestSuite("python"),
}


def run_in(
    tree: Path, command: list[str], settings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Errors: TimeoutExpired."""
    return subprocess.run(
        command,
        cwd=tree,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


# The list of wrong rules


def python_rows() -> list[dict[str, str]]:
    """A row names a function and a defect of it by text and not by line, so that it survives whatever
    moves the line. `struck` says why nothing runs it any more, or is empty.
    """
    with PYTHON_TABLE.open(newline="") as lines:
        return list(csv.DictReader(lines, dialect="excel-tab"))


def wrong_source(row: dict[str, str]) -> str:
    """The row's file with its defect. Errors: PlaceIsGoneError."""
    file = ROOT / row["file"]
    tree = ast.parse(file.read_text() if file.is_file() else "")
    for name, function in functions_of(tree, ""):
        place = _Place(row)
        if name == row["rule"] and place.visit(function) and place.is_found:
            return ast.unparse(ast.fix_missing_locations(tree))
    raise PlaceIsGoneError(
        f"{row['id']}: {row['rule']} of {row['file']} has no `{row['old']}` (number "
        f"{row['occurrence']}). Move the row of {PYTHON_TABLE.relative_to(ROOT)} to where this rule "
        "is now, or write into its last column why the rule is gone."
    )


def functions_of(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    """Each function by its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
            yield from functions_of(child, f"{prefix}{child.name}.<locals>.")
        else:
            deeper = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix
            yield from functions_of(child, deeper)


class _Place(ast.NodeTransformer):
    """Replaces the statement or expression of a row: of those that read like it, in the order of the
    source, the one with the row's number.
    """

    def __init__(self, row: dict[str, str]) -> None:
        self.row, self.left, self.is_found = row, int(row["occurrence"]), False

    def visit(self, node: ast.AST) -> Any:
        if self.is_found or not isinstance(node, ast.stmt | ast.expr):
            return node if self.is_found else self.generic_visit(node)
        if ast.unparse(node) != self.row["old"]:
            return self.generic_visit(node)
        self.left -= 1
        if self.left >= 0:
            return node
        self.is_found = True
        if isinstance(node, ast.stmt):
            return ast.parse(self.row["new"]).body[0]
        return ast.parse(self.row["new"], mode="eval").body


# Judging


def copy_tree(tree: Path, suite: Suite) -> None:
    """Sources again; the build of an earlier run stays and is used for what did not change."""
    kept = {"out", "cache", *SHARED}
    for old in tree.iterdir() if tree.exists() else ():
        if old.is_dir() and not old.is_symlink() and old.name not in kept:
            shutil.rmtree(old)
    for file in suite.sources():
        copy = tree / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    for name in SHARED if isinstance(suite, PytestSuite) else SHARED[:1]:
        if not (tree / name).exists():
            (tree / name).symlink_to(ROOT / name)


def judged(mutant: Mutant, suite: Suite, trees: "queue.Queue[Path]") -> list[list[str]]:
    """For each seed that notices the mutant, the tests that do."""
    tree = trees.get()
    try:
        (tree / mutant.file).write_text(mutant.wrong)
        found = [_failures(tree, mutant, suite, seed) for seed in suite.seeds]
        return [killers for killers in found if killers]
    finally:
        shutil.copyfile(ROOT / mutant.file, tree / mutant.file)
        trees.put(tree)


def _failures(tree: Path, mutant: Mutant, suite: Suite, seed: int) -> list[str]:
    try:
        return suite.failures(tree, mutant.tests, seed)
    except subprocess.TimeoutExpired:
        if len(suite.seeds) > 1:
            raise RuntimeError(f"did not end in {WITHIN_S} seconds with seed {seed}") from None
        return [f"no test ended in {WITHIN_S} seconds"]


def key_of(mutant: Mutant, suite: Suite, ground: str) -> str:
    return hashlib.sha256(f"{ground}{suite.name}{mutant}".encode()).hexdigest()


def shown(noticed: list[list[str]], suite: Suite) -> str:
    if not noticed:
        return "SURVIVED"
    more = f" and {len(noticed[0]) - 1} more" if len(noticed[0]) > 1 else ""
    seeds = f" ({len(noticed)} of {len(suite.seeds)} seeds)" if len(suite.seeds) > 1 else ""
    return f"{noticed[0][0]}{more}{seeds}"


def run(
    todo: list[Mutant], suite: Suite, ground: str, verdicts: dict[str, list[list[str]]]
) -> list[str]:
    """Judges the mutants, some at a time, and keeps each verdict at once.

    Returns what could not be judged. Errors: SystemExit where tests fail without a mutant.
    """
    trees: queue.Queue[Path] = queue.Queue()
    is_each_named = all(mutant.tests for mutant in todo)
    asked = sorted({test for mutant in todo for test in mutant.tests}) if is_each_named else []
    for index in range(min(WORKERS, len(todo))):
        tree = WORK / f"{suite.name}{index}"
        copy_tree(tree, suite)
        for seed in suite.seeds if index == 0 else ():
            if failing := suite.failures(tree, asked, seed):
                sys.exit(
                    f"without any mutant these tests fail with seed {seed}:\n" + "\n".join(failing)
                )
        trees.put(tree)

    broken = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        futures = {pool.submit(judged, one, suite, trees): one for one in todo}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            mutant = futures[future]
            try:
                found = verdicts[key_of(mutant, suite, ground)] = future.result()
            except RuntimeError as reason:
                broken.append(f"{mutant.name} {reason}")
                continue
            (WORK / f"{suite.name}.verdicts.json").write_text(json.dumps(verdicts, indent=1))
            print(f"{done:3}/{len(todo)} {mutant.name}: {shown(found, suite)}", flush=True)
    return broken


def chosen(arguments: argparse.Namespace, suite: Suite) -> list[Mutant]:
    """Errors: PlaceIsGoneError."""
    number, of = map(int, arguments.part.split("/"))
    found = suite.mutants()[number - 1 :: of]
    if arguments.tests:
        found = [replace(one, tests=tuple(shlex.split(arguments.tests))) for one in found]
    return [one for one in found if not arguments.names or one.name in arguments.names]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--tests")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    started, suite = time.monotonic(), SUITES[arguments.suite]
    try:
        mutants = chosen(arguments, suite)
    except PlaceIsGoneError as gone:
        sys.exit(str(gone))
    ground = hashlib.sha256(b"".join(file.read_bytes() for file in suite.sources())).hexdigest()
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / f"{suite.name}.verdicts.json"
    is_new = arguments.again or not kept.exists()
    verdicts: dict[str, list[list[str]]] = {} if is_new else json.loads(kept.read_text())

    todo = [one for one in mutants if key_of(one, suite, ground) not in verdicts]
    print(f"{len(mutants)} mutants, {len(mutants) - len(todo)} judged before", flush=True)
    broken = run(todo, suite, ground, verdicts) if todo else []
    found = {one: verdicts.get(key_of(one, suite, ground)) for one in mutants}
    survivors = [
        f"{one.name} survived, {suite.enough} of {len(suite.seeds)} seeds must notice: {one.breaks}"
        for one, noticed in found.items()
        if noticed is not None and len(noticed) < suite.enough
    ]
    noticed = len(mutants) - len(broken) - len(survivors)
    print(f"\n{noticed} of {len(mutants)} noticed, {time.monotonic() - started:.0f} s")
    if broken or survivors:
        sys.exit("\n".join([*broken, *survivors]))


if __name__ == "__main__":
    main()
