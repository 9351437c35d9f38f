"""Builds the client's wheel: `python -m scripts.build_client [FOLDER]`, by default .build/client.

In the wheel everything is one package, `mandate_wallet`: api/client as itself, and beneath it the part of core that verify-record
stands on. Only the import lines change; nothing is downloaded.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "api" / "client"
PACKAGE = "mandate_wallet"
PARTS = {"api/client": PACKAGE, "core/chain": f"{PACKAGE}/core/chain", "core/domain": f"{PACKAGE}/core/domain"}
WITHIN_S = 120
NOT_CODE = shutil.ignore_patterns("__pycache__", "pyproject.toml", "README.md")

_NAMES = {"api.client": PACKAGE, "core": f"{PACKAGE}.core"}
_IMPORT = re.compile(r"^(\s*from )(api\.client|core)(?=[. ])", re.MULTILINE)


def build(folder: Path) -> Path:
    """The path of the wheel. Errors: CalledProcessError when uv refuses."""
    with TemporaryDirectory() as name:
        stage = Path(name)
        for part, target in PARTS.items():
            shutil.copytree(ROOT / part, stage / target, ignore=NOT_CODE)
        (stage / PACKAGE / "core" / "__init__.py").write_text('"""What verify-record and the service share."""\n')
        for module in (stage / PACKAGE).rglob("*.py"):
            module.write_text(_IMPORT.sub(lambda found: found[1] + _NAMES[found[2]], module.read_text()))
        for file in ("pyproject.toml", "README.md"):
            shutil.copy(CLIENT / file, stage)
        command = [sys.executable, "-m", "uv", "build", "--wheel", "--offline", "--quiet", "--out-dir", str(folder), str(stage)]
        subprocess.run(command, check=True, timeout=WITHIN_S)
    return max(folder.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build" / "client")))
