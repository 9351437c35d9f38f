"""Deploying twice changes nothing; reading the deployment back finds it, and finds what differs."""

import json
from pathlib import Path

from scripts.devstack import Ports, Stack, personas, run_ape


def test_a_deployment_is_idempotent_and_reads_back(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()

        first = run_ape("deploy", stack.rpc_url, record)
        assert first.returncode == 0, first.stdout + first.stderr
        recorded = json.loads(record.read_text())
        assert recorded["chain_id"] == 84532
        assert recorded["block"] > 0
        assert all(one["address"].startswith("0x") for one in recorded["contracts"])

        second = run_ape("deploy", stack.rpc_url, record)
        assert second.stdout.count("kept") == 6
        assert json.loads(record.read_text())["contracts"] == recorded["contracts"]

        assert run_ape("verify", stack.rpc_url, record).returncode == 0

        tampered = {**recorded, "contracts": [{**one} for one in recorded["contracts"]]}
        factory = next(one for one in tampered["contracts"] if one["name"] == "factory")
        factory["args"][2][3] = personas()["stranger"]["address"]
        record.write_text(json.dumps(tampered))
        differs = run_ape("verify", stack.rpc_url, record)
        assert differs.returncode == 1
        assert "WRONG  factory.keeper" in differs.stdout
    finally:
        stack.stop()
