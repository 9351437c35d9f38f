"""The steps of the Containerfile, in a folder of their own: what runs needs none of what only builds
and tests.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts._ports import Ports
from scripts.devstack import Stack
from tests.acceptance.test_deploy import deployed
from tests.acceptance.test_preflight import environment_on

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 600
PYTHON = "packages/bin/python"  # of the image, where its processes start
# of this machine, without where this tree's own packages are
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
PROCESSES = (
    "indexer.main", "keeper.main", "api.main", "scripts.cli",
    "scripts.preflight", "indexer.check_record", "indexer.rebuild",
)  # fmt: skip


def ran(*command: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**OUTSIDE, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the image's processes start in."""
    root = tmp_path_factory.mktemp("image") / "srv"
    root.mkdir()
    for copied in re.findall(
        r"^COPY (\S+) \S+$", (ROOT / "Containerfile").read_text(), re.MULTILINE
    ):
        source = ROOT / copied
        if source.is_dir():
            shutil.copytree(source, root / copied, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (root / copied).parent.mkdir(exist_ok=True)
            shutil.copy(source, root / copied)
    (root / "api" / "client" / "operations.py").unlink(missing_ok=True)  # as a fresh clone is
    uv = (sys.executable, "-m", "uv")
    ran(*uv, "venv", "--quiet", "--python", sys.executable, "packages", cwd=root)
    ran(
        *uv, "pip", "install", "--quiet", "--require-hashes", "--python", PYTHON,
        "--requirement", "requirements-run.lock", cwd=root,
    )  # fmt: skip
    ran(PYTHON, "-m", "scripts.export_client", cwd=root)
    ran(PYTHON, "-m", "compileall", "-q", "core", "indexer", "keeper", "api", "scripts", cwd=root)
    for file in root.glob("[a-z]*"):
        if file.name != "packages":
            ran("chmod", "-R", "a-w", str(file), cwd=root)
    yield root
    ran("chmod", "-R", "u+w", ".", cwd=root)


def ran_in(image: Path, *arguments: str, **environment: str) -> str:
    """What it printed."""
    return ran(PYTHON, *arguments, cwd=image, PYTHONDONTWRITEBYTECODE="1", **environment).stdout


def test_every_process__starts_from_what_the_image_holds(image: Path) -> None:
    for module in PROCESSES:
        ran_in(image, "-c", f"import {module}")


def test_preflight__finds_a_deployment_right_from_what_the_image_holds(
    image: Path, stack_directory: Path
) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()
        deployed(stack, record)
        told = ran_in(
            image, "-m", "scripts.preflight", "--network", "devnet", **environment_on(stack, record)
        )
        assert "nothing is compiled here" in told
        assert told.endswith("all checks passed\n")
    finally:
        stack.stop()
