"""Prove that the contracts' tests notice defects: `python -m scripts.mutate [name ...]`.

tests/contracts/mutants.toml names defects: a place in the contracts, its text, and a wrong text. Each is put into a copy of the
tree, alone, and the tests run there: one of them must fail. A mutant that no test notices survives, and the run fails.

.local/mutants/              the copies, one for each worker, with a build of their own
.local/mutants/verdicts.json what was found, by the hash of sources and mutant: an interrupted run goes on, `--again` begins anew

The copies are compiled without the optimizer, since that is ten times faster and the size of the code is of no matter here.
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
TABLE = ROOT / "tests" / "contracts" / "mutants.toml"
WORK = ROOT / ".local" / "mutants"
VERDICTS = WORK / "verdicts.json"
WORKERS = 2

# Fuzzed sequences, proofs, gas and vectors are left out: slow, or with files of their own; a unit test or an attack should see it.
LEFT_OUT = {"gas", "invariants", "proofs", "vectors"}
SETTINGS = {
    "FOUNDRY_OPTIMIZER": "false",
    "FOUNDRY_CODE_SIZE_LIMIT": "200000",
    "FOUNDRY_DYNAMIC_TEST_LINKING": "true",
    "FOUNDRY_FUZZ_RUNS": "64",
    "FOUNDRY_FUZZ_SEED": "0x1",
    "FOUNDRY_DENY": "never",
}


@dataclass(frozen=True)
class Mutant:
    """One named defect: in `file`, `old` (found exactly once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    breaks: str

    def apply(self, tree: Path) -> None:
        target = tree / self.file
        target.write_text(target.read_text().replace(self.old, self.new))

    def revert(self, tree: Path) -> None:
        shutil.copyfile(ROOT / self.file, tree / self.file)


def mutants() -> list[Mutant]:
    """The table, each entry checked against the sources: a mutant that changes nothing would survive for no reason."""
    found = [Mutant(**entry) for entry in tomllib.loads(TABLE.read_text())["mutant"]]
    names = [one.name for one in found]
    wrong = [f"{name} stands twice in the table" for name in set(names) if names.count(name) > 1]
    for one in found:
        times = (ROOT / one.file).read_text().count(one.old)
        if times != 1 or one.old == one.new:
            wrong.append(
                f"{one.name}: its text stands {times} times in {one.file}, not once" if times != 1 else f"{one.name} changes nothing"
            )
    if wrong:
        sys.exit("\n".join(wrong))
    return found


def sources() -> list[Path]:
    tests = ROOT / "tests" / "contracts"
    taken = [file for file in tests.rglob("*.sol") if file.relative_to(tests).parts[0] not in LEFT_OUT]
    return sorted([*(ROOT / "contracts").rglob("*.sol"), *taken, ROOT / "foundry.toml"])


def copy_tree(tree: Path) -> None:
    """Sources anew; the build of an earlier run stays and is used for what did not change."""
    for name in ("contracts", "tests", "scripts"):
        shutil.rmtree(tree / name, ignore_errors=True)
    for file in [*sources(), *(ROOT / "scripts" / "solc").iterdir()]:
        copy = tree / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    if not (tree / "node_modules").exists():
        (tree / "node_modules").symlink_to(ROOT / "node_modules")


def failures(tree: Path) -> list[str]:
    """The tests that fail in this tree, as file:test. Raises when the tree does not compile."""
    command = [FORGE, "test", "--json"]
    try:
        done = subprocess.run(command, cwd=tree, env=os.environ | SETTINGS, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return ["no test ended in 600 seconds"]
    start = done.stdout.find("{")
    if start < 0 or "Compiler run failed" in done.stdout + done.stderr:
        raise RuntimeError(f"does not compile:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    suites: dict[str, Any] = json.loads(done.stdout[start:])
    return sorted(
        f"{suite.split(':')[0].removeprefix('tests/contracts/').removesuffix('.t.sol')}: {test.split('(')[0]}"
        for suite, report in suites.items()
        for test, result in report["test_results"].items()
        if result["status"] == "Failure"
    )


def judged(mutant: Mutant, trees: "queue.Queue[Path]") -> list[str]:
    """The tests that notice the mutant."""
    tree = trees.get()
    try:
        mutant.apply(tree)
        return failures(tree)
    finally:
        mutant.revert(tree)
        trees.put(tree)


def key_of(mutant: Mutant, ground: str) -> str:
    return hashlib.sha256(f"{ground}{mutant}".encode()).hexdigest()


def shown(killers: list[str]) -> str:
    """The test that says it best: not a set-up, and of a file of its own before a shared one."""
    if not killers:
        return "SURVIVED"
    first = next((one for one in killers if not one.endswith(": setUp")), killers[0])
    return f"{first}{f' and {len(killers) - 1} more' if len(killers) > 1 else ''}"


def run(todo: list[Mutant], ground: str, verdicts: dict[str, list[str]]) -> list[str]:
    """Judges the mutants, two at a time, and keeps each verdict at once. Returns what could not be judged."""
    trees: queue.Queue[Path] = queue.Queue()
    for index in range(min(WORKERS, len(todo))):
        tree = WORK / f"tree{index}"
        copy_tree(tree)
        if index == 0 and (failing := failures(tree)):
            sys.exit("without any mutant these tests fail:\n" + "\n".join(failing))
        trees.put(tree)

    broken = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        futures = {pool.submit(judged, one, trees): one for one in todo}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            mutant = futures[future]
            try:
                verdicts[key_of(mutant, ground)] = future.result()
            except RuntimeError as reason:
                broken.append(f"{mutant.name} {reason}")
                continue
            VERDICTS.write_text(json.dumps(verdicts, indent=1))
            print(f"{done:3}/{len(todo)} {mutant.name}: {shown(verdicts[key_of(mutant, ground)])}", flush=True)
    return broken


def main() -> None:
    started = time.monotonic()
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    chosen = [one for one in mutants() if not wanted or one.name in wanted]
    ground = hashlib.sha256(b"".join(file.read_bytes() for file in sources())).hexdigest()
    WORK.mkdir(parents=True, exist_ok=True)
    fresh = "--again" in sys.argv or not VERDICTS.exists()
    verdicts: dict[str, list[str]] = {} if fresh else json.loads(VERDICTS.read_text())

    todo = [one for one in chosen if key_of(one, ground) not in verdicts]
    print(f"{len(chosen)} mutants, {len(chosen) - len(todo)} judged before", flush=True)
    broken = run(todo, ground, verdicts) if todo else []

    print(f"\n{'mutant':38} noticed by")
    judged_ones = [one for one in chosen if key_of(one, ground) in verdicts]
    for one in judged_ones:
        print(f"{one.name:38} {shown(verdicts[key_of(one, ground)])}")
    survivors = [one for one in judged_ones if not verdicts[key_of(one, ground)]]
    print(f"\n{len(judged_ones) - len(survivors)} of {len(chosen)} noticed, {time.monotonic() - started:.0f} s")
    complaints = [*broken, *(f"{one.name} survived: {one.breaks}" for one in survivors)]
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
