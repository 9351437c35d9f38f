"""Prove that the contracts' tests notice defects: `python -m scripts.mutate [--sequences] [--again]
[name ...]`.

tests/contracts/mutants.toml names defects: a place in the contracts, its text, and a wrong text.
Each is put into a copy of the tree, alone, and the tests run there: one of them must fail. A mutant
that no test notices survives, and the run fails.

--sequences asks the same of the invariants alone, as deep as `make test` runs them, for the mutants
that say `sequences = true`: of ten seeds nine must notice, and without a mutant none may.

.local/mutants/              the copies, one for each worker, with a build of their own
.local/mutants/verdicts.json what was found, by the hash of sources and mutant: an interrupted run
goes on, `--again` begins again

The copies are compiled without the optimizer, since that is ten times faster and the size of the
code is of no matter here.
"""

import concurrent.futures
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
TESTS = ROOT / "tests" / "contracts"
TABLE = TESTS / "mutants.toml"
WORK = ROOT / ".local" / "mutants"
VERDICTS = WORK / "verdicts.json"
WORKERS = 2

SETTINGS = {
    "FOUNDRY_OPTIMIZER": "false",
    "FOUNDRY_CODE_SIZE_LIMIT": "200000",
    "FOUNDRY_DYNAMIC_TEST_LINKING": "true",
    "FOUNDRY_FUZZ_RUNS": "64",
    "FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT": "0",
    "FOUNDRY_DENY": "never",
}


@dataclass(frozen=True)
class Suite:
    """The tests that a mutant is held against: folders of tests/contracts, which of their tests,
    with which seeds, and how many of these must notice.
    """

    name: str
    folders: frozenset[str]
    options: tuple[str, ...]
    seeds: range
    enough: int

    def sources(self) -> list[Path]:
        taken = [
            file
            for file in TESTS.rglob("*.sol")
            if file.relative_to(TESTS).parts[0] in self.folders
        ]
        return sorted([*(ROOT / "contracts").rglob("*.sol"), *taken, ROOT / "foundry.toml"])


# A unit test or an attack should see a defect. Proofs, gas and vectors are slow, or read files of
# their own.
UNIT = Suite(
    "unit",
    frozenset(folder.name for folder in TESTS.iterdir() if folder.is_dir())
    - {"gas", "invariants", "proofs", "vectors"},
    (),
    range(1, 2),
    1,
)
SEQUENCES = Suite(
    "sequences",
    frozenset({"base", "invariants"}),
    ("--match-test", "invariant_", "--fail-fast"),
    range(1, 11),
    9,
)


@dataclass(frozen=True)
class Mutant:
    """One named defect: in `file`, `old` (found exactly once) becomes `new`.

    `sequences`: the invariants must notice it too.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    sequences: bool = False

    def apply(self, tree: Path) -> None:
        target = tree / self.file
        target.write_text(target.read_text().replace(self.old, self.new))

    def revert(self, tree: Path) -> None:
        shutil.copyfile(ROOT / self.file, tree / self.file)


def mutants() -> list[Mutant]:
    """The table, each entry checked against the sources: a mutant that changes nothing would
    survive for no reason.
    """
    found = [Mutant(**entry) for entry in tomllib.loads(TABLE.read_text())["mutant"]]
    names = [one.name for one in found]
    wrong = [f"{name} stands twice in the table" for name in set(names) if names.count(name) > 1]
    for one in found:
        times = (ROOT / one.file).read_text().count(one.old)
        if times != 1 or one.old == one.new:
            wrong.append(
                f"{one.name}: its text stands {times} times in {one.file}, not once"
                if times != 1
                else f"{one.name} changes nothing"
            )
    if wrong:
        sys.exit("\n".join(wrong))
    return found


def copy_tree(tree: Path, suite: Suite) -> None:
    """Sources again; the build of an earlier run stays and is used for what did not change."""
    for name in ("contracts", "tests", "scripts"):
        shutil.rmtree(tree / name, ignore_errors=True)
    for file in [*suite.sources(), *(ROOT / "scripts" / "solc").iterdir()]:
        copy = tree / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    if not (tree / "node_modules").exists():
        (tree / "node_modules").symlink_to(ROOT / "node_modules")


def failures(tree: Path, suite: Suite, seed: int) -> list[str]:
    """The tests that fail in this tree, as file: test. Raises when the tree does not compile."""
    command: list[str | Path] = [FORGE, "test", "--json", "--fuzz-seed", hex(seed), *suite.options]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=os.environ | SETTINGS,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    except subprocess.TimeoutExpired:
        if len(suite.seeds) > 1:
            raise RuntimeError(f"did not end in 600 seconds with seed {seed}") from None
        return ["no test ended in 600 seconds"]
    start = done.stdout.find("{")
    if start < 0 or "Compiler run failed" in done.stdout + done.stderr:
        raise RuntimeError(f"does not compile:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    contracts: dict[str, Any] = json.loads(done.stdout[start:])
    return sorted(
        (
            f"{contract.split(':')[0].removeprefix('tests/contracts/').removesuffix('.t.sol')}: "
            f"{test.split('(')[0]}"
        )
        for contract, report in contracts.items()
        for test, result in report["test_results"].items()
        if result["status"] == "Failure"
    )


def judged(mutant: Mutant, suite: Suite, trees: "queue.Queue[Path]") -> list[list[str]]:
    """For each seed that notices the mutant, the tests that do."""
    tree = trees.get()
    try:
        mutant.apply(tree)
        found = [failures(tree, suite, seed) for seed in suite.seeds]
        return [killers for killers in found if killers]
    finally:
        mutant.revert(tree)
        trees.put(tree)


def key_of(mutant: Mutant, suite: Suite, ground: str) -> str:
    return hashlib.sha256(f"{ground}{suite.name}{mutant}".encode()).hexdigest()


def shown(noticed: list[list[str]], suite: Suite) -> str:
    """The test that says it best: not a set-up, and of a file of its own before a shared one."""
    if not noticed:
        return "SURVIVED"
    killers = noticed[0]
    first = next((one for one in killers if not one.endswith(": setUp")), killers[0])
    seeds = f" ({len(noticed)} of {len(suite.seeds)} seeds)" if len(suite.seeds) > 1 else ""
    return f"{first}{f' and {len(killers) - 1} more' if len(killers) > 1 else ''}{seeds}"


def run(
    todo: list[Mutant], suite: Suite, ground: str, verdicts: dict[str, list[list[str]]]
) -> list[str]:
    """Judges the mutants, two at a time, and keeps each verdict at once.

    Returns what could not be judged.
    """
    trees: queue.Queue[Path] = queue.Queue()
    for index in range(min(WORKERS, len(todo))):
        tree = WORK / f"{suite.name}{index}"
        copy_tree(tree, suite)
        for seed in suite.seeds if index == 0 else ():
            if failing := failures(tree, suite, seed):
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
                verdicts[key_of(mutant, suite, ground)] = future.result()
            except RuntimeError as reason:
                broken.append(f"{mutant.name} {reason}")
                continue
            VERDICTS.write_text(json.dumps(verdicts, indent=1))
            print(
                f"{done:3}/{len(todo)} {mutant.name}: "
                f"{shown(verdicts[key_of(mutant, suite, ground)], suite)}",
                flush=True,
            )
    return broken


def chosen_for(suite: Suite, wanted: list[str]) -> list[Mutant]:
    """The wanted mutants; when none is named, all for the unit tests, and those that say so for the
    sequences.
    """
    if wanted:
        return [one for one in mutants() if one.name in wanted]
    return [one for one in mutants() if suite is UNIT or one.sequences]


def main() -> None:
    started = time.monotonic()
    suite = SEQUENCES if "--sequences" in sys.argv else UNIT
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    chosen = chosen_for(suite, wanted)
    ground = hashlib.sha256(b"".join(file.read_bytes() for file in suite.sources())).hexdigest()
    WORK.mkdir(parents=True, exist_ok=True)
    verdicts: dict[str, list[list[str]]] = (
        json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    )
    if "--again" in sys.argv:
        for one in chosen:
            verdicts.pop(key_of(one, suite, ground), None)

    todo = [one for one in chosen if key_of(one, suite, ground) not in verdicts]
    print(f"{len(chosen)} mutants, {len(chosen) - len(todo)} judged before", flush=True)
    broken = run(todo, suite, ground, verdicts) if todo else []

    print(f"\n{'mutant':38} noticed by")
    judged_ones = [one for one in chosen if key_of(one, suite, ground) in verdicts]
    for one in judged_ones:
        print(f"{one.name:38} {shown(verdicts[key_of(one, suite, ground)], suite)}")
    survivors = [
        one for one in judged_ones if len(verdicts[key_of(one, suite, ground)]) < suite.enough
    ]
    print(
        "\n"
        f"{len(judged_ones) - len(survivors)} of {len(chosen)} noticed, "
        f"{time.monotonic() - started:.0f} s"
    )
    complaints = [
        *broken,
        *(
            (
                f"{one.name} survived, {suite.enough} of {len(suite.seeds)} seeds must notice: "
                f"{one.breaks}"
            )
            for one in survivors
        ),
    ]
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
