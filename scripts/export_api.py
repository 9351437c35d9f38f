"""Write docs/api.md, docs/openapi.json, the table of docs/mcp.md and the client's typed calls from
the catalogue, what verify-record trusts from scripts/deployments, and what the browser's check
shares with it.

`python -m scripts.export_api [--check]`
"""

import json
import sys
from pathlib import Path

from api.catalogue import areas, catalogue
from api.kernel.operation import Operation
from api.kernel.tool import Profile
from api.main import api_document
from scripts import export_client

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
HEAD = """# The API

Every route, generated from `api/areas/*/operations.py`. [openapi.json](openapi.json) has the fields of each, and an
example of each refusal with its status, `retry_safe` and `who_fixes`; [api-guide.md](api-guide.md) explains
credentials, money, unknown values and repeated writes. In brackets: who may call, and the
[tool](mcp.md) that makes the same call.
"""
TRUSTED = ("factory", "record_anchor", "x402_adapter")
TOOLS_HEAD = "| `profile` | shows |\n|---|---|\n"
PROFILES = {
    Profile.CONNECTOR: "registering, prices, statistics, rules, fund and reserve reads",
    Profile.CLAW: "also earning by tasks, discoveries and rooms",
    Profile.FULL: "also mandates, policies, transfers",
}


def page() -> str:
    parts = [HEAD]
    for area in areas():
        calls = "".join(
            f"- `{one.method} {one.path}` ({one.auth}{_tool_of(one)}): {one.summary}\n"
            for one in area.operations
        )
        parts.append(f"\n## {area.name}\n\n{area.about}\n\n{calls}")
    return "".join(parts)


def _tool_of(operation: Operation) -> str:
    return "" if operation.tool is None else f"; tool `{operation.tool.name}`"


def tools_page() -> str:
    """docs/mcp.md as it is, with the table of today's tools by the first profile that has them."""
    before, _, after = (DOCS / "mcp.md").read_text().partition(TOOLS_HEAD)
    tools = [one.tool for one in catalogue().operations if one.tool is not None]
    lines = [
        f"| `{profile}` | {shows}: {', '.join(f'`{one.name}`' for one in tools if one.profile is profile)} |"
        for profile, shows in PROFILES.items()
    ]
    return before + TOOLS_HEAD + "\n".join(lines) + "\n\n" + after.partition("\n\n")[2]


def trusted_text(deployments: Path) -> str:
    """What verify-record trusts by default: contracts of the published deployments, the
    local chain's left out.
    """
    trusted: dict[str, dict[str, list[str]]] = {}
    for file in sorted(deployments.glob("*.json")):
        if file.stem == "devnet":
            continue
        record = json.loads(file.read_text())
        of_chain = trusted.setdefault(str(record["chain_id"]), {name: [] for name in TRUSTED})
        for contract in record["contracts"]:
            if contract["name"] in TRUSTED:
                of_chain[contract["name"]].append(contract["address"])
    return json.dumps(trusted, indent=1, sort_keys=True) + "\n"


def main() -> None:
    spec = (
        json.dumps(api_document(catalogue(), "https://api.example"), indent=1, sort_keys=True)
        + "\n"
    )
    trusted = trusted_text(ROOT / "scripts" / "deployments")
    texts = {
        "docs/api.md": page(),
        "docs/openapi.json": spec,
        "docs/mcp.md": tools_page(),
        "api/client/verify/trusted.json": trusted,
    }
    stale = [
        name
        for name, text in texts.items()
        if not (ROOT / name).exists() or (ROOT / name).read_text() != text
    ]
    if stale and "--check" in sys.argv:
        sys.exit(
            f"these differ from the catalogue: {', '.join(stale)}. Run `make docs` and commit "
            "the result."
        )
    for name in stale:
        (ROOT / name).write_text(texts[name])
    export_client.main()
    print(f"{', '.join(texts)}: {len(stale)} written")


if __name__ == "__main__":
    main()
