"""Hold the branch coverage of the three contracts at 100 %: `make coverage-contracts`.

forge's coverage build has the optimizer off and its own instruments, so gas tests, invariants and
proofs are left out of it: every branch has to be met by a unit test or an attack. Each branch that
no test takes is named with its file and line.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
REPORT = ROOT / ".build" / "lcov.info"
CONTRACTS = (
    "contracts/MandateVault.sol",
    "contracts/MandateVaultFactory.sol",
    "contracts/ReserveToken.sol",
)
LEFT_OUT = "tests/contracts/{gas,invariants,proofs}/*"
BRANCH = re.compile(r"^BRDA:(\d+),(\d+),(\d+),(-|\d+)$")


def measure() -> None:
    """Run the tests under coverage; the report goes to REPORT.

    Errors: SystemExit when a test fails.
    """
    command: list[str | Path] = [
        FORGE,
        "coverage",
        "--report",
        "lcov",
        "--report-file",
        REPORT,
        "--no-match-path",
        LEFT_OUT,
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    if done.returncode != 0:
        sys.exit(f"forge coverage failed:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")


def branches(report: str) -> Iterator[tuple[str, int, bool]]:
    """(file, line, taken) of every branch in an lcov report."""
    file = ""
    for line in report.splitlines():
        if line.startswith("SF:"):
            file = line.removeprefix("SF:")
        elif match := BRANCH.match(line):
            yield file, int(match[1]), match[4] not in ("-", "0")


def main() -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    measure()
    found = list(branches(REPORT.read_text()))
    untaken = 0
    for contract in CONTRACTS:
        own = [(line, taken) for file, line, taken in found if file == contract]
        missed = [line for line, taken in own if not taken]
        untaken += len(missed) if own else 1
        print(f"{contract:<36} {len(own) - len(missed):>4} of {len(own)} branches")
        for line in missed:
            print(f"  {contract}:{line}: no test takes this branch")
    return 1 if untaken else 0


if __name__ == "__main__":
    sys.exit(main())
