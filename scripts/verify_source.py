"""What block explorers and Sourcify take to show a deployment's sources: `make verify-source
NETWORK=sepolia`.

For each contract of the record that is ours, .build/verify-source/<network>/<name>.json is the
compiler's standard JSON input, of the sources that it needs and no others, and `index.json` has its
address, its name in the form `path:Contract`, the compiler's version and the constructor's arguments.
A file is written only where this tree's build is the code that the record's hash is of. Nothing is
sent.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from core.hexes import bytes_of, hex_of
from scripts._deployed_code import (
    WORD_BYTES,
    artifact_of,
    expected_immutables,
    immutable_places,
)
from scripts._deployments import (
    NOT_OURS,
    ROOT,
    Deployed,
    Record,
    load,
    network_fault,
    record_path,
)

WITHOUT_SOURCE = (*NOT_OURS, "MockUSDC")  # the last stands for USDC on the devnet
WANTED = {"*": {"*": ["evm.bytecode.object", "evm.deployedBytecode.object"]}}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def standard_input(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The compiler's input, by what it wrote of a contract."""
    kept = {name: metadata["settings"][name] for name in ("evmVersion", "optimizer", "remappings")}
    return {
        "language": "Solidity",
        "sources": {name: {"content": (ROOT / name).read_text()} for name in metadata["sources"]},
        "settings": {**kept, "outputSelection": WANTED},
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


def is_deployed(one: Deployed, record: Record, artifact: Mapping[str, Any], arguments: str) -> bool:
    """Whether the record's hash is of this code, as it creates the contract or as it runs."""
    creation = bytes_of(artifact["bytecode"]["object"]) + bytes_of(arguments)
    running = bytearray(bytes_of(artifact["deployedBytecode"]["object"]))
    places = immutable_places(artifact)
    for starts, immutable in zip(places, expected_immutables(one, record), strict=True):
        for start in starts:
            running[start : start + WORD_BYTES] = immutable.value or b""
    return one.creation_hash in (hex_of(keccak(creation)), hex_of(keccak(bytes(running))))


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
    """Write a standard JSON input for each contract whose build is the deployed code."""
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
    index = []
    for one in record.contracts:
        if one.contract in WITHOUT_SOURCE:
            continue
        artifact = artifact_of(one.contract)
        metadata = artifact["metadata"]
        arguments = constructor_arguments(one, artifact["abi"])
        if not is_deployed(one, record, artifact, arguments):
            typer.echo(
                f"WRONG  {one.name}: these sources do not compile to the code that was deployed "
                f"at {one.address}; check out {record.commit}",
                err=True,
            )
            raise typer.Exit(1)
        least = standard_input(metadata)
        (folder / f"{one.name}.json").write_text(json.dumps(least, indent=1) + "\n")
        (source, contract), *_ = metadata["settings"]["compilationTarget"].items()
        index.append(
            {
                "name": one.name,
                "address": one.address,
                "contract": f"{source}:{contract}",
                "compiler": f"v{metadata['compiler']['version']}",
                "constructor_arguments": arguments,
                "standard_json_input": f"{one.name}.json",
            }
        )
        typer.echo(f"ok     {one.name}: {len(least['sources'])} sources, {source}:{contract}")
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n")
    typer.echo(f"{len(index)} contracts in {folder}")


if __name__ == "__main__":
    app()
