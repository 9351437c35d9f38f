"""Measure every figure that has a bound, one line each: `make figures [ONLY=demo,idle]`.

demo    `make demo` twice in a fresh clone of what is committed: seconds
ci      the three targets of CI in that clone: seconds of each, and how many tests `make test` ran
idle    `make idle`: processor, memory and first ready of an idle stack
api     `make bench-api`: the API beside its plain twin, and what hostile callers cost the others
keeper  `make bench-keeper`: blocks to a stop, calls and seconds of very many vaults, take-over
Exit 1: a figure is missing or beyond its bound. A command that takes longer than COMMAND_S is ended, and its
figures are missing. Run it on a machine that does nothing else.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
COMMAND_S: Final = 1_500
# By part and name, what a figure is at most; at least where it is a rate beside another one's.
BOUNDS: Final[Mapping[str, Mapping[str, float]]] = {
    "demo": {"first_demo_s": 150, "second_demo_s": 25},
    "ci": {"ci_s": 1_080, "check_s": 360, "test_s": 480, "test_cases": 8_000, "gate_s": 240},
    "idle": {"idle_cpu_percent": 15, "idle_memory_mb": 1_200, "ready_s": 15},
    "api": {
        "keyed_read_twin_ratio": 0.6,
        "metered_twin_ratio": 0.6,
        "report_twin_ratio": 0.6,
        "p99_twin_ratio": 2,
        "import_ratio": 1.2,
        "lost_updates": 0,
        "hostile_p99_ratio": 3,
        "mcp_flood_p99_ratio": 1.5,
        "mcp_flood_fast_p99_ratio": 3,
    },
    "keeper": {
        "stop_p99_blocks": 2,
        "stop_p99_blocks_balanced": 2,
        "stop_p99_blocks_alternating": 2,
        "calls_20k": 200,
        "tick_20k_s": 4,
        "tick_100k_s": 20,
        "rss_mb_100k": 500,
        "takeover_s": 2.3,
    },
}
AT_LEAST: Final = {"keyed_read_twin_ratio", "metered_twin_ratio", "report_twin_ratio"}
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


def printed(part: str, target: str) -> Callable[[Path], Iterator[Figure]]:
    """The figures of a target whose last line is a JSON object."""

    def figures(_: Path) -> Iterator[Figure]:
        shown = json.loads(run(["make", target], ROOT)[1][-1])
        yield from ((name, shown[name]) for name in BOUNDS[part] if name in shown)

    return figures


PARTS: Final = {
    "demo": demo,
    "ci": ci,
    "idle": printed("idle", "idle"),
    "api": printed("api", "bench-api"),
    "keeper": printed("keeper", "bench-keeper"),
}


def run(command: list[str], folder: Path) -> tuple[float, list[str]]:
    """Seconds, and the lines that were printed. Errors: CalledProcessError, also of one that was
    ended.
    """
    print(f"running {' '.join(command)}", flush=True)
    began, lines = time.monotonic(), list[str]()
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        ends = threading.Timer(COMMAND_S, os.killpg, (process.pid, signal.SIGTERM))
        ends.start()
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                print(f"    {line}", end="", flush=True)
        except BaseException:  # an interrupt: the process is in a session of its own
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            ends.cancel()
    if process.returncode != 0:
        raise CalledProcessError(process.returncode, command)
    return time.monotonic() - began, lines


def is_held(name: str, value: float, bound: float) -> bool:
    return value >= bound if name in AT_LEAST else value <= bound


def main() -> None:
    only = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(PARTS)
    if unknown := sorted(set(only) - set(PARTS)):
        sys.exit(f"ONLY names {', '.join(unknown)}; write some of {', '.join(PARTS)}")
    found = dict[str, float]()
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for part in only:
            try:
                found |= dict(PARTS[part](clone))
            except CalledProcessError as failed:
                print(
                    f"{' '.join(failed.cmd)} failed with {failed.returncode}; its figures are missing"
                )
    bounds = {name: bound for part in only for name, bound in BOUNDS[part].items()}
    print(f"\n{'figure':28}{'measured':>10}{'bound':>10}")
    for name, value in found.items():
        remark = "" if is_held(name, value, bounds[name]) else "  beyond its bound"
        print(f"{name:28}{value:>10,.2f}{bounds[name]:>10,}{remark}")
    for name in bounds.keys() - found.keys():
        print(f"{name:28}{'missing':>10}{bounds[name]:>10,}")
    print(json.dumps({name: round(value, 2) for name, value in found.items()}))
    is_missing = bounds.keys() != found.keys()
    sys.exit(is_missing or not all(is_held(name, found[name], bounds[name]) for name in found))


if __name__ == "__main__":
    main()
