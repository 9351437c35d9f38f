"""CONTRIBUTING's recipe for an area, followed in a copy of the tree: five routes, two tools, a
table, a slow job.

The files of the area lie in tests/recipe/pledges as they would in the tree. What is there already
is a list that they add lines to.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.db import revisions
from tests.unit.test_recipe import RECIPE, files

ROOT = Path(__file__).parents[2]
WITHIN_S = 300
NOT_COPIED = shutil.ignore_patterns(
    "__pycache__", "node_modules", ".venv*", ".git", ".build", ".local", ".*_cache", "recipe"
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
    (tree / ".build").symlink_to(ROOT / ".build")
    (tree / "node_modules").symlink_to(ROOT / "node_modules")
    for file in files():
        target, text = tree / file, (RECIPE / file).read_text()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(target.read_text() + text if target.exists() else text)
    head = revisions.newest()
    assert head is not None
    revision = f"{int(head) + 1:04d}"
    versions = tree / "core" / "db" / "migrations" / "versions"
    text = (
        (versions / "next_pledges.py")
        .read_text()
        .replace("{next}", revision)
        .replace("{head}", head)
    )
    (versions / "next_pledges.py").rename(versions / f"{revision}_pledges.py").write_text(text)
    return tree


def run(tree: Path, *command: str) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "PYTHONPYCACHEPREFIX": str(tree.parent / "pycache"),
    }
    for name in (
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "PYTEST_CURRENT_TEST",
        "PYTEST_ADDOPTS",
    ):
        environment.pop(name, None)
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=WITHIN_S
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]


def test_an_area_after_the_recipe__is_served_documented_and_passes_its_tests(
    copy: Path, tmp_path: Path
) -> None:
    python = sys.executable
    run(copy, python, "-m", "scripts.export_api")
    assert "`POST /pledges/{id}/withdraw`" in (copy / "docs" / "api.md").read_text()
    assert "def make(" in (copy / "api" / "client" / "operations.py").read_text()
    run(copy, str(Path(python).with_name("lint-imports")), "--no-cache")
    tests = (
        "tests/unit/api/areas/pledges",
        "tests/integration/api/pledges",
        "tests/unit/api/test_catalogue.py",
        "tests/architecture/test_contexts.py",
    )
    run(
        copy,
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path / 'within'}",
        *tests,
    )
