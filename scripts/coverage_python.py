"""Measure the branch coverage of the Python code: `make coverage`.

Runs pytest under coverage.py with the arguments it is given, prints lines and branches covered by
folder, and fails when a test fails or a folder of FLOORS is below its floor. [tool.coverage] in
pyproject.toml has the settings: the workers of pytest-xdist and the processes that tests start are
measured too. `python -m coverage html -d .build/coverage/html` then shows each line.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import coverage
import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = ROOT / ".build" / "coverage"
FLOORS: Final = {"core": 90.0, "api/kernel": 90.0}


@dataclass(slots=True)
class Covered:
    """Lines and branches of a folder; `percent` counts both, as coverage.py's total does."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    @property
    def percent(self) -> float:
        return _percent(self.lines_run + self.branches_run, self.lines + self.branches)

    def row(self, folder: str) -> str:
        lines = _percent(self.lines_run, self.lines)
        branches = _percent(self.branches_run, self.branches)
        return f"{folder:<28} {lines:>7.1f} % {branches:>8.1f} % {self.percent:>8.1f} %"


def by_folder(files: dict[str, Any]) -> dict[str, Covered]:
    """Sums of each top folder and each folder in it, from `files` of coverage.py's JSON report."""
    found: defaultdict[str, Covered] = defaultdict(Covered)
    for name, file in files.items():
        summary = file["summary"]
        for folder in _folders(PurePosixPath(name)):
            covered = found[folder]
            covered.lines += summary["num_statements"]
            covered.lines_run += summary["covered_lines"]
            covered.branches += summary["num_branches"]
            covered.branches_run += summary["covered_branches"]
    return dict(sorted(found.items()))


def below_floor(folders: dict[str, Covered]) -> list[str]:
    """A sentence for each folder of FLOORS that is below its floor or was not measured."""
    return [
        f"{folder} is covered by {covered.percent:.2f} %; at least {floor:.0f} % are required"
        for folder, floor in FLOORS.items()
        if (covered := folders.get(folder, Covered(lines=1))).percent < floor
    ]


def _folders(file: PurePosixPath) -> Iterator[str]:
    yield file.parts[0]
    if len(file.parts) > 2:
        yield "/".join(file.parts[:2])


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def _measure(arguments: list[str]) -> int:
    """pytest's exit code; the data of all processes is combined in DATA."""
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _report() -> dict[str, Any]:
    measured = coverage.Coverage(config_file=str(ROOT / "pyproject.toml"))
    measured.combine([str(DATA)])
    measured.save()
    report = DATA / "report.json"
    measured.json_report(outfile=str(report))
    files: dict[str, Any] = json.loads(report.read_text())["files"]
    return files


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-floor", action="store_true", help="print only: a part of the tests")
    options, arguments = parser.parse_known_args()
    code = _measure(arguments)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return code  # pytest has said why nothing was measured
    folders = by_folder(_report())
    print(f"\n{'folder':<28} {'lines':>9} {'branches':>10} {'both':>10}")
    for folder, covered in folders.items():
        print(covered.row(folder))
    missed = [] if options.no_floor else below_floor(folders)
    print(*missed, sep="\n", end="\n" if missed else "")
    return code or int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
