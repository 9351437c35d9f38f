"""Builds the TypeScript client: `python -m scripts.build_client_ts`, into .build/client-ts.

Its types are generated from docs/openapi.json, so that they are not committed. Compiler and
packages are those of the repository's node_modules, which stand above the folder.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "api" / "client_ts"
BUILT = ROOT / ".build" / "client-ts"
WITHIN_S = 180


def build() -> Path:
    """The package's folder.

    Errors: CalledProcessError when a type is wrong; the compiler prints where.
    """
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(CLIENT, BUILT)
    document = BUILT / "openapi.json"
    document.write_text(
        json.dumps(closed(json.loads((ROOT / "docs" / "openapi.json").read_text())))
    )
    # A field with a default may be left out of a body, and of an answer.
    _run(
        "openapi-typescript",
        str(document),
        "--default-non-nullable=false",
        "--output",
        str(BUILT / "src" / "openapi.ts"),
    )
    _run("tsc", "--strict", "--project", str(BUILT))
    return BUILT


def closed(schema: Any) -> Any:
    """The document without the note that an answer may get more fields: with it, a misspelt field
    would have the type unknown.
    """
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_open = "properties" in schema and schema.get("additionalProperties") is True
    return {
        name: closed(value)
        for name, value in schema.items()
        if not (is_open and name == "additionalProperties")
    }


def _run(tool: str, *arguments: str) -> None:
    subprocess.run(
        [str(ROOT / "node_modules" / ".bin" / tool), *arguments], check=True, timeout=WITHIN_S
    )


if __name__ == "__main__":
    print(build())
