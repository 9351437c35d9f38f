"""Builds the TypeScript client: `python -m scripts.build_client_ts`, into .build/client-ts.

Its types are generated from docs/openapi.json, so that they are not committed. Compiler and
packages are those of the repository's node_modules, which stand above the folder.
"""

import shutil
import subprocess
from pathlib import Path

from scripts.openapi_types import ROOT, WITHIN_S, write_types

CLIENT = ROOT / "api" / "client_ts"
BUILT = ROOT / ".build" / "client-ts"


def build() -> Path:
    """The package's folder.

    Errors: CalledProcessError when a type is wrong; the compiler prints where.
    """
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(CLIENT, BUILT)
    write_types(BUILT / "src" / "openapi.ts")
    _run("tsc", "--strict", "--project", str(BUILT))
    return BUILT


def _run(tool: str, *arguments: str) -> None:
    subprocess.run(
        [str(ROOT / "node_modules" / ".bin" / tool), *arguments], check=True, timeout=WITHIN_S
    )


if __name__ == "__main__":
    print(build())
