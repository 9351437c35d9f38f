"""The tool endpoint under the protocol's own tools: conformance scenarios and the inspector.

`make conformance`.

Serves the API on a database of its own, without a chain, and runs against it

- the scenarios of @modelcontextprotocol/conformance that need no fixture tools, resources or
  prompts (the others ask for tools of given names, or for capabilities that this server does not
  offer);
- @modelcontextprotocol/inspector as a command: it lists the tools of each profile, registers an
  agent, reads as that agent, is refused without a key, and asks for a tool that does not exist.

Both are pinned below and installed into .build/mcp. Each check is one line; the first that fails
ends the run with 1.
"""

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from api.catalogue import catalogue
from api.kernel.credentials import KEY_HEADER
from api.kernel.metrics import ApiMetrics
from api.kernel.operation import Deps
from api.kernel.tool import Profile
from api.main import create_app, listen, server_of
from core.chain.nodes import Nodes
from core.db import embedded, migrate
from core.db.engine import Database
from core.mandate.chain.reader import VaultReader

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".build" / "mcp"
# Later versions of both need a newer Node.js than the project's.
PACKAGES = ("@modelcontextprotocol/inspector@0.22.0", "@modelcontextprotocol/conformance@0.1.10")
SCENARIOS = ("server-initialize", "ping", "tools-list")
WITHIN_S = 120
CHAIN_ID = 84532
NO_NODE = "http://127.0.0.1:9"  # the discard port: the endpoint must serve without a chain


def install() -> None:
    marker = FOLDER / "installed"
    if marker.exists() and marker.read_text() == "\n".join(PACKAGES):
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    flags = [
        "--no-save",
        "--no-package-lock",
        "--ignore-scripts",
        "--no-fund",
        "--no-audit",
        "--loglevel=error",
    ]
    subprocess.run(
        ["npm", "install", "--prefix", str(FOLDER), *flags, *PACKAGES], check=True, timeout=600
    )
    marker.write_text("\n".join(PACKAGES))


@contextmanager
def served() -> Iterator[str]:
    """The API's address; it ends with the block."""
    data = ROOT / ".local" / "conformance"
    embedded.remove(data)
    postgres = embedded.start(data)
    try:
        migrate.upgrade(postgres.url)
        with listen("127.0.0.1", 0) as listener:
            yield from _serving(postgres.url, listener)
    finally:
        embedded.remove(data)


def _serving(database_url: str, listener: socket.socket) -> Iterator[str]:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    database = Database(database_url, application_name="conformance")
    deps = Deps(
        database=database,
        metrics=ApiMetrics(database),
        chain=VaultReader(Nodes([NO_NODE]), {}),
        chain_id=CHAIN_ID,
        base_url=url,
        contracts={},
        catalogue=catalogue(),
        pepper=os.urandom(32),
        clock=lambda: datetime.now(UTC),
    )
    server = server_of(create_app(deps), grace_s=5)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        end = time.monotonic() + WITHIN_S
        while not server.started and thread.is_alive() and time.monotonic() < end:
            time.sleep(0.05)
        yield url
    finally:
        server.should_exit = True
        thread.join(WITHIN_S)


def run_node(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["node", str(FOLDER / "node_modules" / ".bin" / tool), *arguments]
    return subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )


def passed(what: str, is_passed: bool, shown: str = "") -> None:
    print(f"{'pass' if is_passed else 'FAIL'}  {what}")
    if not is_passed:
        sys.exit(shown or 1)


def run_scenarios(url: str) -> None:
    for scenario in SCENARIOS:
        done = run_node(
            "conformance", "server", "--url", f"{url}/mcp?profile=full", "--scenario", scenario
        )
        passed(f"conformance {scenario}", done.returncode == 0, done.stdout + done.stderr)


def inspect(
    url: str, profile: Profile, method: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    where = f"{url}/mcp?profile={profile}"
    return run_node(
        "mcp-inspector", "--cli", where, "--transport", "http", "--method", method, *arguments
    )


def call(url: str, tool: str, arguments: dict[str, str], key: str | None = None) -> dict[str, Any]:
    """The tool's result, as the inspector prints it.

    It reads arguments as JSON: a text is quoted, or 7 would be a number.
    """
    flags = [
        flag
        for name, value in arguments.items()
        for flag in ("--tool-arg", f"{name}={json.dumps(value)}")
    ]
    header = [] if key is None else ["--header", f"{KEY_HEADER}: {key}"]
    done = inspect(url, Profile.FULL, "tools/call", "--tool-name", tool, *flags, *header)
    passed(
        f"inspector   tools/call {tool} {'as nobody' if key is None else 'as the agent'}",
        done.returncode == 0,
        done.stdout + done.stderr,
    )
    return dict(json.loads(done.stdout))


def run_inspector(url: str) -> None:
    for profile in Profile:
        done = inspect(url, profile, "tools/list")
        names = (
            [tool["name"] for tool in json.loads(done.stdout)["tools"]]
            if done.returncode == 0
            else []
        )
        passed(
            f"inspector   tools/list, profile {profile}: {len(names)} tools",
            names == list(catalogue().tools(profile)),
            done.stderr,
        )
    made = call(url, "agent_connect", {"agent_name": "inspector"})["structuredContent"]
    policy = call(url, "agent_policy_get", {"id": str(made["user_id"])}, made["api_key"])
    passed(
        "inspector   reads the new agent's policy",
        policy["structuredContent"].get("agent_id") == str(made["user_id"]),
    )
    refused = call(url, "mandate_list", {})
    passed(
        "inspector   is told why it is refused",
        refused["structuredContent"]["service"]["reason"] == "auth_required",
    )
    unknown = inspect(url, Profile.FULL, "tools/call", "--tool-name", "order_place")
    passed(
        "inspector   a tool that does not exist is an error",
        unknown.returncode != 0 and "order_place" in unknown.stdout + unknown.stderr,
    )


def main() -> None:
    # a line a check, not a line a call
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    install()
    with served() as url:
        run_scenarios(url)
        run_inspector(url)


if __name__ == "__main__":
    main()
