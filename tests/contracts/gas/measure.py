"""Measure the gas of the named workloads: `python -m tests.contracts.gas.measure [--check]`.

The workloads are forge tests in tests/contracts/gas. They run under `isolate`, where each call of a
test is a transaction of its own; the figure is the gas of that whole transaction: intrinsic cost
and calldata included, refunds taken off.

docs/gas.md has the figures and the most that each may be. They are written there; --check compares
with them and writes nothing.
"""

import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
PAGE = ROOT / "docs" / "gas.md"
ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+|-) \|", re.MULTILINE)

# A change of a comment changes the metadata in the code, so the addresses of vaults, so the zero
# bytes of calldata.
TOLERANCE = 150


def p95(samples: list[int]) -> int:
    """Nearest rank: the smallest sample that at least 95 % of all do not exceed."""
    return sorted(samples)[-(-95 * len(samples) // 100) - 1]


def measured() -> dict[str, int]:
    """The figures of this tree: of each workload its dearest transaction, of `execute`, which has
    many, median and p95.
    """
    command = [str(FORGE), "test", "--isolate", "--json", "-vv"]
    done = subprocess.run(
        [*command, "--match-path", "tests/contracts/gas/*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    try:
        suites = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        sys.exit(f"forge did not run:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")

    samples = defaultdict[str, list[int]](list)
    for suite in suites.values():
        for test, result in suite["test_results"].items():
            if result["status"] != "Success":
                sys.exit(f"{test} failed: {result.get('reason')}")
            for line in result["decoded_logs"]:
                workload, _, gas = line.partition(": ")
                samples[workload].append(int(re.sub(r" \[.*", "", gas)))
    executed = samples.pop("execute", [0])
    spread = {"execute_median": round(statistics.median(executed)), "execute_p95": p95(executed)}
    return {workload: max(found) for workload, found in samples.items()} | spread


def complaints(gas: dict[str, int], page: str) -> list[str]:
    """What is wrong with the figures: not measured, above their bound, or not those of the page."""
    rows = {name: (told, bound) for name, told, bound in ROW.findall(page)}
    found = [f"{figure} was not measured" for figure in rows.keys() - gas.keys()]
    for figure, value in gas.items():
        told, bound = (_number(text) for text in rows.get(figure, ("-", "-")))
        if bound and value > bound:
            found.append(f"{figure} is {value:,}, above {bound:,}")
        if abs(value - told) > TOLERANCE:
            found.append(
                f"{figure} is {value:,}, docs/gas.md says {told:,}: run `make gas` and look at it"
            )
    return found


def _number(text: str) -> int:
    return 0 if text == "-" else int(text.replace(",", ""))


def with_figures(gas: dict[str, int], page: str) -> str:
    """The page's table with what was measured."""
    for figure, value in gas.items():
        page = re.sub(rf"(?m)^(\| `{figure}` \|) [\d,]+ \|", rf"\1 {value:,} |", page)
    return page


def main() -> None:
    gas, page = measured(), PAGE.read_text()
    for figure, value in gas.items():
        print(f"{figure:20}{value:>10,}")
    if "--check" not in sys.argv:
        page = with_figures(gas, page)
        PAGE.write_text(page)
    if wrong := complaints(gas, page):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
