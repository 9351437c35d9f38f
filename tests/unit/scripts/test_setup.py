"""What a machine lacks is said in one sentence, and what is installed is not installed again.

The rules of the Makefile run in a copy, with programs of ours in place of npm, df and Python.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LOCKS = ("requirements-demo.lock", "requirements.lock", "package-lock.json")
DEMO = (".venv/.demo", "node_modules/.demo", ".build/ape/.ready")
SYSTEM = (
    "awk",
    "bash",
    "cat",
    "dirname",
    "env",
    "find",
    "grep",
    "head",
    "ln",
    "mkdir",
    "touch",
    "df",
)
COMPILED = ("ape-config.yaml", "scripts/solc/solc-v0.8.30", "contracts/Vault.sol")


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.unlink(missing_ok=True)
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with nothing but a shell's tools, to which a test adds programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in SYSTEM:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The part of a clone that the rules of the set-up read."""
    folder = tmp_path / "clone"
    for name in ("Makefile", "scripts/require.sh", *LOCKS, *COMPILED):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, file)
        else:
            file.touch()
    return folder


def run(path: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    assert make is not None
    return subprocess.run(
        [make if command[0] == "make" else command[0], *command[1:]],
        cwd=folder,
        env={"PATH": str(path), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def require(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(path, ROOT, "/bin/bash", "scripts/require.sh", *arguments)


def test_no_node__says_what_to_install(path: Path) -> None:
    done = require(path, "node")
    assert done.returncode == 1
    assert done.stderr.startswith("Node.js 20 or newer with npm is missing")


def test_an_old_node__says_which_was_found_and_where(path: Path) -> None:
    program(path, "npm", "exit 0")
    program(path, "node", "echo 18")
    done = require(path, "node")
    assert done.returncode == 1
    assert done.stderr == (
        f"Node.js 18 is too old: 20 or newer is needed (found at {path / 'node'}).\n"
    )


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('[ "$1" = --version ] && echo Python 3.9.2 && exit 0; exit 1', "Python 3.9.2"),
        ("exit 127", "no python3"),
    ],
    ids=["old", "missing"],
)
def test_no_python_that_serves__says_which_was_found_and_what_to_install(
    path: Path, script: str, found: str
) -> None:
    program(path, "python3", script)
    done = require(path, "python")
    assert done.returncode == 1
    assert done.stderr == (
        f"Python 3.11 or 3.12 with venv is missing (found: {found}). "
        "On Debian 12 or Ubuntu 24.04: apt-get install python3 python3-venv\n"
    )


def test_a_python_without_venv__says_that_only_venv_is_missing(path: Path) -> None:
    program(path, "python3", '[ "$1" = --version ] && echo Python 3.11.2 && exit 0; exit 1')
    done = require(path, "python")
    assert done.returncode == 1
    assert done.stderr == (
        "Python 3.11.2 is here, but without venv. "
        "On Debian or Ubuntu: apt-get install python3-venv\n"
    )


def disk(path: Path, free_mb: int) -> None:
    program(path, "df", f"echo Filesystem; echo /dev/sda1 10000 1 {free_mb} 1% /")


def test_a_disk_with_just_enough_room__is_enough(path: Path) -> None:
    disk(path, 1000)
    assert require(path, "disk", "1000").returncode == 0


def test_a_disk_with_less_room_than_needed__says_how_much(path: Path) -> None:
    disk(path, 999)
    done = require(path, "disk", "1000")
    assert done.returncode == 1
    assert done.stderr == (
        f"The disk is nearly full: 999 MB are free in {ROOT} and 1000 MB are needed. "
        "Free some, then run this again.\n"
    )


@pytest.mark.parametrize("target", ["node_modules/.demo", "node_modules/.ready"])
def test_an_installation_without_network__says_one_sentence(
    path: Path, clone: Path, target: str
) -> None:
    disk(path, 5000)
    program(path, "node", "echo 20")
    program(path, "npm", "echo 'npm error code ENOTFOUND' >&2; exit 1")
    done = run(path, clone, "make", "-s", target)
    said = [line for line in done.stderr.splitlines() if not line.startswith("make: ")]
    assert done.returncode != 0
    assert said == [
        (
            "Packages could not be installed: check the network and the package index of pip, uv "
            "(UV_DEFAULT_INDEX) or npm, then run this again (details: .build/npm.log)."
        )
    ]
    assert "ENOTFOUND" in (clone / ".build" / "npm.log").read_text()
    assert not (clone / target).exists()


def test_an_installation_of_python_packages_without_network__says_the_same(
    path: Path, clone: Path
) -> None:
    disk(path, 5000)
    program(path, "python3", "exit 0")
    (clone / ".venv" / "bin").mkdir(parents=True)
    program(clone / ".venv" / "bin", "python", '[ "$3" = --version ]')
    done = run(path, clone, "make", "-s", ".venv/.demo")
    assert "Packages could not be installed: check the network" in done.stderr
    assert "(details: .build/python.log)" in done.stderr
    assert not (clone / ".venv" / ".demo").exists()


def test_an_installation_that_fills_the_disk__says_that(path: Path) -> None:
    disk(path, 3)
    done = require(path, "downloads", ".build/npm.log")
    assert done.returncode == 1
    assert done.stderr.startswith("The disk is full: 3 MB are free in ")


def test_a_second_run__installs_and_compiles_nothing__and_so_needs_no_network(
    path: Path, clone: Path
) -> None:
    for name in DEMO:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).touch()
    newest = max((clone / name).stat().st_mtime for name in (*LOCKS, *COMPILED))
    for place, name in enumerate(DEMO, start=1):
        os.utime(clone / name, (newest + place, newest + place))
    assert run(path, clone, "make", "-q", *DEMO).returncode == 0


def test_the_demo__installs_what_it_runs_and_no_more(path: Path, clone: Path) -> None:
    planned = run(path, clone, "make", "-n", *DEMO).stdout
    assert "--omit=dev" in planned
    assert "-r requirements-demo.lock" in planned
    assert "requirements.lock" not in planned
    assert "forge" not in planned


def test_packages_of_the_tests__outlive_a_new_lock_of_the_demo(path: Path, clone: Path) -> None:
    (clone / "node_modules").mkdir()
    (clone / "node_modules" / ".ready").touch()
    assert "--omit=dev" not in run(path, clone, "make", "-n", "node_modules/.demo").stdout


def test_a_dry_run_of_the_demo__runs_nothing(path: Path, clone: Path) -> None:
    program(path, "ran", "touch ran")
    assert run(path, clone, "make", "-n", "demo", "CLI=ran").returncode == 0
    assert not (clone / "ran").exists()


def test_chromium__may_be_another(path: Path) -> None:
    program(path, "mine", "exit 0")
    asked = ("/bin/bash", "-c", f"CHROMIUM={path / 'mine'} /bin/bash scripts/require.sh browser")
    assert run(path, ROOT, *asked).returncode == 0


def test_without_pango__the_next_command_looks_again(path: Path, clone: Path) -> None:
    program(path, "id", "echo 1000")
    program(path, "ldconfig", "exit 0")
    done = run(path, clone, "make", ".build/pdf.ready")
    assert (done.returncode, "Pango is missing" in done.stderr) == (0, True)
    assert not (clone / ".build" / "pdf.ready").exists()
