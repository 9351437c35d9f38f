"""TypeScript's types of docs/openapi.json, by openapi-typescript: `python -m scripts.openapi_types FILE`.

They are generated where they are needed and not committed: the TypeScript client is built with
them, and `make check` holds the console's pages to them.
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WITHIN_S = 180


def write_types(to: Path, *options: str) -> None:
    """Errors: CalledProcessError when the tool refuses the document; it prints why."""
    to.parent.mkdir(parents=True, exist_ok=True)
    document = closed(json.loads((ROOT / "docs" / "openapi.json").read_text()))
    tool = str(ROOT / "node_modules" / ".bin" / "openapi-typescript")
    # A field with a default may be left out of a body, and of an answer.
    command = [tool, "--default-non-nullable=false", *options, "--output", str(to)]
    subprocess.run(command, input=json.dumps(document).encode(), check=True, timeout=WITHIN_S)


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    write_types(parser.parse_args().file, "--root-types", "--root-types-no-schema-prefix")
