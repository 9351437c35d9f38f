"""Builds the client's wheel: `python -m scripts.build_client [FOLDER]`, by default .build/client.

In the wheel everything is one package, `mandate_wallet`: api/client as itself, and beneath it the
part of core that it imports, directly or not. Only the import lines change; nothing is downloaded.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import grimp

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "api" / "client"
PACKAGE = "mandate_wallet"
WITHIN_S = 120
NOT_CODE = shutil.ignore_patterns("__pycache__", "pyproject.toml", "README.md")

_NAMES = {"api.client": PACKAGE, "core": f"{PACKAGE}.core"}
_IMPORT = re.compile(r"^(\s*from )(api\.client|core)(?=[. ])", re.MULTILINE)


def used_of_core() -> list[Path]:
    """The modules of core that the client needs, with the packages that hold them, from the
    repository's folder on.
    """
    graph = grimp.build_graph("api", "core", cache_dir=None)
    modules = graph.find_upstream_modules("api.client", as_package=True)
    names = {
        ".".join(name.split(".")[:end])
        for name in modules
        if name.startswith("core.")
        for end in range(1, name.count(".") + 2)
    }
    paths = [Path(name.replace(".", "/")) for name in sorted(names)]
    return [
        path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")
        for path in paths
    ]


def build(folder: Path) -> Path:
    """The path of the wheel. Errors: CalledProcessError when uv refuses."""
    with TemporaryDirectory() as name:
        stage = Path(name)
        shutil.copytree(CLIENT, stage / PACKAGE, ignore=NOT_CODE)
        for path in used_of_core():
            target = stage / PACKAGE / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, target)
        shutil.copytree(
            ROOT / "core" / "chain" / "abis",
            stage / PACKAGE / "core" / "chain" / "abis",
            dirs_exist_ok=True,
        )
        for module in (stage / PACKAGE).rglob("*.py"):
            module.write_text(
                _IMPORT.sub(lambda found: found[1] + _NAMES[found[2]], module.read_text())
            )
        for file in ("pyproject.toml", "README.md"):
            shutil.copy(CLIENT / file, stage)
        shutil.copy(ROOT / "LICENSE", stage)
        command = [
            sys.executable,
            "-m",
            "uv",
            "build",
            "--wheel",
            "--offline",
            "--quiet",
            "--out-dir",
            str(folder),
            str(stage),
        ]
        subprocess.run(command, check=True, timeout=WITHIN_S)
    return max(folder.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build" / "client")))
