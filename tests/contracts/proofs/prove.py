"""Prove cap, solvency and price: `python -m tests.contracts.proofs.prove [--match TEXT] [--workers N]`.

Runs every `check_*` of tests/contracts/proofs through Halmos, and every lemma of the .smt2 files
there through z3. The run fails unless each is proven in full, within its bounds of loops and time,
and each `check_reachable_*` fails: its counterexample shows that the assumptions of the proofs
beside it can be met. docs/contracts-proofs.md says what is proven.

.build/halmos/       the contracts as Halmos reads them, with their syntax trees; the build of forge is not touched
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

PROOFS = Path(__file__).resolve().parent
ROOT = PROOFS.parents[2]
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
TOOLS = ROOT / ".venv-audit" / "bin"
WORK = ROOT / ".build" / "halmos"

# How often a branch on a symbol may be taken on one path. A path that is cut off there makes the
# run fail.
LOOP = 32
# Seconds for one question to the solver, and for one proof with all its paths and questions.
SOLVER_TIMEOUT_S = 60
PROOF_TIMEOUT_S = 300

# What Halmos answers: `Exitcode` of its __main__.py.
VERDICTS = {
    0: "proven",
    1: "counterexample",
    2: "solver timeout",
    3: "stuck",
    4: "all paths revert",
    5: "error",
}


class Proof(NamedTuple):
    """One function of a proof contract, or one lemma of an .smt2 file."""

    file: Path
    name: str

    @property
    def must_fail(self) -> bool:
        return self.name.startswith(("check_reachable_", "reachable_"))


class ProofResult(NamedTuple):
    proof: Proof
    said: str
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.said == ("reached" if self.proof.must_fail else "proven")


def proofs() -> list[Proof]:
    """All that there is to prove, in the order of the files."""
    patterns = {".sol": r"function (check_\w+)\(", ".smt2": r'\(echo "(\w+)"\)'}
    files = sorted(file for file in PROOFS.iterdir() if file.suffix in patterns)
    return [
        Proof(file, name)
        for file in files
        for name in re.findall(patterns[file.suffix], file.read_text())
    ]


def build() -> None:
    """Compiles the proofs with their syntax trees, into a folder of their own."""
    settings = {"SRC": PROOFS, "TEST": PROOFS, "OUT": WORK / "out", "CACHE_PATH": WORK / "cache"}
    env = os.environ | {
        f"FOUNDRY_{key}": str(value.relative_to(ROOT)) for key, value in settings.items()
    }
    command = [
        str(FORGE),
        "build",
        "--quiet",
        "--ast",
        "--extra-output",
        "storageLayout",
        "metadata",
    ]
    if subprocess.run(command, cwd=ROOT, env=env, check=False).returncode:
        sys.exit("the proofs do not compile")

    # Halmos begins every run with `forge build`; it is done, so that name stands for nothing here.
    (WORK / "bin").mkdir(exist_ok=True)
    shim = WORK / "bin" / "forge"
    shim.unlink(missing_ok=True)
    shim.symlink_to(shutil.which("true") or "/bin/true")


def ran(command: list[str], timeout_s: float) -> str | None:
    """What the command printed, or None when the time was over. Its solvers end with it."""
    env = os.environ | {
        "PATH": os.pathsep.join([str(WORK / "bin"), str(TOOLS), os.environ["PATH"]])
    }
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=timeout_s)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None


def halmos(proof: Proof) -> str:
    answer = WORK / "answers" / f"{proof.file.name}.{proof.name}.json"
    answer.parent.mkdir(exist_ok=True)
    answer.unlink(missing_ok=True)
    command = [
        "halmos",
        "--forge-build-out",
        str((WORK / "out").relative_to(ROOT)),
        "--no-status",
        "--json-output",
        str(answer),
    ]
    command += [
        "--contract",
        proof.file.name.removesuffix(".t.sol") + "Proof",
        "--match-test",
        f"^{proof.name}\\(",
    ]
    command += ["--loop", str(LOOP), "--solver-timeout-assertion", f"{SOLVER_TIMEOUT_S}s"]
    command += ["--early-exit"] if proof.must_fail else []
    output = ran(command, PROOF_TIMEOUT_S)
    if output is None:
        return f"not settled in {PROOF_TIMEOUT_S} s"
    if not answer.exists():
        return f"did not run:\n{output[-2000:]}"
    results: list[dict[str, Any]] = [
        one for many in json.loads(answer.read_text())["test_results"].values() for one in many
    ]
    if len(results) != 1:
        return f"ran {len(results)} times"
    return verdict_of(results[0], must_fail=proof.must_fail)


def verdict_of(result: dict[str, Any], *, must_fail: bool) -> str:
    said = VERDICTS.get(result["exitcode"], f"exit code {result['exitcode']}")
    if said == "proven" and result["num_bounded_loops"]:
        return "proven only as far as the loop bound"
    if said == "counterexample":
        is_valid = any(one["is_valid"] for one in result["models"])
        return "reached" if must_fail and is_valid else said
    return said


def z3(proof: Proof) -> str:
    output = ran(["z3", f"-T:{SOLVER_TIMEOUT_S}", str(proof.file)], SOLVER_TIMEOUT_S + 5) or ""
    lines = output.split()
    if any(line.startswith("(error") for line in output.splitlines()) or proof.name not in lines:
        return f"did not run:\n{output[-2000:]}"
    answer = lines[lines.index(proof.name) + 1]
    return {"unsat": "proven", "sat": "reached" if proof.must_fail else "counterexample"}.get(
        answer, answer
    )


def judged(proof: Proof) -> ProofResult:
    started = time.monotonic()
    said = halmos(proof) if proof.file.suffix == ".sol" else z3(proof)
    return ProofResult(proof, said, time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--match",
        default="",
        metavar="TEXT",
        help="only proofs whose file or name contains the text",
    )
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="proofs at a time (2)")
    args = parser.parse_args()

    chosen = [one for one in proofs() if args.match in f"{one.file.name}:{one.name}"]
    if not chosen:
        sys.exit(f"no proof is named like {args.match}")
    started = time.monotonic()
    build()
    bad = []
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        futures = [pool.submit(judged, one) for one in chosen]
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            verdict = future.result()
            where = f"{verdict.proof.file.name}: {verdict.proof.name}"
            mark = "" if verdict.is_good else "FAIL "
            print(
                f"{done:3}/{len(chosen)} {verdict.seconds:6.1f} s  {mark}{where}: {verdict.said}",
                flush=True,
            )
            bad += [] if verdict.is_good else [verdict]

    print(
        f"{len(chosen) - len(bad)} of {len(chosen)} as they must be, "
        f"{time.monotonic() - started:.0f} s"
    )
    if bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
