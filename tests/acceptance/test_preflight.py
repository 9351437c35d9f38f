"""`make preflight` before the processes of a whole deployment start: all right in less than 10 s, and
a byte of code that changed is found.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts._accounts import personas
from scripts._deployments import ROOT
from scripts.devstack import Ports, Stack, free_port
from tests.acceptance.test_deploy import deployed, flip_a_zero

WITHIN_S = 10


def asked(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scripts.preflight", "--network", "devnet"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.story
def test_a_deployment__is_right_until_a_byte_of_it_changes(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()
        contracts = deployed(stack, record)["contracts"]
        environment = {
            "DATABASE_URL": stack._start_database(),
            "RPC_URLS": stack.rpc_url,
            "DEPLOYMENT_FILE": str(record),
            "KEEPER_PRIVATE_KEY": personas()["keeper"]["private_key"],
            "PORT": str(free_port()),
        }
        began = time.monotonic()
        done = asked(environment)
        took_s = time.monotonic() - began
        assert done.returncode == 0, done.stdout + done.stderr
        assert "every byte of code is what this tree compiles to" in done.stdout
        assert done.stdout.endswith("all that was asked is right\n")
        assert took_s < WITHIN_S
        at = {one["name"]: one["address"] for one in contracts}
        byte = flip_a_zero(stack, "RelayAdapter", at["relay_adapter"])
        done = asked(environment)
        assert done.returncode == 1
        assert f"relay_adapter: differs from the source at byte {byte}" in done.stdout
    finally:
        stack.stop()
