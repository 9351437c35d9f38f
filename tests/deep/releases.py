"""Earlier releases, taken from the history, with what they need and this one does not."""

import io
import re
import subprocess
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from os import pathsep
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = "requirements-run.lock"
PINNED = re.compile(r"^([\w.-]+)==(\S+) \\$", re.MULTILINE)  # on every system
FOLDERS = ("core", "indexer", "keeper", "api", "docs", "scripts")


def git(*arguments: str) -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, (
        f"the release before this one comes from the history, and git says {done.stderr.decode()!r}; "
        "a shallow clone gets its history by `git fetch --unshallow`"
    )
    return done.stdout


def tree_of(commit: str, tree: Path) -> Path:
    """The code of that commit, to be run with `path_of(tree)` as PYTHONPATH."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, *FOLDERS))) as archive:
        archive.extractall(tree, filter="data")
    lock = git("show", f"{commit}:{LOCK}").decode()
    lacking = [f"{name}=={version}" for name, version in PINNED.findall(lock) if is_lacking(name)]
    if lacking:
        into = ("--no-deps", "--target", str(tree / ".packages"))
        subprocess.run([sys.executable, "-m", "uv", "pip", "install", *into, *lacking], check=True)
    return tree


def path_of(tree: Path) -> str:
    return f"{tree}{pathsep}{tree / '.packages'}"


def is_lacking(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return True
    return False
