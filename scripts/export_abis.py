"""Write what others read of the contracts from forge's build: `python scripts/export_abis.py
[--check]`.

core/chain/abis/<Contract>.json   the ABIs, for the processes
core/chain/abis/<Contract>.bin    the creation code of those that are never deployed: an eth_call runs it
docs/contracts-reference.md       every event and error with its arguments and its meaning
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from core.mandate.venues.registry import venues

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build" / "forge"
ABIS = ROOT / "core" / "chain" / "abis"
REFERENCE = ROOT / "docs" / "contracts-reference.md"
ADAPTERS = tuple(venue.contract for venue in venues().declared)
EXPORTED = (
    "Erc6492Validator",
    "IAdapter",
    "MandateVault",
    "MandateVaultFactory",
    "MockUSDC",
    "RecordAnchor",
    "ReserveToken",
    "SponsoredBuy",
    "TestVenue",
    "VaultLens",
    *ADAPTERS,
)
CODE = ("VaultShell",)  # whose creation code is read
DESCRIBED = sorted(
    (
        "MandateVault",
        "MandateVaultFactory",
        "RecordAnchor",
        "ReserveToken",
        "SponsoredBuy",
        "TestVenue",
        "VaultLens",
        *ADAPTERS,
    )
)
HEAD = """# Events and errors of the contracts

Generated from the compiler's output. Amounts are USDC base units, times unix seconds. In brackets: the contracts that emit or
throw it.

"""


def artifact(contract: str) -> dict[str, Any]:
    return dict(json.loads((BUILD / f"{contract}.sol" / f"{contract}.json").read_text()))


def abi_text(contract: str) -> str:
    """The contract's ABI as stable JSON: one entry a line, in the compiler's order."""
    return (
        "[\n"
        + ",\n".join(json.dumps(entry, sort_keys=True) for entry in artifact(contract)["abi"])
        + ("\n]\n")
    )


def meanings() -> dict[str, str]:
    """The @notice of each event and error of the project's contracts, by name (the compiler drops a
    library's own).
    """
    found: dict[str, str] = {}
    for file in (
        "libraries/ErrorsLib.sol",
        "libraries/EventsLib.sol",
        "interfaces/IMandateVaultEvents.sol",
        "RecordAnchor.sol",
    ):
        source = (ROOT / "contracts" / file).read_text()
        for comment, name in re.findall(
            r"((?:^ *///.*\n)+) *(?:event|error) (\w+)", source, re.MULTILINE
        ):
            comment_text = " ".join(
                line.strip().removeprefix("///").strip() for line in comment.splitlines()
            )
            notice = comment_text.removeprefix("@notice ").split(" @")[0]
            found[name] = notice.removeprefix("Thrown ")
    return found


def reference_text() -> str:
    """The page: a list of events, one of errors, each entry once with the contracts that have it."""
    entries: dict[tuple[str, str, str], list[str]] = {}
    for contract in DESCRIBED:
        for entry in artifact(contract)["abi"]:
            if entry["type"] in ("event", "error"):
                arguments = ", ".join(
                    f"{one['type']} {one['name']}".replace("tuple", "struct")
                    for one in entry["inputs"]
                )
                entries.setdefault((entry["type"], entry["name"], arguments), []).append(contract)
    notes = meanings()
    page = HEAD
    for kind, title in (("event", "Events"), ("error", "Errors")):
        own, others = [], []
        for (found, name, arguments), contracts in sorted(entries.items()):
            if found != kind:
                continue
            signature = f"`{name}({arguments})`"
            if name in notes:
                own.append(f"- {signature} ({', '.join(contracts)}): {notes[name]}")
            else:
                others.append(signature)
        page += f"## {title}\n\n" + "\n".join(own)
        page += f"\n\nOf OpenZeppelin: {', '.join(others)}.\n\n"
    return page.rstrip() + "\n"


def main() -> None:
    wanted = {ABIS / f"{contract}.json": abi_text(contract) for contract in EXPORTED}
    wanted |= {
        ABIS / f"{contract}.bin": artifact(contract)["bytecode"]["object"] + "\n"
        for contract in CODE
    }
    wanted[REFERENCE] = reference_text()
    stale = [file for file, text in wanted.items() if not file.exists() or file.read_text() != text]
    if "--check" in sys.argv and stale:
        sys.exit(
            f"{', '.join(str(file.relative_to(ROOT)) for file in stale)} differ from the "
            "build. Run `make abis` and commit the result."
        )
    ABIS.mkdir(parents=True, exist_ok=True)
    for file in stale:
        file.write_text(wanted[file])
    print(
        f"{len(wanted) - 1} ABIs and creation codes, and the contract reference: {len(stale)} "
        "written"
    )


if __name__ == "__main__":
    main()
