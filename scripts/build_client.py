"""Builds the client's wheel: `python -m scripts.build_client [FOLDER]`, by default .build/client.

The client stands on a part of core. Both are put beside one another under api/client/pyproject.toml, which names that part, and
uv builds them; nothing is downloaded.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "api" / "client"
PARTS = ("api/client", "core/chain", "core/domain")
WITHIN_S = 120
NOT_CODE = shutil.ignore_patterns("__pycache__", "pyproject.toml", "README.md")


def build(folder: Path) -> Path:
    """The path of the wheel. Errors: CalledProcessError when uv refuses."""
    with TemporaryDirectory() as stage:
        for part in PARTS:
            shutil.copytree(ROOT / part, Path(stage) / part, ignore=NOT_CODE)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(CLIENT / name, stage)
        command = [sys.executable, "-m", "uv", "build", "--wheel", "--offline", "--quiet", "--out-dir", str(folder), stage]
        subprocess.run(command, check=True, timeout=WITHIN_S)
    return max(folder.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build" / "client")))
