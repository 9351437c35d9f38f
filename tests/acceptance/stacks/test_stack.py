"""What people meet around the stack: a port in use, a directory in use, a tool that is missing, two
stacks at once.
"""

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from scripts._ports import Ports
from tests.acceptance.conftest import WITHIN_S, RunningStack
from tests.acceptance.stacks.conftest import OUTSIDE, ReadyStack

pytestmark = pytest.mark.slow


def test_two_stacks__run_side_by_side(first: ReadyStack, second: ReadyStack) -> None:
    one, two = first.facts, second.facts

    assert one["base_url"] != two["base_url"]
    assert [
        httpx.get(f"{stack['base_url']}/health/ready", timeout=5).status_code
        for stack in (one, two)
    ] == [200, 200]
    assert set(one["contracts"]) >= {
        "usdc",
        "factory",
        "vault_implementation",
        "factory_validator",
        "test_venue",
        "test_venue_adapter",
        "x402_adapter",
    }


def test_settings_of_the_environment__win_over_those_of_the_stack__and_empty_ones_are_not_set(
    second: ReadyStack,
) -> None:
    stack = second.facts
    assert stack["operator_key"] == OUTSIDE["OPERATOR_KEY"]
    limits = httpx.get(f"{stack['base_url']}/.well-known/service.json", timeout=5).json()[
        "rate_limits"
    ]
    assert (
        limits["unowned_registrations_per_minute"],
        limits["unowned_registrations_per_utc_day"],
    ) == (7, 100_000)


def test_a_stack_that_starts__says_what_it_does(first: ReadyStack) -> None:
    said = first.running.lines
    opened = next(place for place, line in enumerate(said) if line.startswith("open "))
    five = [line.split()[0] for line in said[opened : opened + 5]]
    assert five == ["open", "chain", "database", "processes", "ready"]
    assert "worker, scanner" in said[opened + 3]
    assert "Compiling" not in "".join(said)  # `make` compiled, once


def holder_of(stack: dict[str, Any], name: str) -> int:
    """The pid of the process that leads, from the row that it writes."""
    with psycopg.connect(stack["database_url"].replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT holder FROM leader WHERE name = %s", (name,)).fetchone()
    assert row is not None
    return int(row[0].rpartition(":")[2])


def states_of(stack: dict[str, Any]) -> dict[str, str]:
    """How each part is, by name."""
    parts = httpx.get(f"{stack['base_url']}/health/ready", timeout=10).json()["parts"]
    return {name: part["status"] for name, part in parts.items()}


def test_a_killed_process_is_started_again(first: ReadyStack) -> None:
    stack = first.facts
    before = {name: holder_of(stack, name) for name in ("indexer", "keeper")}
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    ends = time.monotonic() + WITHIN_S
    while time.monotonic() < ends and any(
        holder_of(stack, name) == pid for name, pid in before.items()
    ):
        time.sleep(0.2)

    assert all(holder_of(stack, name) != pid for name, pid in before.items())
    assert httpx.get(f"{stack['base_url']}/health/ready", timeout=5).status_code == 200
    assert any(
        "indexer ended with code -9; starting it again" in line for line in first.running.lines
    )


def test_a_killed_database_comes_back_and_the_stack_with_it(second: ReadyStack) -> None:
    stack, directory = second.facts, second.running.directory
    os.kill(
        int((directory / "postgres" / "cluster" / "postmaster.pid").read_text().split()[0]),
        signal.SIGKILL,
    )

    time.sleep(1)
    ends = time.monotonic() + WITHIN_S
    # ready comes first, while the indexer catches up
    while time.monotonic() < ends and set(states_of(stack).values()) != {"ok"}:
        time.sleep(0.3)
    assert set(states_of(stack).values()) == {"ok"}
    assert any("the database ended; starting it again" in line for line in second.running.lines)


def test_a_port_in_use__says_which_and_how_to_choose_another(stack_directory: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        stack = RunningStack(stack_directory, Ports(api=port, rpc=Ports.free().rpc))
        output = stack.output()

    assert stack.process.returncode == 1
    assert f"port {port}, meant for the API, is in use" in output
    assert f"PORT={port + 100} make up" in output
