"""Deploying twice changes nothing; reading the deployment back finds it, and a record that names
another contract.
"""

import json
from pathlib import Path

from scripts._ape import run_ape
from scripts._ports import Ports
from scripts.devstack import Stack
from tests.acceptance.test_deploy import deployed


def test_a_deployment_is_idempotent_and_reads_back(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()
        recorded = deployed(stack, record)

        second = run_ape("deploy", stack.rpc_url, record)
        assert second.stdout.count("  kept") == 15
        assert "deployed in block" not in second.stdout
        assert "nothing is left to do" in second.stdout
        assert json.loads(record.read_text())["contracts"] == recorded["contracts"]

        assert run_ape("verify", stack.rpc_url, record).returncode == 0

        relabelled = [
            one | {"contract": "FiatToken"} if one["name"] == "x402_adapter" else one
            for one in recorded["contracts"]
        ]
        record.write_text(json.dumps({**recorded, "contracts": relabelled}))
        assert (
            "the record: x402_adapter is a X402Adapter"
            in run_ape("verify", stack.rpc_url, record).stdout
        )
    finally:
        stack.stop()
