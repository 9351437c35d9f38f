"""`make idle`: what the stack of `make up` costs while nobody uses it.

Starts a stack of its own on free ports, scanner included, lets it settle for SETTLE_S (120: by then
the simulated past, once it is imported, is vacuumed too) and measures MEASURE_S (60):

    ready_s             from the start of the command to the answer `ready`; beside it the seconds on a
                        core that it took, which say more on a busy machine
    idle_cpu_percent    processor time, user and system, in percent of one core
    idle_memory_mb      PSS in 10^6 bytes: a page that n processes share counts 1/n in each

Counted is everything that `make up` starts, Postgres with its backends included, and the command
itself; what ended meanwhile counts in its parent. Read from /proc, so it needs Linux. The last line
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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts._ports import Ports
from scripts.devstack import PROCESSES

BOUNDS: Final = {"idle_cpu_percent": 15, "idle_memory_mb": 1200, "ready_s": 15}
TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
IMPORT: Final = "indexer.main import-past"
NAMES: Final = {" ".join(command): name for name, command in PROCESSES.items()}


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    command: str
    cpu_s: float  # its own, and that of its children that ended

    @property
    def name(self) -> str:
        """What it is counted under."""
        if (name := NAMES.get(self.command.partition(" -m ")[2])) is not None:
            return name
        if IMPORT in self.command:
            return "scanner"
        return next((one for one in ("anvil", "devstack") if one in self.command), "postgres")


def processes() -> dict[int, Process]:
    """All that run on this machine. Those that end while they are read are left out."""
    found = dict[int, Process]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text(errors="replace").replace("\0", " ").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks = sum(map(int, fields[11:15]))
        pid = int(folder.name)
        found[pid] = Process(pid, int(fields[1]), command, ticks / TICKS_A_SECOND)
    return found


def descended(all_of: Mapping[int, Process], roots: set[int]) -> list[Process]:
    """The roots and everything below them."""

    def is_below(process: Process | None) -> bool:
        while process is not None and process.pid not in roots:
            process = all_of.get(process.parent)
        return process is not None

    return [process for process in all_of.values() if is_below(process)]


def cpu_s(running: list[Process]) -> dict[str, float]:
    """Seconds on a core by name, since each process began."""
    found = defaultdict[str, float](float)
    for process in running:
        found[process.name] += process.cpu_s
    return found


def memory_mb(running: list[Process], kind: str) -> dict[str, float]:
    """`kind` is Pss or Rss."""
    found = defaultdict[str, float](float)
    for process in running:
        try:
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        kib = next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
        found[process.name] += kib * 1024 / 1e6
    return found


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
                on_a_core_s = sum(cpu_s(descended(processes(), roots)).values())
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
    return any(IMPORT in one.command for one in descended(processes(), roots))


def _postmaster(folder: Path) -> int:
    """Its process id: it is no child of the stack, which it outlives."""
    return int((folder / "postgres/cluster/postmaster.pid").read_text().split()[0])


def measured(roots: set[int], seconds: int) -> dict[str, float]:
    """Prints a line for each process, and gives the two figures of all."""
    before = cpu_s(descended(processes(), roots))
    time.sleep(seconds)
    running = descended(processes(), roots)
    used = {name: at_end - before.get(name, 0) for name, at_end in cpu_s(running).items()}
    pss, rss = memory_mb(running, "Pss"), memory_mb(running, "Rss")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {seconds} s")
    print(f"{'':12}{'processes':>10}{'% of a core':>13}{'PSS MB':>9}{'RSS MB':>9}")
    for name in sorted(used, key=used.__getitem__, reverse=True):
        count = sum(process.name == name for process in running)
        percent = 100 * used[name] / seconds
        print(f"{name:12}{count:>10}{percent:>13.1f}{pss[name]:>9.0f}{rss[name]:>9.0f}")
    percent, pss_mb = 100 * sum(used.values()) / seconds, sum(pss.values())
    print(f"{'in all':12}{len(running):>10}{percent:>13.1f}{pss_mb:>9.0f}{sum(rss.values()):>9.0f}")
    return {"idle_cpu_percent": round(percent, 1), "idle_memory_mb": round(pss_mb)}


if __name__ == "__main__":
    main()
