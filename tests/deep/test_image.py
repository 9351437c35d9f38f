"""The steps of the Containerfile, in a folder of their own: what runs needs none of what only builds
and tests.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 600
# of this machine, without where this tree's own packages are
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
PROCESSES = (
    "indexer.main", "keeper.main", "api.main", "core.db.migrate",
    "scripts.preflight", "scripts.check_record", "scripts.rebuild",
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


def test_every_process__starts_from_what_the_image_holds(tmp_path: Path) -> None:
    root = tmp_path / "srv"
    root.mkdir()
    for copied in re.findall(
        r"^COPY (\S+) \S+$", (ROOT / "Containerfile").read_text(), re.MULTILINE
    ):
        source = ROOT / copied
        if source.is_dir():
            shutil.copytree(source, root / copied, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, root / copied)
    uv = (sys.executable, "-m", "uv")
    ran(*uv, "venv", "--quiet", "--python", sys.executable, "packages", cwd=root)
    python = str(root / "packages" / "bin" / "python")
    ran(
        *uv, "pip", "install", "--quiet", "--require-hashes", "--python", python,
        "--requirement", "requirements-run.lock", cwd=root,
    )  # fmt: skip
    ran(python, "-m", "compileall", "-q", "core", "indexer", "keeper", "api", "scripts", cwd=root)
    for file in root.glob("[a-z]*"):
        if file.name != "packages":
            ran("chmod", "-R", "a-w", str(file), cwd=root)
    for module in PROCESSES:
        ran(python, "-c", f"import {module}", cwd=root, PYTHONDONTWRITEBYTECODE="1")
    ran("chmod", "-R", "u+w", ".", cwd=root)
