"""Deploying twice changes nothing; reading the deployment back finds it, and finds what differs."""

import json
import os
import subprocess
import sys
from pathlib import Path

from scripts.devstack import Ports, Stack, personas

ROOT = Path(__file__).resolve().parents[2]


def ape(command: str, stack: Stack, record: Path) -> subprocess.CompletedProcess[str]:
    offices = {f"{role.upper()}_ADDRESS": wallet["address"] for role, wallet in personas().items()}
    return subprocess.run(
        [str(Path(sys.executable).parent / "ape"), "run", command, "--network", "base:devnet:node", "--record", str(record)],
        cwd=ROOT,
        env={
            **os.environ,
            **offices,
            "RPC_URL": stack.rpc_url,
            "SOLCX_BINARY_PATH": str(ROOT / "scripts" / "solc"),
            "APE_DATA_FOLDER": str(ROOT / ".build" / "ape"),
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_a_deployment_is_idempotent_and_reads_back(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()

        first = ape("deploy", stack, record)
        assert first.returncode == 0, first.stdout + first.stderr
        recorded = json.loads(record.read_text())
        assert recorded["chain_id"] == 84532
        assert recorded["block"] > 0
        assert all(one["address"].startswith("0x") for one in recorded["contracts"])

        second = ape("deploy", stack, record)
        assert second.stdout.count("kept") == 4
        assert json.loads(record.read_text())["contracts"] == recorded["contracts"]

        assert ape("verify", stack, record).returncode == 0

        tampered = {**recorded, "contracts": [{**one} for one in recorded["contracts"]]}
        factory = next(one for one in tampered["contracts"] if one["name"] == "factory")
        factory["args"][2][3] = personas()["stranger"]["address"]
        record.write_text(json.dumps(tampered))
        differs = ape("verify", stack, record)
        assert differs.returncode == 1
        assert "WRONG  factory.keeper" in differs.stdout
    finally:
        stack.stop()
