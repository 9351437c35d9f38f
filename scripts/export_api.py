"""Write docs/api.md, docs/openapi.json and the table of docs/mcp.md from the catalogue and the operations.

`python -m scripts.export_api [--check]`
"""

import json
import sys
from pathlib import Path

from api.catalog import CATALOG
from api.kernel.refusals import REASONS
from api.main import OPERATIONS, api_document

DOCS = Path(__file__).resolve().parent.parent / "docs"
HEAD = """# The API

Every route that exists, generated from `api/catalog.py`; the fields of each stand in [openapi.json](openapi.json).
Agents send their key in `X-SVC-User-Key`, owners their session in `Authorization: Bearer`. Money is a string with six decimals;
unknown is null. A write with an `Idempotency-Key` answers the same again when it is repeated.

| call | who | what it does |
|---|---|---|
"""
TOOLS_HEAD = "| tool | kind | first profile | same call as | what it does |\n|---|---|---|---|---|\n"
REFUSALS = """
## Refusals

A refused call answers `{"detail", "service": {reason, error, retry_safe, who_fixes, next[]}}`: `detail` is a sentence, `next` lists
calls that fix it.

| reason | status | the same request can succeed later | who fixes it |
|---|---|---|---|
"""


def page() -> str:
    routes = "".join(f"| `{row.method} {row.path}` | {row.auth} | {row.summary} |\n" for row in CATALOG)
    reasons = "".join(
        f"| `{name}` | {one.status} | {'yes' if one.retry_safe else 'no'} | {one.who_fixes} |\n" for name, one in REASONS.items()
    )
    return HEAD + routes + REFUSALS + reasons


def tools_page() -> str:
    """docs/mcp.md as it stands, with the table of today's tools."""
    before, _, after = (DOCS / "mcp.md").read_text().partition(TOOLS_HEAD)
    rows = [(row.tool, row) for row in CATALOG if row.tool is not None]
    lines = [f"| `{tool.name}` | {tool.kind} | {tool.profile} | `{row.method} {row.path}` | {row.summary} |" for tool, row in rows]
    return before + TOOLS_HEAD + "\n".join(lines) + "\n\n" + after.partition("\n\n")[2]


def main() -> None:
    spec = json.dumps(api_document(OPERATIONS, "https://api.example"), indent=1, sort_keys=True) + "\n"
    stale = []
    for name, text in (("api.md", page()), ("openapi.json", spec), ("mcp.md", tools_page())):
        file = DOCS / name
        if not file.exists() or file.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text)
    if stale and "--check" in sys.argv:
        sys.exit(f"docs differ from the catalogue: {', '.join(stale)}. Run `make docs` and commit the result.")
    print(f"docs/api.md, docs/openapi.json and docs/mcp.md: {len(stale)} {'stale' if '--check' in sys.argv else 'written'}")


if __name__ == "__main__":
    main()
