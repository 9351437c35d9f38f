"""Measure every figure that has a bound, one line each: `make figures [ONLY=demo,idle]`.

demo    `make demo` twice in a fresh clone of what is committed: seconds
ci      `.ci/run` in that clone: seconds of each part, and how many tests `make test` ran
idle    `make idle`: processor, memory and first ready of an idle stack
Exit 1: a figure is missing or beyond its bound. Run it on a machine that does nothing else.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BOUNDS: Final = {
    "first_demo_s": 150,
    "second_demo_s": 25,
    "ci_s": 1_080,
    "check_s": 360,
    "test_s": 480,
    "test_cases": 8_000,
    "gate_s": 240,
    "idle_cpu_percent": 15,
    "idle_memory_mb": 1_200,
    "ready_s": 15,
}
PARTS: Final = {"demo": 2, "ci": 5, "idle": 3}  # how many figures each has
PASSED: Final = re.compile(r"(\d+) passed.* in ([\d.]+)s")

Figure = tuple[str, float]


def demo(clone: Path) -> Iterator[Figure]:
    for name in ("first_demo_s", "second_demo_s"):
        yield name, run(["make", "demo"], clone)[0]


def ci(clone: Path) -> Iterator[Figure]:
    took = dict[str, float]()
    for target in ("check", "test", "test-gate"):
        took[target], lines = run(["make", target], clone)
        yield f"{target.removeprefix('test-')}_s", took[target]
        if target == "test" and (found := [one for one in map(PASSED.search, lines) if one]):
            yield "test_cases", float(found[-1][1])
    yield "ci_s", sum(took.values())


def idle(_: Path) -> Iterator[Figure]:
    shown = json.loads(run(["make", "idle"], ROOT)[1][-1])
    for name in ("idle_cpu_percent", "idle_memory_mb", "ready_s"):
        yield name, shown[name]


def run(command: list[str], folder: Path) -> tuple[float, list[str]]:
    """Seconds, and the lines that were printed. Errors: CalledProcessError."""
    print(f"running {' '.join(command)}", flush=True)
    began, lines = time.monotonic(), list[str]()
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            print(f"    {line}", end="", flush=True)
    if process.returncode != 0:
        raise CalledProcessError(process.returncode, command)
    return time.monotonic() - began, lines


def main() -> None:
    only = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(PARTS)
    if unknown := sorted(set(only) - set(PARTS)):
        sys.exit(f"ONLY names {', '.join(unknown)}; write some of {', '.join(PARTS)}")
    found = list[Figure]()
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for part in only:
            try:
                found += {"demo": demo, "ci": ci, "idle": idle}[part](clone)
            except CalledProcessError as failed:
                print(
                    f"{' '.join(failed.cmd)} failed with {failed.returncode}; its figures are missing"
                )
    print(f"\n{'figure':18}{'measured':>10}{'bound':>10}")
    for name, value in found:
        is_held = "" if value <= BOUNDS[name] else "  beyond its bound"
        print(f"{name:18}{value:>10,.1f}{BOUNDS[name]:>10,}{is_held}")
    print(json.dumps({name: round(value, 1) for name, value in found}))
    missing = len(found) < sum(PARTS[part] for part in only)
    sys.exit(missing or any(value > BOUNDS[name] for name, value in found))


if __name__ == "__main__":
    main()
