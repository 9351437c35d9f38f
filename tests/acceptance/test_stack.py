"""What people meet around the stack: a port in use, a directory in use, a tool that is missing, two stacks at once."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg

from scripts.devstack import Ports

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 120  # whatever else the machine does


def start(directory: Path, ports: Ports) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "scripts.devstack"],
        cwd=ROOT,
        env={**os.environ, "STACK_DIR": str(directory), "PORT": str(ports.api), "RPC_PORT": str(ports.rpc)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def await_stack(process: subprocess.Popen[str], directory: Path, within_s: float = WITHIN_S) -> dict[str, Any]:
    ends = time.monotonic() + within_s
    while time.monotonic() < ends and process.poll() is None:
        if (directory / "stack.json").exists():
            return dict(json.loads((directory / "stack.json").read_text()))
        time.sleep(0.2)
    process.kill()
    raise AssertionError(f"no stack: {process.communicate()[0][-3000:]}")


def stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=WITHIN_S)[0]


def test_two_stacks_run_side_by_side_and_end_on_interrupt(stack_directory: Path) -> None:
    directories = (stack_directory / "one", stack_directory / "two")
    processes = [start(directory, Ports.free()) for directory in directories]
    try:
        stacks = [await_stack(process, directory) for process, directory in zip(processes, directories, strict=True)]

        assert stacks[0]["base_url"] != stacks[1]["base_url"]
        assert [httpx.get(f"{stack['base_url']}/health/ready", timeout=5).status_code for stack in stacks] == [200, 200]
        assert set(stacks[0]["contracts"]) >= {
            "usdc",
            "factory",
            "vault_implementation",
            "factory_validator",
            "test_venue",
            "test_venue_adapter",
            "x402_adapter",
        }
    finally:
        outputs = [stop(process) for process in processes]
    assert all("stopped" in output for output in outputs)
    assert not any((directory / "stack.json").exists() for directory in directories)


def holder_of(stack: dict[str, Any], name: str) -> int:
    """The pid of the process that leads, from the row that it writes."""
    with psycopg.connect(stack["database_url"].replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT holder FROM leader WHERE name = %s", (name,)).fetchone()
    assert row is not None
    return int(row[0].rpartition(":")[2])


def test_a_killed_process_is_started_again(stack_directory: Path) -> None:
    process = start(stack_directory, Ports.free())
    try:
        stack = await_stack(process, stack_directory)
        before = {name: holder_of(stack, name) for name in ("indexer", "keeper")}
        for pid in before.values():
            os.kill(pid, signal.SIGKILL)

        ends = time.monotonic() + WITHIN_S
        while time.monotonic() < ends and any(holder_of(stack, name) == pid for name, pid in before.items()):
            time.sleep(0.2)

        assert all(holder_of(stack, name) != pid for name, pid in before.items())
        assert httpx.get(f"{stack['base_url']}/health/ready", timeout=5).status_code == 200
    finally:
        output = stop(process)
    assert "indexer ended with code -9; starting it again" in output


def test_a_killed_database_comes_back_and_the_stack_with_it(stack_directory: Path) -> None:
    process = start(stack_directory, Ports.free())
    try:
        stack = await_stack(process, stack_directory)
        os.kill(int((stack_directory / "postgres" / "cluster" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

        time.sleep(1)
        ends = time.monotonic() + WITHIN_S
        while time.monotonic() < ends and httpx.get(f"{stack['base_url']}/health/ready", timeout=10).status_code != 200:
            time.sleep(0.3)

        parts = httpx.get(f"{stack['base_url']}/health/ready", timeout=10).json()["parts"]
        assert {name: part["status"] for name, part in parts.items()} == dict.fromkeys(parts, "ok")
    finally:
        output = stop(process)
    assert "the database ended; starting it again" in output


def test_a_port_in_use__says_which_and_how_to_choose_another(stack_directory: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = start(stack_directory, Ports(api=port, rpc=Ports.free().rpc))
        output = process.communicate(timeout=WITHIN_S)[0]

    assert process.returncode == 1
    assert f"port {port}, meant for the API, is in use" in output
    assert f"PORT={port + 100} make up" in output


def test_missing_node__says_what_to_install() -> None:
    done = subprocess.run(
        ["/bin/bash", "scripts/preflight.sh", "node"], cwd=ROOT, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "Node.js 20 or newer with npm is missing" in done.stderr
