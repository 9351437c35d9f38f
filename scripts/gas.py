"""Measure the gas of the named workloads, beside their bounds and their peers: `python -m
scripts.gas [--check]`.

The workloads are forge tests in tests/contracts/gas. They run under `isolate`, where each call of a
test is a transaction of its own; the figure is the gas of that whole transaction: intrinsic cost
and calldata included, refunds taken off.

tests/contracts/gas.json   the figures as committed; --check compares with them and writes nothing
docs/gas.md                gives the same figures
"""

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
COMMITTED = ROOT / "tests" / "contracts" / "gas.json"
PAGE = ROOT / "docs" / "gas.md"

# A change of a comment changes the metadata in the code, so the addresses of vaults, so the zero
# bytes of calldata.
TOLERANCE = 150


def p95(samples: list[int]) -> int:
    """Nearest rank: the smallest sample that at least 95 % of all do not exceed."""
    return sorted(samples)[-(-95 * len(samples) // 100) - 1]


# Figure -> (workload whose transactions are measured, how many become one figure, the most it may
# be).
FIGURES: dict[str, tuple[str, Callable[[list[int]], float], int | None]] = {
    "create_vault": ("create_vault", max, 340_000),
    "execute_first": ("execute_first", max, None),
    "execute_median": ("execute", statistics.median, 109_000),
    "execute_p95": ("execute", p95, 128_000),
    "execute_batch3": ("execute_batch3", max, 188_500),
    "deposit": ("deposit", max, None),
    "mark": ("mark", max, 70_000),
    "mark_and_stop": ("mark_and_stop", max, 70_000),
    "enforce_stop_line": ("enforce_stop_line", max, 70_000),
    "x402_payment": ("x402_payment", max, None),
    "stop": ("stop", max, None),
    "settle": ("settle", max, None),
    "withdraw": ("withdraw", max, None),
    "buy": ("buy", max, 75_000),
    "redeem": ("redeem", max, 65_000),
    "convert": ("convert", max, 60_000),
    "anchor": ("anchor", max, 50_000),
    "sponsored_buy_first": ("sponsored_buy_first", max, None),
    "sponsored_buy": ("sponsored_buy", max, 160_000),
    "lens_reading": ("lens_reading", max, 45_000),
    "lens_position": ("lens_position", max, 60_000),
}

# What others publish for the nearest thing, whole transaction: none has an exact window, none
# checks the drop.
PEERS = {
    "create_vault": "422.9k install a session key, on an account of 176.0k (Alchemy)",
    "execute_median": "111.9k session-key transfer (Alchemy), 115.7k guarded transfer (Ithaca); goal 112.0k",
    "execute_batch3": "231.0k approve and swap through a delegation (MetaMask)",
}


def measured() -> dict[str, int]:
    """The figures of this tree. A workload without a test is left out."""
    command: list[str | Path] = [
        FORGE,
        "test",
        "--isolate",
        "--json",
        "-vv",
        "--match-path",
        "tests/contracts/gas/*",
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    try:
        suites = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        sys.exit(f"forge did not run:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")

    samples: dict[str, list[int]] = {}
    for suite in suites.values():
        for test, result in suite["test_results"].items():
            if result["status"] != "Success":
                sys.exit(f"{test} failed: {result.get('reason')}")
            for line in result["decoded_logs"]:
                workload, _, gas = line.partition(": ")
                samples.setdefault(workload, []).append(int(re.sub(r" \[.*", "", gas)))
    return {
        figure: round(fold(samples[workload]))
        for figure, (workload, fold, _) in FIGURES.items()
        if workload in samples
    }


def table(gas: dict[str, int]) -> str:
    """The figures beside the most they may be and what peers need."""
    rows = [f"{'gas':16}{'measured':>10}{'at most':>10}  peers"]
    for figure, value in gas.items():
        bound = FIGURES[figure][2]
        rows.append(
            (
                f"{figure:16}{value:>10,}{f'{bound:,}' if bound else '-':>10}  "
                f"{PEERS.get(figure, '')}"
            ).rstrip()
        )
    return "\n".join(rows)


def complaints(gas: dict[str, int], committed: dict[str, int]) -> list[str]:
    """What is wrong with the figures: not measured, above a bound, or other than those
    committed.
    """
    missing = [f"{figure} was not measured" for figure in committed if figure not in gas]
    above = [
        f"{figure} is {value:,}, above {bound:,}"
        for figure, value in gas.items()
        if (bound := FIGURES[figure][2]) and value > bound
    ]
    changed = [
        f"{figure} was {committed.get(figure, 0):,} and is {value:,}"
        for figure, value in gas.items()
        if abs(value - committed.get(figure, 0)) > TOLERANCE
    ]
    return (
        missing
        + above
        + (
            [*changed, "run `make gas`, look at the change and commit tests/contracts/gas.json"]
            if changed
            else []
        )
    )


def untold(committed: dict[str, int]) -> list[str]:
    """Committed figures that the page does not give."""
    page = PAGE.read_text()
    return [
        f"docs/gas.md does not say {figure}: {value:,}"
        for figure, value in committed.items()
        if f"| `{figure}` | {value:,} |" not in page
    ]


def main() -> None:
    gas = measured()
    print(table(gas))
    if "--check" not in sys.argv:
        COMMITTED.write_text(json.dumps(gas, indent=2) + "\n")
    committed = json.loads(COMMITTED.read_text())
    wrong = complaints(gas, committed) + untold(committed)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
