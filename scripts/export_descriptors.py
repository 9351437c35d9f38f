"""Write the ERC-7730 descriptors of what owners sign, from the tables of words, the contracts' ABIs
and the published deployments (docs/erc7730.md).

`python -m scripts.export_descriptors [--check]`
`python -m scripts.export_descriptors --published FILE`   hold them to the ERC's own schema file

docs/erc7730/<kind>-<name>.json   a descriptor each, as registries name them

Each is held to docs/erc7730/descriptor.schema.json, which is ours and narrower than the ERC's: what
our descriptors may have, of the schema whose version api/areas/mandates/rules/clear_signing.py names.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from api.areas.mandates.rules.clear_signing import (
    ERC_VERSION,
    FACTORY_CALLS,
    VAULT_CALLS,
    CallWords,
    Function,
    Member,
    PublishedFactory,
    factory_descriptor,
    terms_descriptor,
    vault_descriptor,
)
from core.chain.abi import Parameter, entries, functions
from core.mandate.chain.typed_data import TERMS_DOMAIN_NAME, TERMS_V2

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "erc7730"
OUR_SCHEMA = FOLDER / "descriptor.schema.json"
# erc7730-v2.schema.json, version 2.0.0, in assets/erc-7730 of ethereum/ERCs at
# 9c718c7c0 (2026-08-22); licence CC0
PUBLISHED_SHA256 = "999c1e7366d58cb10d207a7396331e990a0d9f40f0b8b269c6bab4df78682dc1"
TERMS_VERSION = "2"


def published_places(deployments: Path) -> list[PublishedFactory]:
    """The factories of the published deployments, the local chain's left out."""
    found = []
    for file in sorted(deployments.glob("*.json")):
        if file.stem == "devnet":
            continue
        record = json.loads(file.read_text())
        address = {one["name"]: one["address"] for one in record["contracts"]}
        if "factory" in address:
            found.append(PublishedFactory(record["chain_id"], address["factory"], address["usdc"]))
    return found


def descriptors(places: list[PublishedFactory]) -> dict[str, dict[str, Any]]:
    """By the names that registries ask for."""
    members = [Member(name, kind) for kind, name in TERMS_V2]
    domain = {"name": TERMS_DOMAIN_NAME, "version": TERMS_VERSION}
    factory = _functions("MandateVaultFactory", FACTORY_CALLS)
    vault = _functions("MandateVault", VAULT_CALLS)
    return {
        "eip712-MandateTerms": terms_descriptor(members, domain, places),
        "calldata-MandateVaultFactory": factory_descriptor(factory, places),
        "calldata-MandateVault": vault_descriptor(vault, _event("VaultCreated"), places),
    }


def _functions(contract: str, calls: Iterable[CallWords]) -> list[Function]:
    known = {one.name: one for one in functions(contract).values()}
    return [
        Function(call.function, tuple(_member(one) for one in known[call.function].inputs))
        for call in calls
    ]


def _member(parameter: Parameter) -> Member:
    inside = tuple(_member(one) for one in parameter.components)
    return Member(parameter.name, parameter.type, inside)


def _event(name: str) -> str:
    """The event's signature: `TermsCancelled(bytes32,address)`."""
    (event,) = (one for one in entries("MandateVaultFactory") if one.get("name") == name)
    return f"{name}({','.join(_abi_type(one) for one in event['inputs'])})"


def _abi_type(entry: dict[str, Any]) -> str:
    if not entry["type"].startswith("tuple"):
        return str(entry["type"])
    inside = ",".join(_abi_type(one) for one in entry["components"])
    return f"({inside}){entry['type'].removeprefix('tuple')}"


def texts(made: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """The text of each file."""
    return {FOLDER / f"{name}.json": json.dumps(one, indent=2) + "\n" for name, one in made.items()}


def faults(made: dict[str, dict[str, Any]], schema: dict[str, Any]) -> list[str]:
    """Where descriptors break a schema, one line each."""
    validator = Draft202012Validator(schema)
    return [
        f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for name, one in made.items()
        for error in validator.iter_errors(one)
    ]


def published_schema(file: Path) -> dict[str, Any]:
    """The ERC's schema file, if it is the one that is meant. Errors: SystemExit."""
    content = file.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != PUBLISHED_SHA256:
        sys.exit(f"{file} has sha256 {found}, not {PUBLISHED_SHA256}")
    return dict(json.loads(content))


def main() -> None:
    parser = argparse.ArgumentParser(description="ERC-7730 descriptors of what owners sign")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where they differ"
    )
    parser.add_argument("--published", type=Path, help="the ERC's erc7730-v2.schema.json")
    options = parser.parse_args()
    made = descriptors(published_places(ROOT / "scripts" / "deployments"))
    schema = json.loads(OUR_SCHEMA.read_text())
    if options.published is not None:
        schema = published_schema(options.published)
    if found := faults(made, schema):
        sys.exit(f"not of ERC-7730 {ERC_VERSION}:\n" + "\n".join(found))
    wanted = texts(made)
    stale = [file for file, text in wanted.items() if not file.exists() or file.read_text() != text]
    if stale and options.check:
        names = ", ".join(str(file.relative_to(ROOT)) for file in stale)
        sys.exit(f"{names} differ from the tables of words. Run `make docs` and commit the result.")
    for file in stale:
        file.write_text(wanted[file])
    print(f"{len(made)} descriptors of ERC-7730 {ERC_VERSION}: {len(stale)} files written")


if __name__ == "__main__":
    main()
