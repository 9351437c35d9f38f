"""`make idle`: what the stack of `make up` costs while nobody uses it.

Starts a stack of its own on free ports, scanner included, lets it settle for SETTLE_S (120: by then
the simulated past, once it is imported, is vacuumed too) and measures MEASURE_S (60):

    ready_s             from the start of the command to the answer `ready`; beside it the seconds on a
                        core that it took, which say more on a busy machine
    idle_cpu_percent    processor time, user and system, in percent of one core
    idle_memory_mb      PSS in 10^6 bytes: a page that n processes share counts 1/n in each

Counted is everything that `make up` starts, Postgres with its backends included, and the command
itself; what ended meanwhile counts in its parent. Needs Linux. The last line
is one JSON object. Figures are shown beside their bounds, not judged.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from scripts._ports import Ports
from scripts.devstack import PROCESSES
from tests.bench.place import pss_mb, tree

BOUNDS: Final = {"idle_cpu_percent": 15, "idle_memory_mb": 1200, "ready_s": 15}
IMPORT: Final = "indexer.main import-past"
NAMES: Final = {" ".join(command): name for name, command in PROCESSES.items()}


def name_of(command: str) -> str:
    """What a process is counted under."""
    if (name := NAMES.get(command.partition(" -m ")[2])) is not None:
        return name
    if IMPORT in command:
        return "scanner"
    return next((one for one in ("anvil", "devstack") if one in command), "postgres")


def running(roots: Iterable[int]) -> list[psutil.Process]:
    """The roots and everything below them."""
    return [process for pid in roots for process in tree(pid)]


def of_each(
    processes: Iterable[psutil.Process], value: Callable[[psutil.Process], float]
) -> dict[str, float]:
    """The sum by name; of what ended meanwhile nothing."""
    found = defaultdict[str, float](float)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found[name_of(" ".join(process.cmdline()))] += value(process)
    return found


def cpu_s(process: psutil.Process) -> float:
    """Its own, and that of its children that ended."""
    return float(sum(process.cpu_times()[:4]))


def main() -> None:
    settle_s, measure_s = (
        int(os.environ.get(*one)) for one in (("SETTLE_S", "120"), ("MEASURE_S", "60"))
    )
    with tempfile.TemporaryDirectory(prefix="idle-") as folder:
        ports = Ports.free()
        own = {"PORT": str(ports.api), "RPC_PORT": str(ports.rpc), "STACK_DIR": folder}
        began = time.monotonic()
        command = [sys.executable, "-m", "scripts.devstack"]
        with subprocess.Popen(command, env={**os.environ, **own}, stdout=sys.stderr) as stack:
            try:
                while not Path(folder, "stack.json").exists():
                    if stack.poll() is not None:
                        sys.exit("make idle: the stack ended before it was ready")
                    time.sleep(0.05)
                ready_s = time.monotonic() - began
                roots = {stack.pid, _postmaster(Path(folder))}
                on_a_core_s = sum(of_each(running(roots), cpu_s).values())
                print(f"ready after {ready_s:.1f} s, {on_a_core_s:.1f} s on a core", flush=True)
                for is_over in (False, True):  # the scanner begins it once the stack is ready
                    while _imports(roots) is is_over:
                        time.sleep(0.2)
                time.sleep(settle_s)
                shown = measured(roots, measure_s)
            finally:
                stack.send_signal(signal.SIGINT)
                stack.wait()
    shown["ready_s"] = round(ready_s, 1)
    print(json.dumps({**shown, **{f"{name}_bound": bound for name, bound in BOUNDS.items()}}))


def _imports(roots: set[int]) -> bool:
    return of_each(running(roots), lambda one: IMPORT in " ".join(one.cmdline()))["scanner"] > 0


def _postmaster(folder: Path) -> int:
    """Its process id: it is no child of the stack, which it outlives."""
    return int((folder / "postgres/cluster/postmaster.pid").read_text().split()[0])


def measured(roots: set[int], seconds: int) -> dict[str, float]:
    """Prints a line for each process, and gives the two figures of all."""
    before = of_each(running(roots), cpu_s)
    time.sleep(seconds)
    at_end = running(roots)
    used = {name: spent - before.get(name, 0) for name, spent in of_each(at_end, cpu_s).items()}
    count, pss = of_each(at_end, lambda _: 1), of_each(at_end, pss_mb)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {seconds} s")
    print(f"{'':12}{'processes':>10}{'% of a core':>13}{'PSS MB':>9}")
    for name in sorted(used, key=used.__getitem__, reverse=True):
        percent = 100 * used[name] / seconds
        print(f"{name:12}{count[name]:>10.0f}{percent:>13.1f}{pss[name]:>9.0f}")
    percent, pss_in_all = 100 * sum(used.values()) / seconds, sum(pss.values())
    print(f"{'in all':12}{len(at_end):>10}{percent:>13.1f}{pss_in_all:>9.0f}")
    return {"idle_cpu_percent": round(percent, 1), "idle_memory_mb": round(pss_in_all)}


if __name__ == "__main__":
    main()
