"""`make preflight` and `make verify-source` on a whole deployment: all is right in less than 10 s, a
byte of code that changed is found, and the sources compile to what was deployed.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from eth_utils.crypto import keccak

from core.hexes import hex_of
from scripts._accounts import personas
from scripts._deployments import ROOT
from scripts._ports import Ports, free_port
from scripts.devstack import Stack
from tests.acceptance.test_deploy import deployed, flip_a_zero

WITHIN_S = 10


def ran(script: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", f"scripts.{script}", "--network", "devnet", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def environment_on(stack: Stack, record: Path) -> dict[str, str]:
    """What preflight is to find right: the chain of `stack`, and its database, which it starts."""
    return {
        "DATABASE_URL": stack._start_database(),
        "RPC_URLS": stack.rpc_url,
        "DEPLOYMENT_FILE": str(record),
        "KEEPER_PRIVATE_KEY": personas()["keeper"]["private_key"],
        "PORT": str(free_port()),
    }


@pytest.mark.slow
def test_a_deployment__is_right_until_a_byte_of_it_changes(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()
        contracts = deployed(stack, record)["contracts"]
        environment = environment_on(stack, record)
        began = time.monotonic()
        done = ran("preflight", **environment)
        took_s = time.monotonic() - began
        assert done.returncode == 0, done.stdout + done.stderr
        assert "every byte of code is what this tree compiles to" in done.stdout
        assert done.stdout.endswith("all checks passed\n")
        assert took_s < WITHIN_S
        at = {one["name"]: one["address"] for one in contracts}
        byte = flip_a_zero(stack, "RelayAdapter", at["relay_adapter"])
        done = ran("preflight", **environment)
        assert done.returncode == 1
        assert f"relay_adapter: differs from the source at byte {byte}" in done.stdout

        folder = stack_directory / "sources"
        done = ran("verify_source", "--record", str(record), "--to", str(folder))
        assert done.returncode == 0, done.stdout + done.stderr
        index = json.loads((folder / "index.json").read_text())
        ours = [one for one in contracts if one["contract"] not in ("MockUSDC", "FiatToken")]
        assert [one["address"] for one in index] == [one["address"] for one in ours]
        anchor = next(one for one in index if one["name"] == "record_anchor")
        path, contract = anchor["contract"].split(":")
        standard_input = json.loads((folder / anchor["standard_json_input"]).read_text())
        empty = stack_directory / "empty"  # as at an explorer: what the input lacks is nowhere
        empty.mkdir()
        answer = subprocess.run(
            [ROOT / "scripts" / "solc" / "solc-v0.8.30", "--standard-json"],
            cwd=empty,
            input=json.dumps(standard_input),
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        compiled = json.loads(answer.stdout)["contracts"]
        code = compiled[path][contract]["evm"]["bytecode"]["object"]
        creation = bytes.fromhex(code + anchor["constructor_arguments"].removeprefix("0x"))
        recorded = next(one for one in ours if one["name"] == "record_anchor")
        assert hex_of(keccak(creation)) == recorded["creation_hash"]
        factory = next(one for one in contracts if one["name"] == "factory")
        factory["creation_hash"] = "0x" + "11" * 32
        record.write_text(json.dumps({**json.loads(record.read_text()), "contracts": contracts}))
        done = ran("verify_source", "--record", str(record), "--to", str(folder))
        assert (done.returncode, "factory: these sources compile to other code" in done.stderr) == (
            1, True,
        )  # fmt: skip
    finally:
        stack.stop()
