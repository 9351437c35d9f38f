"""What block explorers and Sourcify take to show a deployment's sources: `make verify-source
NETWORK=sepolia`.

For each contract of the record that is ours, .build/verify-source/<network>/<name>.json is the
compiler's standard JSON input, of the sources that it needs and no others, and `index.json` has its
address, its name in the form `path:Contract`, the compiler's version and the constructor's arguments.
Before a file is written it is compiled again: its code must be the one that the record's hash is of.
Nothing is sent.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from core.hexes import hex_of
from scripts._deployed_code import WORD_BYTES, immutable_places
from scripts._deployments import (
    CIRCLES,
    COMPILED,
    ROOT,
    Deployed,
    Record,
    load,
    network_fault,
    record_path,
)
from scripts._expected_code import expected_immutables

SOLC = ROOT / "scripts" / "solc" / "solc-v0.8.30"
WITHIN_S = 600
WANTED = ("evm.bytecode.object", "evm.deployedBytecode")
NOT_OURS = (CIRCLES, "MockUSDC")  # and what stands for it on the devnet

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class NotTheSameError(Exception):
    """The sources of this tree are not those that were deployed."""


def compiled(standard_input: Mapping[str, Any]) -> dict[str, Any]:
    """The compiler's `contracts`: {path: {name: output}}. Errors: NotTheSameError when it refuses.

    In an empty folder: what the input does not hold is found nowhere, as at an explorer.
    """
    with TemporaryDirectory() as nowhere:
        done = subprocess.run(
            [str(SOLC), "--standard-json"],
            cwd=nowhere,
            input=json.dumps(standard_input),
            capture_output=True,
            text=True,
            check=True,
            timeout=WITHIN_S,
        )
    answer = json.loads(done.stdout)
    faults = [one["message"] for one in answer.get("errors", ()) if one["severity"] == "error"]
    if faults:
        raise NotTheSameError(f"the compiler refuses these sources: {faults[0]}")
    found: dict[str, Any] = answer["contracts"]
    return found


def standard_input(
    sources: Mapping[str, str], settings: Mapping[str, Any], wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """`wanted`: the compiler's outputSelection."""
    kept = {name: settings[name] for name in ("evmVersion", "optimizer", "remappings")}
    return {
        "language": "Solidity",
        "sources": {name: {"content": sources[name]} for name in sorted(sources)},
        "settings": {**kept, "outputSelection": wanted},
    }


def all_sources() -> dict[str, str]:
    """Ours and OpenZeppelin's, under the names that the compiler knew them by."""
    folders = (ROOT / "contracts", ROOT / "node_modules" / "@openzeppelin" / "contracts")
    return {
        str(file.relative_to(ROOT)): file.read_text()
        for folder in folders
        for file in folder.rglob("*.sol")
    }


def constructor_arguments(one: Deployed, abi: list[dict[str, Any]]) -> str:
    """As 0x hex, empty for a contract that another one created."""
    inputs: list[dict[str, Any]] = next(
        (entry["inputs"] for entry in abi if entry["type"] == "constructor"), []
    )
    if len(inputs) != len(one.args):
        return "0x"
    return hex_of(encode([_type(entry) for entry in inputs], [_value(one) for one in one.args]))


def _type(entry: Mapping[str, Any]) -> str:
    if not entry["type"].startswith("tuple"):
        return str(entry["type"])
    members = ",".join(map(_type, entry["components"]))
    return f"({members}){entry['type'].removeprefix('tuple')}"


def _value(argument: Any) -> Any:
    return tuple(map(_value, argument)) if isinstance(argument, list) else argument


def require_same(one: Deployed, record: Record, output: Mapping[str, Any], arguments: str) -> None:
    """Errors: NotTheSameError unless the record's hash is of this code."""
    creation = bytes.fromhex(output["evm"]["bytecode"]["object"] + arguments.removeprefix("0x"))
    running = bytearray.fromhex(output["evm"]["deployedBytecode"]["object"])
    places = immutable_places(output["evm"])
    for starts, immutable in zip(places, expected_immutables(one, record), strict=True):
        for start in starts:
            running[start : start + WORD_BYTES] = immutable.value or b""
    if one.creation_hash not in (hex_of(keccak(creation)), hex_of(keccak(bytes(running)))):
        raise NotTheSameError(
            f"{one.name}: these sources compile to other code than was deployed at {one.address}; "
            f"check out {record.commit}"
        )


class Sources:
    """This tree's sources, and what each contract needs of them."""

    def __init__(self) -> None:
        manifest = json.loads(COMPILED.read_text())
        self._texts = all_sources()
        self._types = manifest["contractTypes"]
        self._settings = manifest["compilers"][0]["settings"]
        self._version = manifest["compilers"][0]["version"]
        ours = {name: {"*": ["metadata"]} for name in self._texts if name.startswith("contracts/")}
        self._told = compiled(standard_input(self._texts, self._settings, ours))

    def described(self, one: Deployed, record: Record) -> tuple[dict[str, Any], dict[str, str]]:
        """The standard JSON input, and the contract's row of the index. Errors: NotTheSameError."""
        known = self._types[one.contract]
        path = known["sourceId"]
        names = json.loads(self._told[path][one.contract]["metadata"])["sources"]
        texts = {name: self._texts[name] for name in names}
        least = standard_input(texts, self._settings, {path: {one.contract: list(WANTED)}})
        arguments = constructor_arguments(one, known["abi"])
        require_same(one, record, compiled(least)[path][one.contract], arguments)
        return least, {
            "name": one.name,
            "address": one.address,
            "contract": f"{path}:{one.contract}",
            "compiler": f"v{self._version}",
            "constructor_arguments": arguments,
            "standard_json_input": f"{one.name}.json",
        }


@app.command()
def write_sources(
    network: Annotated[
        str, typer.Option(envvar="NETWORK", help="a network of ape-config.yaml: devnet, sepolia")
    ],
    record_file: Annotated[
        Path | None, typer.Option("--record", help="the record instead of the network's")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="the folder instead of .build/verify-source/<network>")
    ] = None,
) -> None:
    """Write a standard JSON input for each contract, compiled once more to the deployed code."""
    if (fault := network_fault(network)) is not None:
        typer.echo(fault, err=True)
        raise typer.Exit(2)
    path = record_file or record_path(network)
    if not path.exists():
        typer.echo(f"{path} does not exist; run `make deploy NETWORK={network}` first", err=True)
        raise typer.Exit(1)
    record = load(path, json.loads(path.read_text())["chain_id"])
    folder = to or ROOT / ".build" / "verify-source" / network
    folder.mkdir(parents=True, exist_ok=True)
    sources, index = Sources(), []
    for one in record.contracts:
        if one.contract in NOT_OURS:
            continue
        try:
            least, row = sources.described(one, record)
        except NotTheSameError as error:
            typer.echo(f"WRONG  {error}", err=True)
            raise typer.Exit(1) from None
        (folder / row["standard_json_input"]).write_text(json.dumps(least, indent=1) + "\n")
        index.append(row)
        typer.echo(f"ok     {one.name}: {len(least['sources'])} sources, {row['contract']}")
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n")
    typer.echo(f"{len(index)} contracts in {folder}")


if __name__ == "__main__":
    app()
