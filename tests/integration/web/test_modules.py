"""The browser's modules without a browser: each *.test.mjs here, run by Node."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.chain.abi import encode_values, errors_by_selector, function, types_of
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.venues import erc4626, test_venue, uniswap_v3
from core.mandate.venues.registry import RELEASE
from tests.personas import PERSONAS

HERE = Path(__file__).parent
VAULT, TOKEN, ADAPTER = (persona.address for persona in PERSONAS[:3])
WORD = "0x" + b"working".ljust(32, b"\0").hex()
# Of each type a value, and the text that people get of it.
VALUES: dict[str, tuple[Any, str]] = {
    "address": (VAULT, VAULT),
    "bytes32": (WORD, "working"),
    "bytes4": ("0xd96a094a", "0xd96a094a"),
    "string": ("too little", "too little"),
    "uint8": (255, "255"),
    "uint48": (1_700_000_000, "1700000000"),
    "uint64": (1_700_000_000, "1700000000"),
    "uint256": (2**200 + 1, str(2**200 + 1)),
}


def errors() -> list[dict[str, Any]]:
    return [
        {
            "name": error.name,
            "data": error.selector
            + encode_values(
                types_of(error.inputs), [VALUES[one.type][0] for one in error.inputs]
            ).hex(),
            "args": {one.name: VALUES[one.type][1] for one in error.inputs},
        }
        for error in errors_by_selector().values()
    ]


def calls() -> dict[str, Any]:
    unwinds = [
        {
            "position": {"adapter": ADAPTER, "units": str(units), "exit": leave.selector},
            "least": "98500000",
            "data": calldata.unwind([VaultCall(ADAPTER, 0, leave.data(units, 98_500_000))]),
        }
        for leave in (test_venue.VENUE.exit, erc4626.VENUE.exit, uniswap_v3.VENUE.exit)
        if leave is not None
        for units in (1, 50_000_000, 2**255)
    ]
    return {
        "vault": {"address": VAULT, "owner": TOKEN},
        "token": TOKEN,
        "amount": str(2**80),
        "stop": calldata.stop("owner"),
        "withdraw": calldata.withdraw(TOKEN, TOKEN, 2**80),
        "unwinds": unwinds,
        "release": calldata.unwind([VaultCall(ADAPTER, 0, RELEASE.data(0))]),
    }


def rules() -> dict[str, Any]:
    listed = [(ADAPTER, "0xd96a094a", 255, 2), (TOKEN, "0xe4849b32", 1, 1)]
    outputs = types_of(function("MandateVault", "rules").outputs)
    return {
        "data": "0x" + encode_values(outputs, [listed]).hex(),
        "rules": [{"target": one[0], "selector": one[1], "kind": one[3]} for one in listed],
    }


def vectors() -> dict[str, Any]:
    texts = ["", "a", *("x" * length for length in (134, 135, 136, 137, 271, 272, 1000)), "é\u202e"]
    return {
        "hashes": [[text, "0x" + keccak(text=text).hex()] for text in texts],
        "addresses": [to_checksum_address(persona.address) for persona in PERSONAS],
        "calls": calls(),
        "errors": errors(),
        "rules": rules(),
    }


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.mjs")), ids=lambda file: file.stem)
def test_a_module_of_the_browser__passes_its_tests(file: Path, tmp_path: Path) -> None:
    made = tmp_path / "vectors.json"
    made.write_text(json.dumps(vectors()))
    done = subprocess.run(
        ["node", "--test", "--test-reporter=spec", str(file)],
        env={**os.environ, "VECTORS": str(made)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests 0" not in done.stdout
